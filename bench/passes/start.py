"""Measures how long a fresh job takes to start, and the times of its first, second and tenth pass of each size."""
from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress

ITEM_TOKENS = 16
SIZES = [32, 64, 128, 256, 512, 1024, 2048]  # Token buckets; 1024 is the largest that start-up touches.
PASSES = {"first": 0, "second": 1, "tenth": 9}


@dataclass
class StartFigures:
    """Figures of one dtype, layout and size, one value for each start."""

    dtype: str
    layout: Layout
    rows: int
    start_seconds: list[float] = field(default_factory=list)  # From the command to a worker that is ready.
    passes: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in PASSES})

    def of(self, name: str, figure: str) -> list[float]:
        """A figure of the "first", "second" or "tenth" pass: "t", its seconds; "cpu", rank 0's CPU seconds; or "page_faults"."""
        return [each[figure] for each in self.passes[name]]

    def first_over_tenth(self, figure: str) -> list[float]:
        return [first / tenth for first, tenth in zip(self.of("first", figure), self.of("tenth", figure))]


def workload_of(rows: int) -> str:
    """A query of half of the rows, and items of the other half, so that the bucket is full to the last row."""
    return f"{rows // 2}+{rows // 2 // ITEM_TOKENS}x{ITEM_TOKENS}"


def run_start(jobs: Jobs, dtypes: list[str], layouts: list[Layout], starts: int) -> list[StartFigures]:
    """Runs one job at a time, and a new one for each size, because a process keeps the pages that it has touched."""
    all_figures = [StartFigures(dtype, layout, rows) for dtype in dtypes for layout in layouts for rows in SIZES]
    jobs.write_model()
    for number in range(starts):
        for figures in all_figures:
            progress(f"start: {number + 1} of {starts}, {figures.dtype}, {figures.layout}, {figures.rows} rows")
            with ExitStack() as stack:
                begin = time.monotonic()
                job = jobs.start_if_any(figures.dtype, figures.layout, stack=stack)
                if not job:
                    continue
                figures.start_seconds.append(time.monotonic() - begin)
                replies = [job.run(workload_of(figures.rows)) for _ in range(max(PASSES.values()) + 1)]
                for name, index in PASSES.items():
                    figures.passes[name].append({figure: replies[index][figure] for figure in ("t", "cpu", "page_faults")})
    return [figures for figures in all_figures if figures.start_seconds]
