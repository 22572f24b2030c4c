"""Polite clients, alone and in company."""
from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from bench.company.cases import OPEN_LOOP_CONNECTIONS, Case, Company
from bench.company.clients import MOST_REQUESTS, Clients
from bench.company.load import DEADLINE_PASSED, OK, Load, Sample, Seen, Traffic
from bench.company.metrics import next_pass_end
from bench.company.probes import Probe, ProbeFigures, ProbeSubject
from bench.company.side import Settings, Side, started, wanted

_WARM_UP_SECONDS = 1.0
_RAMP_SECONDS = 0.5  # From the start of heavy clients to the measurement.
_END_SECONDS = 1.0  # From the start of the company to the signal, and from the service's end to the last reply.
_LATE_SECONDS = 5.0  # If polite clients wait for longer when the company has left, a note says so.
_INTERVAL_TIMES = 10  # A polite client beside heavy ones asks for a tenth of the service.
_LEAST_INTERVAL, _MOST_INTERVAL = 0.05, 0.5
_PASS_SECONDS = 10.0  # For which a pass is waited for.


@dataclass
class Phase:
    """A time with company."""

    traffic: Traffic = field(default_factory=Traffic)  # Of the company.
    rows_per_second: float | None = None  # Of the service.
    pass_ms: float | None = None  # Mean time of a pass.


@dataclass
class Round:
    beside: Phase
    after_mib: float | None  # Resident memory of all ranks when polite clients are served again, if they are.
    peak: Phase | None = None  # Heavy clients without the polite one.
    bound_ms: float | None = None  # Of a pass.
    alone: list[Sample] = field(default_factory=list)  # Of polite clients.
    polite: list[Sample] = field(default_factory=list)  # Of them, beside the company.

    def over_wanted(self) -> float | None:
        alone, polite = Seen(self.alone).percentile(50), Seen(self.polite).percentile(99)
        return polite[0] / wanted(alone[0], self.bound_ms) if alone and polite and self.bound_ms else None

    def goodput(self) -> float | None:
        """As a share of the peak."""
        rows, peak = self.beside.rows_per_second, self.peak.rows_per_second if self.peak else None
        return rows / peak if rows is not None and peak else None


@dataclass
class Figures:
    case: str
    title: str
    transport: str
    build: str
    begin_mib: float | None = None
    peak_mib: float = 0.0
    rounds: list[Round] = field(default_factory=list)
    end: Traffic | None = None  # Of the company that was there when the service got a signal.
    end_seconds: float | None = None  # From the signal to the service's end.
    end_limit: float | None = None  # If it had not ended by then.
    notes: list[str] = field(default_factory=list)


