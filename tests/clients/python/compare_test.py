"""`python -m scorecast.compare`, with a library that answers from a table instead of computing."""
from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import tempfile
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import scorecast
from scorecast import compare, libraries, samples

GOLDEN = Path(__file__).parents[2] / "golden" / "encoders"
LABELS = ["bad", "good"]
PROBABILITY = {"bad": 0.25, "good": 0.75}


class Array(list):
    """Has of NumPy's arrays what is called here."""

    def tolist(self) -> list[Any]:
        return list(self)


def vector(text: str) -> list[float]:
    return [len(text) % 97 / 100, ord(text[0]) % 211 / 300, 0.5]


def similarity(query: str, document: str) -> float:
    return sum(a * b for a, b in zip(vector(query), vector(document)))


def logit(query: str, document: str) -> float:
    return len(document) / 50 - len(query) / 20


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


class FakeEmbedder:
    def __init__(self, directory: str, **options: Any) -> None:
        assert options["device"] == "cpu" and options["model_kwargs"] == {"dtype": "float32"}, options

    def encode(self, texts: list[str], **options: Any) -> Array:
        return Array(vector(text) for text in texts)

    def encode_query(self, texts: list[str], **options: Any) -> Array:
        return Array(vector("q" + text) for text in texts)

    def encode_document(self, texts: list[str], **options: Any) -> Array:
        return Array(vector("d" + text) for text in texts)

    def similarity(self, queries: Array, documents: Array) -> Array:
        return Array([sum(a * b for a, b in zip(query, document)) for document in documents] for query in queries)


class FakeCrossEncoder:
    num_labels = 1

    def __init__(self, directory: str, **options: Any) -> None:
        pass

    def predict(self, pairs: list[tuple[str, str]], activation_fn: Any = None, **options: Any) -> Array:
        logits = [logit(*pair) for pair in pairs]
        return Array(logits if activation_fn else map(sigmoid, logits))


class FakePairClassifier(FakeCrossEncoder):
    num_labels = 2

    def predict(self, pairs: list[tuple[str, str]], activation_fn: Any = None, **options: Any) -> Array:
        assert activation_fn
        return Array([logit(*pair), -logit(*pair)] for pair in pairs)


def fake_pipeline(task: str, **options: Any) -> Callable[..., list[dict[str, Any]]]:
    assert task == "text-classification" and options["dtype"] == "float32", (task, options)

    def classify(text: str, *, top_k: None, truncation: bool, function_to_apply: str = "default") -> list[dict[str, Any]]:
        assert truncation
        scale = len(text) if function_to_apply == "none" else 1
        return [{"label": label, "score": PROBABILITY[label] * scale} for label in ("good", "bad")]

    return classify


class FakeConfig:
    @staticmethod
    def from_pretrained(directory: str) -> Any:
        config = json.loads(Path(directory, "config.json").read_text())
        return types.SimpleNamespace(id2label={int(index): label for index, label in config["id2label"].items()})


