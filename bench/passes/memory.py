"""Memory of all ranks together, after passes of rising size in one job."""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress

ONE_ITEM, HUNDRED_ITEMS = "300+1x10", "300+100x10"
WORKLOADS = ["300+10x50", "300+50x10", "300+128x100"]
LONG_REQUEST, LONG_REQUESTS = "8192+0x0", 8  # A workload, and how often it runs.


@dataclass
class MemoryStep:
    """Bytes of all ranks together after a pass. A shared page counts for each rank that has touched it."""

    what: str
    anonymous: float
    shared: float
    file: float  # Pages of the mapped model.
    peak: float  # Sum over ranks of the peak of anonymous + shared since the step before.


@dataclass
class MemoryFigures:
    dtype: str
    layout: Layout
    packed_weights: float  # Bytes of all ranks' product weights, as the engine holds them.
    steps: list[MemoryStep] = field(default_factory=list)

    def added_by_items(self) -> float:
        """Bytes that 100 items need in addition to those of one item."""
        of = {step.what: step.anonymous + step.shared for step in self.steps}
        return of[HUNDRED_ITEMS] - of[ONE_ITEM]


def _step(what: str, ranks: list[dict[str, Any]]) -> MemoryStep:
    def total(name: str) -> float:
        return sum(rank["memory"][name] for rank in ranks)
    return MemoryStep(what, total("anonymous"), total("shared"), total("file"), total("peak"))


def run_memory(jobs: Jobs, dtypes: list[str], layouts: list[Layout]) -> list[MemoryFigures]:
    """Runs one job at a time. Each is a fresh process, because a process keeps the pages that it has touched."""
    all_figures = []
    for dtype in dtypes:
        for layout in layouts:
            with ExitStack() as stack:
                job = jobs.start_if_any(dtype, layout, "--sample-memory", stack=stack)
                if not job:
                    break
                figures = MemoryFigures(dtype, layout, job.info["weight_bytes"])
                figures.steps.append(_step("start-up", job.info["start"]))
                for workload in [ONE_ITEM, HUNDRED_ITEMS, *WORKLOADS] + [LONG_REQUEST] * LONG_REQUESTS:
                    progress(f"memory: {job.name}, {workload}")
                    figures.steps.append(_step(workload, job.run(workload)["ranks"]))
                all_figures.append(figures)
    return all_figures
