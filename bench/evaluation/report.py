"""The figures as Markdown tables."""
from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import isclose
from statistics import median
from typing import Any

from bench.decisions.report import cpu
from bench.evaluation.tasks import READING, ROLLING
from bench.passes.tables import table
from bench.samples import spread

TARGET_FASTER = 3.0


@dataclass
class Row:
    model: str
    task: str
    way: str
    metric: float
    difference: float  # The largest one of an answer from that of our model class: of a log-likelihood, or 1 for another text.
    uncached: list[float] = field(default_factory=list)  # Seconds of each round.
    cached: list[float] = field(default_factory=list)


@dataclass
class Run:
    versions: str
    questions: int
    rounds: int
    engine: str = ""
    host: str = field(default_factory=platform.node)
    cpu: str = field(default_factory=cpu)
    cpus: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    load_before: list[float] = field(default_factory=lambda: list(os.getloadavg()))
    rows: list[Row] = field(default_factory=list)

    def first(self, row: Row) -> Row:
        """The row of our model class."""
        return next(other for other in self.rows if (other.model, other.task) == (row.model, row.task))

    def same_metrics(self) -> bool:
        """Those of rolling log-likelihoods have the differences of their sums."""
        return all(isclose(row.metric, self.first(row).metric, rel_tol=1e-6 if row.task == ROLLING else 0) for row in self.rows)

    def faster(self, row: Row, cached: bool) -> list[float]:
        """For each round, the time of this way over that of our model class."""
        ours = self.first(row)
        mine, first = (row.cached, ours.cached) if cached else (row.uncached, ours.uncached)
        return [a / b for a, b in zip(mine, first)]

    def markdown(self) -> str:
        parts = [f"{self.versions}, {self.engine}; {self.cpus} CPUs of {self.cpu} ({self.host}, load {self.load_before[0]:.1f} before), "
                 f"{self.questions} questions, {self.rounds} round{'s' if self.rounds != 1 else ''}; median (min-max)",
                 table(["model", "task", "way to ask", "metric", "difference", "no cache, s", "/ ours", "cache, s", "/ ours"],
                       [_cells(self, row) for row in self.rows]),
                 table(["figure", "target", "reached", ""], list(self._targets()))]
        return "\n\n".join(parts)

    def _targets(self) -> Sequence[Sequence[str]]:
        yield ["metrics of all ways", "the same", "", "met" if self.same_metrics() else "missed"]
        for row in self.rows:
            if row.task == READING and row.way == "local-completions" and row.uncached:
                faster = self.faster(row, False)
                yield [f"{row.model}: local-completions / our model class, no cache", f">= {TARGET_FASTER:g}", spread(faster, 1),
                       "met" if median(faster) >= TARGET_FASTER else "missed"]

    def document(self) -> dict[str, Any]:
        return {"bench": "evaluation", **asdict(self)}


def _cells(run: Run, row: Row) -> list[str]:
    cells = [row.model, row.task.removeprefix("scorecast_"), row.way, f"{row.metric:.10g}", f"{row.difference:.1e}"]
    for cached, seconds in ((False, row.uncached), (True, row.cached)):
        cells += [spread(seconds, 2), spread(run.faster(row, cached), 1)] if seconds else ["", ""]
    return cells
