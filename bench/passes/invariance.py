"""What --rank-invariant costs: the same pass with and without it, on several numbers of ranks."""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.passes.jobs import Jobs, Layout
from bench.progress import progress
from bench.worker_process import WorkerProcess

FLAG = "--rank-invariant"


@dataclass
class InvarianceFigures:
    """Figures of one dtype, workload and layout, one value for each round."""

    dtype: str
    workload: str
    layout: Layout
    seconds: list[float] = field(default_factory=list)  # Without the flag.
    invariant_seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # CPU time of rank 0.
    invariant_cpu: list[float] = field(default_factory=list)
    bytes: list[float] = field(default_factory=list)  # Received by rank 0, or read in place.
    invariant_bytes: list[float] = field(default_factory=list)

    def ratio(self) -> list[float]:
        """The time with the flag over that without it, round by round."""
        return [a / b for a, b in zip(self.invariant_seconds, self.seconds)]

    def cpu_ratio(self) -> list[float]:
        return [a / b for a, b in zip(self.invariant_cpu, self.cpu)]

    def bytes_ratio(self) -> list[float]:
        """Empty if there is one rank, which receives none."""
        return [a / b for a, b in zip(self.invariant_bytes, self.bytes) if b > 0]


def run_invariance(jobs: Jobs, dtypes: list[str], layouts: list[Layout], workloads: list[str],
                   rounds: int) -> list[InvarianceFigures]:
    """A job with the flag and one without it for each dtype and layout. They run in turns. Jobs of other layouts have ended."""
    all_figures = []
    for dtype in dtypes:
        for layout in layouts:
            with ExitStack() as stack:
                plain = jobs.start_if_any(dtype, layout, stack=stack)
                if not plain:
                    break
                invariant = jobs.start(dtype, layout, FLAG, stack=stack)
                figures = [InvarianceFigures(dtype, workload, layout) for workload in workloads]
                for number in range(-1, rounds):
                    progress(f"{dtype}, {layout}: round {number + 1} of {rounds}")
                    for each in figures:
                        _run(plain, each.workload, number, (each.seconds, each.cpu, each.bytes))
                        _run(invariant, each.workload, number,
                             (each.invariant_seconds, each.invariant_cpu, each.invariant_bytes))
                all_figures += figures
    return all_figures


def _run(job: WorkerProcess, workload: str, number: int, to: tuple[list[float], list[float], list[float]]) -> None:
    """Round -1 warms up."""
    reply = job.run(workload)
    if number >= 0:
        seconds, cpu, received = to
        seconds.append(reply["t"])
        cpu.append(reply["cpu"])
        received.append(reply["ranks"][0]["exchange"].get("bytes", 0))
