"""The cases of SGLang's own tests of /v1/score, over HTTP."""
from __future__ import annotations

import math
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.clients.classifier_model import write_classifier
from tests.clients.service import DOCUMENTS, QUERY, RIGHT, Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service())


def ids(text: str) -> list[int]:
    return service.post("/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]


def request(items: Any, **fields: Any) -> dict[str, Any]:
    labels = [ids(word)[0] for word in (" yes", " no")]
    return {"query": "The capital of France is", "items": items, "label_token_ids": labels, "apply_softmax": True, **fields}


class Score(unittest.TestCase):
    def scores(self, body: dict[str, Any], *, at: Service | None = None) -> list[list[float]]:
        response = (at or service).post("/v1/score", body)
        self.assertEqual(response["object"], "scoring")
        return response["scores"]

    def expect_near(self, found: list[list[float]], expected: list[list[float]], tolerance: float) -> None:
        self.assertEqual([len(row) for row in found], [len(row) for row in expected])
        for row, expected_row in zip(found, expected):
            for value, expected_value in zip(row, expected_row):
                self.assertAlmostEqual(value, expected_value, delta=tolerance)

    def test_softmax_rows_sum_to_one(self) -> None:
        for row in self.scores(request([" Paris", " Berlin"])):
            self.assertAlmostEqual(sum(row), 1, delta=1e-6)

    def test_other_rows_do_not(self) -> None:
        for row in self.scores(request([" Paris", " Berlin"], apply_softmax=False)):
            self.assertLess(sum(row), 1)
            self.assertGreater(sum(row), 0)

    def test_the_right_item_wins(self) -> None:
        right, wrong = self.scores(request([" Paris", " Berlin"]))
        self.assertGreater(right[0], 0.9)
        self.assertLess(wrong[0], 0.1)

    def test_wrong_types(self) -> None:
        for fields in ({"items": 42}, {"label_token_ids": "bad"}, {"query": None}, {"items": [1.5]}, {"apply_softmax": "maybe"}):
            with self.subTest(fields):
                code, body = service.ask("/v1/score", request([" Paris"]) | fields)
                self.assertEqual(code, 400)
                self.assertEqual(body["object"], "error")
                self.assertEqual(body["code"], 400)
                self.assertTrue(body["message"])
                self.assertTrue(body["type"])

    def test_a_string_is_one_item(self) -> None:
        self.assertEqual(self.scores(request(" Paris")), self.scores(request([" Paris"])))

    def test_no_items(self) -> None:
        self.assertEqual(self.scores(request([])), [])

    def test_numbers_of_items(self) -> None:
        for count in (1, 2, 4, 6, 10, 15):
            self.assertEqual(len(self.scores(request([f" Paris {number}" for number in range(count)]))), count)

    def test_repeated(self) -> None:
        body = request([" Paris", " Berlin", " Rome"])
        first = self.scores(body)
        for _ in range(5):
            self.assertEqual(self.scores(body), first)

    def test_unicode(self) -> None:
        for row in self.scores(request(["选项一", "选项二", "🙂"], query="选择最佳选项：")):
            self.assertAlmostEqual(sum(row), 1, delta=1e-6)

    def test_tokens_equal_text(self) -> None:
        items = [" Paris", " Berlin"]
        # With BOS, which is added to a text and never to ids.
        query = service.post("/tokenize", {"prompt": "The capital of France is"})["tokens"]
        self.assertEqual(self.scores(request([ids(item) for item in items], query=query)), self.scores(request(items)))

    def test_packed_equals_one_by_one(self) -> None:
        body = request([" Paris", " Berlin", " Rome"])
        with Service("--one-by-one") as one_by_one:
            self.expect_near(self.scores(body), self.scores(body, at=one_by_one), 1e-6)
            for item in body["items"]:
                alone = body | {"items": [item]}
                self.expect_near(self.scores(alone), self.scores(alone, at=one_by_one), 1e-6)

    def test_item_first(self) -> None:
        fields = {"query": " is a city", "item_first": True}
        rows = self.scores(request(["Tokyo", "Japan"], **fields))
        joint = [self.scores(request([""], query=item + " is a city"))[0] for item in ("Tokyo", "Japan")]
        self.expect_near(rows, joint, 1e-6)
        self.assertNotEqual(rows[0], rows[1])

    def test_continuation(self) -> None:
        labels = [ids(word)[0] for word in (" to", " the")]
        body = request(["", " to"], query="I pledge allegiance", label_token_ids=labels, apply_softmax=False)
        for row in self.scores(body):
            self.assertEqual(len(row), 2)
            for score in row:
                self.assertTrue(0 < score < 1)

    def test_concurrent_equals_sequential(self) -> None:
        bodies = [request([f" Paris {number}", f" Rome {number}"], query=f"The capital of France {number % 3} is")
                  for number in range(16)]
        sequential = [self.scores(body) for body in bodies]
        with ThreadPoolExecutor(4) as threads:
            self.assertEqual(list(threads.map(self.scores, bodies)), sequential)

    def test_a_classifier_tells_items_apart(self) -> None:
        yes, no = (ids(word)[0] for word in (" yes", " no"))
        items = [" " + document for document in DOCUMENTS]
        softmax = self.scores(request(items, query=QUERY))
        with tempfile.TemporaryDirectory() as directory:
            write_classifier(Path(directory), yes, no)
            with Service(model=Path(directory)) as classifier:
                rows = self.scores({"query": QUERY, "items": items}, at=classifier)
                ranking = classifier.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
        self.assertEqual(len({row[0] for row in rows}), len(items))
        self.assertEqual(max(range(len(rows)), key=lambda item: rows[item][0]), RIGHT)
        for row, expected in zip(rows, softmax, strict=True):
            # The head's weights are rounded to bfloat16.
            self.assertAlmostEqual(row[0], math.log(expected[0] / expected[1]), delta=0.2)
        for result in ranking:
            self.assertAlmostEqual(result["relevance_score"], 1 / (1 + math.exp(-rows[result["index"]][0])), delta=1e-3)


if __name__ == "__main__":
    unittest.main()
