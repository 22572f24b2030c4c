"""The measurements."""
from __future__ import annotations

import random
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.company.bodies import Body, BodyMaker
from bench.company.clients import Clients
from bench.company.load import NO_REPLY, OK, POLITE_SOURCE, Load, Sample
from bench.company.metrics import scrape
from bench.company.service import ServiceFailed
from bench.company.wire import Address, ask
from bench.progress import progress
from bench.replicas.figures import Cpu, Figures, Hog, Latency, Survival, Throughput
from bench.replicas.processes import Fleet, Front, Nginx, Stub

_BODIES = 64  # Different ones.
_TOKENS = 64  # Of a request.
_HOG_TOKENS = 512
_HOG_IN_FLIGHT = 64
_CLIENTS = 16  # At each replica.
_RAMP_SECONDS = 1.0
_PATIENCE = 60.0  # Seconds after which a request without a reply has failed.
_POLITE_INTERVAL = 0.25
_POLITE_CONNECTIONS = 8
_LEAST_PAUSE, _MOST_PAUSE = 0.5, 1.5  # Seconds between two kills, in which both replicas compute.
_STOP_SECONDS = 5.0


@dataclass
class Settings:
    scorecast: Path
    work: Path
    vocabulary: int  # Of the model.
    seconds: float  # Of each measurement.
    rounds: int
    kills: int  # How often a replica is killed, and
    front_kills: int  # how often a front.
    random: random.Random


@dataclass
class Setup:
    """Two replicas with a front before them."""

    settings: Settings
    fleet: Fleet
    front: Front
    http: bool

    @property
    def transport(self) -> str:
        return "HTTP" if self.http else "socket"

    def bodies(self, tokens: int = _TOKENS) -> list[Body]:
        maker = BodyMaker(self.http, self.settings.vocabulary)
        return [maker.text(tokens) for _ in range(_BODIES)]

    def replicas(self) -> list[Address]:
        return [service.http_address if self.http else service.address for service in self.fleet.services.values()]


def _failures(samples: Sequence[Sample]) -> Counter[str]:
    return Counter(sample.outcome for sample in samples if sample.outcome != OK)


def _ended(samples: Sequence[Sample], begin: float, end: float) -> list[Sample]:
    return [sample for sample in samples if begin <= sample.due + sample.ms / 1000 < end]


def _constant_load(clients: int) -> Load:
    return Load(lambda maker, _: maker.text(_TOKENS), _BODIES, clients=clients, obeys=False, patience=_PATIENCE)


def _rate(setup: Setup, addresses: Sequence[Address], bodies: Sequence[Body],
          cpu_seconds: Callable[[], float] = lambda: 0.0) -> tuple[float, float, Counter[str]]:
    """Asks each address from a process of its own. Returns requests per second, CPU seconds of a request, and failures."""
    with ExitStack() as stack:
        crowds = [stack.enter_context(Clients(address, setup.http, [(_constant_load(_CLIENTS), bodies)])) for address in addresses]
        time.sleep(_RAMP_SECONDS)
        before, begin = cpu_seconds(), time.monotonic()
        time.sleep(setup.settings.seconds)
        took, used = time.monotonic() - begin, cpu_seconds() - before
        samples = [sample for crowd in crowds for sample in _ended(crowd.stop().samples, begin, begin + took)]
    replies = sum(sample.outcome == OK for sample in samples)
    if not replies:
        raise ServiceFailed(f"no replies: {dict(_failures(samples))}")
    return replies / took, used / replies, _failures(samples)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def throughput(setup: Setup) -> Iterator[Figures]:
    """Both replicas asked directly, and through the front, in turns; over HTTP also through nginx, if it is installed."""
    bodies = setup.bodies()
    with ExitStack() as stack:
        before: list[tuple[Throughput, Front | Nginx]] = [(Throughput(setup.transport), setup.front)]
        if setup.http and shutil.which("nginx"):
            nginx = stack.enter_context(Nginx(setup.replicas(), _free_port(), setup.settings.work))
            before.append((Throughput(setup.transport, "nginx"), nginx))
        for number in range(setup.settings.rounds):
            for figures, proxy in before[::-1] if number % 2 else before:
                direct, _, failures = _rate(setup, setup.replicas(), bodies)
                addresses = [proxy.address_for(setup.http)] * len(setup.replicas())
                through, used, more = _rate(setup, addresses, bodies, proxy.cpu_seconds)
                figures.direct.append(direct)
                figures.through.append(through)
                figures.cpu_us.append(1e6 * used)
                figures.failures += failures + more
    yield from (figures for figures, _ in before)


