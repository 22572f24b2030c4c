"""Workers of this host under mpirun, and what they are asked."""
from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.network.jobs import on_this_host
from bench.progress import progress
from bench.worker_process import WorkerFailed, WorkerProcess

DTYPES = ["f32", "bf16", "int8"]
BYTES = {"f32": 4, "bf16": 2, "int8": 1}  # Of a weight.
FAST_LIBRARIES = {"f32": ["onednn", "openblas"], "bf16": ["onednn"], "int8": ["onednn"]}


@dataclass(frozen=True)
class Layout:
    """Ranks, and threads of each."""

    ranks: int
    threads: int

    @property
    def cpus(self) -> int:
        return self.ranks * self.threads

    def __str__(self) -> str:
        return f"{self.ranks} x {self.threads}"


def title(workload: str) -> str:
    """"300+10x10" for people."""
    query, _, items = workload.partition("+")
    return f"{query} + {items.replace('x', ' x ')}" if items != "0x0" else query


def items_of(workload: str) -> int:
    return int(workload.partition("+")[2].partition("x")[0])


class Refused:
    """What this machine or this engine has not: dtypes of the engine, and libraries with a dtype."""

    def __init__(self) -> None:
        self._what: set[tuple[str, ...]] = set()
        self.why: list[str] = []  # A line each.

    def __contains__(self, what: tuple[str, ...]) -> bool:
        return what in self._what

    def add(self, what: tuple[str, ...], fault: WorkerFailed) -> None:
        progress(f"not run: {fault}")
        self._what.add(what)
        self.why.append(str(fault))


class Jobs:
    """Starts workers, which end with `stack`."""

    def __init__(self, worker: Path, models: Path, shape: str, logs: Path, refused: Refused,
                 stack: ExitStack) -> None:
        self._worker = [str(worker.resolve()), "--models", str(models.resolve()), "--shape", shape]
        self.logs = logs
        self._stack = stack
        self.refused = refused
        self._session_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._shared_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        self.environment = dict(os.environ)
        if os.geteuid() == 0:
            self.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def write_model(self) -> Path:
        """Unless it is there; its directory."""
        written = subprocess.run([*self._worker, "--only-write-model"], env=self.environment, stdout=subprocess.PIPE, text=True)
        if written.returncode:
            raise WorkerFailed("the random model could not be written")
        return Path(written.stdout.strip())

    def start(self, dtype: str, layout: Layout, *flags: str, stack: ExitStack | None = None) -> WorkerProcess:
        """Ready."""
        name = f"{dtype}, {layout}"
        progress(f"starting {name}")
        command = on_this_host(layout.ranks, self._session_dir, self._shared_dir,
                               [*self._worker, "--dtype", dtype, "--threads", str(layout.threads), *flags])
        log = self.logs / f"{dtype}-{layout.ranks}x{layout.threads}.txt"
        job = (stack or self._stack).enter_context(WorkerProcess(name, command, log, self.environment))
        job.wait_until_ready()
        return job

    def start_if_any(self, dtype: str, layout: Layout, *flags: str, stack: ExitStack | None = None) -> WorkerProcess | None:
        """None where the engine does not compute in that dtype."""
        if (dtype,) in self.refused:
            return None
        try:
            return self.start(dtype, layout, *flags, stack=stack)
        except WorkerFailed as fault:
            self.refused.add((dtype,), fault)
            return None

    def gemms(self, job: WorkerProcess, library: str, dtype: str, workload: str) -> dict[str, Any] | None:
        """The bare products; None where this CPU has no fast ones."""
        if (library, dtype) in self.refused:
            return None
        try:
            return job.run(f"gemms {library}:{dtype} {workload}")
        except WorkerFailed as fault:
            self.refused.add((library, dtype), fault)
            return None
