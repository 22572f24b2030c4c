"""Hosts on one machine, made of Linux namespaces. Two are connected by a cable, more by a switch.

Each has its own network, hostname and shared memory. The namespaces have no names: they and the cables
exist as long as this process or a process on them runs.
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
CABLE = "eth0"  # The interface's name on every host.


class NoHosts(Exception):
    """The message says in one line why there are no hosts."""


class Host:
    """A host. The constructor starts it, `close` ends it."""

    def __init__(self, number: int) -> None:
        self.address = f"{SUBNET}.{number}"
        self.name = f"bench-host{number}"
        # The host's first process ends with its input, which this process holds open.
        script = (f"hostname {self.name} && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && "
                  "ip link set lo up && echo ready && exec cat")
        self._process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        assert self._process.stdout and self._process.stderr
        if self._process.stdout.readline() != "ready\n":
            raise NoHosts(self._process.stderr.read().strip() or "unshare failed")
        self.pid = self._process.pid

    def close(self) -> None:
        """Ends the host and all processes on it."""
        for pid in self._processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _processes(self) -> list[int]:
        """The host's processes except the first."""
        network = os.readlink(f"/proc/{self.pid}/ns/net")
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == network:
                    found.append(int(entry.name))
            except OSError:
                pass  # The process has ended.
        return [pid for pid in found if pid != self.pid]

    def command(self, *command: str) -> list[str]:
        """The command line that runs `command` on the host, with this process's environment."""
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "--", *command]

    def run(self, *command: str) -> None:
        """Runs `command` on the host to its end. Raises NoHosts if it fails."""
        done = subprocess.run(self.command(*command), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise NoHosts(f"{self.name}: {' '.join(command)}: {lines[-1] if lines else f'exit code {done.returncode}'}")

    def bytes_sent(self) -> int:
        """Bytes that the host has sent over its cable, including headers."""
        for line in Path(f"/proc/{self.pid}/net/dev").read_text().splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == CABLE:
                return int(counters.split()[8])
        raise NoHosts(f"host {self.address} has no {CABLE}")


class Hosts:
    """Several hosts, which exist during a `with` statement. Raises NoHosts if they cannot be made."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> Hosts:
        if os.geteuid() != 0:
            raise NoHosts("network namespaces need root")
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise NoHosts(f"not installed: {', '.join(missing)}")
        with ExitStack() as stack:
            self.hosts: list[Host] = []
            for number in range(1, self._count + 1):
                self.hosts.append(self._start(number, stack))
            if self._count == 2:
                self._connect(*self.hosts, CABLE)
            else:
                self._connect_to_switch(self._start(self._count + 1, stack))
            for host in self.hosts:
                host.run("ip", "address", "add", f"{host.address}/24", "dev", CABLE)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @staticmethod
    def _start(number: int, stack: ExitStack) -> Host:
        host = Host(number)
        stack.callback(host.close)
        return host

    @staticmethod
    def _connect(host: Host, other: Host, port: str) -> None:
        """Lays a cable from the host to the other, whose interface is `port`."""
        host.run("ip", "link", "add", CABLE, "type", "veth", "peer", "name", port, "netns", str(other.pid))
        host.run("ip", "link", "set", CABLE, "up")
        other.run("ip", "link", "set", port, "up")

    def _connect_to_switch(self, switch: Host) -> None:
        switch.run("ip", "link", "add", "switch", "type", "bridge")
        switch.run("ip", "link", "set", "switch", "up")
        for number, host in enumerate(self.hosts):
            self._connect(host, switch, f"port{number}")
            switch.run("ip", "link", "set", f"port{number}", "master", "switch")

    def set_rate(self, rate: str | None, burst: str = "256kb") -> None:
        """Limits what each host sends, in the notation of tc ("1gbit"). None removes the limit. After a pause, `burst`
        bytes are sent at once. The queue is long, because a host does not drop what its own card has not sent yet."""
        for host in self.hosts:
            if rate:
                host.run("tc", "qdisc", "replace", "dev", CABLE, "root", "tbf", "rate", rate, "burst", burst,
                         "latency", "1s")
            else:
                # Fails if there is no limit, which is fine.
                subprocess.run(host.command("tc", "qdisc", "delete", "dev", CABLE, "root"),
                               stderr=subprocess.DEVNULL, check=False)
