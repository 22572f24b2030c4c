"""Line charts with logarithmic axes, as SVG. Needs the standard library only."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.svg import document, text

LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 70, 46, 460, 300, 190, 50  # Pixels: the place and size of the plot, and the room behind it.


@dataclass
class Line:
    name: str
    color: str
    is_dashed: bool
    points: Sequence[tuple[float, float]]


@dataclass
class LineChart:
    title: str
    x_label: str
    y_label: str
    x_ticks: Sequence[float]
    lines: Sequence[Line]
    note: str  # Below the title.


def ticks(least: float, most: float) -> list[float]:
    """1, 2 and 5 times powers of ten, from below `least` to above `most`."""
    all_of_them = [digit * 10.0 ** power for power in range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 1)
                   for digit in (1, 2, 5)]
    first = max((tick for tick in all_of_them if tick <= least), default=least)
    last = min((tick for tick in all_of_them if tick >= most), default=most)
    return [tick for tick in all_of_them if first <= tick <= last]


def _place(value: float, least: float, most: float, length: float) -> float:
    return length * math.log(value / least) / math.log(most / least) if most > least else 0.0


def svg(chart: LineChart) -> str:
    values = [y for line in chart.lines for _, y in line.points]
    y_ticks = ticks(min(values), max(values))

    def at(x: float, y: float) -> tuple[float, float]:
        return (LEFT + _place(x, chart.x_ticks[0], chart.x_ticks[-1], WIDTH),
                TOP + HEIGHT - _place(y, y_ticks[0], y_ticks[-1], HEIGHT))

    parts = [text(8, 18, chart.title, 'font-weight="bold"'), text(8, 34, chart.note, 'fill="#555"')]
    for tick in chart.x_ticks:
        x, _ = at(tick, y_ticks[0])
        parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#ddd"/>',
                  text(x, TOP + HEIGHT + 16, f"{tick:g}", 'text-anchor="middle"')]
    for tick in y_ticks:
        _, y = at(chart.x_ticks[0], tick)
        parts += [f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
                  text(LEFT - 6, y + 4, f"{tick:g}", 'text-anchor="end"')]
    parts += [text(LEFT + WIDTH / 2, TOP + HEIGHT + 36, chart.x_label, 'text-anchor="middle"'),
              text(-(TOP + HEIGHT / 2), 16, chart.y_label, 'text-anchor="middle" transform="rotate(-90)"')]
    for number, line in enumerate(chart.lines):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line.points))
        dashes = ' stroke-dasharray="5 4"' if line.is_dashed else ""
        y = TOP + 10 + 18 * number
        parts += [f'<polyline points="{path}" fill="none" stroke="{line.color}" stroke-width="2"{dashes}/>',
                  f'<line x1="{LEFT + WIDTH + 12}" x2="{LEFT + WIDTH + 40}" y1="{y}" y2="{y}" stroke="{line.color}" stroke-width="2"{dashes}/>',
                  text(LEFT + WIDTH + 46, y + 4, line.name)]
    return document(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, parts)
