"""A disk for each host of bench.network.hosts: its own copy of a directory, and a limit on what it reads."""
from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from bench.network.hosts import Host, Hosts, NoHosts

GROUPS = Path("/sys/fs/cgroup/blkio")
LIMIT = "blkio.throttle.read_bps_device"


class Disks:
    """The limits exist until the end of a `with` statement."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._groups: list[Path] = []

    def __enter__(self) -> Disks:
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_groups()

    def give(self, directory: Path, copies: list[Path]) -> None:
        """Each host sees its own copy at the directory's place."""
        for host, copy in zip(self._hosts.hosts, copies):
            host.run("mount", "--bind", str(copy), str(directory))

    def limit(self, directory: Path, megabytes: int | None) -> None:
        """Limits what each host reads of the directory's disk, in MB/s. None removes the limit."""
        if megabytes and not (GROUPS / LIMIT).exists():
            raise NoHosts(f"{GROUPS / LIMIT}, which limits the rate of a disk, does not exist")
        self._remove_groups()
        for host in self._hosts.hosts if megabytes else []:
            group = _group_of(host)
            group.mkdir()
            self._groups.append(group)
            (group / LIMIT).write_text(f"{_disk_of(directory)} {megabytes * 1_000_000}\n")

    def limited(self, worker: list[str]) -> list[str]:
        """The command line by which a rank joins the group that has its host's name, if there is one."""
        script = f'group={GROUPS}/{os.getpid()}-$(hostname)/cgroup.procs; test ! -e "$group" || echo $$ > "$group"; exec "$@"'
        return ["sh", "-c", script, "sh", *worker]

    def _remove_groups(self) -> None:
        """The processes in the groups have ended, or are about to end."""
        while self._groups:
            for pid in (self._groups[-1] / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
            try:
                self._groups[-1].rmdir()
            except OSError:
                continue
            self._groups.pop()


def _group_of(host: Host) -> Path:
    return GROUPS / f"{os.getpid()}-{host.name}"


def _disk_of(directory: Path) -> str:
    """The disk that has the directory, as "major:minor"."""
    device = os.stat(directory).st_dev
    entry = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if not entry.exists():
        raise NoHosts(f"{directory} is on no disk whose rate can be limited")
    return ((entry.parent if (entry / "partition").exists() else entry) / "dev").read_text().strip()
