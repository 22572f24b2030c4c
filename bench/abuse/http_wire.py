"""HTTP requests for scores, with the interface of wire.py."""
from __future__ import annotations

import json
import socket
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bench.abuse.wire import Response, Tokens

SCORE_PATH = "/v1/score"


class Message(NamedTuple):
    """A request. Its id is not sent: responses come in the order of the requests."""

    request_id: int
    data: bytes


def body(query: str | Tokens, items: Iterable[str | Tokens], labels: Tokens, **fields: Any) -> bytes:
    """A request for scores as JSON. Non-ASCII characters are escaped."""
    return json.dumps({"query": query, "items": list(items), "label_token_ids": labels, **fields}).encode()


def head(length: int | None, path: str = SCORE_PATH, headers: Mapping[str, str] | None = None) -> bytes:
    """The lines before a request's body. `length`: of the body; None: the headers say how it ends."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode()


def post(data: bytes, path: str = SCORE_PATH, headers: Mapping[str, str] | None = None) -> bytes:
    return head(len(data), path, headers) + data


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Connection:
    """A connection to the service. Raises OSError (TimeoutError, ConnectionError) if it fails."""

    def __init__(self, address: tuple[str, int], source: str = "127.0.0.1", timeout: float | None = None) -> None:
        self.socket = socket.create_connection(address, timeout=timeout, source_address=(source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._sent: deque[int] = deque()
        self._streams = False  # Whether a reply of server-sent events has begun.
        self._events = bytearray()
        self._last_event = b""  # The last one that is neither a delta nor [DONE].

    def close(self) -> None:
        self.socket.close()

    def send(self, message: Message) -> None:
        self.socket.sendall(self.encoded(message))

    def encoded(self, message: Message) -> bytes:
        """The bytes of a message that the caller sends itself."""
        self._sent.append(message.request_id)
        return message.data

    def receive(self) -> Response:
        """Waits for a final response, as long as the socket's timeout for each of its bytes."""
        while True:
            response = self.buffered()
            if response and response.is_final:
                return response
            if not response:
                self.read()

    def read(self) -> None:
        """Reads bytes that have arrived, at least one."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("closed")
        self._received += data

    def buffered(self) -> Response | None:
        """The next response of those that have been read completely. Its request_id is 0 if no request waits."""
        if self._streams:
            return self._next_event()
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        status, *lines = bytes(self._received[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        end += 4
        if headers.get("transfer-encoding") == "chunked":
            del self._received[:end]
            self._streams = True
            return self._next_event()
        length = int(headers.get("content-length", 0))
        if len(self._received) < end + length:
            return None
        content = bytes(self._received[end:end + length])
        del self._received[:end + length]
        response = _response(self._sent.popleft() if self._sent else 0, int(status.split()[1]), content)
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
                    return Response(self._sent[0], False)
                if content != b"[DONE]":
                    self._last_event = content
                continue
            begin = self._received.find(b"\r\n") + 2
            if begin < 2:
                return None
            size = int(self._received[:begin - 2], 16)
            end = begin + size
            if len(self._received) < end + 2:
                return None
            self._events += self._received[begin:end]
            del self._received[:end + 2]
            if not size:
                self._streams = False
                code = json.loads(self._last_event or b"{}").get("code", 200)
                return _response(self._sent.popleft(), code, self._last_event)


def _response(request_id: int, code: int, content: bytes) -> Response:
    try:
        value = json.loads(content) if content else {}
    except ValueError:
        value = {}
    if code != 200:
        reason = value.get("reason") if isinstance(value, dict) else None
        return Response(request_id, True, code, reason or str(code))
    # Python's shortest digits of a double tell all its bits.
    return Response(request_id, True, code, "", json.dumps(value.get("scores") if isinstance(value, dict) else None).encode())
