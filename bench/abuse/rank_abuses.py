"""Abuses of ranks and of the job: strangers at their ports, stopped processes, signals."""
from __future__ import annotations

import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

from bench.abuse import wire
from bench.abuse.abuse import AFTER, ALONE, BESIDE, Abuse, Result, Settings, drain, start_service
from bench.abuse.polite import DEADLINE_PASSED, FRESH, KEPT, PoliteClients
from bench.abuse.service import known_flags

_RANK_TIMEOUT = 10


def _open_ports(settings: Settings, result: Result) -> None:
    """A byte is sent to every port of every rank but that of the requests, and the connections are held."""
    with start_service(settings, result.name, "demo") as service, PoliteClients(service.address) as polite:
        polite.phase(ALONE)
        time.sleep(settings.seconds / 2)
        result.memory["before"] = service.resident_mib()
        service.reset_peak()
        polite.phase(BESIDE)
        held = []
        for rank, addresses in enumerate(service.listening_ports()):
            result.notes.append(f"rank {rank} listens at " + (", ".join(host for host, _ in addresses) or "no other port"))
            for host, port in addresses:
                connection = socket.create_connection(("127.0.0.1" if host == "0.0.0.0" else host, port))
                connection.sendall(b"x")
                held.append(connection)
        time.sleep(settings.seconds)
        result.memory["peak"] = service.peak_mib()
        result.memory["after"] = service.resident_mib()
        result.samples = polite.stop()
        if service.runs():
            drain(service, settings, result)
        else:
            result.notes.append(f"the service ended: {service.last_log_line()}")
        for connection in held:
            connection.close()


def _stopped_rank(timeout_ms: int, rank: int) -> Callable[[Settings, Result], None]:
    """Requests have a deadline. The rank is stopped for some seconds, less than its time limit, and goes on."""
    def run(settings: Settings, result: Result) -> None:
        with start_service(settings, result.name, "demo") as service, \
                PoliteClients(service.address, (KEPT, FRESH), timeout_ms=timeout_ms) as polite:
            time.sleep(1)
            for _ in range(settings.rounds):
                polite.phase(ALONE)
                time.sleep(settings.seconds / 2)
                result.memory.setdefault("before", service.resident_mib())
                service.reset_peak()
                polite.phase(BESIDE)
                service.signal_rank(rank, signal.SIGSTOP)
                time.sleep(settings.seconds)
                polite.phase(AFTER)
                service.signal_rank(rank, signal.SIGCONT)
                time.sleep(2)
            result.memory["peak"] = service.peak_mib()
            result.memory["after"] = service.resident_mib()
            result.samples = polite.stop()
            passed = sorted(s.milliseconds for s in result.samples if s.phase == BESIDE and s.outcome == DEADLINE_PASSED)
            if passed:
                result.notes.append(f"504 to {len(passed)} requests after {passed[len(passed) // 2]:.0f} ms "
                                    f"(median), {passed[-1]:.0f} ms (most)")
            after = result.of(AFTER)
            middle = after.percentile(0.5)
            result.notes.append(f"after it: p50 {middle.milliseconds if middle else 0:.1f} ms, {after.failures.total()} failures")
            if not service.runs():
                result.notes.append(f"the service ended: {service.last_log_line()}")
    return run


def _rank_stopped_for_good(settings: Settings, result: Result) -> None:
    flags = {"--rank-timeout": _RANK_TIMEOUT}
    with start_service(settings, result.name, "demo", flags) as service, PoliteClients(service.address) as polite:
        polite.phase(ALONE)
        time.sleep(settings.seconds / 2)
        result.memory["before"] = service.resident_mib()
        polite.phase(BESIDE)
        service.signal_rank(1, signal.SIGSTOP)
        begin = time.monotonic()
        code = service.wait(settings.limit)
        seconds = time.monotonic() - begin
        result.samples = polite.stop()
        limit = f" (--rank-timeout {_RANK_TIMEOUT})" if "--rank-timeout" in known_flags(settings.scorecast, "serve") else ""
        if code is None:
            result.notes.append(f"not noticed in {settings.limit:.0f} s")
        else:
            result.notes.append(f"ended after {seconds:.1f} s{limit} with code {code}: {service.last_log_line()}")


