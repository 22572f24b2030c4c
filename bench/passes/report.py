"""All figures of a run: tables, JSON with every sample, and a plot."""
from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.documents import tables as documents_tables
from bench.documents.documents_bench import DocumentsFigures
from bench.passes import tables
from bench.passes.curve import CurveFigures
from bench.passes.invariance import InvarianceFigures
from bench.passes.jobs import title
from bench.passes.memory import MemoryFigures
from bench.passes.pass_bench import PassFigures
from bench.passes.plot import Bar, Chart, svg
from bench.passes.scaling import ScalingFigures, speedup
from bench.passes.start import StartFigures


def _cpu() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else "unknown"


def _load() -> list[float]:
    return list(os.getloadavg())


@dataclass
class Figures:
    shape: str
    kernel: str  # The value of --kernel.
    rounds: int
    cpu: str = field(default_factory=_cpu)
    cpus: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    load_before: list[float] = field(default_factory=_load)  # The machine's; above about 0.5 the figures are unreliable.
    passes: list[PassFigures] = field(default_factory=list)
    scaling: list[ScalingFigures] = field(default_factory=list)
    memory: list[MemoryFigures] = field(default_factory=list)
    documents: list[DocumentsFigures] = field(default_factory=list)
    start: list[StartFigures] = field(default_factory=list)
    curve: list[CurveFigures] = field(default_factory=list)
    invariance: list[InvarianceFigures] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        parts = [f"Shape {self.shape}, --kernel {self.kernel}, {self.cpus} CPUs of {self.cpu}, {self.rounds} round{'s' if self.rounds != 1 else ''}; "
                 f"median (min-max)"]
        if self.passes:
            threads = self.passes[0].layout.threads
            parts += ["## Roofline",
                      f"One rank of {threads} thread{'s' if threads != 1 else ''}; 10^12 operations per second and thread.",
                      tables.roofline(self.passes), tables.engines(self.passes)]
            phases = tables.phases(self.passes)
            parts += ["Phases of the pass:", phases] if phases else []
            parts += ["## Multi-item against one by one", tables.multi_item(self.passes)]
        if self.scaling:
            parts += ["## Scaling", tables.scaling(self.scaling),
                      "Exchange: mean over ranks, including waiting for other ranks; a layer has two exchanges."]
            phases = tables.phases([f for f in self.scaling if f.layout.ranks > 1])
            parts += ["Phases of each rank:", phases] if phases else []
        if self.memory:
            parts += ["## Memory", "Totals of all ranks; shared pages count for each rank.", tables.memory(self.memory)]
        if self.documents:
            parts += documents_tables.sections(self.documents)
        if self.start:
            parts += ["## Start", "A fresh job for each size. Passes in milliseconds; CPU time and page faults of rank 0.", tables.start(self.start)]
        if self.curve:
            parts += ["## Rows per second by the size of a pass", f"One rank, threads: {self.curve[0].layout.threads}.",
                      tables.curve(self.curve), tables.bounds(self.curve)]
        if self.invariance:
            parts += ["## With --rank-invariant", "Ratios are taken within a round. CPU time and bytes are those of rank 0.",
                      tables.invariance(self.invariance)]
        if self.not_run:
            parts.append("\n".join(f"- Not run: {reason}" for reason in self.not_run))
        return "\n\n".join(parts)

    def document(self) -> dict[str, Any]:
        return {"bench": "passes", **asdict(self)}

    def plot(self) -> str | None:
        with_engine = [f for f in self.passes if f.seconds]
        return svg([
            Chart("Whole pass over its raw GEMMs, the same dtype", "the raw GEMMs",
                  [Bar(f"{f.dtype}, {title(f.workload)}", f.dtype, f.over_raw(), 1) for f in with_engine if f.over_raw()]),
            Chart("One by one over one pass", "the tokens' ratio",
                  [Bar(f"{f.dtype}, {title(f.workload)}", f.dtype, f.multi_item_ratio(), f.tokens_ratio())
                   for f in with_engine]),
            Chart("Speed over the smallest layout (ranks x threads)", "the CPUs' ratio",
                  [Bar(f"{f.dtype}, {title(f.workload)}, {f.layout}", f.dtype, speedup(f, self.scaling), f.layout.cpus)
                   for f in self.scaling if f.layout.cpus > 1]),
        ])