def fake_modules(*, cross_encoder: type = FakeCrossEncoder, embedder: type = FakeEmbedder) -> dict[str, Any]:
    def module(name: str, **members: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        vars(made).update(members, __version__="1.2.3")
        return made

    logging = types.SimpleNamespace(set_verbosity_error=lambda: None, disable_progress_bar=lambda: None)
    return {
        "torch": module("torch", float32="float32", nn=types.SimpleNamespace(Identity=object)),
        "transformers": module("transformers", logging=logging, pipeline=fake_pipeline, AutoConfig=FakeConfig),
        "sentence_transformers": module("sentence_transformers", SentenceTransformer=embedder, CrossEncoder=cross_encoder),
    }


class FakeService:
    """Answers what the fake library does. `change` gets each response before it is sent."""

    def __init__(self) -> None:
        self.change: Callable[[str, Any], Any] = lambda path, response: response
        self.template: dict[str, Any] = {"name": "pair", "reason": "it reads pairs"}

    def client(self, url: str = "http://s", **options: Any) -> scorecast.Client:
        return scorecast.Client(url, transport=httpx.MockTransport(self._answer), max_retries=0)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        response = self.change(path, getattr(self, "_" + path.strip("/").replace("/", "_"))(json.loads(request.content or "null")))
        return response if isinstance(response, httpx.Response) else httpx.Response(200, json=response)

    def _v1_models(self, body: None) -> Any:
        return {"data": [{"rerank_template": self.template}]}

    def _v1_embeddings(self, body: Any) -> Any:
        assert body["truncate"] is True
        prompt = {None: "", "query": "q", "document": "d"}[body.get("input_type")]
        return {"data": [{"embedding": vector(prompt + text)} for text in body["input"]]}

    def _v1_rerank(self, body: Any) -> Any:
        if self.is_embedder:
            scores = [similarity(body["query"], document) for document in body["documents"]]
            raw = scores
        else:
            raw = [logit(body["query"], document) for document in body["documents"]]
            scores = raw if body.get("raw_scores") else list(map(sigmoid, raw))
        order = sorted(range(len(raw)), key=lambda index: -raw[index])
        return {"results": [{"index": index, "relevance_score": scores[index]} for index in order]}

    def _predict(self, body: Any) -> Any:
        def of_pair(pair: list[str]) -> list[dict[str, Any]]:
            found = [{"label": "bad", "score": logit(*pair)}, {"label": "good", "score": -logit(*pair)}]
            return sorted(found, key=lambda one: -one["score"])

        return [of_pair(pair) for pair in body["inputs"]]

    def _classify(self, body: Any) -> Any:
        assert body["truncate_prompt_tokens"] == -1
        is_raw = body.get("use_activation") is False
        return {"data": [{"label": "good", "probs": [PROBABILITY[label] * (len(text) if is_raw else 1) for label in LABELS]} for text in body["input"]]}

    is_embedder = False


class FakeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.service = FakeService()
        self.samples = samples.built_in(50)

    def write(self, config: dict[str, Any], saved_by: str | None = None) -> None:
        (self.directory / "config.json").write_text(json.dumps(config))
        if saved_by:
            (self.directory / "modules.json").write_text("[]")
            (self.directory / "config_sentence_transformers.json").write_text(json.dumps({"model_type": saved_by}))

    def write_embedder(self) -> None:
        self.service.is_embedder = True
        self.write({"architectures": ["BertModel"]}, "SentenceTransformer")

    @contextlib.contextmanager
    def library(self, **modules: Any) -> Iterator[None]:
        with mock.patch.dict(sys.modules, fake_modules(**modules)):
            yield

    def reports(self, tolerance: float = 1e-5, **modules: Any) -> list[compare.Report]:
        with self.library(**modules), self.service.client() as client:
            return [compare.report_of(model, client, self.samples, tolerance) for model in libraries.models_of(self.directory)]

    def report(self, **modules: Any) -> compare.Report:
        (report,) = self.reports(**modules)
        return report


class Embedders(FakeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write_embedder()

    def test_equal_answers(self) -> None:
        report = self.report()
        self.assertTrue(report.is_equal, list(report.lines()))
        found = [one.what for one in report.findings if isinstance(one, compare.Difference)]
        self.assertEqual(found, ["vectors", "vectors of queries", "vectors of documents", "similarities"])
        self.assertEqual(len([one for one in report.findings if isinstance(one, compare.Ranking)]), 5)
        self.assertLess(report.largest, 1e-12)

    def test_the_largest_difference_is_named(self) -> None:
        def change(path: str, response: Any) -> Any:
            if path == "/v1/embeddings":
                response["data"][7]["embedding"][1] += 3e-5
                response["data"][2]["embedding"][0] += 2e-5
            return response

        self.service.change = change
        report = self.report()
        self.assertFalse(report.is_equal)
        lines = "\n".join(report.lines())
        self.assertIn("vectors: largest difference 3.0e-05 (" + repr(self.samples.texts[7])[:50], lines)
        self.assertIn("number 2 is", lines)
        self.assertIn("similarities: largest difference 0.0e+00", lines)

    def test_differences_count_in_units_of_the_largest_number(self) -> None:
        class Large(FakeEmbedder):
            def encode(self, texts: list[str], **options: Any) -> Array:
                return Array([value * 1000 for value in vector(text)] for text in texts)

        def change(path: str, response: Any) -> Any:
            if path == "/v1/embeddings":
                for one in response["data"]:
                    one["embedding"] = [value * 1000 + 0.001 for value in one["embedding"]]
            return response

        self.service.change = change
        report = self.report(embedder=Large)
        difference = report.findings[0]
        scale = max(max(vector(text)) for text in self.samples.texts) * 1000
        self.assertAlmostEqual(difference.largest, 0.001 / scale, places=9)

    def test_answers_of_another_length_or_without_a_number(self) -> None:
        def shorter(path: str, response: Any) -> Any:
            if path == "/v1/embeddings":
                response["data"][3]["embedding"].pop()
            return response

        def fewer(path: str, response: Any) -> Any:
            if path == "/v1/embeddings":
                response["data"].pop()
            return response

        def none(path: str, response: Any) -> Any:
            if path == "/v1/embeddings":
                return httpx.Response(200, text=json.dumps(response).replace(json.dumps(response["data"][0]["embedding"]), "[NaN, NaN, NaN]"))
            return response

        for change, said in ((shorter, "2 numbers instead of 3"), (fewer, "49 answers instead of 50"), (none, "nan instead of")):
            with self.subTest(said):
                self.service.change = change
                report = self.report()
                self.assertEqual(report.largest, math.inf)
                self.assertFalse(report.is_equal)
                self.assertIn(said, "\n".join(report.lines()))

    def test_another_order(self) -> None:
        def change(path: str, response: Any) -> Any:
            if path == "/v1/rerank":
                response["results"][3:5] = response["results"][4:2:-1]
            return response

        self.service.change = change
        report = self.report()
        self.assertFalse(report.has_equal_order)
        self.assertFalse(report.is_equal)
        self.assertIn("order of documents: DIFFERENT (0 of 5 queries equal)", "\n".join(report.lines()))

    def test_documents_whose_scores_hardly_differ_have_any_order(self) -> None:
        self.samples = samples.Samples(["a"], [("a", "b" * 40), ("a", "c" + "b" * 39), ("a", "!")])
        scores = [similarity(*pair) for pair in self.samples.pairs]
        order = [1, 0, 2] if scores[1] > scores[0] else [0, 1, 2]
        gap = abs(scores[0] - scores[1])

        def change(path: str, response: Any) -> Any:
            if path == "/v1/rerank":
                by_index = {one["index"]: one for one in response["results"]}
                response["results"] = [by_index[index] for index in (order[1], order[0], order[2])]
            return response

        self.service.change = change
        (wide,) = self.reports(tolerance=gap * 1.01)
        (narrow,) = self.reports(tolerance=gap * 0.99)
        self.assertEqual((wide.has_equal_order, narrow.has_equal_order), (True, False))

    def test_a_ranking_without_all_documents(self) -> None:
        def change(path: str, response: Any) -> Any:
            if path == "/v1/rerank":
                response["results"].pop()
            return response

        self.service.change = change
        self.assertFalse(self.report().has_equal_order)

    def test_a_side_without_an_answer(self) -> None:
        class Broken(FakeEmbedder):
            def encode_query(self, texts: list[str], **options: Any) -> Array:
                raise RuntimeError("no such layer")

        self.assertIn("vectors of queries: the library gives no answer: RuntimeError: no such layer", "\n".join(self.report(embedder=Broken).lines()))
        error = {"message": "No embeddings here.", "code": 400, "reason": "wrong_model_kind"}
        self.service.change = lambda path, response: httpx.Response(400, json=error) if path == "/v1/embeddings" else response
        report = self.report()
        self.assertFalse(report.is_equal)
        self.assertIn("vectors: the service gives no answer: 400 wrong_model_kind: No embeddings here.", "\n".join(report.lines()))


class CrossEncoders(FakeTest):
    def test_scores_and_raw_scores(self) -> None:
        self.write({"architectures": ["BertForSequenceClassification"]}, "CrossEncoder")
        report = self.report()
        self.assertEqual([one.what for one in report.findings if isinstance(one, compare.Difference)], ["scores", "raw scores"])
        self.assertTrue(report.is_equal, list(report.lines()))
        self.service.template = {"name": "yes-no", "reason": "any other language model"}
        self.assertTrue(self.report().was_compared)

    def test_the_order_is_that_of_raw_scores(self) -> None:
        class Saturated(FakeCrossEncoder):
            def predict(self, pairs: list[tuple[str, str]], activation_fn: Any = None, **options: Any) -> Array:
                return Array([logit(*pair) if activation_fn else 1.0 for pair in pairs])

        def change(path: str, response: Any) -> Any:
            return response if not is_by_request else {"results": sorted(response["results"], key=lambda one: one["index"])}

        self.write({"architectures": ["BertForSequenceClassification"]}, "CrossEncoder")
        self.service.change = change
        for is_by_request in (False, True):
            with self.subTest(is_by_request):
                report = self.report(cross_encoder=Saturated)
                self.assertEqual(report.has_equal_order, not is_by_request)

    def test_classes(self) -> None:
        config = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "bad", "1": "good"}}
        self.write(config, "CrossEncoder")
        report = self.report(cross_encoder=FakePairClassifier)
        self.assertTrue(report.is_equal, list(report.lines()))
        self.write({**config, "id2label": {"0": "good", "1": "bad"}}, "CrossEncoder")
        self.assertFalse(self.report(cross_encoder=FakePairClassifier).is_equal)
        self.write({**config, "id2label": {"0": "good", "1": "good"}}, "CrossEncoder")
        with self.assertRaisesRegex(libraries.NotComparableError, "one name for several classes"):
            self.report(cross_encoder=FakePairClassifier)


