"""Heavy clients, in a process of their own that never blocks on a connection."""
from __future__ import annotations

import heapq
import multiprocessing
import os
import random
import resource
import selectors
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench.abuse import http_wire, wire
from bench.fairness.bodies import Body
from bench.fairness.load import OPEN_LOOP_CONNECTIONS, Load, Traffic

MOST_REQUESTS = 50_000
_MOST_UNSENT_BYTES = 4 << 20  # Of a connection.
_MOST_HTTP_CONNECTIONS = 1500  # Of an open loop.
_SENDS_AT_ONCE = 50  # Then replies are read.
_RETRIED_OF_OPEN_LOOP = 8  # One in so many refused requests; all would add up to a second overload.
_RECONNECT_SECONDS = 0.5
_ADMITTED_SECONDS = 0.5  # A refusal comes sooner.
_REFUSALS = (429, 503)
_RETRY_SECONDS = 1  # If a refusal does not say when to try again.
_START_SECONDS = 30


class HeavyClients:
    """They connect at once, and send until `stop`."""

    def __init__(self, address: tuple[str, int], load: Load, bodies: Sequence[Body], *, http: bool) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_run, args=(other, address, load, bodies, http), daemon=True)
        self._process.start()
        other.close()
        if not self._pipe.poll(_START_SECONDS):
            self.kill()
            raise TimeoutError("the heavy clients did not connect")
        self._pipe.recv()

    def stop(self) -> Traffic:
        """Closes all connections."""
        try:
            self._pipe.send("stop")
            if not self._pipe.poll(_START_SECONDS):
                raise TimeoutError("the heavy clients did not stop")
            return self._pipe.recv()
        finally:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _run(pipe: Any, address: tuple[str, int], load: Load, bodies: Sequence[Body], http: bool) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        traffic = _Sender(address, load, bodies, http).run(pipe)
        pipe.recv()
        pipe.send(traffic)
        pipe.recv()  # Holds the connections until the process is killed.
    except EOFError:
        pass
    os._exit(0)


@dataclass
class _Sent:
    body: Body
    due: float
    is_retry: bool
    last_token: float | None = None  # When the last token of its stream came.


class _Channel:
    """A connection, and what waits on it."""

    def __init__(self, connection: Any, source: str, in_flight: int) -> None:
        self.connection = connection
        self.source = source
        self.in_flight = in_flight
        self.waiting: dict[int, _Sent] = {}  # By the request's id.
        self.asleep = 0  # Refused requests that wait to be sent again.
        self.unsent = bytearray()
        self.events = selectors.EVENT_READ
        self.is_closed = False


