"""What an abuse is, and how it is measured."""
from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.abuse.hostile import Hostile
from bench.abuse.models import model_directory
from bench.abuse.polite import FRESH, KEPT, LONG, Latencies, PoliteClients, Sample, latencies
from bench.abuse.service import Service
from bench.progress import progress

ALONE, BESIDE, AFTER = "alone", "beside", "after"


@dataclass
class Settings:
    scorecast: Path
    models: Path
    work: Path
    seconds: float  # Of the abuse, in each round.
    rounds: int
    ranks: int = 2
    limit: float = 60.0  # Seconds until something that does not end is given up.


@dataclass
class Result:
    """What the table has of one abuse."""

    name: str
    title: str
    samples: list[Sample] = field(default_factory=list)
    memory: dict[str, float] = field(default_factory=dict)  # MiB of all ranks: before, peak, after.
    drain_seconds: float | None = None
    drain_limit: float | None = None  # If it had not ended by then.
    counts: Counter[str] = field(default_factory=Counter)  # Replies to the hostile clients, and their faults.
    notes: list[str] = field(default_factory=list)

    def of(self, phase: str, kinds: tuple[str, ...] = (KEPT, FRESH)) -> Latencies:
        return latencies(self.samples, phase, kinds)


@dataclass
class Abuse:
    """An abuse that is measured by `run`."""

    name: str
    title: str
    run: Callable[[Settings, Result], None]

    def measure(self, settings: Settings) -> Result:
        progress(f"abuse: {self.name}")
        result = Result(self.name, self.title)
        self.run(settings, result)
        return result


def start_service(settings: Settings, name: str, model: str, flags: dict[str, Any] | None = None) -> Service:
    return Service(settings.scorecast, model_directory(model, settings.models), settings.ranks,
                   {"--threads": 1, **(flags or {})}, settings.work / f"{name}.log")


def beside_polite_clients(name: str, title: str, attack: Callable[[Hostile], None], *, model: str = "demo",
                          flags: dict[str, Any] | None = None, drains: bool = False) -> Abuse:
    """An attack beside polite clients. If `drains`, the service is drained in the middle of it at the end."""

    def run(settings: Settings, result: Result) -> None:
        with start_service(settings, name, model, flags) as service:
            with PoliteClients(service.address) as polite:
                polite.phase("warm-up")
                time.sleep(1.5)
                for number in range(settings.rounds):
                    polite.phase(ALONE)
                    time.sleep(settings.seconds / 2)
                    result.memory.setdefault("before", service.resident_mib())
                    service.reset_peak()
                    polite.phase(BESIDE)
                    hostile = Hostile(attack, service.address)
                    time.sleep(settings.seconds)
                    result.counts += hostile.stop()
                    result.memory["peak"] = max(result.memory.get("peak", 0), service.peak_mib())
                    polite.phase(AFTER)
                    seconds = _settle(polite, result, settings.limit)
                    result.memory["peak"] = max(result.memory["peak"], service.peak_mib())
                    result.memory["after"] = service.resident_mib()
                    if seconds is None:
                        result.notes.append(f"polite clients got nothing for {settings.limit:.0f} s after its end")
                        break
                    if seconds > 5:
                        result.notes.append(f"its work went on for {seconds:.0f} s after its end")
                result.samples = polite.stop()
            if not service.runs():
                result.notes.append(f"the service ended: {service.last_log_line()}")
            elif drains:
                _drain_in_the_middle(service, attack, settings, result)

    return Abuse(name, title, run)


def _settle(polite: PoliteClients, result: Result, limit: float) -> float | None:
    """Waits until the clients of all kinds get replies again. Returns the seconds, or None if they do not in time."""
    begin = time.monotonic()
    while time.monotonic() < begin + limit:
        time.sleep(1)
        if all(any(sample.outcome == "ok" for sample in polite.recent(kind)) for kind in polite.kinds):
            return time.monotonic() - begin
    return None


def _drain_in_the_middle(service: Service, attack: Callable[[Hostile], None], settings: Settings, result: Result) -> None:
    hostile = Hostile(attack, service.address)
    time.sleep(2)
    drain(service, settings, result)
    hostile.kill()


def drain(service: Service, settings: Settings, result: Result) -> None:
    """Signals the service with SIGUSR1 and measures the time until its end."""
    begin = time.monotonic()
    service.signal(signal.SIGUSR1)
    code = service.wait(settings.limit)
    if code is None:
        result.drain_limit = settings.limit
    else:
        result.drain_seconds = time.monotonic() - begin
        if code:
            result.notes.append(f"exit code {code}: {service.last_log_line()}")
