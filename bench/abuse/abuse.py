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
from bench.abuse.polite import FRESH, KEPT, Latencies, PoliteClients, Sample, latencies
from bench.abuse.service import Service
from bench.progress import progress

ALONE, BESIDE, AFTER = "alone", "beside", "after"


@dataclass
class Settings:
    scorecast: Path
    models: Path
    work: Path
    seconds: float  # How long the abuse lasts in each round.
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
                          flags: dict[str, Any] | None = None, drains: bool = False, http: bool = False) -> Abuse:
    """An attack beside polite clients, all on the request socket or, if `http`, all over HTTP. If `drains`, the service
    is drained in the middle of the attack at the end."""

    def run(settings: Settings, result: Result) -> None:
        with start_service(settings, name, model, flags) as service:
            address = service.http_address if http else service.address
            with PoliteClients(address, http=http) as polite:
                polite.phase("warm-up")
                time.sleep(1.5)
                for number in range(settings.rounds):
                    polite.phase(ALONE)
                    time.sleep(settings.seconds / 2)
                    result.memory.setdefault("before", service.resident_mib())
                    service.reset_peak()
                    polite.phase(BESIDE)
                    hostile = Hostile(attack, address, http=http)
                    time.sleep(settings.seconds)
                    result.counts += hostile.stop()
                    result.memory["peak"] = max(result.memory.get("peak", 0), service.peak_mib())
                    polite.phase(AFTER)
                    begin = time.monotonic()
                    unserved = wait_until_served(polite, settings.limit)
                    result.memory["peak"] = max(result.memory["peak"], service.peak_mib())
                    result.memory["after"] = service.resident_mib()
                    if unserved:
                        result.notes.append(f"for {settings.limit:.0f} s after its end, no reply to polite clients of the kind "
                                            + ", ".join(unserved))
                        break
                    if time.monotonic() > begin + 5:
                        result.notes.append(f"polite clients waited for {time.monotonic() - begin:.0f} s after its end")
                result.samples = polite.stop()
            if not service.runs():
                result.notes.append(f"the service ended: {service.last_log_line()}")
            elif drains:
                hostile = Hostile(attack, address, http=http)
                time.sleep(2)
                drain(service, settings, result)
                hostile.kill()

    return Abuse(name, title, run)


def wait_until_served(polite: PoliteClients, limit: float) -> list[str]:
    """Waits until the clients of all kinds get replies in the current phase. Returns the kinds that do not in time."""
    end = time.monotonic() + limit
    while True:
        time.sleep(1)
        unserved = [kind for kind in polite.kinds if all(sample.outcome != "ok" for sample in polite.recent(kind))]
        if not unserved or time.monotonic() > end:
            return unserved


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
