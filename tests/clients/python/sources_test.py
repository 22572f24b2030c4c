"""The sources of clients/python: types (mypy --strict), style (ruff), and pytest as another runner of these tests.

Each is skipped if its program is missing. Debian has mypy and pytest, and ruff is in the environment of tests/clients/make_environment.
"""
from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "clients" / "python"


class Sources(unittest.TestCase):
    def check(self, *command: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src")}
        done = subprocess.run(command, cwd=PACKAGE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is missing")
    def test_mypy(self) -> None:
        self.check(sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "src")

    def test_ruff(self) -> None:
        ruff = shutil.which("ruff", path=sysconfig.get_path("scripts")) or shutil.which("ruff")
        if ruff is None:
            self.skipTest("ruff is missing")
        self.check(ruff, "check", "--no-cache", ".")
        self.check(ruff, "format", "--no-cache", "--check", ".")

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is missing")
    def test_pytest(self) -> None:
        self.check(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT),
                   str(Path(__file__).with_name("offline_test.py")))


if __name__ == "__main__":
    unittest.main()
