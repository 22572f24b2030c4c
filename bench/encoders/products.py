"""A pass over pairs beside its matrix products alone, which libraries compute in the same shapes and order.

Both are measured in one process, on the same threads, without HTTP.
"""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.encoders.shapes import Shape
from bench.encoders.workload import Workload
from bench.passes.jobs import FAST_LIBRARIES
from bench.worker_process import WorkerFailed, WorkerProcess


@dataclass
class PassFigures:
    """Of one shape, workload and dtype; one value for each round."""

    shape: str
    workload: str  # A key of WORKLOADS.
    dtype: str
    seconds: list[float] = field(default_factory=list)  # What the pass took.
    products: dict[str, list[float]] = field(default_factory=dict)  # Seconds of the products, by library.

    def fastest(self) -> str | None:
        return min(self.products, key=lambda library: median(self.products[library]), default=None)

    def ratios(self) -> list[float]:
        """The pass over the products of the fastest library, round by round."""
        fastest = self.fastest()
        return [a / b for a, b in zip(self.seconds, self.products[fastest])] if fastest else []


class Passes:
    """scorecast's passes over a classifier. The worker ends with `stack`."""

    def __init__(self, worker: Path, model: Path, shape: Shape, dtype: str, kernel: str, threads: int, workloads: list[Workload],
                 log: Path, stack: ExitStack) -> None:
        command = [str(worker), "--model", str(model), "--dtype", dtype, "--kernel", kernel, "--threads", str(threads)]
        self._worker = stack.enter_context(WorkerProcess(f"scorecast_bench_worker:{dtype}", command, log))
        self._worker.wait_until_ready()
        self.figures = {workload.name: PassFigures(shape.name, workload.name, dtype) for workload in workloads}
        self.not_run: list[str] = []
        for workload in workloads:
            self._worker.run(_texts(workload))
        for library in FAST_LIBRARIES[dtype]:
            try:  # Packs the weights, and finds out whether the library computes the dtype here.
                for workload in workloads:
                    self._worker.run(self._command(library, workload))
            except WorkerFailed as fault:
                self.not_run.append(f"raw GEMMs by {library}:{dtype}: {str(fault).rpartition(': ')[2]}")
                continue
            for figures in self.figures.values():
                figures.products[library] = []

    def _command(self, library: str, workload: Workload) -> str:
        return f"gemms {library}:{self.figures[workload.name].dtype} {_texts(workload)}"

    def measure(self, workload: Workload) -> None:
        figures = self.figures[workload.name]
        figures.seconds.append(self._seconds(_texts(workload), workload))
        for library, seconds in figures.products.items():
            seconds.append(self._seconds(self._command(library, workload), workload))

    def _seconds(self, command: str, workload: Workload) -> float:
        return median(self._worker.run(command)["t"] for _ in range(workload.repeats))


def _texts(workload: Workload) -> str:
    """The worker's name of a workload: see bench/worker/session.h."""
    return "texts:" + ",".join(map(str, workload.lengths()))
