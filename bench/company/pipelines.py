"""Hostile connections that keep many requests waiting at the service, and take little time of their own."""
from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any, Protocol

_RECONNECT_SECONDS = 0.5
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_STATUS_BYTES = len(b"HTTP/1.1 200")


class Connector(Protocol):
    """What connects, and counts what is seen."""

    traffic: Any

    async def connect_with(self, protocol: Any) -> Any:
        ...


class Pipeline(asyncio.Protocol):
    """A connection. `requests`: the bytes of `number` requests."""

    def __init__(self, requests: bytes, number: int, counts: Counter[str]) -> None:
        self._requests = requests
        self._number = number
        self._counts = counts
        self._unanswered = 0
        self._end = b""  # Of the bytes before those that come: a status may be cut in two.
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        statuses = _STATUS.findall(self._end + data)
        self._end = data[1 - _STATUS_BYTES:] if len(data) >= _STATUS_BYTES else (self._end + data)[1 - _STATUS_BYTES:]
        for status in statuses:
            self._counts[f"replies {status.decode()}"] += 1
        self._unanswered -= len(statuses)
        if self._unanswered <= 0:
            self._send()

    def connection_lost(self, fault: Exception | None) -> None:
        self._counts["closed"] += 1
        self.lost.set_result(None)

    def _send(self) -> None:
        self._unanswered += self._number
        self.transport.write(self._requests)


async def keep_pipelined(connector: Connector, requests: bytes, number: int) -> None:
    counts = connector.traffic.counts
    while True:
        try:
            await (await connector.connect_with(lambda: Pipeline(requests, number, counts))).lost
        except OSError as fault:
            counts[f"not connected: {type(fault).__name__}"] += 1
        await asyncio.sleep(_RECONNECT_SECONDS)
