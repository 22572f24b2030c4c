"""A service that is measured, and requests to it one at a time."""
from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from bench.company.bodies import LABELS, Body, BodyMaker
from bench.company.cases import POLITE_REQUESTS, Case, Company, polite_connections, polite_texts
from bench.company.clients import Clients
from bench.company.load import POLITE_SOURCE, Load, Pipelined, Raw
from bench.company.metrics import pass_bound_seconds
from bench.company.models import config, is_classifier, model_directory
from bench.company.service import Service
from bench.company.wire import Response, ask

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
    models: Path
    work: Path
    seconds: float  # Of each measurement.
    rounds: int
    limit: float  # Seconds until something that does not end is given up.
    patience: float  # Seconds after which a polite request without a reply has failed.
    ranks: int
    flags: dict[str, Any]  # Of the service.
    model: Path = Path()  # Of heavy clients and probes.
    polite_tokens: int = 0  # Of a polite request beside heavy clients.
    long_tokens: int = 0
    max_pass_seconds: float = 0.0  # The bound of a pass, if the service does not say it.
    accepted_tokens: dict[str, int] = field(default_factory=dict)  # Of long requests, by the build's name.


def wanted(own: float, bound: float) -> float:
    """A request's time should be at most three times the sum of its own time and one bounded pass."""
    return 3 * (own + bound)


class Unanswered(Exception):
    """The reason of an error reply, or why there is none."""


class NoReply(Unanswered):
    """The request was given up."""


class Side:
    """One build's service, on one transport."""

    def __init__(self, settings: Settings, build: Build, service: Service, model: Path, http: bool) -> None:
        self.settings = settings
        self.build = build
        self.service = service
        self.model = model
        self.http = http
        self.address = service.http_address if http else service.address
        about = config(model)
        self.maker = BodyMaker(http, about["vocab_size"], None if is_classifier(about) else LABELS)
        self._bodies: dict[Any, list[Body]] = {}  # Of loads that have been started.

    @property
    def transport(self) -> str:
        return "HTTP" if self.http else "socket"

    def title(self, title: str) -> str:
        return title.format(tokens=self.maker.long_tokens)

    def seconds_of(self, body: Body, salt: str | None = None) -> float:
        """The time of a polite client's request. Raises Unanswered if it has no response. Without `salt`, nothing of it is
        in the cache."""
        patience = self.settings.patience
        begin = time.monotonic()
        try:
            response = self._ask(body, salt or f"one-{next(_salts)}", patience)
        except TimeoutError:
            raise NoReply(f"no reply in {patience:.0f} s") from None
        except OSError as fault:
            raise Unanswered(type(fault).__name__) from None
        if response.reason:
            raise Unanswered(response.reason)
        return time.monotonic() - begin

    def seconds_alone(self, body: Body, salt: str | None = None) -> float:
        """The median of some, for about as long as a measurement."""
        times = [self.seconds_of(body, salt)]
        while len(times) < _TIMES_ALONE and sum(times) < self.settings.seconds:
            times.append(self.seconds_of(body, salt))
        return median(times)

    def polite_body(self) -> Body:
        """A request beside heavy clients."""
        return self.maker.text(self.settings.polite_tokens)

    def polite_clients(self, case: Case, interval: float) -> Clients:
        """`interval`: of those beside heavy clients."""
        if not case.is_heavy:
            return self.start(*polite_texts(case.polite, self.http, case.timeout_ms, self.settings.patience))
        return self.start(Load(lambda *_: self.polite_body(), POLITE_REQUESTS, source=POLITE_SOURCE, obeys=False,
                               interval=interval, connections=polite_connections(self.http), patience=self.settings.patience))

    def start(self, *loads: Load, is_hostile: bool = False) -> Clients:
        for load in loads:
            if load.body not in self._bodies:
                self._bodies[load.body] = [load.body(self.maker, number) for number in range(load.bodies)]
        return Clients(self.address, self.http, [(load, self._bodies[load.body]) for load in loads], is_hostile=is_hostile)

    def start_company(self, stack: ExitStack, company: Sequence[Company], *,
                      is_hostile: bool = False) -> tuple[list[Clients], list[str]]:
        """The clients, and notes. All ends with the stack. `is_hostile`: other clients of the same CPUs come first."""
        clients, notes = [], []
        for each in company:
            if isinstance(each, Load | Raw | Pipelined):
                started = (self.start(each, is_hostile=is_hostile) if isinstance(each, Load) else
                           Clients(self.address, self.http, raw=each, is_hostile=is_hostile))
                clients.append(stack.enter_context(started))
            else:
                notes += stack.enter_context(each(self.service))
        return clients, notes

    def bound_seconds(self) -> float:
        return pass_bound_seconds(self.service, self.settings.max_pass_seconds)

    def accepted_tokens(self) -> int:
        """The tokens of the longest request that this service accepts, at most those of the settings: half of them, or a
        quarter and so on, if its K/V does not fit."""
        known = self.settings.accepted_tokens
        if self.build.name not in known:
            tokens = self.settings.long_tokens
            while tokens > _SHORTEST_LONG_TOKENS and self._refuses(tokens):
                tokens //= 2
            known[self.build.name] = tokens
        return known[self.build.name]

    def _refuses(self, tokens: int) -> bool:
        try:
            return self._ask(self.maker.score(tokens - 2), "accepted?", _REFUSAL_SECONDS).code == 400
        except TimeoutError:
            return False

    def _ask(self, body: Body, salt: str, seconds: float) -> Response:
        return ask(self.address, POLITE_SOURCE, self.http, body.message(1, salt), seconds)


@contextmanager
def started(settings: Settings, build: Build, case: Any, http: bool, cpus: Collection[int] | None = None) -> Iterator[Side]:
    """The service of a case or a probe, which may run on some CPUs only."""
    log = settings.work / f"{case.name}-{'http' if http else 'socket'}-{build.name}.log"
    model = model_directory(case.model, settings.models) if case.model else settings.model
    with Service(build.scorecast, model, settings.ranks, settings.flags | case.flags, log, cpus) as service:
        yield Side(settings, build, service, model, http)
