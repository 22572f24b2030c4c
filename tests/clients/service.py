"""`scorecast serve` for the tests of this directory, and the documents that they rank."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEMO_MODEL = Path(__file__).parents[1] / "demo_model" / "model"
_TEMPLATE = DEMO_MODEL.parent / "rerank_template.txt"

# The model of tests/demo_model has learnt which of these sentences is right.
QUERY = "Which sentence tells the colour of the sky?"
DOCUMENTS = ["The grass is green.", "The dog barks.", "The sky is blue.", "Paris is the capital of France."]
RIGHT = 2

# More tokens than the model has positions.
TOO_LONG = "word " * 5000

_READY = re.compile(r"ready: requests on \S+:\d+, HTTP on (\S+:\d+)")
_READY_SECONDS = 60
_END_SECONDS = 30


class Service:
    """Ends with the `with` statement, and then raises if the service does not drain and end normally."""

    def __init__(self, *flags: str, model: Path = DEMO_MODEL, reranks: bool = True, http_port: int = 0, ranks: int = 1) -> None:
        """If it `reranks`, `model` has the demo model's tokenizer and its way of judging. `http_port` 0: any free one."""
        job = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        self._log = tempfile.TemporaryFile("w+")
        # The service ends with this process, even if a time limit kills that.
        command = ["setpriv", "--pdeathsig", "TERM", *job, os.environ["SCORECAST_PROGRAM"], "serve",
                   "--model", str(model), "--port", "0", "--http-port", str(http_port),
                   *(["--rerank-template", str(_TEMPLATE)] if reranks else []), *flags]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        self.address = self._wait_until_ready()
        self.url = f"http://{self.address}"

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGUSR1)
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        log = self.log()
        self._log.close()
        if code != 0:
            raise AssertionError(f"exit code {code}:\n{log}")

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def post(self, path: str, body: Any) -> Any:
        """The body of a response with the code 200."""
        code, response = self.ask(path, body)
        if code != 200:
            raise AssertionError(f"{path}: {code}: {response}")
        return response

    def get(self, path: str) -> Any:
        """The body of a response with the code 200."""
        code, response = self.ask(path)
        if code != 200:
            raise AssertionError(f"{path}: {code}: {response}")
        return response

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Code and body of the response to a POST, or to a GET if there is no body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def _wait_until_ready(self) -> str:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if ready := _READY.search(self.log()):
                return ready[1]
            time.sleep(0.05)
        self._process.kill()
        self._process.wait()
        log = self.log()
        self._log.close()
        raise AssertionError("the service did not start:\n" + log)


class RankingTest(unittest.TestCase):
    """A test of a client that ranks DOCUMENTS for QUERY."""

    def expect_ranking(self, ranking: Sequence[tuple[int, float]], size: int = len(DOCUMENTS)) -> None:
        """`ranking`: index and score of each document that was returned, in the order of the response."""
        self.assertEqual(len(ranking), size)
        self.assertEqual(len({index for index, _ in ranking}), size)
        scores = [score for _, score in ranking]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(ranking[0][0], RIGHT)
        self.assertGreater(scores[0], 0.9)
        self.assertLessEqual(scores[0], 1)
        for score in scores[1:]:
            self.assertLess(score, 0.1)
            self.assertGreaterEqual(score, 0)
