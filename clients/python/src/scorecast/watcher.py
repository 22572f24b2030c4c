"""The process between Python and a service that an `LLM` has started. It ends the service when Python ends, however that ends.

    watcher.py PID DIRECTORY COMMAND…

It starts the command, and ends it when process PID, which is its parent, is gone, or when standard input has a line or its
end. The line `drain` lets the service finish its requests. DIRECTORY is removed at the end. The watcher has a session of its
own, so that a Ctrl-C does not reach the service. It is a program of its own, because a thread ends with Python, and a fork would keep
Python's memory and files.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.2  # The time between two looks at the parent and the service.
_DRAIN_SECONDS = 30
_END_SECONDS = 5


def main() -> int:
    parent, directory, *command = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    service: subprocess.Popen[bytes] | None = None
    try:
        service = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_end_with_watcher)
        drains = _wait_for_reason_to_end(int(parent), service)
        # Before the service is ready, which its address file says, it has nothing to finish, and mpirun may not know the signal.
        if drains and os.path.exists(os.path.join(directory, "address.json")):
            service.send_signal(signal.SIGUSR1)
            _wait(service, _DRAIN_SECONDS)
        return service.poll() or 0
    finally:
        if service is not None:
            _end(service)
        shutil.rmtree(directory, ignore_errors=True)


def _end_with_watcher() -> None:
    """Runs in the new process. The kernel sends it a SIGTERM when the watcher is gone, even after a SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait_for_reason_to_end(parent: int, service: subprocess.Popen[bytes]) -> bool:
    """Returns whether the service is to drain.

    The end of standard input alone would not do: a process that Python has forked holds the other end, too.
    """
    while service.poll() is None and os.getppid() == parent:
        if select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
            return sys.stdin.readline() == "drain\n"
    return False


def _end(service: subprocess.Popen[bytes]) -> None:
    if service.poll() is None:
        service.terminate()
        if not _wait(service, _END_SECONDS):
            service.kill()
            service.wait()


def _wait(service: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        service.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
