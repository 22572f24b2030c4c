"""Polite clients, in a process of their own, so that the hostile ones take no time of its interpreter."""
from __future__ import annotations

import multiprocessing
import os
import random
import select
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.abuse import http_wire, wire

# Clients of the kind KEPT send on one connection, FRESH connect for each request, LONG send messages of more than
# 64 KiB, which the service treats apart.
KEPT, FRESH, LONG = "kept", "fresh", "long"
_INTERVAL_SECONDS = {KEPT: 0.05, FRESH: 0.1, LONG: 0.25}
NO_REPLY, DEADLINE_PASSED = "no reply", "deadline_passed"
OTHER_BITS = "other bits"
PAUSED = "paused"  # A phase in which nothing is sent.
SOURCE = "127.0.0.2"  # Not that of the hostile clients.
REQUESTS = 20  # Different ones.
_PAUSE_SECONDS = 0.02
_LONG_BYTES = 100_000


@dataclass
class Sample:
    phase: str
    kind: str
    milliseconds: float
    outcome: str  # "ok", the reason of an error reply, or what happened instead of a reply.


@dataclass
class Latencies:
    """What polite clients saw in one phase."""

    timed: list[Sample]  # Sorted by time.
    failures: Counter[str]
    count: int

    def percentile(self, share: float) -> Sample | None:
        return self.timed[min(len(self.timed) - 1, int(share * len(self.timed)))] if self.timed else None


def latencies(samples: Sequence[Sample], phase: str, kinds: Sequence[str] = (KEPT, FRESH, LONG)) -> Latencies:
    chosen = [s for s in samples if s.phase == phase and s.kind in kinds]
    # A refusal may be fast, which would make the percentiles look better. The time of a request without a reply is that
    # until it was given up.
    timed = [s for s in chosen if s.outcome in ("ok", NO_REPLY, DEADLINE_PASSED)]
    return Latencies(sorted(timed, key=lambda s: s.milliseconds), Counter(s.outcome for s in chosen if s.outcome != "ok"),
                     len(chosen))


class Requests(Protocol):
    """What polite clients send."""

    connection: Any  # The class of their connections.

    def message(self, request_id: int, number: int, is_long: bool) -> Any:
        """The request with this number, which is below REQUESTS."""


class PoliteClients:
    """Clients of all kinds. They end with the `with` statement."""

    def __init__(self, address: tuple[str, int], kinds: Sequence[str] = (KEPT, FRESH, LONG), *, http: bool = False,
                 timeout_ms: int | None = None, patience: float = 30.0, requests: Requests | None = None,
                 interval: float | None = None) -> None:
        """A request that has no reply after `patience` seconds has failed. `http`: whether the address is that of HTTP.
        `requests`, `interval`: instead of tiny texts, and of the seconds between them."""
        self.kinds = kinds
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        requests = requests or (_HttpRequests(timeout_ms) if http else _SocketRequests(timeout_ms))
        intervals = _INTERVAL_SECONDS if interval is None else dict.fromkeys(kinds, interval)
        state = _State(address, intervals, {kind: {} for kind in kinds}, requests, patience)
        self._process = context.Process(target=_run, args=(other, state, kinds), daemon=True)
        self._process.start()
        other.close()

    def phase(self, name: str) -> None:
        """Requests from now on belong to this phase."""
        self._pipe.send(name)

    def recent(self, kind: str) -> list[Sample]:
        """The samples of the current phase so far."""
        self._pipe.send(("recent", kind))
        return self._pipe.recv()

    def stop(self, patience: float = 1) -> list[Sample]:
        """All samples. Requests that have no reply after `patience` seconds are given up."""
        self._pipe.send(("stop", patience))
        samples = self._pipe.recv()
        self._process.join(5)
        return samples

    def __enter__(self) -> PoliteClients:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()


class _SocketRequests:
    """The requests of polite clients as messages of the request socket."""

    connection = wire.Connection

    def __init__(self, timeout_ms: int | None) -> None:
        self._scores = [wire.score_request(*_question(number), timeout_ms=timeout_ms) for number in range(REQUESTS)]

    def message(self, request_id: int, number: int, is_long: bool) -> bytes:
        message = wire.request(request_id, score=self._scores[number])
        return message + wire.padding(_LONG_BYTES) if is_long else message


class _HttpRequests:
    """The same requests over HTTP."""

    connection = http_wire.Connection

    def __init__(self, timeout_ms: int | None) -> None:
        self._posts = {is_long: [http_wire.post(http_wire.body(*_question(number), timeout_ms=timeout_ms,
                                                               padding="x" * (_LONG_BYTES if is_long else 0)))
                                 for number in range(REQUESTS)] for is_long in (False, True)}

    def message(self, request_id: int, number: int, is_long: bool) -> http_wire.Message:
        return http_wire.Message(request_id, self._posts[is_long][number])


def _question(number: int) -> tuple[str, list[str], list[int]]:
    return f"Is {number} small?", [" yes", f" no, {number}"], [5, 7]


