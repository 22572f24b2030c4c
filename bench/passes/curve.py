"""Measures the rows per second of passes of rising size: what a bound on the time of a pass costs in throughput."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress

PART_ROWS = 32  # Rows of a query, and of each item after it. So each row of a pass attends to about as many keys.
SIZES = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192]
BOUND_SECONDS = 0.2  # Default of --max-pass-ms.
ENOUGH = 0.95  # Of the best size's rows per second.


@dataclass
class CurveFigures:
    """Figures of one dtype: seconds of passes by their rows, one value for each round."""

    dtype: str
    layout: Layout
    seconds: dict[int, list[float]] = field(default_factory=dict)

    def rows_per_second(self, rows: int) -> list[float]:
        return [rows / seconds for seconds in self.seconds[rows]]

    def best_rows(self) -> int:
        """The size with the most rows per second."""
        return max(self.seconds, key=lambda rows: median(self.rows_per_second(rows)))

    def share(self, rows: int) -> list[float]:
        """Rows per second relative to those of the best size, round by round."""
        return [a / b for a, b in zip(self.rows_per_second(rows), self.rows_per_second(self.best_rows()))]

    def bounded_rows(self, bound_seconds: float) -> int:
        """Rows of the largest pass that takes at most this time; interpolated, and at least those of the smallest pass."""
        sizes = sorted(self.seconds)
        times = [median(self.seconds[rows]) for rows in sizes]
        for (rows, time), (next_rows, next_time) in zip(zip(sizes, times), zip(sizes[1:], times[1:])):
            if next_time > bound_seconds:
                part = max(0.0, (bound_seconds - time) / (next_time - time)) if next_time > time else 0.0
                return int(rows + part * (next_rows - rows))
        return sizes[-1]

    def bounded_share(self, bound_seconds: float) -> float:
        """Rows per second of that pass relative to those of the best size."""
        sizes = sorted(self.seconds)
        rows = self.bounded_rows(bound_seconds)
        below = max(size for size in sizes if size <= rows)
        above = min(size for size in sizes if size >= rows)
        part = (rows - below) / (above - below) if above > below else 0.0
        seconds = (1 - part) * median(self.seconds[below]) + part * median(self.seconds[above])
        return rows / seconds / median(self.rows_per_second(self.best_rows()))

    def efficient_rows(self) -> int:
        """Rows of the smallest pass that reaches ENOUGH."""
        return min(rows for rows in self.seconds if median(self.share(rows)) >= ENOUGH)


def workload_of(rows: int) -> str:
    items = rows // PART_ROWS - 1
    return f"{PART_ROWS}+{items}x{PART_ROWS if items else 0}"


def run_curve(jobs: Jobs, dtypes: list[str], layout: Layout, rounds: int) -> list[CurveFigures]:
    """All sizes and dtypes run in turns."""
    engines = {dtype: job for dtype in dtypes if (job := jobs.start_if_any(dtype, layout))}
    all_figures = [CurveFigures(dtype, layout) for dtype in engines]
    for number in range(-1, rounds):
        progress(f"curve: round {number + 1} of {rounds}" if number >= 0 else "curve: warming up")
        for figures in all_figures:
            for rows in SIZES:
                seconds = engines[figures.dtype].run(workload_of(rows))["t"]
                if number >= 0:
                    figures.seconds.setdefault(rows, []).append(seconds)
    return all_figures