class Classifiers(FakeTest):
    def setUp(self) -> None:
        super().setUp()
        self.write({"architectures": ["BertForSequenceClassification"], "id2label": {"0": "bad", "1": "good"}})

    def test_texts_and_pairs(self) -> None:
        texts, pairs = self.reports(cross_encoder=FakePairClassifier)
        self.assertEqual([one.what for one in texts.findings], ["probabilities", "logits"])
        self.assertTrue(texts.is_equal, list(texts.lines()))
        self.assertTrue(pairs.is_equal, list(pairs.lines()))
        self.assertTrue(pairs.was_compared)

    def test_a_service_that_reads_no_pairs(self) -> None:
        self.service.change = lambda path, response: httpx.Response(400, json={"message": "m", "reason": "no_pairs"}) if path == "/predict" else response
        texts, pairs = self.reports(cross_encoder=FakePairClassifier)
        self.assertTrue(texts.is_equal)
        self.assertFalse(pairs.was_compared)
        self.assertFalse(pairs.is_equal)

    def test_a_service_that_reranks_with_a_template(self) -> None:
        self.service.template = {"name": "qwen3-reranker", "reason": "its name"}
        _, pairs = self.reports()
        self.assertFalse(pairs.was_compared)
        self.assertIn("not compared: pairs: the library has no rerank template, and the service's is qwen3-reranker (its name)", list(pairs.lines())[1])
        self.service.template = {"name": "chat_template.jinja", "reason": "it has the roles query and document"}
        self.assertTrue(self.reports()[1].was_compared)

    def test_without_sentence_transformers(self) -> None:
        with self.library(), mock.patch.dict(sys.modules, {"sentence_transformers": None}):
            self.assertEqual([model.name for model in libraries.models_of(self.directory)], ["a classifier"])


