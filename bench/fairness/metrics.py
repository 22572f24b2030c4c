"""What the service says about its passes."""
from __future__ import annotations

import http.client
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from bench.abuse.service import Service

_SECONDS = 10  # In which a scrape must succeed.
_POLL_SECONDS = 0.02
_PASS_BOUND = "scorecast_pass_bound_seconds"  # An older executable does not have it.


def parse(text: str) -> dict[str, float]:
    """The values of Prometheus' text format by name, summed up over all labels."""
    values: dict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name.partition("{")[0]] += float(value)
    return dict(values)


def scrape(service: Service) -> dict[str, float]:
    connection = http.client.HTTPConnection(*service.http_address, timeout=_SECONDS)
    try:
        connection.request("GET", "/metrics")
        return parse(connection.getresponse().read().decode())
    finally:
        connection.close()


@dataclass
class PassEnd:
    """The passes that had ended by a moment."""

    at: float
    passes: float
    rows: float
    seconds: float

    @staticmethod
    def of(values: Mapping[str, float]) -> PassEnd:
        return PassEnd(time.monotonic(), *(values.get(f"scorecast_pass_{name}", 0.0)
                                           for name in ("seconds_count", "rows_sum", "seconds_sum")))


def next_pass_end(service: Service, limit: float) -> PassEnd:
    """Waits until a pass ends, at most for `limit` seconds. Rows count when their pass ends, so a rate is that between two
    ends."""
    first = PassEnd.of(scrape(service))
    while True:
        time.sleep(_POLL_SECONDS)
        now = PassEnd.of(scrape(service))
        if now.passes > first.passes or now.at > first.at + limit:
            return now


def pass_bound_seconds(service: Service, otherwise: float) -> float:
    return scrape(service).get(_PASS_BOUND, otherwise)
