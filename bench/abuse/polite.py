"""Polite clients, in a process of their own, so that the hostile ones take no time of its interpreter."""
from __future__ import annotations

import multiprocessing
import os
import select
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.abuse import wire

# A request that has no reply for so long has failed.
PATIENCE_SECONDS = 30.0
# Clients of the kind KEPT send on one connection, FRESH connect for each request, LONG send messages of more than
# 64 KiB, which the service treats apart.
KEPT, FRESH, LONG = "kept", "fresh", "long"
_INTERVAL_SECONDS = {KEPT: 0.05, FRESH: 0.1, LONG: 0.25}
_LONG_BYTES = 100_000
_REQUESTS = 20  # Different ones.


@dataclass
class Sample:
    phase: str
    kind: str
    milliseconds: float
    outcome: str  # "ok", "ok after its deadline", the reason of an error reply, or what happened to the connection.


@dataclass
class Latencies:
    """What polite clients saw in one phase."""

    answered_ms: list[float] = field(default_factory=list)  # Of all requests with any reply, sorted.
    all_ms: list[float] = field(default_factory=list)  # Also those without: the time until they were given up.
    failures: Counter[str] = field(default_factory=Counter)

    def percentile(self, share: float) -> float | None:
        return self.all_ms[min(len(self.all_ms) - 1, int(share * len(self.all_ms)))] if self.all_ms else None


def latencies(samples: Sequence[Sample], phase: str, kinds: Sequence[str]) -> Latencies:
    chosen = [s for s in samples if s.phase == phase and s.kind in kinds]
    failures = Counter(s.outcome for s in chosen if s.outcome != "ok")
    without = ("no reply", "closed", "not connected")
    # An error reply may be fast, which would make the percentiles look better, so only "no reply" counts of them.
    timed = [s for s in chosen if s.outcome in ("ok", "no reply", "deadline_passed")]
    return Latencies(sorted(s.milliseconds for s in timed if s.outcome not in without),
                     sorted(s.milliseconds for s in timed), failures)


class PoliteClients:
    """Clients of all kinds. They end with the `with` statement."""

    def __init__(self, address: tuple[str, int], kinds: Sequence[str] = (KEPT, FRESH, LONG), timeout_ms: int | None = None) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_run, args=(other, address, kinds, timeout_ms), daemon=True)
        self._process.start()
        other.close()

    def phase(self, name: str) -> None:
        """Requests from now on belong to this phase."""
        self._pipe.send(name)

    def recent(self, kind: str) -> list[Sample]:
        """The samples of the current phase so far."""
        self._pipe.send(("recent", kind))
        return self._pipe.recv()

    def stop(self, patience: float = 0) -> list[Sample]:
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


class _State:
    def __init__(self, address: tuple[str, int], timeout_ms: int | None) -> None:
        self.address = address
        self.phase = ""
        self.samples: list[Sample] = []
        self.gives_up_at: float | None = None
        self.expected: dict[int, bytes] = {}  # Results by the request's index: the first that came.
        self.messages = [wire.score_request(f"Is {number} small?", [" yes", f" no, {number}"], [5, 7], timeout_ms=timeout_ms)
                         for number in range(_REQUESTS)]

    def outcome(self, index: int, response: wire.Response) -> str:
        if response.reason:
            return response.reason
        return "ok" if self.expected.setdefault(index, response.result) == response.result else "other bits"

    def add(self, phase: str, kind: str, scheduled: float, outcome: str) -> None:
        self.samples.append(Sample(phase, kind, 1000 * (time.monotonic() - scheduled), outcome))

    def is_over(self) -> bool:
        return self.gives_up_at is not None


