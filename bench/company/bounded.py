"""Measures polite clients on both transports, and probes, beside an abuse with a bound."""
from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from bench.company import cores, wire
from bench.company.bodies import Body
from bench.company.bounded_cases import BoundedCase
from bench.company.clients import Clients
from bench.company.load import NO_REPLY, OK, PROBE_SOURCE, Load, Sample, Seen
from bench.company.measure import wait_until_served
from bench.company.report import SLOW_PERCENT, count_text, delays_text, slowest_phases
from bench.company.side import Build, Settings, Side, Unanswered, started
from bench.passes.tables import table

_RANKS = 1  # More would take turns on the CPU.
_PROBES = ("/health", "/ready")
_OWN_PORT = ", own port"  # Of a probe at --health-port.
_PROBE_INTERVAL = 0.2
_PROBE_MS, _PROBE_MOST_MS = 100.0, 1000.0  # Their p99, and all of them, are wanted to be below.
_WARM_UP_SECONDS = 2.5  # In which each polite request is sent once, so that its prompt is in the cache.
_RAMP_SECONDS = 2.0  # From the start of the company to the measurement.
_POLITE_TOKENS = 64
_INTERVAL_TIMES, _LEAST_INTERVAL, _MOST_INTERVAL = 10, 0.05, 0.5  # As beside heavy clients.


@dataclass
class BoundedFigures:
    case: str
    title: str
    build: str
    wanted_ms: dict[str, float] = field(default_factory=dict)  # Of polite requests, by transport.
    alone: dict[str, list[Sample]] = field(default_factory=dict)
    beside: dict[str, list[Sample]] = field(default_factory=dict)
    probes: dict[str, list[Sample]] = field(default_factory=dict)  # Alone, beside the company, and after it.
    delays: dict[str, list[float]] = field(default_factory=dict)  # Milliseconds, of the polite clients' processes.
    begin_mib: float = 0.0
    peak_mib: float = 0.0
    end_mib: float = 0.0
    company: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def polite_holds(self, transport: str) -> bool:
        """Refusals and requests without a reply are taken for slower than any other."""
        samples = self.beside[transport]
        late = [s for s in samples if s.outcome != OK or s.ms > self.wanted_ms[transport]]
        return bool(samples) and len(late) <= 0.05 * len(samples)

    def probes_hold(self, phase: str, path: str) -> bool:
        samples = [s for s in self.probes[phase] if s.kind == path]
        over = [s for s in samples if s.outcome != OK or s.ms > _PROBE_MS]
        return (bool(samples) and len(over) <= 0.01 * len(samples)
                and all(s.outcome == OK and s.ms <= _PROBE_MOST_MS for s in samples))

    def holds(self) -> bool:
        return (all(map(self.polite_holds, self.beside))
                and all(self.probes_hold(phase, path) for phase in ("beside", "after") for path in self._judged()))

    def paths(self) -> list[str]:
        """Of the probes."""
        return sorted({s.kind for samples in self.probes.values() for s in samples})

    def _judged(self) -> list[str]:
        """If there is a port for probes only, that is the one to ask."""
        own = [path for path in self.paths() if path.endswith(_OWN_PORT)]
        return own or list(_PROBES)


def measure_bounded(settings: Settings, case: BoundedCase, _: str) -> list[BoundedFigures]:
    where = cores.split(os.sched_getaffinity(0))
    settings = replace(settings, ranks=_RANKS)
    figures = []
    with cores.clients_on(where), cores.busy(where, case.busy_loops):
        for build in settings.builds:
            figures.append(_measure(settings, build, case, where))
    return figures


def _measure(settings: Settings, build: Build, case: BoundedCase, where: cores.Cores) -> BoundedFigures:
    figures = BoundedFigures(case.name, case.title, build.name)
    with ExitStack() as stack:
        http = stack.enter_context(started(settings, build, case, True, where.service))
        service = http.service
        sides = (http, Side(settings, build, service, http.model, False))
        polite = {side.transport: stack.enter_context(_polite_clients(settings, case, side)) for side in sides}
        probes = [stack.enter_context(_probes(settings, http.address, ""))]
        if service.health_address:
            probes.append(stack.enter_context(_probes(settings, service.health_address, _OWN_PORT)))
        bound_ms = 1000 * http.bound_seconds() if case.is_work else 0.0
        time.sleep(_WARM_UP_SECONDS)
        spans: dict[str, list[tuple[float, float]]] = {"alone": [], "beside": [], "after": []}
        for _ in range(settings.rounds):
            spans["alone"].append(_span(settings.seconds / 2))
            figures.begin_mib = figures.begin_mib or service.resident_mib()
            service.reset_peak()
            with ExitStack() as running:
                company, _ = http.start_company(running, case.company, is_hostile=True)
                time.sleep(_RAMP_SECONDS)
                spans["beside"].append(_span(max(settings.seconds, case.least_seconds)))
                for each in company:
                    figures.company += each.stop().outcomes()
            left = time.monotonic()
            time.sleep(case.after_seconds)
            for transport, clients in polite.items():
                kinds = {sample.kind for sample in clients.seen(0.0)}
                unserved = wait_until_served(clients, sorted(kinds), left, settings.limit) if service.runs() else []
                if unserved:
                    figures.notes.append(f"{transport}: no reply for {settings.limit:.0f} s after the company had left")
            spans["after"].append((left, time.monotonic()))
            figures.peak_mib = max(figures.peak_mib, service.peak_mib())
        figures.end_mib = service.resident_mib()
        for transport, clients in polite.items():
            traffic = clients.stop(settings.patience)
            figures.alone[transport] = _within(traffic.samples, spans["alone"])
            figures.beside[transport] = _within(traffic.samples, spans["beside"])
            figures.delays[transport] = [ms for at, ms in traffic.delays if _is_in(at, spans["beside"])]
            own = Seen(figures.alone[transport]).percentile(50)
            if not own:
                raise Unanswered(f"no reply to a polite client alone, {transport}")
            figures.wanted_ms[transport] = case.wanted_ms(own[0], bound_ms)
        samples = [sample for each in probes for sample in each.stop(settings.patience).samples]
        figures.probes = {phase: _within(samples, within) for phase, within in spans.items()}
        if not service.runs():
            figures.notes.append(f"the service ended: {service.last_log_line()}")
    return figures


