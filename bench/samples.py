"""Statistics of what was measured again and again, as samples.h has them."""
from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int) -> str:
    """"median (least-most)", with so many digits after the point."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