@contextmanager
def _before_stub(setup: Setup) -> Iterator[tuple[Stub, Front]]:
    work = setup.settings.work
    with Stub(work) as stub, setup.front.beside(work / "front-before-stub.log", replicas=stub.list) as front:
        front.wait_for(["stub"])
        yield stub, front


def cpu(setup: Setup) -> Iterator[Figures]:
    """The front, and over HTTP also nginx if it is installed, before a replica that answers at once."""
    bodies = setup.bodies()
    work = setup.settings.work
    with ExitStack() as stack:
        stub, front = stack.enter_context(_before_stub(setup))
        before: list[tuple[Cpu, Front | Nginx]] = [(Cpu(setup.transport), front)]
        if setup.http and shutil.which("nginx"):
            before.append((Cpu(setup.transport, "nginx"), stack.enter_context(Nginx([stub.http_address], _free_port(), work))))
        for number in range(setup.settings.rounds):
            for figures, proxy in before[::-1] if number % 2 else before:
                rate, used, failures = _rate(setup, [proxy.address_for(setup.http)], bodies, proxy.cpu_seconds)
                figures.rate.append(rate)
                figures.cpu_us.append(1e6 * used)
                figures.failures += failures
    yield from (figures for figures, _ in before)


def latency(setup: Setup) -> Iterator[Figures]:
    """One client and a quiet machine, in turns, with a replica that answers at once: what the front adds is much less than by
    how much the times of passes differ."""
    figures = Latency(setup.transport)
    bodies = setup.bodies()
    load = _constant_load(1)
    with _before_stub(setup) as (stub, front):
        for _ in range(setup.settings.rounds):
            for address, medians in ((stub.address_for(setup.http), figures.direct_ms),
                                     (front.address_for(setup.http), figures.through_ms)):
                with Clients(address, setup.http, [(load, bodies)]) as clients:
                    time.sleep(_RAMP_SECONDS)
                    begin = time.monotonic()
                    time.sleep(setup.settings.seconds)
                    end = time.monotonic()
                    samples = _ended(clients.stop().samples, begin, end)
                figures.failures += _failures(samples)
                times = [sample.ms for sample in samples if sample.outcome == OK]
                if not times:
                    raise ServiceFailed(f"no replies: {dict(figures.failures)}")
                medians.append(median(times))
    yield figures


@contextmanager
def _surviving(setup: Setup, case: str) -> Iterator[Survival]:
    """Load on the front, and what becomes of it. Two replies to a request with other bits are a failure."""
    figures = Survival(case, setup.transport)
    bodies = setup.bodies()
    names = list(setup.fleet.services)
    with Clients(setup.front.address_for(setup.http), setup.http, [(_constant_load(_CLIENTS), bodies)]) as clients:
        time.sleep(_RAMP_SECONDS)
        yield figures
        time.sleep(_RAMP_SECONDS)
        clients.pause()
        samples = clients.stop(_PATIENCE).samples
    figures.requests = len(samples)
    figures.failures = _failures(samples)
    figures.milliseconds = [sample.ms for sample in samples if sample.outcome == OK]
    setup.front.wait_for(names)
    results = [_results(setup, address, bodies) for address in [setup.front.address_for(setup.http), *setup.replicas()]]
    figures.differences = sum(any(one != results[0][i] for one in (each[i] for each in results)) for i in range(len(bodies)))


def _results(setup: Setup, address: Address, bodies: Sequence[Body]) -> list[bytes]:
    return [ask(address, POLITE_SOURCE, setup.http, body.message(1, "bits"), _PATIENCE).result for body in bodies]


def kills(setup: Setup) -> Iterator[Figures]:
    """SIGKILL to one replica at a time, which is started again."""
    names = list(setup.fleet.services)
    with _surviving(setup, "kill -9") as figures:
        for number in range(setup.settings.kills):
            time.sleep(setup.settings.random.uniform(_LEAST_PAUSE, _MOST_PAUSE))
            name = setup.settings.random.choice(names)
            progress(f"replicas: kill {number + 1} of {setup.settings.kills}, {name}")
            setup.fleet.kill(name)
            figures.events += 1
            setup.fleet.start(name)
            setup.front.wait_for(names)
    yield figures


