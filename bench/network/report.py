"""The figures as a Markdown table and as JSON."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from bench.samples import spread


@dataclass
class LinkFigures:
    """Costs of one workload over one link, one value for each round."""

    link: str
    workload: str
    ranks: int
    layers: int
    seconds: list[float] = field(default_factory=list)
    exchange_seconds: list[float] = field(default_factory=list)  # On rank 0, including waiting for the other rank.
    broadcast_seconds: list[float] = field(default_factory=list)  # In broadcasting plans and gathering partial logits.
    bytes_sent: list[list[int]] = field(default_factory=list)  # [rounds][hosts]; empty without a network.


@dataclass
class Figures:
    shape: str
    dtype: str
    threads: int
    rounds: int
    all: list[LinkFigures]
    skipped: list[str]  # Reasons, one line each.

    def speedup(self, figures: LinkFigures) -> float | None:
        """One rank's seconds over these, as median of the rounds. None if one rank was not run."""
        alone = next((f for f in self.all if f.ranks == 1 and f.workload == figures.workload), None)
        return median(a / b for a, b in zip(alone.seconds, figures.seconds)) if alone else None


HEADER = ["link", "query + items", "one pass", "speed over one rank", "exchange, ms per layer", "share of the pass",
          "sent by a host, KiB per layer"]


def _row(figures: Figures, link: LinkFigures) -> list[str]:
    query, items = link.workload.split("+")
    cells = [link.link, f"{query} + {items.replace('x', ' x ')}", spread(link.seconds, 3)]
    if link.ranks == 1:
        return cells + [""] * 4
    speedup = figures.speedup(link)
    per_layer = [1000 * seconds / link.layers for seconds in link.exchange_seconds]
    share = median(exchange / whole for exchange, whole in zip(link.exchange_seconds, link.seconds))
    sent = median(mean(hosts) for hosts in link.bytes_sent) / link.layers / 1024 if link.bytes_sent else None
    return cells + ["" if speedup is None else f"{speedup:.2f}", spread(per_layer, 2), f"{100 * share:.0f} %",
                    "" if sent is None else f"{sent:.0f}"]


def table(figures: Figures) -> str:
    lines = [f"Network: shape {figures.shape}, {figures.dtype}, {figures.threads} thread{'s' if figures.threads != 1 else ''} "
             f"per rank, {figures.rounds} round{'s' if figures.rounds != 1 else ''}; seconds: median (min-max)", "",
             f"| {' | '.join(HEADER)} |", "|" + "---|" * len(HEADER)]
    lines += [f"| {' | '.join(_row(figures, link))} |" for link in figures.all]
    lines += ["", "Exchange: rank 0's time in the calls by which ranks exchange rows, including waiting for the other "
                  "rank; a layer has two exchanges. Sent: all bytes that left an interface, including headers."]
    lines += [f"Skipped: {reason}" for reason in figures.skipped]
    return "\n".join(lines)


def document(figures: Figures) -> dict[str, Any]:
    """The JSON document, with every sample."""
    return {"bench": "network", "shape": figures.shape, "dtype": figures.dtype, "threads": figures.threads,
            "rounds": figures.rounds, "skipped": figures.skipped,
            "links": [vars(link) | {"speed_over_one_rank": figures.speedup(link)} for link in figures.all]}
