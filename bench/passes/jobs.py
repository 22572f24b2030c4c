"""Workers on this host under mpirun, and their commands."""
from __future__ import annotations

import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import kernel_sets
from bench.network.jobs import environment, on_this_host
from bench.progress import progress
from bench.worker_process import WorkerFailed, WorkerProcess

DTYPES = ["f32", "bf16", "int8"]
FAST_LIBRARIES = {"f32": ["onednn", "openblas"], "bf16": ["onednn"], "int8": ["onednn"]}


@dataclass(frozen=True)
class Layout:
    """Number of ranks, and threads of each."""

    ranks: int
    threads: int

    @property
    def cpus(self) -> int:
        return self.ranks * self.threads

    def __str__(self) -> str:
        return f"{self.ranks} x {self.threads}"


def title(workload: str) -> str:
    """"300 + 10 x 10" for "300+10x10"."""
    query, _, items = workload.partition("+")
    return f"{query} + {items.replace('x', ' x ')}" if items != "0x0" else query


def items_of(workload: str) -> int:
    return int(workload.partition("+")[2].partition("x")[0])


class Refused:
    """Dtypes that the engine does not support here: (dtype,), and libraries without a dtype: (library, dtype)."""

    def __init__(self) -> None:
        self._what: set[tuple[str, ...]] = set()
        self.reasons: list[str] = []  # One line each.

    def __contains__(self, what: tuple[str, ...]) -> bool:
        return what in self._what

    def add(self, what: tuple[str, ...], fault: WorkerFailed) -> None:
        progress(f"not run: {fault}")
        self._what.add(what)
        self.reasons.append(str(fault))


class Jobs:
    """Starts workers. They end with `stack`."""

    def __init__(self, worker: Path, models: Path, shape: str, kernel: str, logs: Path, refused: Refused,
                 stack: ExitStack) -> None:
        self._worker = [str(worker.resolve()), "--models", str(models.resolve()), "--shape", shape]
        self.logs = logs
        self._stack = stack
        self.refused = refused
        self._session_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._shared_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        self.kernel = kernel
        # A bench that compares jobs of one layout may start more ranks than there are CPUs.
        self.environment = environment() | kernel_sets.environment(kernel) | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def write_model(self) -> Path:
        """Writes the model unless it exists. Returns its directory."""
        written = subprocess.run([*self._worker, "--only-write-model"], env=self.environment, stdout=subprocess.PIPE, text=True)
        if written.returncode:
            raise WorkerFailed("the random model could not be written")
        return Path(written.stdout.strip())

    def start(self, dtype: str, layout: Layout, *flags: str, stack: ExitStack | None = None) -> WorkerProcess:
        """Starts a worker and returns when it is ready."""
        name = f"{dtype}, {layout}"
        progress(f"starting {name}")
        command = on_this_host(layout.ranks, self._session_dir, self._shared_dir,
                               [*self._worker, "--dtype", dtype, "--kernel", self.kernel, "--threads", str(layout.threads), *flags])
        log = self.logs / f"{dtype}-{layout.ranks}x{layout.threads}{''.join(flags)}.txt"
        job = (stack or self._stack).enter_context(WorkerProcess(name, command, log, self.environment))
        job.wait_until_ready()
        return job

    def start_if_any(self, dtype: str, layout: Layout, *flags: str, stack: ExitStack | None = None) -> WorkerProcess | None:
        """Like `start`. None if the engine does not support the dtype."""
        if (dtype,) in self.refused:
            return None
        try:
            return self.start(dtype, layout, *flags, stack=stack)
        except WorkerFailed as fault:
            self.refused.add((dtype,), fault)
            return None

    def gemms(self, job: WorkerProcess, library: str, dtype: str, workload: str) -> dict[str, Any] | None:
        """Runs the bare products and returns the reply. None if the library has no fast ones on this CPU."""
        if (library, dtype) in self.refused:
            return None
        try:
            return job.run(f"gemms {library}:{dtype} {workload}")
        except WorkerFailed as fault:
            self.refused.add((library, dtype), fault)
            return None
