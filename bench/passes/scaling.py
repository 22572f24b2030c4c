"""The same pass on several numbers of ranks and threads, and the cost of exchanging rows between ranks."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress
from bench.worker_process import WorkerProcess


@dataclass
class ScalingFigures:
    """Figures of one dtype, workload and layout, one value for each round."""

    dtype: str
    workload: str
    layout: Layout
    layers: int
    seconds: list[float] = field(default_factory=list)
    ranks: list[list[dict[str, Any]]] = field(default_factory=list)  # [passes][ranks]: reports.

    def exchange(self, name: str) -> list[float] | None:
        """A figure of the exchanges per layer, as mean over ranks for each pass. None if it is not counted."""
        passes = [[rank["exchange"].get(name) for rank in ranks] for ranks in self.ranks]
        if any(value is None for ranks in passes for value in ranks):
            return None
        return [sum(ranks) / len(ranks) / self.layers for ranks in passes]

    def exchange_seconds(self) -> list[float]:
        """Seconds per layer, including waiting for other ranks. If the engine has no clock, those of MPI's calls."""
        wait, transfer = self.exchange("wait_s"), self.exchange("transfer_s")
        if wait and transfer:
            return [a + b for a, b in zip(wait, transfer)]
        return self.exchange("mpi_s") or []


def speedup(figures: ScalingFigures, all_figures: list[ScalingFigures]) -> list[float]:
    """Speed over that of the smallest layout of the same dtype and workload, round by round."""
    alike = [f for f in all_figures if (f.dtype, f.workload) == (figures.dtype, figures.workload)]
    base = min(alike, key=lambda f: (f.layout.cpus, f.layout.ranks))
    return [a / b for a, b in zip(base.seconds, figures.seconds)]


def layouts(ranks: list[int], threads: list[int], cpus: int) -> list[Layout]:
    """All combinations of the two lists for which this machine has enough CPUs."""
    all_layouts = {Layout(r, t) for r in ranks for t in threads if r * t <= cpus}
    return sorted(all_layouts, key=lambda layout: (layout.cpus, layout.ranks))


def run_scaling(jobs: Jobs, dtypes: list[str], all_layouts: list[Layout], workloads: list[str],
                rounds: int) -> list[ScalingFigures]:
    """Every layout has a job of its own. All jobs run in turns."""
    figures: list[tuple[WorkerProcess, ScalingFigures]] = []
    for dtype in dtypes:
        for layout in all_layouts:
            job = jobs.start_if_any(dtype, layout)
            if not job:
                break
            for workload in workloads:
                job.run(workload)  # Warm-up.
                figures.append((job, ScalingFigures(dtype, workload, layout, job.info["layers"])))
    figures.sort(key=lambda pair: (dtypes.index(pair[1].dtype), workloads.index(pair[1].workload)))
    for number in range(rounds):
        progress(f"scaling: round {number + 1} of {rounds}")
        for job, each in figures:
            reply = job.run(each.workload)
            each.seconds.append(reply["t"])
            each.ranks.append(reply["ranks"])
    return [each for _, each in figures]
