"""The results as Markdown tables and as JSON."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from statistics import median
from typing import Any

from bench.fairness.load import Traffic
from bench.fairness.measure import Figures, Round
from bench.fairness.probing import ProbeFigures
from bench.passes.tables import table
from bench.samples import percentile, spread


def _spread(values: Iterable[float | None], digits: int) -> str:
    """Of the rounds that have a value."""
    known = [value for value in values if value is not None]
    return spread(known, digits) if known else ""


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.most_common())


def _traffic(rounds: Sequence[Round]) -> Traffic:
    """Of the heavy clients beside the polite one, in all rounds."""
    total = Traffic()
    for each in rounds:
        total.add(each.beside.traffic)
    return total


def _polite_row(f: Figures) -> list[str]:
    failures: Counter[str] = sum((r.polite.failures for r in f.rounds), Counter())
    requests = sum(r.polite.count for r in f.rounds)
    failed = f"{failures.total()} of {requests}" + (f": {_counts(failures)}" if failures else "")
    return [f.title, f.transport, f.build, _spread((r.alone.p50_ms for r in f.rounds), 1),
            _spread((r.alone.p99_ms for r in f.rounds), 1), _spread((r.polite.p50_ms for r in f.rounds), 1),
            _spread((r.polite.p99_ms for r in f.rounds), 1), failed, _spread((r.bound_ms for r in f.rounds), 0),
            _spread((r.beside.pass_ms for r in f.rounds), 0), _spread((r.over_wanted() for r in f.rounds), 2)]


def _heavy_row(f: Figures) -> list[str]:
    total = _traffic(f.rounds)
    admitted = f"{total.retries_admitted} of {total.retries}" if total.retries else ""
    times = [f"{percentile(total.seconds, percent):.2f}" if total.seconds else "" for percent in (50, 99)]
    seen = [_counts(total.outcomes), f"{total.pending} without a reply" if total.pending else "",
            f"{total.unsent} not sent" if total.unsent else "", *f.notes]
    return [f.title, f.transport, f.build, _spread((r.peak.rows_per_second for r in f.rounds), 0),
            _spread((r.beside.rows_per_second for r in f.rounds), 0), _spread((r.goodput() for r in f.rounds), 3),
            *times, f"{100 * total.refused_share():.0f} %",
            f"{median(total.retry_after):.0f}" if total.retry_after else "", admitted,
            f"{f.begin_mib:.0f}", f"{f.rounds[0].after_mib:.0f}", f"{f.rounds[-1].after_mib:.0f}", f"{f.peak_mib:.0f}",
            "; ".join(part for part in seen if part)]


def _gap_rows(f: Figures) -> list[list[str]]:
    rows = []
    for what, heavy in (("alone", [r.peak for r in f.rounds]), ("beside the polite client", [r.beside for r in f.rounds])):
        gaps = [[1000 * gap for gap in h.traffic.gaps] for h in heavy]
        if all(gaps):
            largest = [max(each) for each in gaps]
            rows.append([f"{f.title}, {what}", f.transport, f.build, _spread((percentile(each, 50) for each in gaps), 1),
                         _spread((percentile(each, 99) for each in gaps), 1), _spread(largest, 1),
                         _spread((gap / r.bound_ms for gap, r in zip(largest, f.rounds)), 2),
                         _spread((gap / h.pass_ms if h.pass_ms else None for gap, h in zip(largest, heavy)), 2)])
    return rows


def _probe_row(f: ProbeFigures) -> list[str]:
    return [f.title, f.transport, f.build, _spread(f.alone_ms, 1), _spread(f.beside_ms, 1), f"{f.bound_ms:.0f}",
            _spread(f.over_bound(), 2), _spread(f.over_wanted(), 2), _counts(f.failures)]


def markdown(figures: Sequence[Figures], probes: Sequence[ProbeFigures]) -> str:
    parts = []
    if figures:
        parts.append(table(["heavy clients", "transport", "build", "polite alone: p50, ms", "p99", "beside them: p50, ms", "p99",
                            "failures", "bound of a pass, ms", "mean pass, ms", "p99 / wanted"], list(map(_polite_row, figures))))
        parts.append(table(["heavy clients", "transport", "build", "peak, rows/s", "beside the polite client", "/ peak",
                            "p50 of their requests, s", "p99", "refused", "Retry-After, s", "then admitted", "MiB at first",
                            "after a round", "at the end", "peak", "replies"], list(map(_heavy_row, figures))))
    gaps = [row for f in figures for row in _gap_rows(f)]
    if gaps:
        parts.append(table(["streams", "transport", "build", "gap: p50, ms", "p99", "largest", "/ bound of a pass", "/ mean pass"],
                           gaps))
    if probes:
        parts.append(table(["request", "transport", "build", "alone, ms", "beside, ms", "bound of a pass, ms", "/ bound",
                            "/ wanted", "failures"], list(map(_probe_row, probes))))
    return "\n\n".join(parts)


def document(figures: Sequence[Figures], probes: Sequence[ProbeFigures], about: dict[str, Any]) -> dict[str, Any]:
    return {"about": about, "cases": _plain(figures), "probes": _plain(probes)}


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value