class _Sender:
    def __init__(self, address: tuple[str, int], load: Load, bodies: Sequence[Body], http: bool) -> None:
        self._address = address
        self._load = load
        self._http = http
        self._connection = http_wire.Connection if http else wire.Connection
        self._bodies: Iterator[Body] = cycle(bodies)
        self._random = random.Random(os.getpid())
        self._selector = selectors.DefaultSelector()
        self._traffic = Traffic()
        self._number = 0
        self._retries: list[tuple[float, int, _Channel, Body]] = []  # A heap: when, a number, the connection, the request.
        self._reconnects: list[tuple[float, str, int]] = []  # When, the client's address, requests in flight.
        self._next_arrival = 0.0
        self._channels: list[_Channel] = []
        self._connects_on_demand = http and load.rate is not None
        self._idle: deque[_Channel] = deque()  # Connections made on demand that wait for nothing.
        if load.rate is None:
            for source in load.sources(http):
                self._connect(source, load.on_connection(http))
        else:
            for _ in range(OPEN_LOOP_CONNECTIONS):
                self._idle.append(self._connect(load.source, 0))

    def run(self, pipe: Any) -> Traffic:
        """Sends until a command is in the pipe."""
        pipe.send("connected")
        self._selector.register(pipe, selectors.EVENT_READ)
        self._next_arrival = time.monotonic()
        for channel in self._channels:
            self._fill(channel)
        while True:
            for key, events in self._selector.select(self._send_due()):
                if key.data is None:
                    return self._finished()
                self._serve(key.data, events)

    def _finished(self) -> Traffic:
        now = time.monotonic()
        traffic = self._traffic
        for sent in (sent for channel in self._channels for sent in channel.waiting.values()):
            traffic.pending += 1
            if sent.is_retry and now > sent.due + _ADMITTED_SECONDS:
                traffic.retries_admitted += 1
            elif sent.is_retry:
                traffic.retries -= 1  # It is not known yet whether it is admitted.
            if sent.last_token is not None:
                traffic.gaps.append(now - sent.last_token)  # It is at least so long.
        return traffic

    def _connect(self, source: str, in_flight: int) -> _Channel:
        channel = _Channel(self._connection(self._address, source, timeout=5), source, in_flight)
        channel.connection.socket.setblocking(False)
        self._channels.append(channel)
        self._selector.register(channel.connection.socket, channel.events, channel)
        return channel

    def _send_due(self) -> float:
        """Sends what is due. Returns the seconds until more is due."""
        now = time.monotonic()
        while self._reconnects and self._reconnects[0][0] <= now:
            _, source, in_flight = self._reconnects.pop(0)
            self._try_to_connect(source, in_flight)
        while self._retries and self._retries[0][0] <= now:
            due, _, channel, body = heapq.heappop(self._retries)
            if self._load.rate is None:
                channel.asleep -= 1
                may_send = not channel.is_closed
            else:
                free = self._free_channel()
                channel, may_send = free or channel, free is not None
            if may_send:
                self._traffic.retries += 1
                self._send(channel, body, due, is_retry=True)
        waits = [0.5, *(when[0][0] - now for when in (self._retries, self._reconnects) if when)]
        if self._load.rate is not None:
            waits.append(self._send_arrivals(self._load.rate) - now)
        return max(0.0, min(waits))

    def _send_arrivals(self, rate: float) -> float:
        """Sends the requests of an open loop that are due. Returns when the next one is."""
        for _ in range(_SENDS_AT_ONCE):
            if self._next_arrival > time.monotonic():
                break
            channel = self._free_channel() if self._traffic.sent < MOST_REQUESTS else None
            if channel:
                self._send(channel, next(self._bodies), self._next_arrival)
            else:
                self._traffic.unsent += 1
            self._next_arrival += self._random.expovariate(rate)
        return self._next_arrival

    def _free_channel(self) -> _Channel | None:
        """A connection with room for a further request of an open loop."""
        if not self._connects_on_demand:
            room = [channel for channel in self._channels if len(channel.unsent) < _MOST_UNSENT_BYTES]
            return self._random.choice(room) if room else None
        while self._idle:
            channel = self._idle.popleft()
            if not channel.is_closed:
                return channel
        return self._try_to_connect(self._load.source, 0) if len(self._channels) < _MOST_HTTP_CONNECTIONS else None

    def _try_to_connect(self, source: str, in_flight: int) -> _Channel | None:
        try:
            channel = self._connect(source, in_flight)
        except OSError as fault:
            self._traffic.outcomes[type(fault).__name__] += 1
            self._reconnect_later(source, in_flight)
            return None
        self._fill(channel)
        return channel

    def _fill(self, channel: _Channel) -> None:
        while (not channel.is_closed and len(channel.waiting) + channel.asleep < channel.in_flight
               and len(channel.unsent) < _MOST_UNSENT_BYTES and self._traffic.sent < MOST_REQUESTS):
            self._send(channel, next(self._bodies), time.monotonic())

    def _send(self, channel: _Channel, body: Body, due: float, *, is_retry: bool = False) -> None:
        self._number += 1
        self._traffic.sent += 1
        channel.waiting[self._number] = _Sent(body, due, is_retry)
        message = body.message(self._number, f"{os.getpid()}-{self._number}")
        channel.unsent += channel.connection.encoded(message)
        try:
            self._flush(channel)
        except OSError as fault:
            self._lose(channel, type(fault).__name__)

    def _flush(self, channel: _Channel) -> None:
        try:
            del channel.unsent[:channel.connection.socket.send(channel.unsent)]
        except BlockingIOError:
            pass
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.unsent else 0)
        if events != channel.events:
            channel.events = events
            self._selector.modify(channel.connection.socket, events, channel)

    def _serve(self, channel: _Channel, events: int) -> None:
        if channel.is_closed:
            return  # Lost while an earlier event of the same batch was served.
        try:
            if events & selectors.EVENT_WRITE:
                self._flush(channel)
            if events & selectors.EVENT_READ:
                channel.connection.read()
                while response := channel.connection.buffered():
                    self._take(channel, response)
            if not self._load.once:
                self._fill(channel)
        except BlockingIOError:
            pass
        except OSError as fault:
            self._lose(channel, type(fault).__name__)

    def _take(self, channel: _Channel, response: wire.Response) -> None:
        now = time.monotonic()
        traffic = self._traffic
        sent = channel.waiting.get(response.request_id)
        if not sent:  # The connection was refused.
            traffic.outcomes[response.reason] += 1
        elif not response.is_final:
            if sent.last_token is not None:
                traffic.gaps.append(now - sent.last_token)
            sent.last_token = now
        else:
            del channel.waiting[response.request_id]
            traffic.outcomes[response.reason or "ok"] += 1
            if not response.reason:
                traffic.seconds.append(now - sent.due)
            is_refused = response.code in _REFUSALS
            traffic.retries_admitted += sent.is_retry and not is_refused
            if self._connects_on_demand:
                self._idle.append(channel)
            if is_refused:
                self._refused(channel, sent.body, _RETRY_SECONDS if response.retry_after is None else response.retry_after)

    def _refused(self, channel: _Channel, body: Body, retry_after: int) -> None:
        """Sends the request again when it may be sent."""
        self._traffic.refused += 1
        self._traffic.retry_after.append(retry_after)
        if self._load.rate is None:
            channel.asleep += 1
        elif self._traffic.refused % _RETRIED_OF_OPEN_LOOP != 1:
            return
        heapq.heappush(self._retries, (time.monotonic() + retry_after, self._number + self._traffic.refused, channel, body))

    def _lose(self, channel: _Channel, fault: str) -> None:
        """The connection is gone. Its client connects again."""
        self._traffic.outcomes[fault] += max(1, len(channel.waiting))
        channel.is_closed = True
        self._selector.unregister(channel.connection.socket)
        channel.connection.close()
        self._channels.remove(channel)
        self._reconnect_later(channel.source, channel.in_flight)

    def _reconnect_later(self, source: str, in_flight: int) -> None:
        if not self._connects_on_demand:
            self._reconnects.append((time.monotonic() + _RECONNECT_SECONDS, source, in_flight))
