"""A service that this process has started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from scorecast.errors import ServiceStartError

_WATCHER = Path(__file__).with_name("watcher.py")
_LOOK_SECONDS = 0.05
_END_SECONDS = 60
_TAIL_BYTES = 65536
_SHARED_MEMORY = "/dev/shm"


def find_binary(given: str | os.PathLike[str] | None) -> str:
    """The executable: `given`, or that of the environment's SCORECAST_BINARY, or the one in PATH."""
    name = os.fspath(given or os.environ.get("SCORECAST_BINARY") or "scorecast")
    found = shutil.which(name)
    if found is None:
        raise ServiceStartError(f'no executable "{name}": give binary=, or set SCORECAST_BINARY or PATH')
    return found


def launcher_of(ranks: int) -> list[str]:
    """How the ranks are started. One rank needs no mpirun."""
    return [] if ranks == 1 else ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def flags_of(flags: Mapping[str, object]) -> list[str]:
    """The command line's flags: `kv_cache_mb=64` is `--kv-cache-mb 64`. A list repeats its flag, True is a flag without a
    value, and None and False are no flag."""
    arguments: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            many = isinstance(value, Sequence) and not isinstance(value, str)
            for one in value if many else [value]:  # type: ignore[attr-defined]
                # With "=", a value may begin with "-".
                arguments.append(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return arguments


class Service:
    """Starts `command` and waits until it is ready. Ends it at `stop`, when the object is gone, or when this process is."""

    def __init__(self, command: Sequence[str], timeout: float, *, tls: bool = False) -> None:
        # Open MPI's shared memory goes with the directory, whatever ends the service.
        base = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else None
        directory = tempfile.mkdtemp(prefix="scorecast-python-", dir=base)
        self._address_file = Path(directory, "address.json")
        self._log = tempfile.TemporaryFile("ab+")  # noqa: SIM115 (a file without a name: nothing of it stays)
        self._watcher = self._start(directory, [*command, f"--address-file={self._address_file}"])
        self._end = weakref.finalize(self, _end, self._watcher, self._log, os.getpid())
        try:
            self.url = self._wait_until_ready(timeout, "https" if tls else "http")
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """The watcher, whose child is mpirun or, if there is one rank, the service."""
        return self._watcher.pid

    def log(self) -> str:
        """The last lines of the service's log."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        # The service writes at the end of the file, whose position both processes share. pread does not move it.
        return os.pread(self._log.fileno(), _TAIL_BYTES, max(size - _TAIL_BYTES, 0)).decode(errors="replace")

    def stop(self) -> None:
        self._end()

    def _start(self, directory: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OMPI_MCA_btl_vader_backing_directory": directory}
        if os.geteuid() == 0:  # Open MPI refuses to run as root otherwise, and containers of notebooks often do.
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        try:
            return subprocess.Popen(
                [sys.executable, "-I", str(_WATCHER), str(os.getpid()), directory, *command],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=self._log,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    def _wait_until_ready(self, timeout: float, scheme: str) -> str:
        deadline = time.monotonic() + timeout
        while True:
            try:
                address = json.loads(self._address_file.read_text())
            except FileNotFoundError:
                pass
            else:
                ip = address["ip"]
                return f"{scheme}://{f'[{ip}]' if ':' in ip else ip}:{address['http_port']}"
            if self._watcher.poll() is not None:
                raise ServiceStartError(f"the service has ended: {_reason(self.log())}")
            if time.monotonic() > deadline:
                raise ServiceStartError(f"the service is not ready after {timeout:g} s: {_reason(self.log())}")
            time.sleep(_LOOK_SECONDS)


def _end(watcher: subprocess.Popen[bytes], log: IO[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return  # A fork of the process that has started the service.
    pipe = watcher.stdin
    assert pipe is not None
    try:
        pipe.write(b"drain\n")
        pipe.close()
    except BrokenPipeError:
        pass  # The watcher has ended.
    try:
        watcher.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        watcher.kill()
        watcher.wait()
    log.close()


def _reason(log: str) -> str:
    """The line with which the service has ended. mpirun writes a dozen behind it, which say less."""
    lines = log.strip().splitlines()
    reasons = [line for line in lines if line.startswith("scorecast: ")]
    return "\n".join(reasons or lines[-10:])
