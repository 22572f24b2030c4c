"""A service that is measured, and requests to it one at a time."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from bench.abuse import http_wire, wire
from bench.abuse.polite import SOURCE
from bench.abuse.service import Service
from bench.fairness.bodies import Body, BodyMaker
from bench.fairness.heavy import HeavyClients
from bench.fairness.load import DIFFERENT_BODIES, Load
from bench.fairness.metrics import pass_bound_seconds
from bench.fairness.model import config

_TIMES_ALONE = 5
_REFUSAL_SECONDS = 3.0  # A request that exceeds the service's capacity is refused sooner.
_SHORTEST_LONG_TOKENS = 1024
_salts = count()


@dataclass(frozen=True)
class Build:
    name: str
    scorecast: Path


@dataclass
class Settings:
    builds: list[Build]
    model: Path
    work: Path
    ranks: int
    flags: dict[str, Any]  # Of the service.
    seconds: float  # Of each measurement.
    rounds: int
    limit: float  # Seconds after which a request without a reply is given up.
    polite_tokens: int
    long_tokens: int
    max_pass_seconds: float  # The bound of a pass, if the service does not say it.
    vocab_size: int = field(init=False)
    accepted_tokens: dict[str, int] = field(default_factory=dict)  # Of long requests, by the build's name.

    def __post_init__(self) -> None:
        self.vocab_size = config(self.model)["vocab_size"]


class Unanswered(Exception):
    """The reason of an error reply, or why there is none."""


class NoReply(Unanswered):
    """The request was given up."""


class Side:
    """One build's service, on one transport."""

    def __init__(self, settings: Settings, build: Build, service: Service, http: bool) -> None:
        self.settings = settings
        self.build = build
        self.service = service
        self.http = http
        self.address = service.http_address if http else service.address
        self.connection = http_wire.Connection if http else wire.Connection
        self.maker = BodyMaker(http, settings.vocab_size)
        self._bodies: dict[Callable[[BodyMaker], Body], list[Body]] = {}  # Of loads that have been started.

    @property
    def transport(self) -> str:
        return "HTTP" if self.http else "socket"

    def connect(self) -> Any:
        """As a polite client."""
        return self.connection(self.address, SOURCE, timeout=self.settings.limit)

    def seconds_of(self, body: Body, salt: str | None = None) -> float:
        """The time of a polite client's request. Raises Unanswered if it has no response. Without `salt`, nothing of it is
        in the cache."""
        connection = self.connect()
        try:
            begin = time.monotonic()
            connection.send(body.message(1, salt or f"one-{next(_salts)}"))
            response = connection.receive()
            if response.reason:
                raise Unanswered(response.reason)
            return time.monotonic() - begin
        except TimeoutError:
            raise NoReply(f"no reply in {self.settings.limit:.0f} s") from None
        except OSError as fault:
            raise Unanswered(type(fault).__name__) from None
        finally:
            connection.close()

    def seconds_alone(self, body: Body, salt: str | None = None) -> float:
        """The median of some, for about as long as a measurement."""
        times = [self.seconds_of(body, salt)]
        while len(times) < _TIMES_ALONE and sum(times) < self.settings.seconds:
            times.append(self.seconds_of(body, salt))
        return median(times)

    def start(self, load: Load) -> HeavyClients:
        if load.body not in self._bodies:
            self._bodies[load.body] = [load.body(self.maker) for _ in range(DIFFERENT_BODIES)]
        return HeavyClients(self.address, load, self._bodies[load.body], http=self.http)

    def bound_seconds(self) -> float:
        return pass_bound_seconds(self.service, self.settings.max_pass_seconds)

    def accepted_tokens(self) -> int:
        """The tokens of the longest request that this service accepts, at most those of the settings: half of them, or a
        quarter and so on, if its K/V does not fit."""
        known = self.settings.accepted_tokens
        if self.build.name not in known:
            known[self.build.name] = self._find_accepted_tokens()
        return known[self.build.name]

    def _find_accepted_tokens(self) -> int:
        tokens = self.settings.long_tokens
        while tokens > _SHORTEST_LONG_TOKENS and self._refuses(tokens):
            tokens //= 2
        return tokens

    def _refuses(self, tokens: int) -> bool:
        connection = self.connect()
        try:
            connection.socket.settimeout(_REFUSAL_SECONDS)
            connection.send(self.maker.score(tokens - 2, 2, 1).message(1, "accepted?"))
            return connection.receive().code == 400
        except TimeoutError:
            return False
        finally:
            connection.close()


@contextmanager
def started(settings: Settings, build: Build, name: str, http: bool) -> Iterator[Side]:
    log = settings.work / f"{name}-{'http' if http else 'socket'}-{build.name}.log"
    with Service(build.scorecast, settings.model, settings.ranks, settings.flags, log) as service:
        yield Side(settings, build, service, http)
