"""A service that decides, and questions for its clients."""
from __future__ import annotations

import http.client
import json
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.service import DEMO_MODEL, Service

# The model does not know these questions. Its answers are compared with those to a plain request.
_MODEL = DEMO_MODEL
_TEMPLATE = Path(__file__).parent / "decision_template.txt"
MOST_OPTIONS = 16  # Labels of the template.

STATE = {"zone": "kitchen", "facts": ["The red key is in the kitchen.", "The sky is blue."], "count": 2}
# A request with a longer state is sent in zstd by the official SDK, if it can.
LONG_STATE = "The red key is in the kitchen. The café is open. " * 30

# All forms of questions. The ids have what paths and formats may trip over.
QUESTIONS: dict[str, Any] = {
    "key": {"type": "noul", "instructions": "The key is in the kitchen."},
    "key.described": {"type": "noul", "instructions": {"claim": "The sky is green.", "about": ["sky"]},
                      "criteria": {"true": "It is green.", "false": {"else": "any other colour"}}},
    "colour": {"type": "choice", "instructions": "Which colour has the sky?",
               "criteria": {"red": None, "blue": "as the sea", "a.b": ["c", 1]}},
    "farbe ü": {"type": "choice", "criteria": {"y": None, "x": None}},
    "only": {"type": "choice", "instructions": "Which?", "criteria": {"one": None}},
    "sixteen": {"type": "choice", "instructions": "Which?", "criteria": {f"option {i}": None for i in range(MOST_OPTIONS)}},
    "0": {"type": "score", "instructions": "How warm is it?", "criteria": ["cold", {"degrees": 20}, ["hot", "very hot"]]},
    "ten": {"type": "score", "criteria": [f"level {i}" for i in range(10)]},
}


def decision_service(*flags: str) -> Service:
    return Service("--decision-template", str(_TEMPLATE), "--served-model-name", "demo", *flags, model=_MODEL)


def answers(service: Service, state: Any = STATE, questions: dict[str, Any] = QUESTIONS, **fields: Any) -> dict[str, Any]:
    """The answers to a plain request."""
    return service.post("/v1/systemone", {"state": state, "questions": questions, **fields})["answers"]


class DecisionTest(unittest.TestCase):
    def expect_plausible(self, found: dict[str, Any]) -> None:
        """`found`: answers to QUESTIONS, which have the formulas of docs/decisions.md."""
        self.assertEqual(list(found), list(QUESTIONS))
        for name, answer in found.items():
            with self.subTest(name):
                question = QUESTIONS[name]
                self.assertEqual(answer["type"], question["type"])
                if question["type"] == "noul":
                    self.assertGreater(answer["noul"], 0)
                    self.assertLess(answer["noul"], 1)
                    continue
                probabilities = list(answer["probabilities"].values())
                self.assertAlmostEqual(sum(probabilities), 1, places=9)
                size, most = len(probabilities), max(probabilities)
                first = probabilities.index(most)
                if question["type"] == "choice":
                    self.assertEqual(list(answer["probabilities"]), list(question["criteria"]))
                    self.assertEqual(answer["choice"], list(question["criteria"])[first])
                    confidence = (size * most - 1) / (size - 1) if size > 1 else 1
                else:
                    self.assertEqual(answer["legend"], {str(i): level for i, level in enumerate(question["criteria"])})
                    self.assertEqual(list(answer["probabilities"]), list(answer["legend"]))
                    self.assertAlmostEqual(answer["score"], sum(i * p for i, p in enumerate(probabilities)), places=9)
                    uniform = sum(abs(i - (size - 1) / 2) for i in range(size)) / size
                    confidence = max(0, 1 - sum(p * abs(i - first) for i, p in enumerate(probabilities)) / uniform)
                self.assertAlmostEqual(answer["confidence"], confidence, places=9)


@contextmanager
def full_queue(service: Service) -> Iterator[threading.Event]:
    """Requests wait until the event is set. The service must have a --max-queue smaller than their number."""
    body = json.dumps({"state": LONG_STATE, "questions": {str(i): {"type": "noul", "instructions": f"Is it {i}?"} for i in range(200)}})
    ends = threading.Event()

    def ask() -> None:
        connection = http.client.HTTPConnection(service.address, timeout=60)
        while not ends.is_set():
            connection.request("POST", "/v1/systemone", body, {"Content-Type": "application/json"})
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        yield ends
    finally:
        ends.set()
        for thread in threads:
            thread.join()
