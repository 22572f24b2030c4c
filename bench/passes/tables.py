"""The figures as Markdown tables."""
from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.passes.curve import BOUND_SECONDS, ENOUGH, CurveFigures
from bench.passes.invariance import InvarianceFigures
from bench.passes.jobs import title
from bench.passes.memory import MemoryFigures
from bench.passes.pass_bench import PassFigures
from bench.passes.scaling import ScalingFigures, speedup
from bench.passes.start import PASSES, StartFigures
from bench.samples import spread

MIB = 1024 * 1024
PHASES = ["gemm", "attention", "other", "communication", "waiting"]  # Order of columns; other phases follow.


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _or_blank(values: Sequence[float] | None, digits: int) -> str:
    return spread(values, digits) if values else ""


def roofline(all_figures: Sequence[PassFigures]) -> str:
    """Rates are in 10^12 operations per second and thread."""
    rows = []
    for f in all_figures:
        unit = f.layout.threads * 1e12

        def rates(seconds: Sequence[float]) -> list[float]:
            return [f.operations / s / unit for s in seconds]
        instructions = [f"{spread([rate / unit for rate in rate_list], 3)} {name}" for name, rate_list in f.instructions.items()]
        gemms = [f"{spread(rates(seconds), 3)} {f.gemm_versions[library]}" for library, seconds in f.gemm_seconds.items()]
        rows.append([f.dtype, title(f.workload), str(f.tokens or ""), "<br>".join(instructions), "<br>".join(gemms),
                     _or_blank(rates(f.seconds), 3), _or_blank(f.seconds, 3), _or_blank(f.over_raw(), 2), _or_blank(f.over_bare(), 2)])
    return table(["dtype", "query + items", "tokens", "bare instruction", "raw GEMMs", "whole pass", "seconds",
                   "pass / raw", "pass / bare"], rows)


def engines(all_figures: Sequence[PassFigures]) -> str:
    """Library and kernel set of each dtype."""
    return "\n".join(f"- {dtype}: {engine}" for dtype, engine in {f.dtype: f.engine for f in all_figures}.items() if engine)


def _phase_seconds(report: dict[str, Any]) -> dict[str, float]:
    """Seconds of each phase of one rank in one pass. Waiting in exchanges is subtracted from communication."""
    seconds = dict(report.get("phase", {}))
    wait = report["exchange"].get("wait_s")
    if "communication" in seconds and wait is not None:
        seconds["communication"] = max(0.0, seconds["communication"] - wait)
        seconds["waiting"] = wait
    return dict(sorted(seconds.items(), key=lambda phase: PHASES.index(phase[0]) if phase[0] in PHASES else len(PHASES)))


def phases(all_figures: Sequence[PassFigures | ScalingFigures]) -> str:
    """Each phase's share of the pass, for each rank. Empty if the engine has no clocks."""
    rows = []
    names: list[str] = []
    for f in all_figures:
        for rank in range(len(f.ranks[0]) if f.ranks else 0):
            passes = [_phase_seconds(ranks[rank]) for ranks in f.ranks]
            names = names or list(passes[0])
            if passes[0]:
                shares = [[100 * seconds[name] / whole for seconds, whole in zip(passes, f.seconds)] for name in names]
                rows.append([f.dtype, title(f.workload), str(f.layout), str(rank), *(spread(share, 1) for share in shares),
                             f"{100 - sum(median(share) for share in shares):.1f}"])
    header = ["dtype", "query + items", "ranks x threads", "rank", *(f"{name}, %" for name in names), "no phase, %"]
    return table(header, rows) if rows else ""


def multi_item(all_figures: Sequence[PassFigures]) -> str:
    rows = []
    for f in all_figures:
        if f.seconds:
            timed = "" if f.prompts == f.items else f", {f.prompts} of {f.items} timed"
            rows.append([f.dtype, title(f.workload), spread(f.seconds, 3), spread(f.one_by_one_seconds(), 3) + timed,
                         spread(f.multi_item_ratio(), 2), f"{f.tokens_ratio():.2f}"])
    return table(["dtype", "query + items", "one pass, s", "one by one, s", "one by one / pass", "tokens' ratio"], rows)


