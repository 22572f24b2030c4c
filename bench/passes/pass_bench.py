"""Compares a pass with its bare matrix products, with the bare instructions, and with the same items one by one."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.passes.jobs import FAST_LIBRARIES, Jobs, Layout, items_of
from bench.progress import progress
from bench.worker_process import WorkerProcess

MOST_PROMPTS = 10  # Most prompts of a workload that are timed one by one. The time of the others is extrapolated.


@dataclass
class PassFigures:
    """Figures of one dtype and workload, one value for each round. If the engine lacks the dtype, there are no passes."""

    dtype: str
    workload: str
    layout: Layout
    engine: str = ""  # Library and kernel set.
    tokens: int = 0
    seconds: list[float] = field(default_factory=list)  # Seconds of the pass with all items.
    ranks: list[list[dict[str, Any]]] = field(default_factory=list)  # [passes][ranks]: reports.
    operations: float = 0  # Operations of the bare products.
    gemm_seconds: dict[str, list[float]] = field(default_factory=dict)  # By library.
    gemm_versions: dict[str, str] = field(default_factory=dict)
    instructions: dict[str, list[float]] = field(default_factory=dict)  # Operations per second, all threads.
    prompts: int = 0  # Number of prompts timed one by one.
    prompt_tokens: int = 0  # Tokens of each.
    prompts_seconds: list[float] = field(default_factory=list)

    @property
    def items(self) -> int:
        return items_of(self.workload)

    def raw_seconds(self) -> list[float]:
        """Seconds of the fastest library; empty if there is none."""
        return min(self.gemm_seconds.values(), key=median, default=[])

    def over_raw(self) -> list[float]:
        return [a / b for a, b in zip(self.seconds, self.raw_seconds())]

    def over_bare(self) -> list[float]:
        """Seconds of the pass over those of its products at the rate of the fastest instruction."""
        bare = max(self.instructions.values(), key=median, default=[])
        return [seconds * rate / self.operations for seconds, rate in zip(self.seconds, bare)]

    def one_by_one_seconds(self) -> list[float]:
        return [seconds * self.items / self.prompts for seconds in self.prompts_seconds]

    def multi_item_ratio(self) -> list[float]:
        return [a / b for a, b in zip(self.one_by_one_seconds(), self.seconds)]

    def tokens_ratio(self) -> float:
        return self.prompt_tokens * self.items / self.tokens


class PassBench:
    def __init__(self, jobs: Jobs, dtypes: list[str], layout: Layout, workloads: list[str]) -> None:
        self.jobs = jobs
        self.figures = [PassFigures(dtype, workload, layout) for workload in workloads for dtype in dtypes]
        engines = {dtype: jobs.start_if_any(dtype, layout) for dtype in dtypes}
        self.engines: dict[str, WorkerProcess] = {dtype: job for dtype, job in engines.items() if job}
        # Runs the bare products if the engine does not support their dtype.
        self.any = next(iter(self.engines.values()), None) or jobs.start("f32", layout)

    def run(self, rounds: int) -> list[PassFigures]:
        progress("pass: warming up")
        for figures in self.figures:
            self._warm_up(figures)
        for number in range(rounds):
            for figures in self.figures:
                progress(f"pass: round {number + 1} of {rounds}, {figures.dtype}, {figures.workload}")
                self._measure(figures)
        return self.figures

    def _warm_up(self, figures: PassFigures) -> None:
        """Touches every buffer, and finds out which dtypes and libraries this machine does not have."""
        engine = self.engines.get(figures.dtype)
        if engine:
            figures.engine = engine.info["version"]
            reply = engine.run(figures.workload)
            figures.tokens, figures.operations = reply["tokens"], reply["operations"]
        for library in FAST_LIBRARIES[figures.dtype]:
            gemms = self.jobs.gemms(self._threads(figures), library, figures.dtype, figures.workload)
            if gemms:
                figures.operations = gemms["operations"]
                figures.gemm_versions[library] = gemms["version"]
                figures.gemm_seconds[library] = []

    def _measure(self, figures: PassFigures) -> None:
        engine = self.engines.get(figures.dtype)
        threads = self._threads(figures)
        for name, rate in threads.run(f"instructions {figures.dtype}")["operations_per_second"].items():
            figures.instructions.setdefault(name, []).append(rate)
        for library, seconds in figures.gemm_seconds.items():
            seconds.append(threads.run(f"gemms {library}:{figures.dtype} {figures.workload}")["t"])
        if engine:
            reply = engine.run(figures.workload)
            figures.seconds.append(reply["t"])
            figures.ranks.append(reply["ranks"])
            reply = engine.run(f"one-by-one {figures.workload} {MOST_PROMPTS}")
            figures.prompts = reply["prompts"]
            figures.prompt_tokens = reply["tokens"] // reply["prompts"]
            figures.prompts_seconds.append(reply["t"])

    def _threads(self, figures: PassFigures) -> WorkerProcess:
        return self.engines.get(figures.dtype, self.any)
