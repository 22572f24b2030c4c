"""Whatever ends a Python that has started a service: no process of it stays, and no file in /dev/shm."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest
from contextlib import suppress
from pathlib import Path

from tests.clients.service import DEMO_MODEL

_SECONDS = 120  # Nothing takes as long. It only bounds a test that fails.
_START = "from scorecast import LLM\nllm = LLM({model!r}, ranks={ranks})\nprint('ready', flush=True)\ninput()\n{rest}\n"


def descendants(pid: int) -> list[int]:
    parents = {int(path.parent.name): parent_of(path) for path in Path("/proc").glob("[0-9]*/stat")}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def parent_of(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:  # It has ended.
        return -1


def runs(pid: int) -> bool:
    """Zombies have ended. Whoever adopts them may be slow to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def directory_of(watcher: int) -> Path:
    """The service's files, and those of Open MPI's shared memory."""
    arguments = Path(f"/proc/{watcher}/cmdline").read_text().split("\0")
    return Path(next(one for one in arguments if one.startswith("/dev/shm/")))


class End(unittest.TestCase):
    def start(self, rest: str, ranks: int = 2) -> subprocess.Popen[str]:
        code = _START.format(model=str(DEMO_MODEL), ranks=ranks, rest=rest)
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(self.clean, process)
        return process

    def start_until_ready(self, rest: str = "import time\ntime.sleep(1000)", ranks: int = 2) -> tuple[subprocess.Popen[str], list[int]]:
        process = self.start(rest, ranks)
        self.assertEqual(process.stdout.readline(), "ready\n")
        found = descendants(process.pid)
        self.assertEqual(len(found), 2 if ranks == 1 else 2 + ranks, "a watcher, mpirun, and the ranks")
        self.directory = directory_of(found[0])
        self.assertEqual(any(name.startswith("vader_segment") for name in os.listdir(self.directory)), ranks > 1)
        process.stdin.write("go on\n")  # Only now may the program end.
        process.stdin.flush()
        return process, found

    def clean(self, process: subprocess.Popen[str]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # Also what it has forked.
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def expect_the_end(self, pids: list[int]) -> None:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and (any(map(runs, pids)) or self.directory.exists()):
            time.sleep(0.05)
        self.assertEqual([pid for pid in pids if runs(pid)], [])
        self.assertFalse(self.directory.exists())

    def test_a_kill_of_python(self) -> None:
        for ranks in (1, 2):
            with self.subTest(ranks):
                process, pids = self.start_until_ready(ranks=ranks)
                process.kill()
                process.wait()
                self.expect_the_end(pids)

    def test_a_kill_while_a_fork_of_python_lives(self) -> None:
        process, pids = self.start_until_ready("import os, time\nos.fork()\nos.write(1, b'forked\\n')\ntime.sleep(1000)")
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "forked\n")
        (fork,) = set(descendants(process.pid)) - set(pids)
        process.kill()
        process.wait()
        self.expect_the_end(pids)
        self.assertTrue(runs(fork))
        os.kill(fork, signal.SIGKILL)

    def test_a_kill_while_the_service_starts(self) -> None:
        process = self.start("")
        deadline = time.monotonic() + _SECONDS
        while len(pids := descendants(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.directory = directory_of(pids[0])
        process.kill()
        process.wait()
        self.expect_the_end(list({*pids, *(child for pid in pids for child in descendants(pid))}))

    def test_a_kill_of_the_watcher(self) -> None:
        process, pids = self.start_until_ready()
        os.kill(pids[0], signal.SIGKILL)
        deadline = time.monotonic() + _SECONDS
        while any(map(runs, pids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([pid for pid in pids if runs(pid)], [])
        process.kill()
        # Nobody is left to remove the directory. What Open MPI had in it is gone.
        self.assertEqual(os.listdir(self.directory), [])
        self.directory.rmdir()

    def test_the_end_of_a_program_without_a_with_statement(self) -> None:
        for rest, code in (("", 0), ("raise SystemExit(3)", 3), ("del llm\nprint('deleted', flush=True)", 0)):
            with self.subTest(rest):
                process, pids = self.start_until_ready(rest + "\n" if rest else "import sys\nsys.exit()")
                self.assertEqual(process.wait(_SECONDS), code)
                self.expect_the_end(pids)

    def test_an_interrupt_of_python_does_not_reach_the_service(self) -> None:
        rest = ("import time\ntry:\n  print('waits', flush=True)\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n"
                "  print(llm.score('a', ['b'], labels=[' yes']).prompt_tokens, flush=True)")
        process, pids = self.start_until_ready(rest)
        self.assertEqual(process.stdout.readline(), "waits\n")
        os.killpg(process.pid, signal.SIGINT)
        self.assertGreater(int(process.stdout.readline()), 0)
        self.assertEqual(process.wait(_SECONDS), 0)
        self.expect_the_end(pids)


if __name__ == "__main__":
    unittest.main()
