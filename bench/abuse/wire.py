"""Frames and messages of the request socket, encoded by hand: see proto/scorecast.proto.

Hostile messages are easier to make from their bytes, and the bench needs no package for it.
"""
from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Tokens = Sequence[int]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def varint(value: int) -> bytes:
    out = bytearray()
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


def request(request_id: int, *, score: bytes | None = None, chunked: bytes | None = None) -> bytes:
    """A Request with one of the two."""
    endpoint = bytes_field(3, chunked) if score is None else bytes_field(2, score)
    return number_field(1, request_id) + endpoint


def score_request(query: str | Tokens, items: Iterable[str | Tokens], labels: Tokens, *, timeout_ms: int | None = None,
                  softmax: bool = False) -> bytes:
    parts = [bytes_field(1, text_or_ids(query))]
    parts += [bytes_field(2, text_or_ids(item)) for item in items]
    parts.append(bytes_field(3, bytes_field(1, token_ids(labels))))
    if softmax:
        parts.append(number_field(5, 1))
    if timeout_ms is not None:
        parts.append(number_field(11, timeout_ms))
    return b"".join(parts)


def chunked_request(chunks: Iterable[str | Tokens], question: str | Tokens, *, label_token_ids: Tokens = (),
                    max_new_tokens: int = 0, ignore_eos: bool = False, stream: bool = False) -> bytes:
    parts = [bytes_field(2, text_or_ids(chunk)) for chunk in chunks]
    parts.append(bytes_field(4, text_or_ids(question)))
    if label_token_ids:
        parts.append(bytes_field(10, token_ids(label_token_ids)))
    parts += [number_field(16, max_new_tokens), number_field(23, int(ignore_eos)), number_field(24, int(stream))]
    return b"".join(parts)


def padding(size: int) -> bytes:
    """A field that no message has, which makes a message long."""
    return bytes_field(2000, bytes(size))


def frame(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


@dataclass
class Response:
    request_id: int
    is_final: bool  # False for a delta.
    code: int = 200
    reason: str = ""
    result: bytes = b""  # Encoded scores and log-probabilities, which must be the same every time.
    retry_after: int | None = None  # Seconds, of a refusal.


def parse_response(message: bytes) -> Response:
    response = Response(0, True)
    for number, value in _fields(message):
        if number == 1:
            assert isinstance(value, int)
            response.request_id = value
        elif number == 2:
            assert isinstance(value, bytes)
            for error_number, error_value in _fields(value):
                if error_number == 1:
                    assert isinstance(error_value, int)
                    response.code = error_value
                elif error_number == 2:
                    assert isinstance(error_value, bytes)
                    response.reason = error_value.decode()
                elif error_number == 5:
                    assert isinstance(error_value, int)
                    response.retry_after = error_value
        elif number == 3:
            assert isinstance(value, bytes)
            response.result = b"".join(bytes([n]) + v for n, v in _fields(value) if n <= 4 and isinstance(v, bytes))
        elif number == 5:
            response.is_final = False
    return response


def _fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
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


class Connection:
    """A connection to the service. Raises OSError (TimeoutError, ConnectionError) if it fails."""

    def __init__(self, address: tuple[str, int], source: str = "127.0.0.1", timeout: float | None = None) -> None:
        self.socket = socket.create_connection(address, timeout=timeout, source_address=(source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()

    def close(self) -> None:
        self.socket.close()

    def send(self, message: bytes) -> None:
        self.socket.sendall(self.encoded(message))

    def encoded(self, message: bytes) -> bytes:
        """The bytes of a message that the caller sends itself."""
        return frame(message)

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
        """The next response of those that have been read completely."""
        if len(self._received) < 4:
            return None
        end = 4 + struct.unpack(">I", self._received[:4])[0]
        if len(self._received) < end:
            return None
        message = bytes(self._received[4:end])
        del self._received[:end]
        return parse_response(message)