def front_kills(setup: Setup) -> Iterator[Figures]:
    """SIGKILL to a front, which is started again, beside another one that goes on. Clients of the former see at once that their
    connections are closed."""
    names = list(setup.fleet.services)
    log = setup.settings.work / "front-killed.log"
    with _surviving(setup, "kill -9 of another front") as figures, ExitStack() as stack:
        other = stack.enter_context(setup.front.beside(log))
        other.wait_for(names)
        ports = other.address[1], other.http_address[1]
        clients = stack.enter_context(Clients(other.address_for(setup.http), setup.http,
                                              [(_constant_load(_CLIENTS), setup.bodies())]))
        for number in range(setup.settings.front_kills):
            time.sleep(setup.settings.random.uniform(_LEAST_PAUSE, _MOST_PAUSE))
            progress(f"replicas: kill {number + 1} of {setup.settings.front_kills} of a front")
            other.kill()
            figures.events += 1
            other = stack.enter_context(setup.front.beside(log, ports))
            other.wait_for(names)
        time.sleep(_RAMP_SECONDS)
        clients.pause()
        others = clients.stop(_PATIENCE).samples
    lost = [sample for sample in others if sample.outcome.startswith(("closed", "not connected"))]
    figures.lost = len(lost)
    figures.failures += _failures(others) - _failures(lost)
    yield figures


def stop(setup: Setup) -> Iterator[Figures]:
    """SIGSTOP to each replica, which goes on later."""
    names = list(setup.fleet.services)
    with _surviving(setup, "SIGSTOP") as figures:
        for service in setup.fleet.services.values():
            with service.stopped(0):
                time.sleep(_STOP_SECONDS)
            figures.events += 1
            setup.front.wait_for(names)
            time.sleep(_RAMP_SECONDS)
    yield figures


def upgrade(setup: Setup) -> Iterator[Figures]:
    """Each replica is drained at the front, ended by SIGUSR1, and started again."""
    names = list(setup.fleet.services)
    with _surviving(setup, "rolling upgrade") as figures:
        for name in names:
            setup.front.command("drain", name)
            setup.fleet.drain(name, _PATIENCE)
            setup.fleet.start(name)
            setup.front.command("undrain", name)
            setup.front.wait_for(names)
            figures.events += 1
    yield figures


def hog(setup: Setup) -> Iterator[Figures]:
    """A polite client beside one that keeps many longer requests in flight."""
    figures = Hog(setup.transport, bound_ms=1000 * max(scrape(service)["scorecast_pass_bound_seconds"]
                                                       for service in setup.fleet.services.values()))
    polite = Load(lambda maker, _: maker.text(_TOKENS), _BODIES, source=POLITE_SOURCE, obeys=False, interval=_POLITE_INTERVAL,
                  connections=_POLITE_CONNECTIONS if setup.http else 1, patience=_PATIENCE)
    heavy = Load(lambda maker, _: maker.text(_HOG_TOKENS), _BODIES, in_flight=_HOG_IN_FLIGHT, patience=_PATIENCE)
    address = setup.front.address_for(setup.http)
    with Clients(address, setup.http, [(polite, setup.bodies())]) as clients:
        time.sleep(_RAMP_SECONDS)
        begin = time.monotonic()
        time.sleep(setup.settings.seconds)
        with Clients(address, setup.http, [(heavy, setup.bodies(_HOG_TOKENS))], is_hostile=True):
            alone = time.monotonic()
            time.sleep(_RAMP_SECONDS)
            beside = time.monotonic()
            time.sleep(setup.settings.seconds)
            end = time.monotonic()
            samples = clients.stop(_PATIENCE).samples
    for times, since, until in ((figures.alone_ms, begin, alone), (figures.beside_ms, beside, end)):
        measured = [sample for sample in samples if since <= sample.due < until]
        times += [sample.ms for sample in measured if sample.outcome in (OK, NO_REPLY)]
        figures.failures += _failures(measured)
    yield figures


CASES: dict[str, Callable[[Setup], Iterator[Figures]]] = {
    "throughput": throughput, "cpu": cpu, "latency": latency, "kill": kills, "front-kill": front_kills, "stop": stop, "hog": hog,
    "upgrade": upgrade}
