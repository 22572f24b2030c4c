"""What charts as SVG have in common. Needs the standard library only."""
from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape


def text(x: float, y: float, content: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(content)}</text>'


def document(width: int, height: int, parts: Sequence[str]) -> str:
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      'font-family="sans-serif" font-size="12">',
                      f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>"]) + "\n"
