"""All hostile clients at once, beside polite ones on both transports."""
from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from bench.company import attacks
from bench.company.cases import ABUSES, Case
from bench.company.clients import Clients
from bench.company.load import NO_REPLY, NOT_SENT, OK, OTHER_BITS, Load, Raw, Sample, Seen
from bench.company.measure import wait_until_served
from bench.company.metrics import scrape
from bench.company.report import SLOW_PERCENT, count_text, delays_text, slowest_phases
from bench.company.service import Service
from bench.company.side import Settings, Side, started
from bench.passes.tables import table
from bench.progress import progress

_CASE = Case("soak", "", model="sampled:sentencepiece-bpe",
             flags={"--kv-cache-mb": 16})  # It is soon full, so that memory which grows later is not its.
_ALONE_SECONDS = 5
_LEAST_SECONDS, _MOST_SECONDS = 5, 30  # Until an attack begins again, so that its clients leave.
_STOP_SECONDS, _STOP_INTERVAL = 0.5, 10  # For which a rank is stopped, and how often.
_SETTLE_SECONDS = 15
# The memory may grow by this much from the end of the warm-up to the end.
_MAY_GROW_MIB, _MAY_GROW_SHARE = 64, 0.1


def attack_list() -> list[tuple[bool, Load | Raw]]:
    """Every attack of the abuses, and whether it uses HTTP. The idle connections need a limit that others do not keep."""
    found = {("http" in case.transports, each): None for case in ABUSES for each in case.company
             if case.polite and isinstance(each, Load | Raw) and each is not attacks.IDLE}
    return list(found)


@dataclass
class Memory:
    """Of the service at one time, in MiB."""
    when: str
    resident: float  # The sum of all ranks.
    peak: float
    heap: float  # What rank 0 has allocated and not freed.
    held: float  # What must not grow.


@dataclass
class SoakResult:
    seconds: float
    # Of polite clients.
    samples: dict[str, list[Sample]] = field(default_factory=lambda: {"alone": [], "beside": [], "after": []})
    memory: list[Memory] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    # Milliseconds by which short sleeps of the polite clients' processes ended late.
    delays: dict[str, list[float]] = field(default_factory=lambda: {"alone": [], "beside": [], "after": []})

    def markdown(self) -> str:
        parts = [table(["memory", "all ranks, MiB", "peak, MiB", "heap of rank 0, MiB"],
                       [[at.when, f"{at.resident:.0f}", f"{at.peak:.0f}", f"{at.heap:.0f}"] for at in self.memory])]
        rows = []
        for phase, kind in [(phase, kind) for phase in self.samples for kind in self._kinds()]:
            samples = [sample for sample in self.samples[phase] if sample.kind == kind]
            seen = Seen(samples)
            times = [f"{found[0]:.1f}" if (found := seen.percentile(percent)) else "" for percent in (50, 99, 100)]
            rows.append([phase, kind, str(seen.count), *times, count_text(seen.failures), slowest_phases(samples),
                         delays_text(self.delays[phase])])
        parts.append(table(["polite clients", "kind", "requests", "p50, ms", "p99, ms", "most, ms", "failures",
                            f"slowest {SLOW_PERCENT} %: ms", "own delay: p99, most, ms"], rows))
        parts.append("Replies to the abuses: " + count_text(self.counts))
        parts += [f"FAULT: {fault}" for fault in self.faults] or ["No fault."]
        return "\n\n".join(parts)

    def _kinds(self) -> list[str]:
        return sorted({sample.kind for samples in self.samples.values() for sample in samples})

    def judge(self) -> None:
        """Polite clients may be refused by a limit. Other failures are faults, as is memory that grows."""
        seen = Counter(sample.outcome for samples in self.samples.values() for sample in samples)
        self.faults += [f"{number} polite requests: {what}" for what, number in seen.items()
                        if what in (OTHER_BITS, NO_REPLY, NOT_SENT) or what.startswith(("closed", "not connected"))]
        if not seen[OK]:
            self.faults.append("no polite request got its response")
        warm, end = self.memory[1].held, self.memory[2].held
        if end > warm + max(_MAY_GROW_MIB, _MAY_GROW_SHARE * warm):
            self.faults.append(f"the memory grew from {warm:.0f} to {end:.0f} MiB")