def _run(pipe: Any, address: tuple[str, int], kinds: Sequence[str], timeout_ms: int | None) -> None:
    state = _State(address, timeout_ms)
    threads = [threading.Thread(target=_fresh if kind == FRESH else _kept, args=(state, kind), daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    while True:
        try:
            command = pipe.recv()
        except EOFError:
            os._exit(0)
        if isinstance(command, str):
            state.phase = command
        elif command[0] == "recent":
            pipe.send([s for s in list(state.samples) if s.phase == state.phase and s.kind == command[1]])
        else:
            state.gives_up_at = time.monotonic() + command[1]
            for thread in threads:
                thread.join(command[1] + 2)
            pipe.send(list(state.samples))
            os._exit(0)


def _message(state: _State, kind: str, number: int) -> bytes:
    message = wire.request(number + 1, score=state.messages[number % _REQUESTS])
    return message + wire.padding(_LONG_BYTES) if kind == LONG else message


def _kept(state: _State, kind: str) -> None:
    """Sends at fixed times, whether earlier requests have got their replies or not. A stall of the service is therefore
    seen by every request that falls into it."""
    interval = _INTERVAL_SECONDS[kind]
    connection: wire.Connection | None = None
    waiting: dict[int, tuple[float, str]] = {}
    number = 0
    next_send = time.monotonic()
    while not state.is_over() or (waiting and time.monotonic() < (state.gives_up_at or 0)):
        now = time.monotonic()
        try:
            if connection is None:
                connection = wire.Connection(state.address, "127.0.0.2", timeout=PATIENCE_SECONDS)
            if now >= next_send and not state.is_over():
                # A large message may wait for room in the socket's buffers. Its time counts from when it was due.
                waiting[number] = (next_send, state.phase)
                number += 1
                connection.send(_message(state, kind, number - 1))
                next_send += interval
            if select.select([connection.socket], [], [], max(0.0, min(0.05, next_send - time.monotonic())))[0]:
                connection.read()
            while response := connection.buffered():
                if response.request_id == 0:  # The connection was refused.
                    _fail_all(state, kind, waiting, response.reason or "no id")
                elif response.request_id - 1 in waiting:
                    scheduled, phase = waiting.pop(response.request_id - 1)
                    state.add(phase, kind, scheduled, state.outcome((response.request_id - 1) % _REQUESTS, response))
        except OSError as fault:
            outcome = "no reply" if isinstance(fault, TimeoutError) else "closed" if connection else "not connected"
            if not waiting:
                state.add(state.phase, kind, now, outcome)
            _fail_all(state, kind, waiting, outcome)
            if connection:
                connection.close()
            connection = None
            time.sleep(0.2)
            next_send = time.monotonic()
        for late in [n for n, (scheduled, _) in waiting.items() if now - scheduled > PATIENCE_SECONDS]:
            scheduled, phase = waiting.pop(late)
            state.add(phase, kind, scheduled, "no reply")
    _fail_all(state, kind, waiting, "no reply")
    if connection:
        connection.close()


def _fail_all(state: _State, kind: str, waiting: dict[int, tuple[float, str]], outcome: str) -> None:
    for scheduled, phase in waiting.values():
        state.add(phase, kind, scheduled, outcome)
    waiting.clear()


def _fresh(state: _State, kind: str) -> None:
    number = 0
    next_send = time.monotonic()
    while not state.is_over():
        phase, outcome = state.phase, "not connected"
        connection = None
        try:
            connection = wire.Connection(state.address, "127.0.0.2", timeout=PATIENCE_SECONDS)
            outcome = "closed"
            connection.socket.settimeout(0.1)
            connection.send(_message(state, kind, number))
            outcome = _outcome_of(state, connection, number, next_send)
        except TimeoutError:
            outcome = "no reply"
        except OSError:
            pass
        finally:
            if connection:
                connection.close()
        state.add(phase, kind, next_send, outcome)
        number += 1
        next_send = max(next_send + _INTERVAL_SECONDS[kind], time.monotonic())
        time.sleep(max(0.0, next_send - time.monotonic()))


def _outcome_of(state: _State, connection: wire.Connection, number: int, since: float) -> str:
    while True:
        try:
            return state.outcome(number % _REQUESTS, connection.receive())
        except TimeoutError:
            now = time.monotonic()
            if now > since + PATIENCE_SECONDS or (state.gives_up_at is not None and now > state.gives_up_at):
                return "no reply"
