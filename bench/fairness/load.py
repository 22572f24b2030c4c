"""What heavy clients send, and what they see."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.fairness.bodies import Body, BodyMaker

DIFFERENT_BODIES = 4  # Each is sent with a new salt, so the cache helps none of them.
OPEN_LOOP_CONNECTIONS = 16  # Of the socket, from each of which the service reads up to 256 requests.


@dataclass(frozen=True)
class Load:
    """Each client keeps `in_flight` requests in flight, on one connection of the socket, or on as many connections over
    HTTP. With `rate`, requests are sent instead at random times, whether earlier ones have replies or not."""

    body: Callable[[BodyMaker], Body]
    clients: int = 1
    in_flight: int = 1
    http_in_flight: int | None = None  # If it is another number over HTTP.
    own_addresses: bool = False  # Whether each client has an address of its own.
    once: bool = False  # Whether each request is sent only once.
    rate: float | None = None  # Requests per second, the mean of a Poisson process.
    source: str = "127.0.0.1"

    def sources(self, http: bool) -> list[str]:
        """The address of each connection."""
        clients = [f"127.0.1.{1 + n}" if self.own_addresses else self.source for n in range(self.clients)]
        return [source for source in clients for _ in range(self._of_client(True))] if http else clients

    def on_connection(self, http: bool) -> int:
        """Requests in flight on each connection."""
        return 1 if http else self._of_client(False)

    def _of_client(self, http: bool) -> int:
        return self.http_in_flight or self.in_flight if http else self.in_flight


@dataclass
class Traffic:
    """What heavy clients saw."""

    sent: int = 0
    unsent: int = 0  # Of an open loop: no connection had room for them.
    pending: int = 0  # Without a reply at the end.
    outcomes: Counter[str] = field(default_factory=Counter)  # "ok", the reason of an error reply, or a connection's fault.
    seconds: list[float] = field(default_factory=list)  # From when a request was due to its response.
    refused: int = 0
    retry_after: list[int] = field(default_factory=list)  # Seconds of each refusal.
    retries: int = 0  # Refused requests that were sent again when Retry-After had passed.
    retries_admitted: int = 0  # Those of them that were not refused again.
    gaps: list[float] = field(default_factory=list)  # Seconds between consecutive tokens of a stream.

    def refused_share(self) -> float:
        return self.refused / max(1, self.sent)

    def add(self, other: Traffic) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
