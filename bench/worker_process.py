"""Processes that answer lines with lines of JSON, such as a worker: it does passes on demand, in the
protocol of worker/main.cc.

A worker prints a line of JSON when it is ready; then each line that it reads names a workload, and is
answered by a line of JSON with "t", the pass's seconds, "r", the label log-probabilities, and more.
"""
from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self


class WorkerFailed(Exception):
    """Says which process and why: one line."""


class LineProcess:
    """Ended by the end of the `with`, whatever ends that."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: dict[str, str] | None = None) -> None:
        """Starts it; its standard error goes to the file `log`."""
        self.name = name
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
                                             text=True, env=env, start_new_session=True)  # Ctrl-C is for its user.

    def tell(self, lines: str) -> None:
        """All at once; each ends with a newline."""
        assert self._process.stdin
        try:
            self._process.stdin.write(lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # Reading says what became of it.

    def read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self.name} ended: {self._last_words()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        """By the end of its input where all is well, and by force where that is not enough."""
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
        """What it said itself: mpirun's own explanation, which comes after, is for people with other questions."""
        text = re.split(r"^-{20,}$", self._log.read_text(errors="replace"), maxsplit=1, flags=re.MULTILINE)
        for part in text:
            lines = [line.strip() for line in part.splitlines() if line.strip() and "--help" not in line]
            if lines:
                return lines[-1]
        return f"no word in {self._log}"


class WorkerProcess(LineProcess):
    info: dict[str, Any]

    def wait_until_ready(self) -> None:
        self.info = self.read()

    def run(self, workload: str) -> dict[str, Any]:
        """One pass of it: the answer."""
        self.tell(workload + "\n")
        answer = self.read()
        if "err" in answer:
            raise WorkerFailed(f"{self.name}: {workload}: {answer['err']}")
        return answer