class _Subject:
    """A side, its polite clients and its figures."""

    def __init__(self, stack: ExitStack, side: Side, case: Case, own: float) -> None:
        """`own`: seconds of a polite request alone, which say how often it is sent beside heavy clients."""
        self._side = side
        self._service = side.service
        self._settings = side.settings
        self._case = case
        self.figures = Figures(case.name, side.title(case.title), side.transport, side.build.name)
        interval = min(_MOST_INTERVAL, max(_LEAST_INTERVAL, _INTERVAL_TIMES * own))
        self._polite = stack.enter_context(side.polite_clients(case, interval))
        self._spans: list[tuple[tuple[float, float], ...]] = []  # Of a round: alone, beside the company, after it.
        time.sleep(_WARM_UP_SECONDS)
        self._polite.pause()

    def measure(self) -> None:
        """A round, without what polite clients saw."""
        if not self._service.runs() or not self._case.polite:
            return
        self._polite.resume()
        begin = time.monotonic()
        time.sleep(self._settings.seconds if self._case.is_heavy else self._settings.seconds / 2)
        alone = begin, time.monotonic()
        self._note_beginning()
        company = self._case.company
        bound_ms = peak = None
        if self._case.is_heavy:
            bound_ms = 1000 * self._side.bound_seconds()
            self._polite.pause()
            peak = self._beside(company, with_polite=False)[0]
        if peak and self._case.overload:
            capacity = max(1.0, (peak.rows_per_second or 0.0) / company[0].body(self._side.maker, 0).tokens)
            company = [replace(company[0], rate=self._case.overload * capacity,
                               connections=None if self._side.http else OPEN_LOOP_CONNECTIONS)]
        beside, *spans = self._beside(company)
        self._spans.append((alone, *spans))
        self.figures.rounds.append(Round(beside, self._service.resident_mib() or None, peak, bound_ms))

    def finish(self) -> Figures:
        samples = self._polite.stop(1.0).samples
        after_it: list[Sample] = []
        for measured, spans in zip(self.figures.rounds, self._spans):
            measured.alone, measured.polite, after = ([s for s in samples if begin <= s.due < end] for begin, end in spans)
            after_it += after
        if self._case.timeout_ms:
            passed = sorted(s.ms for each in self.figures.rounds for s in each.polite if s.outcome == DEADLINE_PASSED)
            after = Seen(after_it)
            middle = after.percentile(50)
            if passed:
                self._note(f"504 to {len(passed)} requests after {passed[len(passed) // 2]:.0f} ms (median), "
                           f"{passed[-1]:.0f} ms (most)")
            self._note(f"after it: p50 {middle[0] if middle else 0:.1f} ms, {after.failures.total()} failures")
        if self._case.end is not None and self._service.runs():
            self._end()
        return self.figures

    def _note(self, note: str) -> None:
        if note not in self.figures.notes:
            self.figures.notes.append(note)

    def _note_beginning(self) -> None:
        if self.figures.begin_mib is None:
            self.figures.begin_mib = self._service.resident_mib()
            self._service.reset_peak()

    def _note_peak(self) -> None:
        self.figures.peak_mib = max(self.figures.peak_mib, self._service.peak_mib())

    def _beside(self, company: Sequence[Company], *, with_polite: bool = True) -> tuple[Phase, tuple[float, float], tuple[float, float]]:
        """Also returns when polite clients were beside the company, and when it had left."""
        phase = Phase()
        with ExitStack() as stack:
            clients, notes = self._side.start_company(stack, company)
            before = None
            if self._case.is_heavy:
                time.sleep(_RAMP_SECONDS)
                before = next_pass_end(self._service, _PASS_SECONDS)
            if with_polite:
                self._polite.resume()
            begin = time.monotonic()
            code = self._service.wait(self._settings.limit if self._case.ends_itself else self._settings.seconds)
            ended = time.monotonic()
            if before and code is None:
                _note_rates(phase, before, next_pass_end(self._service, _PASS_SECONDS))
            for each in clients:
                phase.traffic.add(each.stop())
        if code is not None:
            self._note(f"the service ended after {ended - begin:.1f} s with code {code}: {self._service.last_log_line()}")
        elif self._case.ends_itself:
            self._note(f"not noticed in {self._settings.limit:.0f} s")
        for note in notes:
            self._note(note)
        left = time.monotonic()
        self._polite.resume()
        self._wait_until_served(left)
        self._polite.pause()
        self._note_peak()
        if self._case.is_heavy and phase.traffic.sent >= MOST_REQUESTS:
            self._note(f"the heavy clients stopped after {MOST_REQUESTS} requests")
        return phase, (begin, left), (left, time.monotonic())

    def _wait_until_served(self, since: float) -> None:
        kinds = [""] if self._case.is_heavy else self._case.polite
        unserved = wait_until_served(self._polite, kinds, since, self._settings.limit) if self._service.runs() else []
        if unserved:
            self._note(f"for {self._settings.limit:.0f} s after it, no reply to polite clients " + ", ".join(unserved))
        elif time.monotonic() > since + _LATE_SECONDS:
            self._note(f"polite clients waited for {time.monotonic() - since:.0f} s after it")

    def _end(self) -> None:
        """Signals the service amid the company, and measures the time until its end."""
        assert self._case.end is not None
        figures = self.figures
        self._note_beginning()
        figures.end = Traffic()
        with ExitStack() as stack:
            clients, _ = self._side.start_company(stack, self._case.company)
            time.sleep(_END_SECONDS)
            self._note_peak()
            begin = time.monotonic()
            self._service.signal(self._case.end)
            code = self._service.wait(self._settings.limit)
            if code is None:
                figures.end_limit = self._settings.limit
            else:
                figures.end_seconds = time.monotonic() - begin
                self._note(f"exit code {code}" + (f": {self._service.last_log_line()}" if code else ""))
            for each in clients:
                figures.end.add(each.stop(_END_SECONDS))


def _note_rates(phase: Phase, before: tuple[float, dict[str, float]], after: tuple[float, dict[str, float]]) -> None:
    passes, rows, seconds = (after[1][name] - before[1][name] for name in
                             ("scorecast_pass_seconds_count", "scorecast_pass_rows_sum", "scorecast_pass_seconds_sum"))
    phase.rows_per_second = rows / (after[0] - before[0])
    phase.pass_ms = 1000 * seconds / passes if passes else 0.0


def wait_until_served(polite: Clients, kinds: Sequence[str], since: float, limit: float) -> list[str]:
    """Waits until a request of each kind that was due since then has its response. Returns the kinds that have none in time."""
    while True:
        time.sleep(1)
        served = {sample.kind for sample in polite.seen(since) if sample.outcome == OK}
        unserved = [kind for kind in kinds if kind not in served]
        if not unserved or time.monotonic() > since + limit:
            return unserved


def measure(settings: Settings, case: Case | Probe, transport: str) -> list[Figures | ProbeFigures]:
    """The figures of each build. Their rounds take turns."""
    with ExitStack() as stack:
        sides = [stack.enter_context(started(settings, build, case, transport == "http")) for build in settings.builds]
        if "{tokens" in case.title:
            tokens = min(side.accepted_tokens() for side in sides)
            for side in sides:
                side.maker.long_tokens = tokens
        if isinstance(case, Probe):
            subjects = [ProbeSubject(side, case) for side in sides]
        else:
            # The same for all builds.
            own = max(side.seconds_alone(side.polite_body()) for side in sides) if case.is_heavy else 0.0
            subjects = [_Subject(stack, side, case, own) for side in sides]
        for number in range(settings.rounds):
            for subject in subjects[::-1] if number % 2 else subjects:
                subject.measure()
        return [subject.finish() for subject in subjects]
