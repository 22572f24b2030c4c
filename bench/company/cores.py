"""CPUs of the service and of its clients, and a shortage of them."""
from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from bench.company.clients import end_with_parent


@dataclass(frozen=True)
class Cores:
    service: frozenset[int]
    clients: frozenset[int]

    def note(self) -> str:
        if self.service == self.clients:
            return "There is one CPU only, which the service and its clients share."
        return f"The service has CPU {min(self.service)}, its clients have {len(self.clients)} other."


def split(cpus: Collection[int]) -> Cores:
    """The first one is the service's."""
    first = frozenset([min(cpus)])
    return Cores(first, frozenset(cpus) - first or first)


@contextmanager
def clients_on(cores: Cores) -> Iterator[None]:
    """Processes that are started meanwhile run on the clients' CPUs, as does this one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores.clients)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def busy(cores: Cores, loops: int) -> Iterator[None]:
    """So many processes of the service's priority compute on its CPU all the time."""
    processes = [get_context("fork").Process(target=_compute, args=(cores.service,), daemon=True) for _ in range(loops)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _compute(cpus: Collection[int]) -> None:
    end_with_parent()
    os.sched_setaffinity(0, cpus)
    while True:
        pass
