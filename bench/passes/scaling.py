"""The same pass on so many ranks and threads, and what it costs the ranks to exchange rows."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress
from bench.worker_process import WorkerProcess


@dataclass
class ScalingFigures:
    """Of one dtype, workload and layout; a value a round."""

    dtype: str
    workload: str
    layout: Layout
    layers: int
    seconds: list[float] = field(default_factory=list)
    ranks: list[list[dict[str, Any]]] = field(default_factory=list)  # Each pass's reports.

    def exchange(self, name: str) -> list[float] | None:
        """That figure of the exchanges, a layer, each pass's mean over ranks; None where it is not counted."""
        passes = [[rank["exchange"].get(name) for rank in ranks] for ranks in self.ranks]
        if any(value is None for ranks in passes for value in ranks):
            return None
        return [sum(ranks) / len(ranks) / self.layers for ranks in passes]

    def exchange_seconds(self) -> list[float]:
        """Of a layer, waiting for other ranks included; as MPI's calls took them, where the engine has no clock."""
        wait, transfer = self.exchange("wait_s"), self.exchange("transfer_s")
        if wait and transfer:
            return [a + b for a, b in zip(wait, transfer)]
        return self.exchange("mpi_s") or []


def speedup(figures: ScalingFigures, all_figures: list[ScalingFigures]) -> list[float]:
    """Over the smallest layout of the same dtype and workload, round by round."""
    alike = [f for f in all_figures if (f.dtype, f.workload) == (figures.dtype, figures.workload)]
    base = min(alike, key=lambda f: (f.layout.cpus, f.layout.ranks))
    return [a / b for a, b in zip(base.seconds, figures.seconds)]


def layouts(ranks: list[int], threads: list[int], cpus: int) -> list[Layout]:
    """All of the two lists that this machine has CPUs for."""
    all_layouts = {Layout(r, t) for r in ranks for t in threads if r * t <= cpus}
    return sorted(all_layouts, key=lambda layout: (layout.cpus, layout.ranks))


def run_scaling(jobs: Jobs, dtypes: list[str], all_layouts: list[Layout], workloads: list[str],
                rounds: int) -> list[ScalingFigures]:
    """Every layout has its own job; all are asked in turns."""
    figures: list[tuple[WorkerProcess, ScalingFigures]] = []
    for dtype in dtypes:
        for layout in all_layouts:
            job = jobs.start_if_any(dtype, layout)
            if not job:
                break
            for workload in workloads:
                job.run(workload)  # Warms it up.
                figures.append((job, ScalingFigures(dtype, workload, layout, job.info["layers"])))
    figures.sort(key=lambda pair: (dtypes.index(pair[1].dtype), workloads.index(pair[1].workload)))
    for number in range(rounds):
        progress(f"scaling: round {number + 1} of {rounds}")
        for job, each in figures:
            answer = job.run(each.workload)
            each.seconds.append(answer["t"])
            each.ranks.append(answer["ranks"])
    return [each for _, each in figures]
