"""`scorecast serve` under mpirun."""
from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

_READY = re.compile(r"ready: requests on (\S+):(\d+), HTTP on (\S+):(\d+) \(host .*\)\n")
_HEALTH = re.compile(r"\bhealth: (\S+):(\d+)\n")
_READY_SECONDS = 120


class ServiceFailed(Exception):
    pass


@cache
def known_flags(scorecast: Path, command: str) -> frozenset[str]:
    """The flags in the command's --help, so that an older executable is not given those that it lacks."""
    text = subprocess.run([scorecast, command, "--help"], capture_output=True, text=True, check=True).stdout
    return frozenset(re.findall(r"^\s+(?:-\w,)?(--[\w-]+)", text, re.MULTILINE))


def flags_for(scorecast: Path, command: str, flags: dict[str, Any]) -> list[str]:
    """The command line of those flags that the executable has."""
    known = known_flags(scorecast, command)
    return [word for name, value in flags.items() if name in known for word in (name, str(value))]


def last_log_line(log: str) -> str:
    """The last line with a fault, or the last line of all."""
    lines = [line for line in log.splitlines() if line.strip()]
    faults = [line for line in lines if re.search(r"^scorecast: | warning | error | critical |Check|Signal: ", line)]
    return (faults or lines or ["nothing is logged"])[-1]


class Service:
    """It ends with the `with` statement, whatever happened to its ranks."""

    def __init__(self, scorecast: Path, model: Path, ranks: int, flags: dict[str, Any], log: Path,
                 cpus: Collection[int] | None = None) -> None:
        """`cpus`: the only ones on which it runs."""
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), str(scorecast), "serve",
                   "--model", str(model), *flags_for(scorecast, "serve", {"--port": 0, "--http-port": 0, "--health-port": 0, **flags})]
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                             start_new_session=True,
                                             preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
        try:
            self.address, self.http_address = self._wait_until_ready()
            health = _HEALTH.search(log.read_text(errors="replace"))
            self.health_address = (health[1], int(health[2])) if health else None  # A port for probes only.
            by_rank = _ranks_of(self._process.pid)
            if sorted(by_rank) != list(range(ranks)):
                raise ServiceFailed(f"{ranks} ranks were expected, and these found: {by_rank}")
            self.ranks = [by_rank[rank] for rank in range(ranks)]
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to mpirun."""
        self._process.send_signal(number)

    def runs(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> int | None:
        """mpirun's exit code, or None if it has not ended by then."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Ends mpirun and the ranks, which may be stopped."""
        self._process.terminate()
        if self.wait(1) is None:
            _kill(_ranks_of(self._process.pid).values())
            if self.wait(5) is None:
                self._process.kill()
                self._process.wait()
        _kill(_ranks_of(self._process.pid).values())

    def resident_mib(self, rank: int | None = None) -> float:
        """Of a rank, or of all. 0 for a rank that has ended."""
        return sum(_status_kib(pid, "VmRSS") for pid in (self.ranks if rank is None else self.ranks[rank:rank + 1])) / 1024

    def is_sanitized(self) -> bool:
        """Whether the build has AddressSanitizer."""
        try:
            return "libasan" in Path(f"/proc/{self.ranks[0]}/maps").read_text()
        except OSError:
            return False

    def peak_mib(self) -> float:
        """The sum of the ranks' peaks since `reset_peak`."""
        return sum(_status_kib(pid, "VmHWM") for pid in self.ranks) / 1024

    def reset_peak(self) -> None:
        for pid in self.ranks:
            with suppress(OSError):  # The peak is then that since the start.
                Path(f"/proc/{pid}/clear_refs").write_text("5")

    def cpu_seconds(self) -> float:
        """Of all threads of all ranks. /proc/PID/stat would count in hundredths of a second."""
        tasks = (task for pid in self.ranks for task in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def listening_ports(self) -> list[list[tuple[str, int]]]:
        """For each rank, the addresses at which it accepts connections, without those of the requests."""
        requests = {at[1] for at in (self.address, self.http_address, self.health_address) if at}
        return [[at for at in _listening(pid) if at[1] not in requests] for pid in self.ranks]

    @contextmanager
    def strangers(self) -> Iterator[list[str]]:
        """A byte is sent to each of these ports, and the connections are held. Yields the hosts of each rank."""
        notes = []
        with ExitStack() as held:
            for rank, addresses in enumerate(self.listening_ports()):
                notes.append(f"rank {rank} listens at " + (", ".join(host for host, _ in addresses) or "no other port"))
                for host, port in addresses:
                    at = ("127.0.0.1" if host == "0.0.0.0" else host, port)
                    held.enter_context(socket.create_connection(at)).sendall(b"x")
            yield notes

    @contextmanager
    def stopped(self, rank: int = 1) -> Iterator[list[str]]:
        os.kill(self.ranks[rank], signal.SIGSTOP)
        yield []
        with suppress(ProcessLookupError):
            os.kill(self.ranks[rank], signal.SIGCONT)

    def last_log_line(self) -> str:
        return last_log_line(self.log.read_text(errors="replace"))

    def _wait_until_ready(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The addresses of the request socket and of HTTP."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            ready = _READY.search(self.log.read_text(errors="replace"))
            if ready:
                return (ready[1], int(ready[2])), (ready[3], int(ready[4]))
            if not self.runs():
                break
            time.sleep(0.05)
        raise ServiceFailed("the service did not start:\n" + self.log.read_text(errors="replace"))


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _ranks_of(session: int) -> dict[int, int]:
    """The processes of the ranks in a session."""
    by_rank = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        with suppress(ProcessLookupError):
            if os.getsid(pid) == session and _read(f"/proc/{pid}/comm") == "scorecast\n":
                rank = re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", _read(f"/proc/{pid}/environ"))
                if rank:
                    by_rank[int(rank[1])] = pid
    return by_rank


def _status_kib(pid: int, field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+)", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found[1]) if found else 0


def _listening(pid: int) -> list[tuple[str, int]]:
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            inodes.update(re.findall(r"^socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
    words = [line.split() for line in _read(f"/proc/{pid}/net/tcp").splitlines()[1:]]
    addresses = [each[1].split(":") for each in words if each[3] == "0A" and each[9] in inodes]
    return [(socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)) for host, port in addresses]
