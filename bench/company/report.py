"""The results as Markdown tables."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from bench.company.cases import LONG
from bench.company.load import NO_REPLY, OK, Sample, Seen, Traffic
from bench.company.measure import Figures
from bench.company.probes import ProbeFigures
from bench.company.wire import Phases
from bench.passes.tables import table
from bench.samples import percentile, spread

_POLITE_COLUMNS = ["transport", "build", "polite alone: p50, ms", "p99", "beside them: p50, ms", "p99", "p50 / alone", "p99 / alone",
                   "failures", "bound of a pass, ms", "mean pass, ms", "p99 / wanted"]
_COMPANY_COLUMNS = ["transport", "build", "peak, rows/s", "beside the polite client", "/ peak", "p50 of their requests, s", "p99",
                    "refused", "Retry-After, s", "then admitted", "MiB at first", "after a round", "at the end", "peak", "drain, s",
                    "replies"]
_STREAM_COLUMNS = ["streams", "transport", "build", "gap: p50, ms", "p99", "largest", "/ bound of a pass", "/ mean pass"]
_PROBE_COLUMNS = ["request", "transport", "build", "alone, ms", "beside, ms", "bound of a pass, ms", "/ bound", "/ wanted", "failures"]
SLOW_PERCENT = 5  # The slowest requests, of which the phases are told.


def count_text(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.most_common())


def slowest_phases(samples: Iterable[Sample]) -> str:
    """Where the slowest requests spent their time, as a mean. Outside is what the service does not count."""
    timed = sorted((s for s in samples if s.outcome == OK and s.phases), key=lambda s: s.ms)
    slow = timed[-max(1, len(timed) * SLOW_PERCENT // 100):]
    if not slow:
        return ""
    means = [sum(values) / len(slow) for values in zip(*(s.phases for s in slow if s.phases))]
    outside = sum(s.ms for s in slow) / len(slow) - means[Phases._fields.index("total")]
    parts = [("outside", outside), *zip(Phases._fields, means)]
    return ", ".join(f"{name} {ms:.0f}" for name, ms in parts)


def delays_text(delays: Sequence[float]) -> str:
    """p99 and the largest."""
    return f"{percentile(delays, 99):.1f}, {max(delays):.1f}" if delays else ""


def _filled(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns that have no value, or nothing."""
    if not rows:
        return ""
    columns = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return table([header[i] for i in columns], [[row[i] for i in columns] for row in rows])


def _spread(values: Iterable[float | None], digits: int) -> str:
    """Of the rounds that have a value."""
    known = [value for value in values if value is not None]
    return spread(known, digits) if known else ""


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _polite_row(f: Figures, title: str, chosen: Sequence[tuple[Sequence[Sample], Sequence[Sample]]]) -> list[str]:
    """`chosen`: of each round, samples alone and beside the company."""
    rounds = [(Seen(alone), Seen(beside)) for alone, beside in chosen]
    failures: Counter[str] = sum((beside.failures for _, beside in rounds), Counter())
    failed = f"{failures.total()} of {sum(beside.count for _, beside in rounds)}" + (f": {count_text(failures)}" if failures else "")
    times, ratios = [], []
    for percent in (50, 99):
        found = [(alone.percentile(percent), beside.percentile(percent)) for alone, beside in rounds]
        for column in zip(*found):
            known = [each for each in column if each]
            times.append(">" * any(outcome == NO_REPLY for _, outcome in known) + _spread((ms for ms, _ in known), 1))
        ratios.append(_spread((beside[0] / alone[0] for alone, beside in found if alone and beside), 1))
    return [title, f.transport, f.build, times[0], times[2], times[1], times[3], *ratios, failed,
            _spread((r.bound_ms for r in f.rounds), 0), _spread((r.beside.pass_ms for r in f.rounds), 0),
            _spread((r.over_wanted() for r in f.rounds), 2)]


def _polite_rows(f: Figures) -> list[list[str]]:
    rows = []
    for suffix, is_long in (("", False), (", long messages", True)):
        chosen = [tuple([s for s in samples if (s.kind == LONG) == is_long] for samples in (r.alone, r.polite)) for r in f.rounds]
        if any(alone or beside for alone, beside in chosen):
            rows.append(_polite_row(f, f.title + suffix, chosen))
    return rows


def _company_row(f: Figures) -> list[str]:
    """Requests are those beside the polite client, in all rounds."""
    total = Traffic()
    for each in f.rounds:
        total.add(each.beside.traffic)
    seconds = total.seconds()
    drain = _number(f.end_seconds, 1) if f.end_limit is None else f"over {f.end_limit:.0f}"
    seen = [count_text(total.outcomes()), *f.notes]
    if f.end:
        ended = count_text(f.end.outcomes())
        seen.append(f"at the end: {ended}" if f.rounds and ended else ended)
    return [f.title, f.transport, f.build, _spread((r.peak and r.peak.rows_per_second for r in f.rounds), 0),
            _spread((r.beside.rows_per_second for r in f.rounds), 0), _spread((r.goodput() for r in f.rounds), 3),
            *(_number(percentile(seconds, percent), 2) if seconds else "" for percent in (50, 99)),
            f"{100 * total.refused_share():.0f} %" if total.sent else "",
            _number(median(total.retry_after) if total.retry_after else None),
            f"{total.retries_admitted} of {total.retries}" if total.retries else "", _number(f.begin_mib),
            *(_number(f.rounds[i].after_mib) if f.rounds else "" for i in (0, -1)), _number(f.peak_mib or None), drain,
            "; ".join(part for part in seen if part)]


def _gap_rows(f: Figures) -> list[list[str]]:
    rows = []
    for what, phases in (("alone", [r.peak for r in f.rounds]), ("beside the polite client", [r.beside for r in f.rounds])):
        gaps = [[1000 * gap for gap in phase.traffic.gaps] if phase else [] for phase in phases]
        if gaps and all(gaps):
            largest = [max(each) for each in gaps]
            rows.append([f"{f.title}, {what}", f.transport, f.build, _spread((percentile(each, 50) for each in gaps), 1),
                         _spread((percentile(each, 99) for each in gaps), 1), _spread(largest, 1),
                         _spread((r.bound_ms and gap / r.bound_ms for gap, r in zip(largest, f.rounds)), 2),
                         _spread((gap / p.pass_ms if p and p.pass_ms else None for gap, p in zip(largest, phases)), 2)])
    return rows


def _probe_row(f: ProbeFigures) -> list[str]:
    return [f.title, f.transport, f.build, _spread(f.alone_ms, 1), _spread(f.beside_ms, 1), f"{f.bound_ms:.0f}",
            _spread(f.over_bound(), 2), _spread(f.over_wanted(), 2), count_text(f.failures)]


def markdown(company: str, results: Sequence[Figures | ProbeFigures]) -> str:
    """`company`: the header of its column."""
    figures = [each for each in results if isinstance(each, Figures)]
    probes = [each for each in results if isinstance(each, ProbeFigures)]
    parts = [_filled([company, *_POLITE_COLUMNS], [row for f in figures for row in _polite_rows(f)]),
             _filled([company, *_COMPANY_COLUMNS], list(map(_company_row, figures))),
             _filled(_STREAM_COLUMNS, [row for f in figures for row in _gap_rows(f)]),
             _filled(_PROBE_COLUMNS, list(map(_probe_row, probes)))]
    return "\n\n".join(part for part in parts if part)
