"""Predicted and measured figures as a Markdown table and as JSON."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.samples import spread

WANTED = 0.15  # A prediction may differ from the measured figure by this part of it.


@dataclass
class Comparison:
    """One figure of one layout in each round: "seconds", "CPU seconds" or "MB a host"."""

    dtype: str
    layout: str
    network: str  # Empty on one host.
    workload: str
    figure: str
    predicted: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)

    def add(self, predicted: float, measured: float) -> None:
        """Adds a round."""
        self.predicted.append(predicted)
        self.measured.append(measured)

    @property
    def ratio(self) -> float:
        """The median of the ratios within a round."""
        return median(predicted / measured for predicted, measured in zip(self.predicted, self.measured))

    @property
    def is_within(self) -> bool:
        return abs(self.ratio - 1) <= WANTED


HEADER = ["dtype", "hosts x ranks x threads", "network", "query + items", "figure", "predicted", "measured",
          "predicted / measured"]


def _row(each: Comparison) -> list[str]:
    digits = 1 if each.figure.startswith("MB") else 3
    query, items = each.workload.split("+")
    return [each.dtype, each.layout, each.network, f"{query} + {items.replace('x', ' x ')}", each.figure,
            spread(each.predicted, digits), spread(each.measured, digits),
            f"{each.ratio:.2f}" + ("" if each.is_within else " !")]


def table(shape: str, calibrations: dict[str, list[str]], rounds: int, all_of_them: list[Comparison],
          skipped: list[str]) -> str:
    lines = ["# Predicted and measured", "",
             f"`bench/run cost`: shape {shape}, {rounds} round{'s' if rounds != 1 else ''}, each with calibrations of its own; "
             "median (min-max), and the median of the rounds' ratios", "",
             f"| {' | '.join(HEADER)} |", "|" + "---|" * len(HEADER)]
    lines += [f"| {' | '.join(_row(each))} |" for each in all_of_them]
    lines.append("")
    for figure in dict.fromkeys(each.figure for each in all_of_them):
        of_figure = [each for each in all_of_them if each.figure == figure]
        within = sum(each.is_within for each in of_figure)
        lines.append(f"- {figure}: {within} of {len(of_figure)} within {100 * WANTED:.0f} %, ratios "
                     f"{min(each.ratio for each in of_figure):.2f} to {max(each.ratio for each in of_figure):.2f}")
    lines += [f"- calibrated in {dtype}: {', '.join(names)} (hosts x ranks x threads)" for dtype, names in calibrations.items()]
    lines += ["", "Seconds of a pass, if each thread has a core; CPU seconds of all ranks' passes outside of MPI; MB that "
                  "leave a host's interface, as the mean over hosts."]
    lines += [f"\nSkipped: {reason}" for reason in skipped]
    return "\n".join(lines)


def document(shape: str, calibrations: dict[str, list[str]], rounds: int, all_of_them: list[Comparison],
             skipped: list[str]) -> dict[str, Any]:
    return {"bench": "cost", "shape": shape, "rounds": rounds, "calibrations": calibrations, "skipped": skipped,
            "comparisons": [vars(each) | {"ratio": each.ratio} for each in all_of_them]}