class Directories(FakeTest):
    def expect(self, message: str) -> None:
        with self.library(), self.assertRaisesRegex(libraries.NotComparableError, message):
            libraries.models_of(self.directory)

    def test_what_is_not_compared(self) -> None:
        self.expect("config.json: .*No such file")
        (self.directory / "config.json").write_text("{")
        self.expect("config.json: Expecting")
        self.write({"architectures": ["T5ForConditionalGeneration"]})
        self.expect("architecture T5ForConditionalGeneration are not compared")
        self.write({})
        self.expect("architecture none are not compared")
        self.write({"architectures": ["BertModel"]}, "SparseEncoder")
        self.expect("class SparseEncoder are not compared")

    def test_a_library_that_is_missing_or_fails(self) -> None:
        self.write_embedder()
        for name, package in (("torch", "torch"), ("transformers", "transformers"), ("sentence_transformers", "sentence-transformers")):
            with self.library(), mock.patch.dict(sys.modules, {name: None}), \
                    self.assertRaisesRegex(libraries.NotComparableError, f"{package} is needed .*pip install {package}"):
                libraries.models_of(self.directory)

        class Failing:
            def __init__(self, directory: str, **options: Any) -> None:
                raise KeyError("layers")

        with self.library(embedder=Failing), self.assertRaisesRegex(libraries.NotComparableError, "does not load the directory: KeyError: 'layers'"):
            libraries.models_of(self.directory)


