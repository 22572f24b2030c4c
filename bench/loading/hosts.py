"""Any number of hosts on one machine, which are Linux namespaces on one switch, each with a disk of limited rate."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from bench.network.hosts import CABLE, PROGRAMS, SUBNET, Host, NoHosts, run_or_fail

GROUPS = Path("/sys/fs/cgroup/blkio")
LIMIT = "blkio.throttle.read_bps_device"
ENTER_HOST_OF = Path(__file__).with_name("enter_host_of").resolve()


class SwitchedHosts:
    """Hosts that exist during a `with` statement. Raises NoHosts if they cannot be made."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._disks: list[Path] = []

    def __enter__(self) -> SwitchedHosts:
        if os.geteuid() != 0:
            raise NoHosts("network namespaces need root")
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise NoHosts(f"not installed: {', '.join(missing)}")
        with ExitStack() as stack:
            switch = Host(0)
            stack.callback(switch.close)
            run_or_fail(switch.command("ip", "link", "add", "switch", "type", "bridge"))
            run_or_fail(switch.command("ip", "link", "set", "switch", "up"))
            self.hosts = []
            for number in range(1, self._count + 1):
                host = Host(number)
                stack.callback(host.close)
                self._connect(switch, host, number)
                self.hosts.append(host)
            stack.callback(self._remove_disks)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @staticmethod
    def _connect(switch: Host, host: Host, number: int) -> None:
        port = f"port{number}"
        run_or_fail(switch.command("ip", "link", "add", port, "type", "veth", "peer", "name", CABLE, "netns", str(host.pid)))
        run_or_fail(switch.command("ip", "link", "set", port, "master", "switch", "up"))
        run_or_fail(host.command("ip", "address", "add", f"{host.address}/24", "dev", CABLE))
        run_or_fail(host.command("ip", "link", "set", CABLE, "up"))

    def set_rate(self, rate: str | None) -> None:
        """Limits what each host sends, in the notation of tc ("1gbit"). None removes the limit."""
        for host in self.hosts:
            if rate:
                run_or_fail(host.command("tc", "qdisc", "replace", "dev", CABLE, "root", "tbf", "rate", rate,
                                         "burst", "256kb", "latency", "20ms"))
            else:
                # Fails if there is no limit, which is fine.
                subprocess.run(host.command("tc", "qdisc", "delete", "dev", CABLE, "root"), stderr=subprocess.DEVNULL, check=False)

    def give(self, directory: Path, copies: list[Path]) -> None:
        """Each host sees its own copy where the directory is."""
        for host, copy in zip(self.hosts, copies):
            run_or_fail(host.command("mount", "--bind", str(copy), str(directory)))

    def limit_disks(self, directory: Path, megabytes: int | None) -> None:
        """Limits what each host reads of the directory's disk, in MB/s. None removes the limit."""
        if megabytes and not (GROUPS / LIMIT).exists():
            raise NoHosts(f"{GROUPS / LIMIT}, which limits the rate of a disk, does not exist")
        self._remove_disks()
        for number in range(1, len(self.hosts) + 1) if megabytes else []:
            group = GROUPS / f"{os.getpid()}-bench-host{number}"
            group.mkdir()
            self._disks.append(group)
            (group / LIMIT).write_text(f"{disk_of(directory)} {megabytes * 1_000_000}\n")

    def _remove_disks(self) -> None:
        """The processes in the groups have ended, or are about to end."""
        while self._disks:
            for pid in (self._disks[-1] / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
            try:
                self._disks[-1].rmdir()
            except OSError:
                continue
            self._disks.pop()

    def job(self, session_dir: Path, worker: list[str]) -> list[str]:
        """The command line of a job with a rank on each host. mpirun itself runs on the first."""
        network = f"{SUBNET}.0/24"
        addresses = [host.address for host in self.hosts]
        pids = ",".join(f"{host.address}={host.pid}" for host in self.hosts)
        # Each rank joins the group that has its host's name, if there is one.
        script = f'group={GROUPS}/{os.getpid()}-$(hostname)/cgroup.procs; test ! -e "$group" || echo $$ > "$group"; exec "$@"'
        return self.hosts[0].command(
            "mpirun", "--bind-to", "none", "--mca", "orte_tmpdir_base", str(session_dir),
            "--mca", "odls_base_sigkill_timeout", "0", "-n", str(len(addresses)),
            "--host", ",".join(f"{address}:1" for address in addresses), "--mca", "mpi_yield_when_idle", "1",
            "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", f"{ENTER_HOST_OF} {pids}", "--mca", "plm_rsh_no_tree_spawn", "1",
            "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network, "--mca", "btl", "vader,tcp,self",
            "sh", "-c", script, "sh", *worker)


def disk_of(directory: Path) -> str:
    """The disk that has the directory, as "major:minor"."""
    device = os.stat(directory).st_dev
    entry = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if not entry.exists():
        raise NoHosts(f"{directory} is on no disk whose rate can be limited")
    return ((entry.parent if (entry / "partition").exists() else entry) / "dev").read_text().strip()
