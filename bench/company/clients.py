"""Clients in a process of their own, so that they take no time of another's interpreter."""
from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import random
import resource
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from typing import Any, TypeVar

from bench.company.bodies import Body
from bench.company.load import NO_REPLY, NOT_SENT, OK, OTHER_BITS, SOURCE, Load, Pipelined, Raw, Sample, Traffic
from bench.company.pipelines import keep_pipelined
from bench.company.wire import Address, Phases, Response, replies

MOST_REQUESTS = 50_000  # Of a load without an interval.
_ANSWER_SECONDS = 60
_MOST_UNSENT_BYTES = 4 << 20  # Of a connection.
_MOST_CONNECTIONS = 1500  # A load makes at most so many when its requests are due.
_CONNECTS_AT_ONCE = 50
_RETRIED_OF_OPEN_LOOP = 8  # One in so many refused requests; all would add up to a second overload.
_RECONNECT_SECONDS = 0.5
_ADMITTED_SECONDS = 0.5  # A refusal comes sooner.
_REFUSALS = (429, 503)
_RETRY_SECONDS = 1  # If a refusal does not say when to try again.
_POLL_SECONDS = 0.01
_IP_BIND_ADDRESS_NO_PORT = 24  # Python has no name for it.
_PR_SET_PDEATHSIG = 1
_SEND_SECONDS = 2.0  # After which a piece of raw bytes is blocked.
_HOSTILE_NICE = 10  # So that hostile clients take no CPU that polite ones of the same CPU need.
_SLEEP_SECONDS = 0.01  # Of a sleep by which the delay of the process is measured.
_P = TypeVar("_P", bound=asyncio.Protocol)