class Texts(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "texts"

    def read(self, content: str, limit: int = 50) -> samples.Samples:
        self.path.write_text(content, encoding="utf-8")
        return samples.from_file(self.path, limit)

    def test_texts(self) -> None:
        found = self.read("one\n\n two \nthrée\u2028still three\n[1, 2]\n")
        self.assertEqual(found.texts, ["one", " two ", "thrée\u2028still three", "[1, 2]"])
        self.assertEqual(found.pairs, [("one", " two "), ("one", "thrée\u2028still three"), ("one", "[1, 2]")])
        self.assertEqual(self.read("a\nb\nc\n", 2).texts, ["a", "b"])

    def test_pairs(self) -> None:
        found = self.read('["q", "a"]\n["q", "b"]\n["r", ""]\n["r", "a"]\n')
        self.assertEqual(found.pairs, [("q", "a"), ("q", "b"), ("r", ""), ("r", "a")])
        self.assertEqual(found.texts, ["q", "a", "b", "r"])
        self.assertEqual(found.queries(), {"q": ["a", "b"], "r": ["", "a"]})
        self.assertEqual(self.read('["q", "a"]\n["q", "b"]\n', 1).pairs, [("q", "a")])

    def test_what_is_wrong(self) -> None:
        for content, message in (("", "no text"), ("\n \n", "no text"), ('["q", "a"]\n["q"]', "line 2.*is not a pair"), ('["q", "a"]\nb', "line 2")):
            with self.subTest(content), self.assertRaisesRegex(ValueError, message):
                self.read(content)

    def test_built_in(self) -> None:
        found = samples.built_in(50)
        self.assertEqual((len(found.texts), len(found.pairs), len(found.queries())), (50, 50, 5))
        self.assertEqual(len(set(found.pairs)), 50)
        self.assertGreater(max(len(document.split()) for _, document in found.pairs), 512)


class Command(FakeTest):
    def run_command(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), self.library(), \
                mock.patch("scorecast.compare.Client", self.service.client):
            code = compare.main([str(self.directory), *arguments])
        return code, output.getvalue()

    def test_codes(self) -> None:
        self.write_embedder()
        code, output = self.run_command("--url", "http://s")
        self.assertEqual(code, compare.EQUAL, output)
        self.assertIn("sentence-transformers 1.2.3, transformers 1.2.3, torch 1.2.3, float32", output)
        self.assertTrue(output.endswith("equal: no difference is above 1e-05\n"), output)
        self.service.change = lambda path, response: {"data": response["data"][::-1]} if path == "/v1/embeddings" else response
        code, output = self.run_command("--url", "http://s")
        self.assertEqual(code, compare.DIFFERENT, output)
        self.assertTrue(output.endswith("DIFFERENT: the tolerance is 1e-05\n"), output)

    def test_texts_of_a_file(self) -> None:
        self.write_embedder()
        file = self.directory / "texts"
        file.write_text("one\ntwo\n")
        asked: list[Any] = []
        self.service.change = lambda path, response: asked.append((path, response)) or response
        code, output = self.run_command("--url", "http://s", "--texts", str(file))
        self.assertEqual(code, compare.EQUAL, output)
        self.assertEqual([len(response["data"]) for path, response in asked if path == "/v1/embeddings"], [2, 2, 2])
        self.assertIn("1 of 1 queries equal", output)

    def test_nothing_is_compared(self) -> None:
        code, output = self.run_command("--url", "http://s")
        self.assertEqual((code, output.split(":")[0]), (compare.NOT_COMPARED, "not compared"))
        self.write_embedder()
        for arguments, message in ((("--texts", "/nowhere"), "No such file"), (("--binary", "/nowhere/scorecast"), "no executable")):
            code, output = self.run_command(*arguments)
            self.assertEqual(code, compare.NOT_COMPARED, output)
            self.assertIn(message, output)

    def test_arguments_that_do_not_go_together(self) -> None:
        for arguments in (("--limit", "0"), ("--ranks", "0"), ("--tolerance", "nan"), ("--tolerance", "-1"), ("--url", "http://s", "--ranks", "2"),
                          ("--url", "http://s", "--", "--task=embed")):
            with self.subTest(arguments), self.assertRaises(SystemExit) as caught:
                self.run_command(*arguments)
            self.assertEqual(caught.exception.code, compare.NOT_COMPARED)


class Started(unittest.TestCase):
    """With a service that is started, and answers that sentence-transformers has given before."""

    DIRECTORY = GOLDEN / "st-ettin-cross-encoder"

    def run_command(self, cases: Sequence[dict[str, Any]], *arguments: str, moved: float = 0) -> tuple[int, str]:
        class Golden:
            num_labels = 1

            def __init__(self, directory: str, **options: Any) -> None:
                self._answers = {(case["query"], case["document"]): case for case in cases}

            def predict(self, pairs: list[tuple[str, str]], activation_fn: Any = None, **options: Any) -> Array:
                found = [self._answers[pair] for pair in pairs]
                return Array([case["class_logits"][0] if activation_fn else case["score"] + moved for case in found])

        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "pairs"
        file.write_text("".join(json.dumps([case["query"], case["document"]]) + "\n" for case in cases))
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), \
                mock.patch.dict(sys.modules, fake_modules(cross_encoder=Golden)):
            code = compare.main([str(self.DIRECTORY), "--texts", str(file), *arguments])
        return code, output.getvalue()

    def test_answers_of_a_library(self) -> None:
        cases = json.loads((self.DIRECTORY / "golden.json").read_text())["predict"]
        code, output = self.run_command(cases, "--tolerance", "2e-5")
        self.assertEqual(code, compare.EQUAL, output)
        self.assertIn("raw scores: largest difference", output)
        code, output = self.run_command(cases, "--tolerance", "2e-5", "--ranks", "2", moved=1e-3)
        self.assertEqual(code, compare.DIFFERENT, output)
        largest = max(abs(case["score"] + 1e-3) for case in cases)
        self.assertGreater(largest, 1)
        self.assertIn(f"  scores: largest difference {1e-3 / largest:.1e}", output)

    def test_a_start_that_is_refused(self) -> None:
        code, output = self.run_command([{"query": "a", "document": "b", "class_logits": [0.0], "score": 0.5}], "--", "--no-such-flag")
        self.assertEqual(code, compare.NOT_COMPARED, output)
        self.assertIn("not compared: the service has ended: ", output)
        self.assertIn("--no-such-flag", output)


if __name__ == "__main__":
    unittest.main()
