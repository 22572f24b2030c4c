"""What is measured, what is wanted of it, and the tables."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.company.report import count_text
from bench.passes.tables import table
from bench.samples import percentile, spread

# What is wanted.
_RATIO = 0.97
_ADDED_MS = 0.3
_CPU_US = {"socket": 50, "HTTP": 120}


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"


@dataclass
class Throughput:
    """Of all replicas; one value for each round."""

    transport: str
    before: str = "front"  # What stands before the replicas.
    direct: list[float] = field(default_factory=list)  # Requests per second of both replicas together.
    through: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)  # That it takes for a request.
    failures: Counter[str] = field(default_factory=Counter)

    def ratios(self) -> list[float]:
        return [through / direct for through, direct in zip(self.through, self.direct)]

    def holds(self) -> bool:
        if self.before != "front":
            return True  # It is only there to be compared with.
        return median(self.ratios()) >= _RATIO and not self.failures


@dataclass
class Cpu:
    """What stands before a replica that answers at once; one value for each round."""

    transport: str
    before: str = "front"
    rate: list[float] = field(default_factory=list)  # Requests per second.
    cpu_us: list[float] = field(default_factory=list)  # That it takes for a request.
    failures: Counter[str] = field(default_factory=Counter)

    def holds(self) -> bool:
        return self.before != "front" or (median(self.cpu_us) <= _CPU_US[self.transport] and not self.failures)


@dataclass
class Latency:
    """Of one client, which asks one request after another."""

    transport: str
    direct_ms: list[float] = field(default_factory=list)  # Medians of the rounds.
    through_ms: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def added(self) -> list[float]:
        return [through - direct for through, direct in zip(self.through_ms, self.direct_ms)]

    def holds(self) -> bool:
        return median(self.added()) <= _ADDED_MS and not self.failures


@dataclass
class Survival:
    """Requests through the front while replicas come and go."""

    case: str
    transport: str
    events: int = 0
    requests: int = 0
    milliseconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    lost: int = 0  # Requests and attempts to connect of clients whose front was killed. They ask again.
    differences: int = 0  # Bodies of which a replica, asked directly, says something else than the front.

    def holds(self) -> bool:
        return self.requests > 0 and self.events > 0 and not self.failures and not self.differences


@dataclass
class Hog:
    """A polite client, alone and beside one that always has many requests in flight."""

    transport: str
    alone_ms: list[float] = field(default_factory=list)  # Of each request, as are the others.
    beside_ms: list[float] = field(default_factory=list)
    bound_ms: float = 0.0  # Of a pass.
    failures: Counter[str] = field(default_factory=Counter)

    def wanted_ms(self) -> float:
        """What a server's own fair queue keeps."""
        return 3 * (median(self.alone_ms) + self.bound_ms)

    def holds(self) -> bool:
        return bool(self.beside_ms) and percentile(self.beside_ms, 95) <= self.wanted_ms() and not self.failures


Figures = Throughput | Cpu | Latency | Survival | Hog


def _failures(found: Counter[str]) -> str:
    return count_text(found) or "0"


def _throughput_row(f: Throughput) -> list[str]:
    return [f.before, f.transport, spread(f.direct, 1), spread(f.through, 1), spread(f.ratios(), 3), spread(f.cpu_us, 1),
            _failures(f.failures), _verdict(f.holds()) if f.before == "front" else ""]


def _cpu_row(f: Cpu) -> list[str]:
    return [f.before, f.transport, spread(f.rate, 0), spread(f.cpu_us, 1), _failures(f.failures),
            _verdict(f.holds()) if f.before == "front" else ""]


def _latency_row(f: Latency) -> list[str]:
    return [f.transport, spread(f.direct_ms, 2), spread(f.through_ms, 2), spread(f.added(), 3), _failures(f.failures),
            _verdict(f.holds())]


def _survival_row(f: Survival) -> list[str]:
    times = [f"{percentile(f.milliseconds, percent):.0f}" for percent in (50, 99, 100)] if f.milliseconds else [""] * 3
    return [f.case, f.transport, str(f.events), str(f.requests), *times, _failures(f.failures), str(f.lost),
            str(f.differences), _verdict(f.holds())]


def _hog_row(f: Hog) -> list[str]:
    return [f.transport, f"{percentile(f.alone_ms, 50):.1f}", f"{percentile(f.alone_ms, 95):.1f}",
            f"{percentile(f.beside_ms, 50):.1f}", f"{percentile(f.beside_ms, 95):.1f}", f"{f.wanted_ms():.1f}",
            _failures(f.failures), _verdict(f.holds())]


_TABLES = [
    (Throughput, _throughput_row, ["before the replicas", "transport", "asked directly, requests/s", "through it", "/ directly",
                                   "its CPU of a request, us", "failures", "as wanted"]),
    (Cpu, _cpu_row, ["before a replica that answers at once", "transport", "requests/s", "its CPU of a request, us", "failures",
                     "as wanted"]),
    (Latency, _latency_row, ["transport", "asked directly: p50, ms", "through the front", "added, ms", "failures", "as wanted"]),
    (Survival, _survival_row, ["case", "transport", "times", "requests", "p50, ms", "p99", "most", "failures", "lost with a front",
                               "other bits", "as wanted"]),
    (Hog, _hog_row, ["transport", "alone: p50, ms", "p95", "beside the hog: p50, ms", "p95", "wanted p95", "failures",
                     "as wanted"]),
]


def markdown(results: Sequence[Figures]) -> str:
    tables = []
    for kind, row, header in _TABLES:
        rows = [row(each) for each in results if isinstance(each, kind)]
        if rows:
            tables.append(table(header, rows))
    return "\n\n".join(tables)
