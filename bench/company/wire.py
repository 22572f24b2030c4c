"""Requests and replies as bytes, on the request socket (see proto/scorecast.proto) and over HTTP.

Messages are encoded by hand, because hostile ones are easier to make from their bytes, and the bench needs no package for it.
"""
from __future__ import annotations

import json
import socket
import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Address = tuple[str, int]
Tokens = Sequence[int]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1  # Negative ones in two's complement.
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3 | _VARINT) + varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def token_ids(ids: Tokens) -> bytes:
    """A TokenIds."""
    return bytes_field(1, b"".join(map(varint, ids)))


def text_or_ids(value: str | Tokens) -> bytes:
    """A TextOrIds."""
    return bytes_field(1, value.encode()) if isinstance(value, str) else bytes_field(2, token_ids(value))


def frame(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def head(length: int | None, path: str = "/v1/score", headers: Mapping[str, str] | None = None) -> bytes:
    """The lines before the body of an HTTP request. `length`: of the body; None: the headers say how it ends."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode()


def post(data: bytes, path: str = "/v1/score", headers: Mapping[str, str] | None = None) -> bytes:
    return head(len(data), path, headers) + data


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Phases(NamedTuple):
    """Milliseconds of a request, by the clock of the service."""

    tokenize: float
    queue: float
    forward: float
    total: float


@dataclass
class Response:
    request_id: int  # 0: of a connection that is refused.
    is_final: bool = True  # False for a delta.
    code: int = 200
    reason: str = ""  # Of an error.
    result: bytes = b""  # Scores, log-probabilities or tokens in some encoding, which must be the same every time.
    retry_after: int | None = None  # Seconds, of a refusal.
    phases: Phases | None = None


class Replies:
    """The replies of a connection, from the bytes that have come."""

    def __init__(self) -> None:
        self._received = bytearray()

    def expect(self, request_id: int) -> None:
        """Called for each request before it is sent."""

    def feed(self, data: bytes) -> None:
        self._received += data

    def next(self) -> Response | None:
        """The next one of those that have come completely."""
        raise NotImplementedError


class SocketReplies(Replies):
    def next(self) -> Response | None:
        if len(self._received) < 4:
            return None
        end = 4 + struct.unpack(">I", self._received[:4])[0]
        if len(self._received) < end:
            return None
        message = bytes(self._received[4:end])
        del self._received[:end]
        return _parse(message)


class HttpReplies(Replies):
    def __init__(self) -> None:
        super().__init__()
        self._expected: deque[int] = deque()  # Ids are not sent: responses come in the order of the requests.
        self._chunked: tuple[int, dict[str, str]] | None = None  # Status and headers of a reply that comes in chunks.
        self._streams = False  # Whether that is one of server-sent events.
        self._content = bytearray()  # Of a reply in chunks that is no stream.
        self._events = bytearray()
        self._last_event = b""  # The last one that is neither a delta nor [DONE].

    def expect(self, request_id: int) -> None:
        self._expected.append(request_id)

    def next(self) -> Response | None:
        if self._chunked:
            return self._next_event() if self._streams else self._next_whole()
        end = self._received.find(b"\r\n\r\n") + 4
        if end < 4:
            return None
        status, *lines = bytes(self._received[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            del self._received[:end]
            self._chunked = int(status.split()[1]), headers
            self._streams = headers.get("content-type", "text/event-stream").startswith("text/event-stream")
            return self.next()
        length = int(headers.get("content-length", 0))
        if len(self._received) < end + length:
            return None
        content = bytes(self._received[end:end + length])
        del self._received[:end + length]
        return self._whole(int(status.split()[1]), headers, content)

    def _next_whole(self) -> Response | None:
        """The reply in chunks, when its last chunk has come."""
        assert self._chunked
        while (chunk := self._next_chunk()) is not None:
            self._content += chunk
            if not chunk:
                content, self._content = bytes(self._content), bytearray()
                status, self._chunked = self._chunked, None
                return self._whole(*status, content)
        return None

    def _next_chunk(self) -> bytes | None:
        begin = self._received.find(b"\r\n") + 2
        if begin < 2:
            return None
        end = begin + int(self._received[:begin - 2], 16)
        if len(self._received) < end + 2:
            return None
        chunk = bytes(self._received[begin:end])
        del self._received[:end + 2]
        return chunk

    def _whole(self, code: int, headers: Mapping[str, str], content: bytes) -> Response:
        response = self._response(code, content)
        if "retry-after" in headers:
            response.retry_after = int(headers["retry-after"])
        return response

    def _next_event(self) -> Response | None:
        """The next delta of a stream. At the stream's end, a final response from the event before [DONE]."""
        while True:
            event, found, rest = self._events.partition(b"\n\n")
            if found:
                self._events = rest
                content = bytes(event.removeprefix(b"data: "))
                if b'"chunked.delta"' in content:
                    return Response(self._expected[0], False)
                if content != b"[DONE]":
                    self._last_event = content
                continue
            chunk = self._next_chunk()
            if chunk is None:
                return None
            self._events += chunk
            if not chunk:
                self._chunked = None
                return self._response(json.loads(self._last_event or b"{}").get("code", 200), self._last_event)

    def _response(self, code: int, content: bytes) -> Response:
        """The reply to the earliest request without one."""
        request_id = self._expected.popleft() if self._expected else 0
        try:
            fields = json.loads(content)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            fields = {}
        if code != 200:
            return Response(request_id, code=code, reason=fields.get("reason") or str(code))
        # Python's shortest digits of a double tell all its bits.
        return Response(request_id, result=json.dumps([fields.get("scores"), fields.get("tokens")]).encode(),
                        phases=_phases_of(fields.get("timings")))


def _phases_of(timings: Any) -> Phases | None:
    return Phases(*(float(timings.get(f"{name}_ms", 0)) for name in Phases._fields)) if isinstance(timings, dict) else None


def replies(http: bool) -> Replies:
    return HttpReplies() if http else SocketReplies()


def ask(address: Address, source: str, http: bool, request: bytes, seconds: float) -> Response:
    """Sends a request with the id 1 on a new connection. Raises OSError if there is no response in time."""
    with socket.create_connection(address, seconds, (source, 0)) as connection:
        found = replies(http)
        found.expect(1)
        connection.sendall(request)
        while not ((response := found.next()) and response.is_final):
            if not response:
                data = connection.recv(1 << 20)
                if not data:
                    raise ConnectionError("closed")
                found.feed(data)
        return response


def _parse(message: bytes) -> Response:
    response = Response(0)
    for number, value in fields_of(message):
        if number == 1 and isinstance(value, int):
            response.request_id = value
        elif number == 2 and isinstance(value, bytes):
            error = dict(fields_of(value))
            response.code, response.reason, response.retry_after = error[1], error[2].decode(), error.get(5)
        elif number == 3 and isinstance(value, bytes):
            fields = list(fields_of(value))
            response.result = b"".join(bytes([n]) + v for n, v in fields if n <= 4 and isinstance(v, bytes))
            response.phases = _phases_in(next((v for n, v in fields if n == 8 and isinstance(v, bytes)), b""))
        elif number == 5:
            response.is_final = False
    return response


def _phases_in(timings: bytes) -> Phases:
    """Of a Timings."""
    ms = {number: struct.unpack("<d", value)[0] for number, value in fields_of(timings) if isinstance(value, bytes)}
    return Phases(ms.get(2, 0.0), ms.get(1, 0.0), ms.get(3, 0.0), ms.get(4, 0.0))


def fields_of(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Numbers and values of a message's fields."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        if key & 7 == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(key & 7)
            if size is None:
                size, at = _read_varint(message, at)
            yield key >> 3, message[at:at + size]
            at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