class Clients:
    """They send until `stop`, and hold their connections until `kill`."""

    def __init__(self, address: Address, http: bool, loads: Sequence[tuple[Load, Sequence[Body]]] = (),
                 raw: Raw | Pipelined | None = None, *, is_hostile: bool = False) -> None:
        """`loads`: with their bodies. Requests with the same number must have responses with the same bits."""
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_run, args=(other, is_hostile, address, http, loads, raw), daemon=True)
        self._process.start()
        other.close()
        try:
            self._receive(_ANSWER_SECONDS)
        except OSError:
            self.kill()
            raise

    def pause(self) -> None:
        """No request is sent from now on. Those that are sent may still get their replies."""
        self._pipe.send(("pause", None))

    def resume(self) -> None:
        self._pipe.send(("resume", None))

    def seen(self, since: float) -> list[Sample]:
        """The samples so far of requests that were due since then."""
        self._pipe.send(("seen", since))
        return self._receive(_ANSWER_SECONDS)

    def stop(self, patience: float = 0.0) -> Traffic:
        """Closes all connections. Requests that have no reply after `patience` seconds are given up."""
        try:
            self._pipe.send(("stop", patience))
            return self._receive(patience + _ANSWER_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _receive(self, seconds: float) -> Any:
        try:
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        except EOFError:
            raise OSError("a process of clients ended") from None
        raise TimeoutError(f"a process of clients did not answer in {seconds:.0f} s")


def end_with_parent() -> None:
    """No process outlives the bench."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(pipe: Any, is_hostile: bool, *arguments: Any) -> None:
    end_with_parent()
    if is_hostile:
        os.nice(_HOSTILE_NICE)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_send(pipe, is_hostile, *arguments))


async def _send(pipe: Any, is_hostile: bool, address: Address, http: bool, loads: Sequence[tuple[Load, Sequence[Body]]],
                raw: Raw | Pipelined | None) -> None:
    """Does what the pipe says."""
    crowd = _Crowd(address, http, raw is not None)
    if not is_hostile:
        crowd.begin(_note_delays(crowd))
    senders = [_Sender(crowd, load, bodies) for load, bodies in loads]
    if isinstance(raw, Pipelined):
        data = raw.requests()
        for _ in range(raw.connections):
            crowd.begin(keep_pipelined(crowd, data, raw.number))
    elif raw:
        for _ in range(raw.clients):
            crowd.begin(_send_pieces(crowd, raw))
    commands: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
    while any(sender.starts for sender in senders):
        await asyncio.sleep(_POLL_SECONDS)
    pipe.send("started")
    asyncio.get_running_loop().add_reader(pipe.fileno(), lambda: commands.put_nowait(pipe.recv()))
    while True:
        command, argument = await commands.get()
        if command == "seen":
            pipe.send([sample for sample in crowd.traffic.samples if sample.due >= argument])
        elif command == "resume":
            crowd.resumed.set()
        else:
            crowd.resumed.clear()
        if command == "stop":
            end = time.monotonic() + argument
            while crowd.pending and time.monotonic() < end:
                await asyncio.sleep(_POLL_SECONDS)
            crowd.give_up()
            pipe.send(crowd.traffic)  # The connections are held until the process is killed.


@dataclass
class _Pending:
    channel: _Channel
    kind: str
    due: float
    is_retry: bool
    response: asyncio.Future[Response] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    last_token: float | None = None  # When the last token of its stream came.


class _Crowd:
    """What all clients of the process share."""

    def __init__(self, address: Address, http: bool, is_raw: bool) -> None:
        self.http = http
        self.is_raw = is_raw
        self.traffic = Traffic()
        self.results: dict[int, bytes] = {}  # Of each request's number: the first that came.
        self.resumed = asyncio.Event()
        self.resumed.set()
        self.pending: dict[int, _Pending] = {}  # By the request's id.
        self.ids = count(1)
        self._address = address
        self._connects = asyncio.Semaphore(_CONNECTS_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def connect(self, source: str = SOURCE) -> _Channel:
        return await self.connect_with(partial(_Channel, self), source)

    async def connect_with(self, protocol: Callable[[], _P], source: str = SOURCE) -> _P:
        loop = asyncio.get_running_loop()
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Otherwise `bind` takes a port that no other connection has, and is slow if most are taken.
        connection.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        async with self._connects:
            try:
                connection.bind((source, 0))
                await loop.sock_connect(connection, self._address)
            except OSError:
                connection.close()
                raise
            return (await loop.create_connection(protocol, sock=connection))[1]

    def add(self, kind: str, due: float, outcome: str, phases: Phases | None = None) -> None:
        self.traffic.samples.append(Sample(kind, due, 1000 * (time.monotonic() - due), outcome, phases))

    def give_up(self) -> None:
        """Counts what has no reply yet."""
        now = time.monotonic()
        for pending in self.pending.values():
            self.add(pending.kind, pending.due, NO_REPLY)
            if pending.is_retry and now > pending.due + _ADMITTED_SECONDS:
                self.traffic.retries_admitted += 1
            elif pending.is_retry:
                self.traffic.retries -= 1  # It is not known yet whether it is admitted.
            if pending.last_token is not None:
                self.traffic.gaps.append(now - pending.last_token)  # It is at least so long.


class _Channel(asyncio.Protocol):
    """A connection, and the requests that wait on it."""

    transport: asyncio.Transport

    def __init__(self, crowd: _Crowd) -> None:
        self._crowd = crowd
        self._replies = replies(crowd.http)
        self.writable = asyncio.Event()  # Whether all that has been written is sent, or the connection is lost.
        self.lost = asyncio.get_running_loop().create_future()  # Whether it then failed requests.

    def ask(self, request_id: int, message: bytes) -> None:
        self._replies.expect(request_id)
        self.transport.write(message)

    def waiting(self) -> list[_Pending]:
        return [pending for pending in self._crowd.pending.values() if pending.channel is self and not pending.response.done()]

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(0)
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, fault: Exception | None) -> None:
        self.writable.set()
        waiting = self.waiting()
        self.lost.set_result(bool(waiting))
        for pending in waiting:
            pending.response.set_exception(fault or ConnectionError())

    def data_received(self, data: bytes) -> None:
        self._replies.feed(data)
        while response := self._replies.next():
            pending = self._crowd.pending.get(response.request_id)
            if not pending or pending.response.done():
                self._take_stray(response)
            elif response.is_final:
                pending.response.set_result(response)
            else:
                now = time.monotonic()
                if pending.last_token is not None:
                    self._crowd.traffic.gaps.append(now - pending.last_token)
                pending.last_token = now

    def _take_stray(self, response: Response) -> None:
        """A reply to raw bytes, to a request that was given up, or to the connection itself, if that is refused."""
        waiting = self.waiting()
        if self._crowd.is_raw or not (response.request_id or waiting):
            self._crowd.traffic.counts[response.reason or OK] += 1
        elif not response.request_id:
            for pending in waiting:
                pending.response.set_result(response)


def _what(fault: OSError) -> str:
    return "closed" if type(fault) is ConnectionError else f"closed: {type(fault).__name__}"


class _Sender:
    """The clients of a load."""

    def __init__(self, crowd: _Crowd, load: Load, bodies: Sequence[Body]) -> None:
        self._crowd = crowd
        self._load = load
        self._bodies = bodies
        self._numbers = cycle(range(len(bodies)))
        self._sent = 0
        self._random = random.Random(os.getpid())
        self._has_times = load.rate is not None or load.interval is not None
        self._connects_on_demand = self._has_times and load.connections is None
        self._kept: deque[_Channel] = deque()  # In the order of their turns.
        self._idle: deque[_Channel] = deque()  # Connections made on demand that wait for nothing.
        self._in_flight = 0  # Requests, each of which has a connection if it is made on demand.
        sources = [load.source] * (load.connections or 0) if self._has_times else load.sources(crowd.http)
        self.starts = len(sources)  # Connections that have not been tried yet.
        for source in sources:
            crowd.begin(self._keep_connected(source))
        if self._has_times:
            crowd.begin(self._send_at_times())

    async def _keep_connected(self, source: str) -> None:
        for attempt in count():
            channel = await self._connect(source, time.monotonic())
            self.starts -= attempt == 0
            if channel:
                self._kept.append(channel)
                for _ in range(0 if self._has_times else self._load.on_connection(self._crowd.http)):
                    self._crowd.begin(self._keep_asking(channel))
                failed_requests = await channel.lost
                self._kept.remove(channel)
                if not failed_requests and not self._load.once:
                    self._add(time.monotonic(), "closed")
            if self._load.once:
                return
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _connect(self, source: str, due: float) -> _Channel | None:
        try:
            return await self._crowd.connect(source)
        except OSError as fault:
            self._add(due, f"not connected: {type(fault).__name__}")
            return None

    async def _keep_asking(self, channel: _Channel) -> None:
        number, is_retry = next(self._numbers), False
        while not channel.lost.done() and self._sent < MOST_REQUESTS and self._crowd.resumed.is_set():
            retry_after = await self._ask(channel, number, time.monotonic(), is_retry=is_retry)
            is_retry = retry_after is not None
            if retry_after is not None:
                await asyncio.sleep(retry_after)
            elif self._load.once:
                return
            else:
                number = next(self._numbers)

    async def _send_at_times(self) -> None:
        """The first request is at a random time, so that clients do not send together."""
        load = self._load
        while self.starts:
            await asyncio.sleep(_POLL_SECONDS)
        while load.interval is not None or self._sent < MOST_REQUESTS:
            await self._crowd.resumed.wait()
            due = time.monotonic() + self._random.uniform(0, load.interval or 0)
            while self._crowd.resumed.is_set() and (load.interval is not None or self._sent < MOST_REQUESTS):
                await asyncio.sleep(due - time.monotonic())
                if self._crowd.resumed.is_set():
                    self._crowd.begin(self._ask_once(next(self._numbers), due))
                due += load.interval or self._random.expovariate(load.rate or 1.0)

    async def _ask_once(self, number: int, due: float, *, is_retry: bool = False) -> None:
        """On a connection with room."""
        channel = self._free_channel()
        if not channel and self._connects_on_demand and self._in_flight < _MOST_CONNECTIONS:
            channel = await self._connect(self._load.source, due)
        elif not channel:
            self._add(due, NOT_SENT)
        if not channel:
            return
        self._in_flight += 1
        retry_after = await self._ask(channel, number, due, is_retry=is_retry)
        self._in_flight -= 1
        if self._load.fresh:
            channel.transport.abort()
        elif self._connects_on_demand:
            self._idle.append(channel)
        if retry_after is not None and len(self._crowd.traffic.retry_after) % _RETRIED_OF_OPEN_LOOP == 1:
            await asyncio.sleep(retry_after)
            await self._ask_once(number, time.monotonic(), is_retry=True)

    def _free_channel(self) -> _Channel | None:
        while self._idle:
            channel = self._idle.popleft()
            if not channel.lost.done():
                return channel
        for _ in range(len(self._kept)):
            self._kept.rotate(-1)
            if self._load.interval is not None or self._kept[-1].transport.get_write_buffer_size() < _MOST_UNSENT_BYTES:
                return self._kept[-1]
        return None

    async def _ask(self, channel: _Channel, number: int, due: float, *, is_retry: bool = False) -> int | None:
        """Sends a request and notes what comes of it. Returns Retry-After if the request is refused and may be sent again."""
        crowd, traffic = self._crowd, self._crowd.traffic
        request_id = next(crowd.ids)
        self._sent += 1
        traffic.sent += 1
        traffic.retries += is_retry
        pending = crowd.pending[request_id] = _Pending(channel, self._load.kind, due, is_retry)
        response = None
        try:
            if channel.lost.done():
                raise ConnectionError
            channel.ask(request_id, self._bodies[number].message(request_id, f"{os.getpid()}-{request_id}"))
            async with asyncio.timeout_at(due + self._load.patience if self._load.patience is not None else None):
                response = await pending.response
            is_same = response.reason or crowd.results.setdefault(number, response.result) == response.result
            outcome = response.reason or (OK if is_same else OTHER_BITS)
        except TimeoutError:
            outcome = NO_REPLY
        except OSError as fault:
            outcome = _what(fault)
        del crowd.pending[request_id]
        self._add(due, outcome, response and response.phases)
        if not response or response.code not in _REFUSALS:
            traffic.retries_admitted += is_retry and response is not None
            return None
        traffic.retry_after.append(_RETRY_SECONDS if response.retry_after is None else response.retry_after)
        return traffic.retry_after[-1] if self._load.obeys else None

    def _add(self, due: float, outcome: str, phases: Phases | None = None) -> None:
        self._crowd.add(self._load.kind, due, outcome, phases)


async def _note_delays(crowd: _Crowd) -> None:
    while True:
        due = time.monotonic() + _SLEEP_SECONDS
        await asyncio.sleep(_SLEEP_SECONDS)
        crowd.traffic.delays.append((due, 1000 * (time.monotonic() - due)))


async def _send_pieces(crowd: _Crowd, raw: Raw) -> None:
    counts = crowd.traffic.counts
    while True:
        try:
            channel = await crowd.connect()
            counts["connections"] += 1
            try:
                await _send_all(channel, raw, counts)
            finally:
                channel.transport.abort()
        except TimeoutError:
            counts["blocked"] += 1
        except OSError as fault:
            counts[_what(fault)] += 1
            await asyncio.sleep(_RECONNECT_SECONDS)
        await asyncio.sleep(raw.pause)


async def _send_all(channel: _Channel, raw: Raw, counts: Counter[str]) -> None:
    if raw.wait is None:
        channel.transport.pause_reading()
    for piece in raw.pieces():
        channel.transport.write(piece)
        counts["pieces"] += 1
        await asyncio.sleep(0)  # So that a lost connection is noticed even if all is always written at once.
        async with asyncio.timeout(_SEND_SECONDS):
            await channel.writable.wait()
        if raw.wait is not None:
            await asyncio.wait([channel.lost], timeout=raw.wait)
        if channel.lost.done():
            raise ConnectionError