def _drain_with_stopped_rank(settings: Settings, result: Result) -> None:
    """Requests wait for the rank when the drain begins."""
    with start_service(settings, result.name, "demo") as service, PoliteClients(service.address) as polite:
        polite.phase(BESIDE)
        time.sleep(1)
        service.signal_rank(1, signal.SIGSTOP)
        time.sleep(1)
        drain(service, settings, result)
        polite.stop()


def _heavy_request(number: int) -> bytes:
    """Some seconds of work for the model 0.1b on two CPUs."""
    query = [600 + (number * 131 + i) % 9000 for i in range(200)]
    items = [[600 + (item * 7 + i) % 9000 for i in range(75)] for item in range(100)]
    return wire.request(number, score=wire.score_request(query, items, [5, 7]))


def _long_request(number: int) -> bytes:
    """Much time of a tokenizer."""
    return wire.request(number, score=wire.score_request(" " * 16_000_000, [" yes"], [5, 7]))


def _signal_with_requests(make_messages: Callable[[], list[bytes]], which: signal.Signals) -> Callable[[Settings, Result], None]:
    """The signal comes a second after the requests, each of which has a client of its own."""
    def run(settings: Settings, result: Result) -> None:
        with start_service(settings, result.name, "0.1b:sentencepiece-bpe") as service:
            result.memory["before"] = service.resident_mib()
            messages = make_messages()
            connections = [wire.Connection(service.address, timeout=settings.limit) for _ in messages]
            outcomes: Counter[str] = Counter()

            def client(connection: wire.Connection, message: bytes) -> None:
                try:
                    connection.send(message)
                    response = connection.receive()
                    outcomes[f"{response.code} {response.reason}".strip()] += 1
                except OSError:
                    outcomes["no reply"] += 1
            threads = [threading.Thread(target=client, args=pair, daemon=True) for pair in zip(connections, messages)]
            for thread in threads:
                thread.start()
            time.sleep(1)
            result.memory["peak"] = service.peak_mib()
            begin = time.monotonic()
            service.signal(which)
            code = service.wait(settings.limit)
            seconds = time.monotonic() - begin
            if code is None:
                result.drain_limit = settings.limit
            else:
                result.drain_seconds = seconds
                result.notes.append(f"exit code {code}")
            for connection in connections:
                connection.socket.settimeout(1)
            for thread in threads:
                thread.join(2)
            missing = len(messages) - outcomes.total()
            if missing:
                outcomes["no reply"] += missing
            result.counts = outcomes
            for connection in connections:
                connection.close()
    return run


def _drain_messages() -> list[bytes]:
    return [_heavy_request(i + 1) for i in range(12)] + [_long_request(100 + i) for i in range(2)]


RANK_ABUSES = [
    Abuse("open-ports", "a byte to every port of the ranks, held", _open_ports),
    Abuse("stopped-rank", "rank 1 is stopped; requests with timeout_ms 1000", _stopped_rank(1000, 1)),
    Abuse("stopped-rank-50ms", "rank 1 is stopped; requests with timeout_ms 50", _stopped_rank(50, 1)),
    Abuse("stopped-rank-for-good", "rank 1 is stopped and stays so", _rank_stopped_for_good),
    Abuse("stopped-rank-drain", "SIGUSR1 while rank 1 is stopped", _drain_with_stopped_rank),
    Abuse("drain-long-work", "SIGUSR1 with 12 heavy requests and 2 long texts in flight",
          _signal_with_requests(_drain_messages, signal.SIGUSR1)),
    Abuse("sigterm-mpirun", "SIGTERM to mpirun with 4 accepted requests",
          _signal_with_requests(lambda: [_heavy_request(i + 1) for i in range(4)], signal.SIGTERM)),
]
