"""Two hosts on one machine, with a cable between them: Linux namespaces.

Each has its own network, hostname and shared memory. They have no names outside: they and the cable
last as long as this process, and as what runs on them.
"""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

SUBNET = "10.78.0"
PROGRAMS = ("ip", "tc", "nsenter", "unshare", "mpirun")
CABLE = "eth0"  # Its name on both hosts.


class NoHosts(Exception):
    """Why there can be none: one line."""


def run_or_fail(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise NoHosts(f"{' '.join(command)}: {lines[-1] if lines else f'exit code {done.returncode}'}")


class Host:
    """Made at once; ended by `close`."""

    def __init__(self, number: int) -> None:
        self.address = f"{SUBNET}.{number}"
        # The first process of the host lasts as long as its input, which is this process's.
        script = (f"hostname bench-host{number} && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && "
                  "ip link set lo up && echo ready && exec cat")
        self._process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        assert self._process.stdout and self._process.stderr
        if self._process.stdout.readline() != "ready\n":
            raise NoHosts(self._process.stderr.read().strip() or "unshare failed")
        self.pid = self._process.pid

    def close(self) -> None:
        """Ends what still runs there, too."""
        for pid in self._processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _processes(self) -> list[int]:
        """All but the first one."""
        network = os.readlink(f"/proc/{self.pid}/ns/net")
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == network:
                    found.append(int(entry.name))
            except OSError:
                pass  # It is gone.
        return [pid for pid in found if pid != self.pid]

    def command(self, *command: str) -> list[str]:
        """Which runs `command` there, with this process's environment."""
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "--", *command]

    def bytes_sent(self) -> int:
        """Over the cable, with all headers."""
        for line in Path(f"/proc/{self.pid}/net/dev").read_text().splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == CABLE:
                return int(counters.split()[8])
        raise NoHosts(f"host {self.address} has no {CABLE}")


class TwoHosts:
    """Between `with` and its end. NoHosts where they cannot be made."""

    def __enter__(self) -> TwoHosts:
        if os.geteuid() != 0:
            raise NoHosts("network namespaces want root")
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise NoHosts(f"not installed: {', '.join(missing)}")
        with ExitStack() as stack:
            self.hosts = []
            for number in (1, 2):
                self.hosts.append(Host(number))
                stack.callback(self.hosts[-1].close)
            self._connect()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _connect(self) -> None:
        first, second = self.hosts
        run_or_fail(first.command("ip", "link", "add", CABLE, "type", "veth", "peer", "name", CABLE,
                                  "netns", str(second.pid)))
        for host in self.hosts:
            run_or_fail(host.command("ip", "address", "add", f"{host.address}/24", "dev", CABLE))
            run_or_fail(host.command("ip", "link", "set", CABLE, "up"))

    def set_rate(self, rate: str | None) -> None:
        """Of the cable, each way, as tc has it ("1gbit"); None: whatever the machine can do."""
        for host in self.hosts:
            if rate:
                run_or_fail(host.command("tc", "qdisc", "replace", "dev", CABLE, "root", "tbf", "rate", rate,
                                         "burst", "256kb", "latency", "20ms"))
            else:
                # Fails where there is no limit.
                subprocess.run(host.command("tc", "qdisc", "delete", "dev", CABLE, "root"),
                               stderr=subprocess.DEVNULL, check=False)
