"""Bar charts as SVG. Needs the standard library only."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.svg import document, text

LABELS, PLOT, VALUES = 230, 420, 150  # Widths, in pixels.
BAR, STEP, HEAD, FOOT = 14, 22, 46, 20  # Heights.
COLORS = {"f32": "#4c78a8", "bf16": "#f58518", "int8": "#54a24b"}


@dataclass
class Bar:
    label: str
    dtype: str
    values: Sequence[float]  # The bar is their median, the black line their spread.
    mark: float  # The value to compare with, drawn as a red line.


@dataclass
class Chart:
    title: str
    mark: str  # Meaning of the marks.
    bars: list[Bar]

    @property
    def height(self) -> int:
        return HEAD + STEP * len(self.bars) + FOOT


def _bar(bar: Bar, y: float, scale: float) -> list[str]:
    middle = y + BAR / 2
    value, least, most = median(bar.values), min(bar.values), max(bar.values)
    mark = LABELS + bar.mark * scale
    return [
        text(LABELS - 8, middle + 4, bar.label, 'text-anchor="end"'),
        f'<rect x="{LABELS}" y="{y}" width="{value * scale:.1f}" height="{BAR}" fill="{COLORS.get(bar.dtype, "#888")}"/>',
        f'<line x1="{LABELS + least * scale:.1f}" x2="{LABELS + most * scale:.1f}" y1="{middle}" y2="{middle}" stroke="black"/>',
        f'<line x1="{mark:.1f}" x2="{mark:.1f}" y1="{y - 3}" y2="{y + BAR + 3}" stroke="#d00" stroke-width="2"/>',
        text(LABELS + PLOT + 12, middle + 4, f"{value:.2f} ({bar.mark:.2f})"),
    ]


def _chart(chart: Chart, top: float) -> list[str]:
    scale = PLOT / max(max(*bar.values, bar.mark) for bar in chart.bars)
    parts = [text(8, top + 18, chart.title, 'font-weight="bold"'),
             text(8, top + 34, f"bar: median; black line: min to max; red: {chart.mark}", 'fill="#555"')]
    for number, bar in enumerate(chart.bars):
        parts += _bar(bar, top + HEAD + STEP * number, scale)
    return parts


def svg(charts: Sequence[Chart]) -> str | None:
    """Draws the charts one below the other. Leaves out charts without bars; None if no chart has any."""
    parts: list[str] = []
    top = 0
    for chart in charts:
        if chart.bars:
            parts += _chart(chart, top)
            top += chart.height
    if not parts:
        return None
    return document(LABELS + PLOT + VALUES, top, parts)
