"""The results as a Markdown table and as JSON."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.abuse.abuse import ALONE, BESIDE, Result
from bench.abuse.polite import FRESH, KEPT, LONG, NO_REPLY, Latencies, Sample
from bench.passes.tables import table

_KINDS = {"": (KEPT, FRESH), ", long messages": (LONG,)}


def _ms(sample: Sample | None) -> str:
    if not sample:
        return ""
    value = sample.milliseconds
    return (">" if sample.outcome == NO_REPLY else "") + (f"{value:.0f}" if value >= 100 else f"{value:.1f}")


def _ratio(beside: Sample | None, alone: Sample | None) -> str:
    return f"{beside.milliseconds / alone.milliseconds:.1f}" if beside and alone else ""


def _failures(latencies: Latencies) -> str:
    what = ", ".join(f"{n} {reason}" for reason, n in latencies.failures.most_common())
    return f"{latencies.failures.total()} of {latencies.count}" + (f": {what}" if what else "") if latencies.count else ""


def _counts(result: Result) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(result.counts.items()))


def markdown(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        for suffix, kinds in _KINDS.items():
            alone, beside = result.of(ALONE, kinds), result.of(BESIDE, kinds)
            first = not suffix
            if not first and not beside.count:
                continue
            drain = "" if result.drain_seconds is None else f"{result.drain_seconds:.1f}"
            if result.drain_limit is not None:
                drain = f"over {result.drain_limit:.0f}"
            memory = [f"{result.memory[when]:.0f}" if first and when in result.memory else "" for when in ("before", "peak", "after")]
            rows.append([result.title + suffix, _ms(alone.percentile(0.5)), _ms(alone.percentile(0.99)),
                         _ms(beside.percentile(0.5)), _ms(beside.percentile(0.99)),
                         _ratio(beside.percentile(0.5), alone.percentile(0.5)),
                         _ratio(beside.percentile(0.99), alone.percentile(0.99)), _failures(beside),
                         *memory, drain if first else "", "; ".join([*result.notes, _counts(result)]).strip("; ") if first else ""])
    return table(["abuse", "alone: p50, ms", "p99", "beside it: p50, ms", "p99", "p50 / alone", "p99 / alone", "failures",
                  "MiB before", "peak", "after", "drain, s", "seen; replies to the abuse"], rows)


def document(results: Sequence[Result], about: dict[str, Any]) -> dict[str, Any]:
    return {"about": about, "abuses": [
        {"name": r.name, "title": r.title, "memory_mib": r.memory, "drain_seconds": r.drain_seconds,
         "drain_limit": r.drain_limit, "counts": dict(r.counts), "notes": r.notes,
         "samples": [[s.phase, s.kind, round(s.milliseconds, 3), s.outcome] for s in r.samples]} for r in results]}
