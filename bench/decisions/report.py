"""The figures as Markdown tables."""
from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.decisions.measure import (FEW_QUESTIONS, FEW_REQUESTS, TARGET_FASTER, TARGET_OVER_ONE, TARGET_QUESTIONS, TIMED, Asked,
                                     Figures)
from bench.decisions.questions import QUESTION_TOKENS, STATE_TOKENS
from bench.passes.tables import table
from bench.samples import percentile, spread


def cpu() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else "unknown"


@dataclass
class Run:
    shape: str
    kernel: str  # The value of --kernel.
    rounds: int
    host: str = field(default_factory=platform.node)
    cpu: str = field(default_factory=cpu)
    cpus: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    load_before: list[float] = field(default_factory=lambda: list(os.getloadavg()))
    figures: list[Figures] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        parts = [f"Shape {self.shape}, --kernel {self.kernel}, {self.cpus} CPUs of {self.cpu} ({self.host}, load {self.load_before[0]:.1f} "
                 f"before), {self.rounds} round{'s' if self.rounds != 1 else ''}; median (min-max)",
                 "\n".join(f"- {f.dtype}: {f.engine}; {f.threads} thread{'s' if f.threads != 1 else ''}" for f in self.figures),
                 "## Questions about a state",
                 f"A state of {STATE_TOKENS} tokens with questions of {QUESTION_TOKENS}, over HTTP. One by one: a request, or "
                 f"another engine's pass, for each question; at most {TIMED} are timed, and the time is extrapolated.",
                 _times(self.figures), "## Targets", _targets(self.figures), "## Rates", _rates(self.figures)]
        versions = {name: version for f in self.figures for name, version in f.peer_versions.items()}
        parts += ["\n".join(f"- {name}: {version}" for name, version in versions.items())] if versions else []
        parts += ["\n".join(f"- Not run: {reason}" for reason in self.not_run)] if self.not_run else []
        return "\n\n".join(parts)

    def document(self) -> dict[str, Any]:
        return {"bench": "decisions", **asdict(self)}


def _times(all_figures: Sequence[Figures]) -> str:
    rows = []
    for f in all_figures:
        for asked in f.asked:
            rows += [[f.dtype, str(asked.questions), way, spread(seconds, 3), spread(asked.over(seconds), 2)] for way, seconds in _ways(asked)]
    return table(["dtype", "questions", "way to ask", "s", "/ one request"], rows)


def _ways(asked: Asked) -> list[tuple[str, list[float]]]:
    return [("one request", asked.together), ("one request, state cached", asked.behind_cache),
            ("one by one, state cached", asked.one_by_one), ("one by one, uncached", asked.uncached),
            *((f"one by one, {name}", seconds) for name, seconds in asked.peers.items())]


def _targets(all_figures: Sequence[Figures]) -> str:
    rows = []
    for f in all_figures:
        asked, over_one = f.of(TARGET_QUESTIONS), f.over_one(TARGET_QUESTIONS)
        if over_one:
            rows.append([f.dtype, f"{TARGET_QUESTIONS} questions / one question", f"<= {TARGET_OVER_ONE:g}", spread(over_one, 2),
                         _verdict(median(over_one) <= TARGET_OVER_ONE)])
        if asked:
            faster = asked.over(asked.uncached)
            rows.append([f.dtype, f"{TARGET_QUESTIONS} questions: one by one, uncached / one request", f">= {TARGET_FASTER:g}",
                         spread(faster, 2), _verdict(median(faster) >= TARGET_FASTER)])
    return table(["dtype", "ratio", "target", "reached", ""], rows)


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


def _rates(all_figures: Sequence[Figures]) -> str:
    rows = []
    for f in all_figures:
        few = [1000 * seconds for seconds in f.few_medians()]
        slow = [1000 * percentile(seconds, 95) for seconds in f.few_seconds]
        rows.append([f.dtype, f"{FEW_QUESTIONS} questions behind a cached state, p50 of {FEW_REQUESTS}, ms", spread(few, 1)])
        rows.append([f.dtype, "p95, ms", spread(slow, 1)])
        most = max(f.asked, key=lambda asked: asked.questions)
        for what, seconds in (("a new state", most.together), ("a cached state", most.behind_cache)):
            rows.append([f.dtype, f"decisions a second and core, {most.questions} about {what}",
                         spread(f.per_second_and_core(seconds, most.questions), 1)])
    return table(["dtype", "figure", ""], rows)
