"""A replica that computes nothing and answers at once, so that what stands before it has all the work.

Run as `python -m bench.replicas.stub`: prints the ports of its request socket and of HTTP, and serves until it is
killed. It speaks as much of both as a front and a plain proxy need.
"""
from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable

from bench.company.clients import end_with_parent
from bench.company.wire import bytes_field, fields_of, frame, number_field

_HOST = "127.0.0.1"
_REPLY = json.dumps({"scores": [[0.75, 0.25]], "usage": {"prompt_tokens": 64, "total_tokens": 64}}).encode()
_HTTP_REPLY = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
               + str(len(_REPLY)).encode() + b"\r\n\r\n" + _REPLY)
_MOST = 1 << 24  # Bytes of a frame, and requests in flight.

# Numbers of fields: of Request, of Response, and of what is in them.
_ID, _HTTP_REQUEST, _HELLO, _CANCEL = 1, 9, 23, 22
_STATUS, _SCORE, _HTTP = 24, 3, 11
_READY = bytes_field(_STATUS, number_field(8, 1))
_SCORES = bytes_field(_SCORE, bytes_field(1, bytes_field(1, struct.pack("<dd", 0.75, 0.25))))
_HTTP_PART = bytes_field(_HTTP, number_field(1, 200)
                         + bytes_field(2, bytes_field(1, b"Content-Type") + bytes_field(2, b"application/json"))
                         + bytes_field(3, _REPLY) + number_field(4, 1))
_FACTS = bytes_field(_HELLO, b"".join(bytes_field(number, text) for number, text in (
    (1, b"stub"), (2, b"stub"), (3, b"a language model"), (4, b"stub"), (5, b"f32"), (6, b"stub")))
    + number_field(7, 1) + number_field(8, _MOST) + number_field(9, _MOST) + number_field(10, _MOST))


def reply_to(message: bytes) -> bytes:
    """To a Request: a Response. Empty if there is none."""
    fields = dict(fields_of(message))
    if _CANCEL in fields:
        return b""
    body = _FACTS if _HELLO in fields else _HTTP_PART if _HTTP_REQUEST in fields else _SCORES
    request_id = fields.get(_ID, 0)
    assert isinstance(request_id, int)
    return number_field(_ID, request_id) + _READY + body


class _Server(asyncio.Protocol):
    """Reads whole requests from what has come."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        replies = []
        while (reply := self.next_reply()) is not None:
            replies.append(reply)
        self.transport.write(b"".join(replies))

    def next_reply(self) -> bytes | None:
        """To the first request; None if it has not come completely."""
        raise NotImplementedError

    def take(self, begin: int, end: int) -> bytes | None:
        """These bytes, if they have come; they and those before them are then removed."""
        if len(self._received) < end:
            return None
        taken = bytes(self._received[begin:end])
        del self._received[:end]
        return taken


class FrameServer(_Server):
    def next_reply(self) -> bytes | None:
        if len(self._received) < 4:
            return None
        message = self.take(4, 4 + struct.unpack(">I", self._received[:4])[0])
        if message is None:
            return None
        reply = reply_to(message)
        return frame(reply) if reply else b""


class HttpServer(_Server):
    def next_reply(self) -> bytes | None:
        end = self._received.find(b"\r\n\r\n") + 4
        if end < 4:
            return None
        lines = bytes(self._received[:end]).lower().split(b"\r\n")
        length = next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)
        return None if self.take(end, end + length) is None else _HTTP_REPLY


async def _serve() -> None:
    end_with_parent()
    loop = asyncio.get_running_loop()
    kinds: list[Callable[[], _Server]] = [FrameServer, HttpServer]
    servers = [await loop.create_server(kind, _HOST, 0) for kind in kinds]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(_serve())
