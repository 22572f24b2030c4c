"""A polite client beside heavy ones."""
from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from bench.abuse.abuse import ALONE, BESIDE, wait_until_served
from bench.abuse.polite import KEPT, PAUSED, REQUESTS, PoliteClients, Sample, latencies
from bench.fairness.bodies import Body
from bench.fairness.cases import Case
from bench.fairness.heavy import MOST_REQUESTS
from bench.fairness.load import Load, Traffic
from bench.fairness.metrics import next_pass_end
from bench.fairness.side import Settings, Side, started

_RAMP_SECONDS = 0.5  # From the start of heavy clients to the measurement.
_INTERVAL_TIMES = 10  # The polite client asks for a tenth of the service.
_LEAST_INTERVAL, _MOST_INTERVAL = 0.05, 0.5
_PASS_SECONDS = 10.0  # For which a pass is waited for.
_WANTED_TIMES = 3


def wanted(own: float, bound: float) -> float:
    """A request's time should be at most three times the sum of its own time and one bounded pass."""
    return _WANTED_TIMES * (own + bound)


@dataclass
class Polite:
    """The polite client in one phase."""

    p50_ms: float | None = None  # None: no request has got a reply, and none was given up.
    p99_ms: float | None = None
    failures: Counter[str] = field(default_factory=Counter)
    count: int = 0


@dataclass
class Heavy:
    """Heavy clients in one phase."""

    traffic: Traffic
    rows_per_second: float  # Of the service.
    pass_ms: float  # Mean time of a pass.


@dataclass
class Round:
    bound_ms: float
    peak: Heavy  # Without the polite client.
    beside: Heavy
    after_mib: float  # Resident memory of all ranks when nothing is left to compute.
    alone: Polite = field(default_factory=Polite)
    polite: Polite = field(default_factory=Polite)  # Beside the heavy clients.

    def over_wanted(self) -> float | None:
        if self.polite.p99_ms is None or self.alone.p50_ms is None:
            return None
        return self.polite.p99_ms / wanted(self.alone.p50_ms, self.bound_ms)

    def goodput(self) -> float | None:
        return self.beside.rows_per_second / self.peak.rows_per_second if self.peak.rows_per_second else None


@dataclass
class Figures:
    case: str
    title: str
    transport: str
    build: str
    begin_mib: float = 0.0
    peak_mib: float = 0.0
    rounds: list[Round] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _polite_body(side: Side) -> Body:
    return side.maker.score(side.settings.polite_tokens - 2, 2, 1)


class _PoliteRequests:
    """Requests that are never in the cache. Those with the same number have the same bits."""

    def __init__(self, side: Side) -> None:
        self.connection = side.connection
        self._bodies = [_polite_body(side) for _ in range(REQUESTS)]

    def message(self, request_id: int, number: int, is_long: bool) -> object:
        return self._bodies[number].message(request_id, f"polite-{request_id}")


class _Subject:
    """A side, its polite client and its figures."""

    def __init__(self, stack: ExitStack, side: Side, case: Case, own: float) -> None:
        """`own`: seconds of a polite request alone, which say how often it is sent."""
        self._side = side
        self._settings = side.settings
        self._case = case
        self.figures = Figures(case.name, case.title, side.transport, side.build.name)
        interval = min(_MOST_INTERVAL, max(_LEAST_INTERVAL, _INTERVAL_TIMES * own))
        # HTTP computes the requests of a connection one after another, so there are enough connections for the time wanted.
        connections = math.ceil(wanted(own, side.bound_seconds()) / interval) if side.http else 1
        self._kinds = [f"{KEPT} {n}" for n in range(connections)]
        self._polite = stack.enter_context(PoliteClients(side.address, self._kinds, http=side.http, patience=self._settings.limit,
                                                         requests=_PoliteRequests(side), interval=interval * connections))
        self._polite.phase(PAUSED)
        self.figures.begin_mib = side.service.resident_mib()
        side.service.reset_peak()

    def measure(self, number: int) -> None:
        """A round, without what the polite client saw."""
        bound_ms = 1000 * self._side.bound_seconds()
        self._polite.phase(f"{ALONE} {number}")
        time.sleep(self._settings.seconds)
        self._polite.phase(PAUSED)
        load = self._case.load
        peak = self._beside(load, PAUSED, f"after the peak {number}")
        if self._case.overload:
            tokens = load.body(self._side.maker).tokens
            load = replace(load, rate=self._case.overload * max(1.0, peak.rows_per_second / tokens))
        beside = self._beside(load, f"{BESIDE} {number}", f"after it {number}")
        self.figures.rounds.append(Round(bound_ms, peak, beside, self._side.service.resident_mib()))

    def finish(self) -> Figures:
        self.figures.peak_mib = self._side.service.peak_mib()
        samples = self._polite.stop()
        for number, measured in enumerate(self.figures.rounds):
            measured.alone = self._seen(samples, f"{ALONE} {number}")
            measured.polite = self._seen(samples, f"{BESIDE} {number}")
        return self.figures

    def _seen(self, samples: Sequence[Sample], phase: str) -> Polite:
        seen = latencies(samples, phase, self._kinds)
        p50, p99 = (seen.percentile(share) for share in (0.5, 0.99))
        return Polite(p50 and p50.milliseconds, p99 and p99.milliseconds, seen.failures, seen.count)

    def _beside(self, load: Load, phase: str, after: str) -> Heavy:
        """The polite client is in `phase` while the heavy ones send, then in `after` until it is served again."""
        service = self._side.service
        heavy = self._side.start(load)
        try:
            time.sleep(_RAMP_SECONDS)
            begin = next_pass_end(service, _PASS_SECONDS)
            self._polite.phase(phase)
            time.sleep(self._settings.seconds)
            end = next_pass_end(service, _PASS_SECONDS)
            traffic = heavy.stop()
        finally:
            heavy.kill()
        self._polite.phase(after)
        if wait_until_served(self._polite, self._settings.limit):
            self.figures.notes.append(f"for {self._settings.limit:.0f} s after it, no reply to the polite client")
        self._polite.phase(PAUSED)
        if traffic.sent >= MOST_REQUESTS:
            self.figures.notes.append(f"the heavy clients stopped after {MOST_REQUESTS} requests")
        passes = end.passes - begin.passes
        return Heavy(traffic, (end.rows - begin.rows) / (end.at - begin.at),
                     1000 * (end.seconds - begin.seconds) / passes if passes else 0.0)


def measure(settings: Settings, case: Case, *, http: bool) -> list[Figures]:
    """The figures of each build. Their rounds take turns."""
    with ExitStack() as stack:
        sides = [stack.enter_context(started(settings, build, case.name, http)) for build in settings.builds]
        if case.uses_long_requests:
            case = case.with_long_requests(min(side.accepted_tokens() for side in sides))
        # The same for all builds.
        own = max(side.seconds_alone(_polite_body(side)) for side in sides)
        subjects = [_Subject(stack, side, case, own) for side in sides]
        for number in range(settings.rounds):
            for subject in subjects[::-1] if number % 2 else subjects:
                subject.measure(number)
        return [subject.finish() for subject in subjects]
