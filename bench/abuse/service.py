"""`scorecast serve` under mpirun."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

_READY = re.compile(r"ready: requests on (\S+):(\d+)(?:, HTTP on (\S+):(\d+))? \(host .*\)\n")
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

    def __init__(self, scorecast: Path, model: Path, ranks: int, flags: dict[str, Any], log: Path) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), str(scorecast), "serve",
                   "--model", str(model), *flags_for(scorecast, "serve", {"--port": 0, "--http-port": 0, **flags})]
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                             start_new_session=True)
        try:
            self.address, self._http_address = self._wait_until_ready()
            self.ranks = _ranks_of(self._process.pid)
            if len(self.ranks) != ranks:
                raise ServiceFailed(f"{ranks} ranks were expected, and these found: {self.ranks}")
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def http_address(self) -> tuple[str, int]:
        if not self._http_address:
            raise ServiceFailed("the executable has no HTTP")
        return self._http_address

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to mpirun."""
        self._process.send_signal(number)

    def signal_rank(self, rank: int, number: signal.Signals) -> None:
        os.kill(self.ranks[rank], number)

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
        ranks = getattr(self, "ranks", None) or _ranks_of(self._process.pid)
        if self._process.poll() is None:
            self._process.terminate()
            if self.wait(1) is None:
                for pid in ranks:
                    _kill(pid)
                if self.wait(5) is None:
                    self._process.kill()
                    self._process.wait()
        for pid in ranks:
            if _is_scorecast(pid):
                _kill(pid)

    def resident_mib(self) -> float:
        """Of all ranks. 0 for a rank that has ended."""
        return sum(_status_kib(pid, "VmRSS") for pid in self.ranks) / 1024

    def peak_mib(self) -> float:
        """The sum of the ranks' peaks since `reset_peak`."""
        return sum(_status_kib(pid, "VmHWM") for pid in self.ranks) / 1024

    def reset_peak(self) -> None:
        for pid in self.ranks:
            try:
                Path(f"/proc/{pid}/clear_refs").write_text("5")
            except OSError:
                pass  # The peak is then that since the start.

    def listening_ports(self) -> list[list[tuple[str, int]]]:
        """For each rank, the addresses at which it accepts connections, without those of the requests."""
        requests = [at[1] for at in (self.address, self._http_address) if at]
        return [[at for at in _listening(pid) if at[1] not in requests] for pid in self.ranks]

    def last_log_line(self) -> str:
        return last_log_line(self.log.read_text(errors="replace"))

    def _wait_until_ready(self) -> tuple[tuple[str, int], tuple[str, int] | None]:
        """The addresses of the request socket and of HTTP, which an older executable does not have."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            ready = _READY.search(self.log.read_text(errors="replace"))
            if ready:
                return (ready[1], int(ready[2])), (ready[3], int(ready[4])) if ready[3] else None
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise ServiceFailed("the service did not start:\n" + self.log.read_text(errors="replace"))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _is_scorecast(pid: int) -> bool:
    return _read(f"/proc/{pid}/comm").strip() == "scorecast"


def _descendants(pid: int) -> list[int]:
    children = [int(child) for task in _tasks(pid) for child in _read(f"{task}/children").split()]
    return children + [pid for child in children for pid in _descendants(child)]


def _tasks(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{task}" for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _ranks_of(mpirun: int) -> list[int]:
    by_rank = {}
    for pid in _descendants(mpirun):
        rank = re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", _read(f"/proc/{pid}/environ"))
        if rank and _is_scorecast(pid):
            by_rank[int(rank[1])] = pid
    return [by_rank[rank] for rank in sorted(by_rank)]


def _status_kib(pid: int, field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+)", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found[1]) if found else 0


def _listening(pid: int) -> list[tuple[str, int]]:
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    addresses = []
    for line in _read(f"/proc/{pid}/net/tcp").splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            host, port = words[1].split(":")
            reversed_bytes = bytes.fromhex(host)
            addresses.append((".".join(str(byte) for byte in reversed(reversed_bytes)), int(port, 16)))
    return addresses
