"""The figures as Markdown tables."""
from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from bench.decisions.report import cpu
from bench.encoders.agreement import Agreement, compare
from bench.encoders.products import PassFigures
from bench.encoders.shapes import SHAPES
from bench.encoders.workload import WORKLOADS
from bench.passes.tables import table
from bench.samples import spread

OURS = "scorecast"
_REFERENCES = ("torch:f32", f"{OURS}:f32")


@dataclass
class EngineFigures:
    """Of one shape, workload and engine."""

    shape: str
    workload: str  # A key of WORKLOADS.
    tool: str
    dtype: str
    version: str
    seconds: list[float] = field(default_factory=list)  # One value for each round.
    cpu_seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # The first values of all results, of the first round.

    @property
    def name(self) -> str:
        return f"{self.tool}:{self.dtype}"

    def compared(self) -> tuple[str, str]:
        return self.shape, self.workload


@dataclass
class Run:
    kernel: str  # The value of --kernel.
    rounds: int
    threads: int
    max_pass_ms: int  # --max-pass-ms of the service with which others are compared.
    host: str = field(default_factory=platform.node)
    cpu: str = field(default_factory=cpu)
    load_before: list[float] = field(default_factory=lambda: list(os.getloadavg()))
    figures: list[EngineFigures] = field(default_factory=list)
    passes: list[PassFigures] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    def ratios(self, engine: EngineFigures) -> list[float]:
        """The engine's seconds over scorecast's in the same dtype, round by round."""
        ours = self._ours(engine)
        return [theirs / mine for theirs, mine in zip(engine.seconds, ours.seconds)] if ours else []

    def cpu_ratios(self, engine: EngineFigures) -> list[float]:
        """The same of CPU time."""
        ours = self._ours(engine)
        return [theirs / mine for theirs, mine in zip(engine.cpu_seconds, ours.cpu_seconds)] if ours else []

    def _ours(self, engine: EngineFigures) -> EngineFigures | None:
        """scorecast's figures with which those of another engine are compared."""
        name = f"{OURS}:{engine.dtype}"
        return next((f for f in self.figures if f.compared() == engine.compared() and f.name == name and f is not engine), None)

    def fastest_ratios(self, ours: EngineFigures) -> tuple[str, list[float]] | None:
        """Of the other engine that is the fastest in the same dtype."""
        others = [f for f in self.figures if f.compared() == ours.compared() and f.dtype == ours.dtype and not f.tool.startswith(OURS)]
        fastest = min(others, key=lambda f: median(f.seconds), default=None)
        return (fastest.name, self.ratios(fastest)) if fastest else None

    def difference(self, engine: EngineFigures) -> float | None:
        """The largest difference from float32; None if that was not measured, or if this is the reference."""
        same = {f.name: f for f in self.figures if f.compared() == engine.compared()}
        reference = next((same[name] for name in _REFERENCES if name in same), None)
        if reference is None or reference is engine:
            return None
        return max(abs(a - b) for a, b in zip(engine.values, reference.values, strict=True))

    def markdown(self) -> str:
        parts = [f"Encoders, --kernel {self.kernel}, {self.threads} thread{'s' if self.threads != 1 else ''} of {self.cpu} ({self.host}, "
                 f"load {self.load_before[0]:.1f} before), {OURS} with passes of {self.max_pass_ms} ms, {self.rounds} round{'s' if self.rounds != 1 else ''} in random order; "
                 "median (min-max)", _times(self)]
        parts += ["## Targets", _targets(self)] if any(not f.tool.startswith(OURS) for f in self.figures) else []
        parts += ["## Passes", _passes(self)] if self.passes else []
        parts += ["## Agreement with float32", _agreement(self)] if self.agreements else []
        parts.append(_versions(self))
        parts += ["\n".join(f"- Not run: {reason}" for reason in self.not_run)] if self.not_run else []
        return "\n\n".join(parts)

    def document(self) -> dict[str, Any]:
        figures = [asdict(f) | {"over_scorecast": self.ratios(f), "largest_difference": self.difference(f)} for f in self.figures]
        return {"bench": "encoders", **asdict(self), "figures": figures, "agreements": compare(self.agreements)}


def _times(run: Run) -> str:
    rows = []
    for f in run.figures:
        workload, shape = WORKLOADS[f.workload], SHAPES[f.shape]
        tokens = sum(workload.lengths())
        rate = 2 * tokens * shape.parameters_of_products / median(f.seconds) / run.threads / 1e12
        difference = run.difference(f)
        ratios, cpu_ratios = run.ratios(f), run.cpu_ratios(f)
        rows.append([f.shape, workload.title, f.dtype, f.tool, spread([1000 * s for s in f.seconds], 1),
                     f"{tokens / median(f.seconds):.0f}", f"{rate:.3f}", spread(ratios, 2) if ratios else "",
                     f"{1000 * median(f.cpu_seconds):.1f}", spread(cpu_ratios, 2) if cpu_ratios else "",
                     "" if difference is None else f"{difference:.1g}"])
    return table(["shape", "workload", "dtype", "engine", "ms", "tokens/s", "10^12 operations/s and thread", f"/ {OURS}",
                  "CPU ms", f"/ {OURS}", "from float32"], rows)


def _targets(run: Run) -> str:
    rows = []
    for f in run.figures:
        fastest = run.fastest_ratios(f) if f.tool == OURS else None
        if fastest:
            name, ratios = fastest
            target = WORKLOADS[f.workload].target
            rows.append([f.shape, WORKLOADS[f.workload].title, f.dtype, f"{name} / {OURS}", f">= {target:g}", spread(ratios, 2),
                         "met" if median(ratios) >= target else "missed"])
    return table(["shape", "workload", "dtype", "ratio", "target", "reached", ""], rows)


def _passes(run: Run) -> str:
    rows = []
    for f in run.passes:
        fastest = f.fastest()
        products = spread([1000 * s for s in f.products[fastest]], 1) if fastest else "not run"
        rows.append([f.shape, WORKLOADS[f.workload].title, f.dtype, spread([1000 * s for s in f.seconds], 1), products, fastest or "",
                     spread(f.ratios(), 2) if fastest else ""])
    return table(["shape", "workload", "dtype", "pass ms", "raw GEMMs ms", "by", "pass / raw"], rows)


def _agreement(run: Run) -> str:
    rows = compare(run.agreements)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table(names, [[row.get(name, "") for name in names] for row in rows])


def _versions(run: Run) -> str:
    versions: dict[tuple[str, str], list[str]] = {}
    for f in run.figures:
        dtypes = versions.setdefault((f.tool, f.version), [])
        if f.dtype not in dtypes:
            dtypes.append(f.dtype)
    return "\n".join(f"- {tool} ({', '.join(dtypes)}): {version}" for (tool, version), dtypes in versions.items())
