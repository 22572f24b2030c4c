"""The figures as a Markdown table and as JSON."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.peers.workload import Workload
from bench.samples import spread

MIB = 1 << 20


@dataclass
class EngineFigures:
    name: str  # "tool:dtype"
    info: dict[str, Any]
    seconds: dict[str, list[float]] = field(default_factory=dict)  # By workload, one value for each round.
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)
    difference: dict[str, float] = field(default_factory=dict)  # By workload: largest difference of a label's log-probability.
    memory: dict[str, int] = field(default_factory=dict)  # After the last pass, in bytes.

    @property
    def dtype(self) -> str:
        return self.name.split(":")[1]


@dataclass
class Figures:
    shape: str
    threads: int
    rounds: int
    workloads: list[str]
    engines: list[EngineFigures]
    not_run: list[str]  # Reasons, one line each.

    def ratios(self, engine: EngineFigures, workload: str) -> list[float]:
        """The engine's seconds over scorecast's in the same dtype, round by round. Empty if scorecast was not run."""
        ours = next((e for e in self.engines if e.name == f"scorecast:{engine.dtype}"), None)
        if ours is None or ours is engine:
            return []
        return [theirs / mine for theirs, mine in zip(engine.seconds[workload], ours.seconds[workload])]


def _header(figures: Figures) -> list[str]:
    cells = ["engine", "dtype"]
    for workload in figures.workloads:
        cells += [Workload.parse(workload).title, "/ scorecast"]
    return cells + ["anonymous, MiB", "file, MiB", "peak, MiB", "from float32"]


def _row(figures: Figures, engine: EngineFigures) -> list[str]:
    cells = engine.name.split(":")
    for workload in figures.workloads:
        ratios = figures.ratios(engine, workload)
        cells += [spread(engine.seconds[workload], 3), f"{median(ratios):.2f}" if ratios else ""]
    memory = engine.memory
    cells += [f"{memory['anonymous'] / MIB:.0f}", f"{(memory['file'] + memory['shared']) / MIB:.0f}",
              f"{memory['peak'] / MIB:.0f}", f"{max(engine.difference.values()):.2g}"]
    return cells


def table(figures: Figures) -> str:
    lines = [f"Peers: shape {figures.shape}, {figures.threads} thread{'s' if figures.threads != 1 else ''}, "
             f"{figures.rounds} round{'s' if figures.rounds != 1 else ''} in random order; seconds of one pass: median (min-max)", ""]
    header = _header(figures)
    lines += [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    lines += [f"| {' | '.join(_row(figures, engine))} |" for engine in figures.engines]
    lines += ["", "\"/ scorecast\": seconds over scorecast's in the same dtype and round; the median. \"from float32\": "
              "largest difference of a label's log-probability from PyTorch's in float32.", ""]
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
                               "largest_difference": engine.difference[workload]} for workload in figures.workloads]}
               for engine in figures.engines]
    return {"bench": "peers", "shape": figures.shape, "threads": figures.threads, "rounds": figures.rounds,
            "engines": engines, "not_run": figures.not_run}
