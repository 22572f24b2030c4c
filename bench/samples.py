"""Statistics of repeated measurements, the same as in samples.h."""
from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int) -> str:
    """"median (min-max)", with `digits` decimals."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
