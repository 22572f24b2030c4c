"""Layouts of ranks on hosts, and the jobs that have them."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.network import jobs
from bench.network.hosts import Hosts
from bench.network.jobs import on_hosts, on_this_host


@dataclass(frozen=True)
class Layout:
    hosts: int
    ranks_a_host: int
    threads: int

    @property
    def cores(self) -> int:
        """Cores that all ranks together need."""
        return self.hosts * self.ranks_a_host * self.threads

    def __str__(self) -> str:
        return f"{self.hosts} x {self.ranks_a_host} x {self.threads}"


class Directories:
    """Directories of jobs: for MPI's session, and for the shared files of ranks on this host, in memory."""

    def __init__(self, session: Path, shared: Path) -> None:
        self.session = session
        self.shared = shared


def command_line(layout: Layout, hosts: Hosts | None, directories: Directories, program: list[str]) -> list[str]:
    """Runs the program on each rank. `hosts` are as many as the layout's; None for one."""
    if hosts:
        return on_hosts(hosts, layout.ranks_a_host, directories.session, program)
    return on_this_host(layout.ranks_a_host, directories.session, directories.shared, program)


def environment() -> dict[str, str]:
    """That of mpirun, which may start more ranks than there are cores."""
    return jobs.environment() | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
