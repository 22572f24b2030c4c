"""All abuses at once, except those that end the service."""
from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.abuse import attacks, http_attacks
from bench.abuse.abuse import AFTER, ALONE, BESIDE, Settings, start_service, wait_until_served
from bench.abuse.hostile import Hostile
from bench.abuse.polite import NO_REPLY, OTHER_BITS, PoliteClients, Sample, latencies
from bench.abuse.service import Service
from bench.passes.tables import table
from bench.progress import progress

_MODEL = "0.01b:sentencepiece-bpe"
_ATTACKS = [attacks.refused_texts, attacks.emoji, attacks.spaces, attacks.words, attacks.one_word, attacks.shared_queries,
            attacks.empty_messages, attacks.slow_senders, attacks.huge_announced_frames, attacks.mutated_frames,
            attacks.leaving_clients, attacks.short_deadlines, *http_attacks.ATTACKS]
_STOP_SECONDS = 0.5  # For which a rank is stopped now and then.
_SETTLE_SECONDS = 15
# The memory may grow by this much from the end of the warm-up to the end.
_MAY_GROW_MIB, _MAY_GROW_SHARE = 64, 0.1
# Outcomes that a polite client must not see. It may be refused by a limit.
_FAULTS = (OTHER_BITS, NO_REPLY, "closed", "not connected")


@dataclass
class SoakResult:
    seconds: float
    samples: list[Sample] = field(default_factory=list)
    memory: list[tuple[str, float, float]] = field(default_factory=list)  # When, MiB of all ranks, peak so far.
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        parts = [table(["memory of all ranks", "MiB", "peak, MiB"],
                       [[when, f"{now:.0f}", f"{peak:.0f}"] for when, now, peak in self.memory])]
        rows = []
        for phase in (ALONE, BESIDE, AFTER):
            of_phase = latencies(self.samples, phase)
            times = [f"{s.milliseconds:.1f}" if s else "" for s in (of_phase.percentile(0.5), of_phase.percentile(0.99))]
            failures = ", ".join(f"{count} {what}" for what, count in of_phase.failures.most_common())
            rows.append([phase, str(of_phase.count), *times, failures])
        parts.append(table(["polite clients", "requests", "p50, ms", "p99, ms", "failures"], rows))
        parts.append("Replies to the abuses: " + ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))
        parts += [f"FAULT: {fault}" for fault in self.faults] or ["No fault."]
        return "\n\n".join(parts)

    def document(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "memory_mib": self.memory, "counts": dict(self.counts), "faults": self.faults,
                "samples": [[s.phase, s.kind, round(s.milliseconds, 3), s.outcome] for s in self.samples]}


class _Attacks:
    """The attacks, each of which begins again from time to time, so that its clients leave."""

    def __init__(self, service: Service, counts: Counter[str]) -> None:
        self._service = service
        self._counts = counts
        self._random = random.Random(1)
        self._running = [(attack, self._start(attack)) for attack in _ATTACKS]
        self._strangers: list[socket.socket] = []

    def _start(self, attack: Any) -> tuple[Hostile, float]:
        http = attack in http_attacks.ATTACKS
        address = self._service.http_address if http else self._service.address
        return Hostile(attack, address, http=http), time.monotonic() + self._random.uniform(5, 30)

    def restart_some(self) -> None:
        for i, (attack, (hostile, until)) in enumerate(self._running):
            if time.monotonic() > until:
                self._counts += hostile.stop()
                self._running[i] = attack, self._start(attack)

    def stop_a_rank(self) -> None:
        rank = self._random.randrange(len(self._service.ranks))
        self._service.signal_rank(rank, signal.SIGSTOP)
        time.sleep(_STOP_SECONDS)
        self._service.signal_rank(rank, signal.SIGCONT)

    def be_strangers(self) -> None:
        """A byte to each port of the ranks that is not for requests, held until the next call."""
        self._close_strangers()
        for addresses in self._service.listening_ports():
            for host, port in addresses:
                stranger = socket.create_connection(("127.0.0.1" if host == "0.0.0.0" else host, port))
                stranger.sendall(b"x")
                self._strangers.append(stranger)

    def stop(self) -> None:
        self._close_strangers()
        for _, (hostile, _) in self._running:
            self._counts += hostile.stop()

    def _close_strangers(self) -> None:
        for stranger in self._strangers:
            stranger.close()
        self._strangers.clear()


def soak(settings: Settings, seconds: float, patience: float) -> SoakResult:
    # Memory of a sanitizer is its own, and Open MPI keeps some for ever.
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0:quarantine_size_mb=16:thread_local_quarantine_size_kb=64")
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    result = SoakResult(seconds)
    # A small cache, which is soon full, so that memory which grows later is not its.
    with (start_service(settings, "soak", _MODEL, {"--kv-cache-mb": 16}) as service,
          PoliteClients(service.address, patience=patience) as on_socket,
          PoliteClients(service.http_address, http=True, patience=patience) as over_http):
        all_polite = (on_socket, over_http)

        def note_memory(when: str) -> None:
            result.memory.append((when, service.resident_mib(), service.peak_mib()))
            progress(f"abuse: soak: {when}: {service.resident_mib():.0f} MiB")

        for polite in all_polite:
            polite.phase(ALONE)
        time.sleep(5)
        note_memory("at first")
        # The heaps of all threads grow to their working sizes in the first third.
        for name, share in (("after a third", 1 / 3), ("at the end", 2 / 3)):
            for polite in all_polite:
                polite.phase(BESIDE)
            _abuse(service, share * seconds, result)
            for polite in all_polite:
                polite.phase(AFTER)
                wait_until_served(polite, patience)
            time.sleep(_SETTLE_SECONDS)
            note_memory(name)
        result.samples = [sample for polite in all_polite for sample in polite.stop(patience)]
        if not service.runs():
            result.faults.append(f"the service ended: {service.last_log_line()}")
        else:
            service.signal(signal.SIGUSR1)
            code = service.wait(settings.limit)
            if code != 0:
                result.faults.append(f"exit code {code} after a drain: {service.last_log_line()}")
    _judge(result)
    return result


def _abuse(service: Service, seconds: float, result: SoakResult) -> None:
    end = time.monotonic() + seconds
    running = _Attacks(service, result.counts)
    next_stop = time.monotonic() + 10
    while time.monotonic() < end and service.runs():
        time.sleep(0.5)
        running.restart_some()
        if time.monotonic() > next_stop:
            running.stop_a_rank()
            running.be_strangers()
            next_stop = time.monotonic() + 10
    running.stop()


def _judge(result: SoakResult) -> None:
    seen = Counter(sample.outcome for sample in result.samples)
    result.faults += [f"{seen[what]} polite requests: {what}" for what in _FAULTS if seen[what]]
    if not seen["ok"]:
        result.faults.append("no polite request got its response")
    warm, end = result.memory[1][1], result.memory[2][1]
    if end > warm + max(_MAY_GROW_MIB, _MAY_GROW_SHARE * warm):
        result.faults.append(f"the memory grew from {warm:.0f} to {end:.0f} MiB")
