"""Statistics of repeated measurements; the medians are the same as in samples.h."""
from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any


def percentile(values: Sequence[Any], percent: float) -> Any:
    """The smallest value that at least `percent` of all values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def spread(values: Sequence[float], digits: int) -> str:
    """"median (min-max)", with `digits` decimals."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