def _polite_clients(settings: Settings, case: BoundedCase, side: Side) -> Clients:
    own = side.seconds_alone(side.maker.score(_POLITE_TOKENS - 2)) if case.is_work else 0.0
    interval = min(_MOST_INTERVAL, max(_LEAST_INTERVAL, _INTERVAL_TIMES * own))
    return side.start(*case.polite(side.http, interval, _POLITE_TOKENS, settings.patience))


def _probes(settings: Settings, address: wire.Address, suffix: str) -> Clients:
    loads = []
    for path in _PROBES:
        body = Body(wire.get(path))
        loads.append((Load(lambda *_, body=body: body, kind=path + suffix, source=PROBE_SOURCE, obeys=False,
                           interval=_PROBE_INTERVAL, fresh=True, patience=settings.patience), [body]))
    return Clients(address, True, loads)


def _span(seconds: float) -> tuple[float, float]:
    begin = time.monotonic()
    time.sleep(seconds)
    return begin, time.monotonic()


def _is_in(at: float, spans: Iterable[tuple[float, float]]) -> bool:
    return any(begin <= at < end for begin, end in spans)


def _within(samples: Iterable[Sample], spans: Sequence[tuple[float, float]]) -> list[Sample]:
    return [sample for sample in samples if _is_in(sample.due, spans)]


def _times(samples: Iterable[Sample], percents: Sequence[float]) -> list[str]:
    seen = Seen(samples)
    found = [seen.percentile(percent) for percent in percents]
    return [">" * (each[1] == NO_REPLY) + f"{each[0]:.1f}" if each else "" for each in found]


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def markdown(all_figures: Sequence[BoundedFigures]) -> str:
    polite, probes, service = [], [], []
    for f in all_figures:
        for transport, beside in f.beside.items():
            seen, alone = Seen(beside), _times(f.alone[transport], (50, 95))
            own, late = Seen(f.alone[transport]).percentile(95), seen.percentile(95)
            delays = f.delays[transport]
            polite.append([f.title, transport, f.build, *alone, *_times(beside, (50, 95, 100)),
                           f"{late[0] / own[0]:.1f}" if own and late else "", f"{f.wanted_ms[transport]:.0f}",
                           _yes(f.polite_holds(transport)), f"{seen.failures.total()} of {seen.count}"
                           + (f": {count_text(seen.failures)}" if seen.failures else ""), slowest_phases(beside),
                           delays_text(delays)])
        for path in f.paths():
            cells = [f.title, path, f.build]
            for phase, samples in f.probes.items():
                chosen = [s for s in samples if s.kind == path]
                failures = Seen(chosen).failures
                cells.append(" ".join(_times(chosen, (50, 99, 100))) + (f"; {count_text(failures)}" if failures else ""))
            probes.append([*cells, *(_yes(f.probes_hold(phase, path)) for phase in ("beside", "after"))])
        service.append([f.title, f.build, f"{f.begin_mib:.0f}", f"{f.peak_mib:.0f}", f"{f.end_mib:.0f}", count_text(f.company),
                        "; ".join(f.notes)])
    return "\n\n".join([
        table(["abuse", "polite, on", "build", "alone: p50, ms", "p95", "beside: p50, ms", "p95", "most", "p95 / alone", "wanted p95",
               "holds", "failures", f"slowest {SLOW_PERCENT} %: ms", "own delay: p99, most, ms"], polite),
        table(["abuse", "probe", "build", "alone: p50 p99 most, ms", "beside", "after", "holds beside", "after"], probes),
        table(["abuse", "build", "MiB at first", "peak", "at the end", "replies", "notes"], service),
        cores.split(os.sched_getaffinity(0)).note()])