class _State:
    def __init__(self, address: tuple[str, int], intervals: dict[str, float], waiting: dict[str, dict[int, float]],
                 requests: Requests, patience: float) -> None:
        self.address = address
        self.patience = patience
        self.intervals = intervals
        self.phases: list[tuple[float, str]] = [(0, "")]  # Each with its beginning.
        self.samples: list[Sample] = []
        self.waiting = waiting  # When each request of a kind was due, by its number.
        self.gives_up_at: float | None = None
        self.expected: dict[int, bytes] = {}  # Results by the request's index: the first that came.
        self.requests = requests

    def connect(self) -> Any:
        return self.requests.connection(self.address, SOURCE, timeout=self.patience)

    def message(self, kind: str, number: int) -> Any:
        return self.requests.message(number + 1, number % REQUESTS, kind == LONG)

    def phase_at(self, when: float) -> str:
        return next(phase for begin, phase in reversed(self.phases) if begin <= when)

    def outcome(self, index: int, response: wire.Response) -> str:
        if response.reason:
            return response.reason
        return "ok" if self.expected.setdefault(index, response.result) == response.result else OTHER_BITS

    def add(self, kind: str, due: float, outcome: str) -> None:
        self.samples.append(Sample(self.phase_at(due), kind, 1000 * (time.monotonic() - due), outcome))

    def fail_all(self, kind: str, waiting: dict[int, float], outcome: str) -> None:
        for due in list(waiting.values()):
            self.add(kind, due, outcome)
        waiting.clear()

    def is_paused(self) -> bool:
        return self.phases[-1][1] == PAUSED

    def is_over(self) -> bool:
        return self.gives_up_at is not None


def _run(pipe: Any, state: _State, kinds: Sequence[str]) -> None:
    threads = {kind: threading.Thread(target=_fresh if kind == FRESH else _kept, args=(state, kind), daemon=True)
               for kind in kinds}
    for thread in threads.values():
        thread.start()
    while True:
        try:
            command = pipe.recv()
        except EOFError:
            os._exit(0)
        if isinstance(command, str):
            state.phases.append((time.monotonic(), command))
        elif command[0] == "recent":
            phase = state.phases[-1][1]
            pipe.send([s for s in list(state.samples) if s.phase == phase and s.kind == command[1]])
        else:
            state.gives_up_at = time.monotonic() + command[1]
            for thread in threads.values():
                thread.join(max(0.0, state.gives_up_at - time.monotonic()) + 0.5)
            for kind, waiting in state.waiting.items():
                state.fail_all(kind, waiting, NO_REPLY)
            pipe.send(list(state.samples))
            os._exit(0)


def _kept(state: _State, kind: str) -> None:
    """Sends at fixed times, whether earlier requests have got their replies or not. A stall of the service is therefore
    seen by every request that is due while it lasts. The first is at a random time, so that clients do not send together."""
    interval = state.intervals[kind]
    connection: Any = None
    waiting = state.waiting[kind]
    number = 0
    next_due = _first_due(interval)
    while not state.is_over() or (waiting and time.monotonic() < (state.gives_up_at or 0)):
        try:
            connection = connection or state.connect()
            if state.is_paused():
                next_due = _first_due(interval)
            if time.monotonic() >= next_due and not state.is_over():
                waiting[number] = next_due
                next_due += interval
                number += 1
                connection.send(state.message(kind, number - 1))
            if select.select([connection.socket], [], [], max(0.0, min(0.05, next_due - time.monotonic())))[0]:
                connection.read()
            while response := connection.buffered():
                index = response.request_id - 1
                if index < 0:  # The connection was refused.
                    state.fail_all(kind, waiting, response.reason)
                elif index in waiting:
                    state.add(kind, waiting.pop(index), state.outcome(index % REQUESTS, response))
        except OSError as fault:
            outcome = NO_REPLY if isinstance(fault, TimeoutError) else "closed" if connection else "not connected"
            if not waiting:
                state.add(kind, time.monotonic(), outcome)
            state.fail_all(kind, waiting, outcome)
            if connection:
                connection.close()
            connection = None
            time.sleep(0.2)
            next_due = time.monotonic()
        for late in [n for n, due in waiting.items() if time.monotonic() - due > state.patience]:
            state.add(kind, waiting.pop(late), NO_REPLY)


def _first_due(interval: float) -> float:
    return time.monotonic() + random.uniform(0, interval)


def _fresh(state: _State, kind: str) -> None:
    number = 0
    due = time.monotonic()
    while not state.is_over():
        if state.is_paused():
            time.sleep(_PAUSE_SECONDS)
            due = time.monotonic()
            continue
        outcome = "not connected"
        connection = None
        try:
            connection = state.connect()
            outcome = "closed"
            connection.socket.settimeout(0.1)
            connection.send(state.message(kind, number))
            outcome = _outcome_of(state, connection, number, due)
        except TimeoutError:
            outcome = NO_REPLY
        except OSError:
            pass
        finally:
            if connection:
                connection.close()
        state.add(kind, due, outcome)
        number += 1
        due = max(due + state.intervals[kind], time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def _outcome_of(state: _State, connection: Any, number: int, due: float) -> str:
    while True:
        try:
            return state.outcome(number % REQUESTS, connection.receive())
        except TimeoutError:
            now = time.monotonic()
            if now > due + state.patience or (state.gives_up_at is not None and now > state.gives_up_at):
                return NO_REPLY
