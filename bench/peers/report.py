"""The figures as a Markdown table and as JSON."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.peers.workload import Workload
from bench.samples import percentile, spread

MIB = 1 << 20


@dataclass
class EngineFigures:
    name: str  # "tool:dtype"
    info: dict[str, Any]
    seconds: dict[str, list[float]] = field(default_factory=dict)  # By workload, one value for each round.
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)
    differences: dict[str, list[float]] = field(default_factory=dict)  # By workload: of all labels' log-probabilities, all rounds.
    memory: dict[str, int] = field(default_factory=dict)  # After the last pass, in bytes.

    @property
    def dtype(self) -> str:
        return self.name.split(":")[1]

    @property
    def compared_dtype(self) -> str:
        """The dtype of scorecast with which the engine is compared."""
        return self.dtype.removesuffix("-weights")

    def all_differences(self) -> list[float]:
        return [difference for workload in self.differences.values() for difference in workload]


@dataclass
class Figures:
    shape: str
    kernel: str
    threads: int
    rounds: int
    workloads: list[str]
    engines: list[EngineFigures]
    not_run: list[str]  # Reasons, one line each.

    def ratios(self, engine: EngineFigures, workload: str) -> list[float]:
        """The engine's seconds over scorecast's in the same dtype, round by round. Empty if scorecast was not run."""
        ours = next((e for e in self.engines if e.name == f"scorecast:{engine.compared_dtype}"), None)
        if ours is None or ours is engine:
            return []
        return [theirs / mine for theirs, mine in zip(engine.seconds[workload], ours.seconds[workload])]


def _header(figures: Figures) -> list[str]:
    cells = ["engine", "dtype"]
    for workload in figures.workloads:
        cells += [Workload.parse(workload).title, "/ scorecast"]
    return cells + ["anonymous, MiB", "file, MiB", "peak, MiB", "from float32: 99 %", "largest"]


def _row(figures: Figures, engine: EngineFigures) -> list[str]:
    cells = engine.name.split(":")
    for workload in figures.workloads:
        ratios = figures.ratios(engine, workload)
        cells += [spread(engine.seconds[workload], 3), f"{median(ratios):.2f}" if ratios else ""]
    memory = engine.memory
    cells += [f"{memory['anonymous'] / MIB:.0f}", f"{(memory['file'] + memory['shared']) / MIB:.0f}",
              f"{memory['peak'] / MIB:.0f}", f"{percentile(engine.all_differences(), 99):.2g}", f"{max(engine.all_differences()):.2g}"]
    return cells


def table(figures: Figures) -> str:
    lines = [f"Peers: shape {figures.shape}, --kernel {figures.kernel}, {figures.threads} thread{'s' if figures.threads != 1 else ''}, "
             f"{figures.rounds} round{'s' if figures.rounds != 1 else ''} in random order; seconds of one pass: median (min-max)", ""]
    header = _header(figures)
    lines += [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    lines += [f"| {' | '.join(_row(figures, engine))} |" for engine in figures.engines]
    lines += ["", "\"/ scorecast\": seconds over scorecast's in the same dtype and round; the median. \"from float32\": "
              "differences of the labels' log-probabilities from PyTorch's in float32: their 99th percentile, and the largest.", ""]
    # Workers of a tool have the same version. Only scorecast's differ: they name the library of the dtype.
    versions: dict[tuple[str, str], list[str]] = {}
    for engine in figures.engines:
        tool, dtype = engine.name.split(":")
        versions.setdefault((tool, engine.info["version"]), []).append(dtype)
    lines += [f"- {tool} ({', '.join(dtypes)}): {version}" for (tool, version), dtypes in versions.items()]
    lines += [f"- not run: {reason}" for reason in figures.not_run]
    return "\n".join(lines)


def document(figures: Figures) -> dict[str, Any]:
    """The JSON document, with every sample."""
    engines = [{"engine": engine.name.split(":")[0], "dtype": engine.dtype, "version": engine.info["version"],
                "memory": engine.memory,
                "workloads": [{"workload": workload, "seconds": engine.seconds[workload],
                               "cpu_seconds": engine.cpu_seconds[workload],
                               "over_scorecast": figures.ratios(engine, workload),
                               "p99_difference": percentile(engine.differences[workload], 99),
                               "largest_difference": max(engine.differences[workload])} for workload in figures.workloads]}
               for engine in figures.engines]
    return {"bench": "peers", "shape": figures.shape, "kernel": figures.kernel, "threads": figures.threads, "rounds": figures.rounds,
            "engines": engines, "not_run": figures.not_run}
