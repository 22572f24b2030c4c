"""What the service says about its passes."""
from __future__ import annotations

import http.client
import time
from collections import defaultdict
from contextlib import closing

from bench.company.service import Service

_SECONDS = 10  # In which a scrape must succeed.
_POLL_SECONDS = 0.02


def parse(text: str) -> dict[str, float]:
    """The values of Prometheus' text format by name, summed up over all labels. 0 if there is no such name."""
    values: dict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name.partition("{")[0]] += float(value)
    return values


def scrape(service: Service) -> dict[str, float]:
    with closing(http.client.HTTPConnection(*service.http_address, timeout=_SECONDS)) as connection:
        connection.request("GET", "/metrics")
        return parse(connection.getresponse().read().decode())


def next_pass_end(service: Service, limit: float) -> tuple[float, dict[str, float]]:
    """Waits until a pass ends, at most for `limit` seconds. Returns when it was, and the metrics. Rows count when their pass
    ends, so a rate is that between two ends."""
    begin = time.monotonic()
    first = scrape(service)
    while True:
        time.sleep(_POLL_SECONDS)
        now, at = scrape(service), time.monotonic()
        if now["scorecast_pass_seconds_count"] > first["scorecast_pass_seconds_count"] or at > begin + limit:
            return at, now


def pass_bound_seconds(service: Service, otherwise: float) -> float:
    """`otherwise`: for an older executable that does not have it."""
    return scrape(service)["scorecast_pass_bound_seconds"] or otherwise
