"""`pip install ./clients/python`, with the httpx of PyPI. Runs in the environment of tests/clients/make_environment."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]


class Install(unittest.TestCase):
    def run_python(self, *arguments: str, path: Path) -> str:
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(path)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_installed_package_is_whole(self) -> None:
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        sources = directory / "sources"  # setuptools writes beside the sources.
        shutil.copytree(ROOT / "clients" / "python", sources, ignore=shutil.ignore_patterns("__pycache__"))
        installed = directory / "installed"
        self.run_python("-m", "pip", "install", "-q", "--no-deps", "--target", str(installed), str(sources), path=directory)
        packed = {path.name for path in (installed / "scorecast").iterdir() if path.is_file()}
        self.assertEqual(packed, {path.name for path in (sources / "src" / "scorecast").iterdir() if path.is_file()})
        self.assertIn("py.typed", packed)
        self.run_python("-m", "unittest", "-q", "tests.clients.python.offline_test", path=installed)
        where = self.run_python("-c", "import scorecast; print(scorecast.__file__)", path=installed)
        self.assertIn(str(installed), where)


if __name__ == "__main__":
    unittest.main()