def scaling(all_figures: Sequence[ScalingFigures]) -> str:
    rows = []
    for f in all_figures:
        is_alone = f.layout.ranks == 1
        exchange = [] if is_alone else [1000 * s for s in f.exchange_seconds()]
        wait = None if is_alone else f.exchange("wait_s")
        sent = None if is_alone else f.exchange("bytes")
        rows.append([f.dtype, title(f.workload), str(f.layout), spread(f.seconds, 3), spread(speedup(f, all_figures), 2),
                     _or_blank(exchange, 3), _or_blank(wait and [1000 * s for s in wait], 3),
                     f"{median(sent) / 1024:.0f}" if sent else ""])
    return table(["dtype", "query + items", "ranks x threads", "one pass, s", "speed over the first",
                   "exchange, ms per layer", "waiting in it", "received, KiB per layer"], rows)


def invariance(all_figures: Sequence[InvarianceFigures]) -> str:
    rows = [[f.dtype, title(f.workload), str(f.layout), spread(f.seconds, 3), spread(f.invariant_seconds, 3), spread(f.ratio(), 3),
             spread(f.cpu_ratio(), 3), f"{median(f.bytes_ratio()):.2f}" if f.bytes_ratio() else ""] for f in all_figures]
    return table(["dtype", "query + items", "ranks x threads", "without, s", "with, s", "with / without", "of CPU time", "of bytes"], rows)


def memory(all_figures: Sequence[MemoryFigures]) -> str:
    rows = []
    for f in all_figures:
        count: dict[str, int] = {}
        for step in f.steps:
            count[step.what] = count.get(step.what, 0) + 1
        seen: dict[str, int] = {}
        for step in f.steps:
            seen[step.what] = seen.get(step.what, 0) + 1
            if seen[step.what] < count[step.what]:
                continue  # Only the last of equal requests is shown.
            what = step.what if step.what == "start-up" else title(step.what)
            times = f", {count[step.what]} times" if count[step.what] > 1 else ""
            held = step.anonymous + step.shared
            rows.append([f.dtype, str(f.layout), what + times, f"{f.packed_weights / MIB:.0f}", f"{step.anonymous / MIB:.0f}",
                         f"{step.shared / MIB:.0f}", f"{step.peak / MIB:.0f}", f"{held / f.packed_weights:.2f}",
                         f"{(held - f.packed_weights) / MIB:.0f}", f"{step.file / MIB:.0f}"])
    added = [f"- {f.dtype}, {f.layout}: 100 items of 10 tokens need {f.added_by_items() / MIB:.1f} MiB more than one item."
             for f in all_figures]
    return table(["dtype", "ranks x threads", "after", "packed weights, MiB", "anonymous", "shared", "peak of both",
                   "both / weights", "both - weights", "file"], rows) + "\n\n" + "\n".join(added)


def start(all_figures: Sequence[StartFigures]) -> str:
    rows = []
    for f in all_figures:
        passes = [spread([1000 * seconds for seconds in f.of(name, "t")], 1) for name in PASSES]
        faults = " ".join(f"{median(f.of(name, 'page_faults')):.0f}" for name in PASSES)
        rows.append([f.dtype, str(f.layout), str(f.rows), spread(f.start_seconds, 2), *passes,
                     spread(f.first_over_tenth("t"), 2), spread(f.first_over_tenth("cpu"), 2), faults])
    return table(["dtype", "ranks x threads", "rows", "start, s", *PASSES, "first / tenth", "first / tenth, CPU time", "page faults"], rows)


def curve(all_figures: Sequence[CurveFigures]) -> str:
    rows = []
    for f in all_figures:
        for size, seconds in f.seconds.items():
            rows.append([f.dtype, str(size), spread([1000 * each for each in seconds], 1), spread(f.rows_per_second(size), 0),
                         spread([100 * share for share in f.share(size)], 1)])
    return table(["dtype", "rows", "ms", "rows/s", "% of the best size"], rows)


def bounds(all_figures: Sequence[CurveFigures]) -> str:
    """What the default bound on the time of a pass costs."""
    lines = []
    for f in all_figures:
        efficient = f.efficient_rows()
        lines.append(f"- {f.dtype}: {100 * ENOUGH:.0f} % from {efficient} rows on ({1000 * median(f.seconds[efficient]):.0f} ms); "
                     f"{1000 * BOUND_SECONDS:.0f} ms are {f.bounded_rows(BOUND_SECONDS)} rows, with "
                     f"{100 * f.bounded_share(BOUND_SECONDS):.1f} %.")
    return "\n".join(lines)