def _run_attacks(sides: Sequence[Side], seconds: float, counts: Counter[str]) -> None:
    """Runs all attacks, each of which begins again from time to time. Now and then a rank stops and strangers come."""
    service = sides[0].service
    rng = random.Random(1)

    def start(http: bool, attack: Load | Raw) -> tuple[Clients | None, float]:
        try:
            clients = sides[http].start_company(running, [attack], is_hostile=True)[0][0]
        except OSError:  # The machine was too busy, and the attack begins later.
            clients = None
            counts["the attack did not start"] += 1
        return clients, time.monotonic() + rng.uniform(_LEAST_SECONDS, _MOST_SECONDS)
    with ExitStack() as running, ExitStack() as strangers:
        all_clients = {attack: start(*attack) for attack in attack_list()}
        end = time.monotonic() + seconds
        next_stop = time.monotonic() + _STOP_INTERVAL
        while time.monotonic() < end and service.runs():
            time.sleep(0.5)
            for attack, (clients, until) in all_clients.items():
                if time.monotonic() > until:
                    counts += _outcomes(clients)
                    all_clients[attack] = start(*attack)
            if time.monotonic() > next_stop:
                with suppress(OSError):  # The service may have ended, which is a fault that the result tells.
                    with service.stopped(rng.randrange(len(service.ranks))):
                        time.sleep(_STOP_SECONDS)
                    strangers.close()
                    strangers.enter_context(service.strangers())
                next_stop = time.monotonic() + _STOP_INTERVAL
        for clients, _ in all_clients.values():
            counts += _outcomes(clients)


def _outcomes(clients: Clients | None) -> Counter[str]:
    try:
        return clients.stop().outcomes() if clients else Counter()
    except OSError:
        return Counter({"the attack failed": 1})


def _memory_of(service: Service, when: str) -> Memory:
    """The allocator of a sanitizer gives freed memory to allocations of the same size only, so that the largest number of each size
    remains resident: more and more, the longer the attacks last. So what rank 0 has allocated counts in such a build."""
    resident = service.resident_mib()
    try:
        heap = scrape(service)["scorecast_heap_bytes"] / 2**20
    except OSError:  # The service has ended.
        heap = 0.0
    held = resident - service.resident_mib(0) + heap if service.is_sanitized() and heap else resident
    return Memory(when, resident, service.peak_mib(), heap, held)


def _phase_at(at: float, phases: Sequence[tuple[float, str]]) -> str:
    """`phases`: when each began."""
    return [phase for begin, phase in phases if begin <= at][-1]


def soak(settings: Settings, seconds: float) -> SoakResult:
    # Memory of a sanitizer is its own, and Open MPI keeps some for ever.
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0:quarantine_size_mb=16:thread_local_quarantine_size_kb=64")
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    result = SoakResult(seconds)
    with ExitStack() as stack:
        socket = stack.enter_context(started(settings, settings.builds[0], _CASE, http=False))
        service = socket.service
        sides = (socket, Side(settings, socket.build, service, socket.model, http=True))
        all_polite = [stack.enter_context(side.polite_clients(_CASE, 0.0)) for side in sides]
        phases = [(0.0, "alone")]

        def note_memory(when: str) -> None:
            result.memory.append(_memory_of(service, when))
            progress(f"abuse: soak: {when}: {result.memory[-1].resident:.0f} MiB")

        time.sleep(_ALONE_SECONDS)
        note_memory("at first")
        # The heaps of all threads grow to their working sizes in the first third.
        for name, share in (("after a third", 1 / 3), ("at the end", 2 / 3)):
            phases.append((time.monotonic(), "beside"))
            _run_attacks(sides, share * seconds, result.counts)
            phases.append((time.monotonic(), "after"))
            for polite in all_polite if service.runs() else ():
                wait_until_served(polite, _CASE.polite, phases[-1][0], settings.patience)
            time.sleep(_SETTLE_SECONDS if service.runs() else 0)
            note_memory(name)
        for side, polite in zip(sides, all_polite):
            traffic = polite.stop(settings.patience)
            for sample in traffic.samples:
                of_side = sample._replace(kind=f"{sample.kind}, {side.transport}")
                result.samples[_phase_at(sample.due, phases)].append(of_side)
            for at, ms in traffic.delays:
                result.delays[_phase_at(at, phases)].append(ms)
        if not service.runs():
            result.faults.append(f"the service ended: {service.last_log_line()}")
        else:
            service.signal(signal.SIGUSR1)
            code = service.wait(settings.limit)
            if code != 0:
                result.faults.append(f"exit code {code} after a drain: {service.last_log_line()}")
    result.judge()
    return result
