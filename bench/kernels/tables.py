"""Figures of kernels as Markdown tables and as JSON."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.passes.tables import table
from bench.samples import spread


@dataclass
class KernelFigures:
    """Replies of the worker's command `kernel`, one for each round."""

    dtype: str
    name: str
    version: str  # Of the engine.
    ours: list[dict[str, Any]] = field(default_factory=list)
    other: list[dict[str, Any]] = field(default_factory=list)  # Of another worker.

    def of(self, figure: str) -> list[float]:
        """Empty if the kernel, or this CPU, does not have the figure."""
        return [reply[figure] for reply in self.ours if figure in reply]

    def rates(self, count: str) -> list[float]:
        """Operations, elements or bytes per second."""
        return [reply[count] / reply["t"] for reply in self.ours]

    def speed_over_other(self) -> list[float]:
        """The other's time over ours, both relative to the bare instruction if there is one."""
        def time(reply: dict[str, Any]) -> float:
            return reply["t"] * reply.get("operations_per_second", 1)
        return [time(theirs) / time(ours) for theirs, ours in zip(self.other, self.ours)]

    @property
    def kind(self) -> str:
        if self.ours[0]["bytes"]:
            return "products"
        return "elements" if self.ours[0]["elements"] else "attention"


Column = tuple[str, Callable[[KernelFigures], list[float]], int]  # Header, values, decimals.
SHARE: Column = ("share of the bare rate", lambda f: f.of("share_of_bare"), 2)
COLUMNS: dict[str, list[Column]] = {
    "attention": [("10^9 operations/s", lambda f: [rate / 1e9 for rate in f.rates("operations")], 1), SHARE],
    "products": [("10^9 operations/s", lambda f: [rate / 1e9 for rate in f.rates("operations")], 1), SHARE,
                 ("GB/s", lambda f: [rate / 1e9 for rate in f.rates("bytes")], 1),
                 ("share of the memory's rate", lambda f: f.of("share_of_reads"), 2)],
    "elements": [("10^9 elements/s", lambda f: [rate / 1e9 for rate in f.rates("elements")], 2),
                 ("bare operations an element", lambda f: f.of("operations_an_element"), 1)],
}
TITLES = {
    "attention": "Attention of the last 96 rows of a text of 8192 tokens:",
    "products": "Products with weights [6144, 1024], each read from memory:",
    "elements": "Rows of 3072 elements, in the caches:",
}


def _table(figures: Sequence[KernelFigures], kind: str) -> str:
    columns = list(COLUMNS[kind])
    if any(f.other for f in figures):
        columns.append(("speed / the other's", KernelFigures.speed_over_other, 2))
    rows = [[f.name, f.dtype, *(spread(values, digits) if (values := of(f)) else "" for _, of, digits in columns)] for f in figures]
    return table(["kernel", "dtype", *(header for header, _, _ in columns)], rows)


def markdown(all_figures: Sequence[KernelFigures], kernel: str, not_run: Sequence[str]) -> str:
    parts = [f"Kernels, --kernel {kernel}, one thread; median (min-max)"]
    for kind, title in TITLES.items():
        figures = [f for f in all_figures if f.kind == kind]
        if figures:
            parts += [title, _table(figures, kind)]
    parts.append("\n".join([*(f"- {dtype}: {version}" for dtype, version in {f.dtype: f.version for f in all_figures}.items()),
                            *(f"- Not run: {reason}" for reason in not_run)]))
    return "\n\n".join(parts)


def document(all_figures: Sequence[KernelFigures], kernel: str) -> dict[str, Any]:
    """The JSON document, with every sample."""
    return {"bench": "kernels", "kernel": kernel, "kernels": [asdict(figures) for figures in all_figures]}
