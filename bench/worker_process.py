"""Processes that read lines and reply with lines of JSON, such as workers.

A worker runs passes on demand, by the protocol of worker/main.cc. It prints a line of JSON when it is ready.
Then it reads lines with the name of a workload and replies to each with a line of JSON, which has "t", the
seconds of the pass, "r", the label log-probabilities, and more.
"""
from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self


class WorkerFailed(Exception):
    """The message names the process and the reason, in one line."""


def write_random_model(worker: Path, models: Path, shape: str) -> None:
    """Writes the random model of a shape to models/shape, unless it is there. Raises CalledProcessError."""
    subprocess.run([worker, "--models", models, "--shape", shape, "--only-write-model"], check=True,
                   stdout=subprocess.DEVNULL)


class LineProcess:
    """A process that ends with the `with` statement, also if that ends by an exception."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> None:
        """Starts the process. Its standard error goes to the file `log`."""
        self.name = name
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
                                             text=True, env=env, start_new_session=True)  # Ctrl-C does not reach it.

    def tell(self, lines: str) -> None:
        """Sends lines at once. Each must end with a newline."""
        assert self._process.stdin
        try:
            self._process.stdin.write(lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # `read` raises an exception with the reason.

    def read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self.name} ended: {self._last_words()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        """Closes the process's input. Terminates the process after an exception, or if it does not end by itself."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        if fault or not self._ends_within(30):
            self._process.terminate()
            if not self._ends_within(10):
                self._process.kill()
                self._process.wait()
        self._process.stdout.close()

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _last_words(self) -> str:
        """The last line that the process itself printed, without the explanation that mpirun appends."""
        text = re.split(r"^-{20,}$", self._log.read_text(errors="replace"), maxsplit=1, flags=re.MULTILINE)
        for part in text:
            lines = [line.strip() for line in part.splitlines() if line.strip() and "--help" not in line]
            if lines:
                return lines[-1]
        return f"nothing in {self._log}"


class WorkerProcess(LineProcess):
    info: dict[str, Any]

    def wait_until_ready(self) -> None:
        self.info = self.read()

    def run(self, workload: str) -> dict[str, Any]:
        """Runs one pass and returns the reply. Raises WorkerFailed if the reply is an error."""
        self.tell(workload + "\n")
        reply = self.read()
        if "err" in reply:
            raise WorkerFailed(f"{self.name}: {workload}: {reply['err']}")
        return reply
