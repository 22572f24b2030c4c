"""Client and AsyncClient against running services. The demo models know the right answers."""
from __future__ import annotations

import asyncio
import json
import math
import struct
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scorecast
from scorecast import AsyncClient, Choice, Client, Noul, Score

from tests.clients.service import DOCUMENTS, QUERY, RIGHT, TOO_LONG, RankingTest, Service

TESTS = Path(__file__).parents[2]
DECIDER = TESTS / "decision_model" / "model"
CLASSIFIER = TESTS / "golden" / "encoders" / "bert-classifier-labels"
EMBEDDER = TESTS / "golden" / "encoders" / "qwen3-embed"

FACTS = ["Anna lives in Oslo.", "The red key is in the kitchen."]
CHAT_TEMPLATE = str(Path(__file__).parents[1] / "chat_template.jinja")

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--dtype", "f32", "--chat-template", CHAT_TEMPLATE))


def setUpClient(test: unittest.TestCase, url: str) -> Client:
    return test.enterContext(Client(url))


class LanguageModel(RankingTest):
    def setUp(self) -> None:
        self.client = setUpClient(self, service.url)

    def test_score(self) -> None:
        result = self.client.score("The capital of France is", [" Paris", " Oslo"], [" yes", " no"], apply_softmax=True)
        self.assertGreater(result.scores[0][0], 0.99)
        self.assertLess(result.scores[1][0], 0.01)
        for row in result.scores:
            self.assertAlmostEqual(sum(row), 1)
        self.assertEqual(result.usage.prompt_tokens, result.usage.total_tokens)
        self.assertGreater(self.client.score("The capital of France is", [" Rome"], [" no"]).usage.cached_tokens, 0)

    def test_score_of_ids(self) -> None:
        query, yes = self.client.tokenize("The capital of France is"), self.client.tokenize(" yes", add_special_tokens=False)
        item = self.client.tokenize(" Paris", add_special_tokens=False)
        texts = self.client.score("The capital of France is", [" Paris"], [" yes"])
        ids = self.client.score(query, [item], label_token_ids=yes, return_token_logprobs=True)
        self.assertEqual(ids.scores, texts.scores)
        self.assertIsNone(texts.token_logprobs)
        assert ids.token_logprobs is not None
        self.assertAlmostEqual(math.exp(ids.token_logprobs[0][0]), ids.scores[0][0], places=6)

    def test_likelihood(self) -> None:
        result = self.client.likelihood("The capital of France is", [" Paris", " Oslo"])
        self.assertGreater(result.scores[0], result.scores[1])
        self.assertEqual(result.scores, [sum(logprobs) for logprobs in result.token_logprobs])
        self.assertEqual(result.is_greedy, [True, False])

    def test_rerank(self) -> None:
        result = self.client.rerank(QUERY, DOCUMENTS)
        self.expect_ranking([(one.index, one.relevance_score) for one in result])
        self.assertEqual([one.document for one in result], [DOCUMENTS[one.index] for one in result])
        best = self.client.rerank(QUERY, DOCUMENTS, top_n=1)
        self.assertEqual((len(best), best[0].index), (1, RIGHT))

    def test_complete(self) -> None:
        result = self.client.complete("The capital of France is", max_tokens=1, temperature=0)
        self.assertEqual((result.text, result.choices[0].finish_reason), (" Paris", "length"))
        several = self.client.complete(["The capital of France is", "The capital of Italy is"], max_tokens=1, temperature=0, n=2)
        self.assertEqual([choice.text for choice in several.choices], [" Paris", " Paris", " Rome", " Rome"])

    def test_complete_stream(self) -> None:
        whole = self.client.complete("The capital of France is", max_tokens=6, temperature=0)
        deltas = list(self.client.complete_stream("The capital of France is", max_tokens=6, temperature=0))
        self.assertEqual("".join(delta.text for delta in deltas), whole.text)
        self.assertEqual([delta.finish_reason for delta in deltas][-1], whole.choices[0].finish_reason)

    def test_a_stream_that_is_closed_ends_on_the_service(self) -> None:
        stream = self.client.complete_stream("The capital of France is", max_tokens=2000, temperature=0, ignore_eos=True)
        next(stream)
        stream.close()
        self.assertEqual(self.client.complete("The capital of France is", max_tokens=1, temperature=0).text, " Paris")

    def test_chat(self) -> None:
        for messages in ("The capital of France is", [{"role": "user", "content": "The capital of France is"}]):
            result = self.client.chat(messages, max_tokens=1, temperature=0)
            deltas = list(self.client.chat_stream(messages, max_tokens=1, temperature=0))
            self.assertEqual(result.text.strip(), "Paris")
            self.assertEqual("".join(delta.text for delta in deltas), result.text)
            self.assertEqual(deltas[-1].finish_reason, "length")

    def test_ask(self) -> None:
        options: dict[str, Any] = {"system_prompt": "Read the documents.", "between": " "}
        first = self.client.ask(FACTS, "Where is the red key?", **options)
        self.assertEqual((first.text, first.finish_reason), ("kitchen.", "stop"))
        second = self.client.ask(FACTS[::-1], "Where does Anna live?", **options)
        self.assertEqual(second.text, "Oslo.")
        documents = sum(len(self.client.tokenize(text, add_special_tokens=False)) for text in FACTS)
        self.assertGreaterEqual(second.usage.cached_tokens, documents)
        deltas = list(self.client.ask_stream(FACTS, "Where is the red key?", **options))
        self.assertEqual("".join(delta.text for delta in deltas), " kitchen.")

    def test_tokenize(self) -> None:
        ids = self.client.tokenize("The sky is blue.")
        self.assertEqual(ids, service.post("/tokenize", {"prompt": "The sky is blue."})["tokens"])
        self.assertEqual(self.client.tokenize([{"role": "user", "content": "The sky"}]), self.client.tokenize("The sky")[1:])
        self.assertEqual(self.client.detokenize(self.client.tokenize("The sky", add_special_tokens=False)), "The sky")

    def test_other_requests(self) -> None:
        self.assertEqual(self.client.get("/v1/models")["data"][0]["max_model_len"], 2048)
        reply = self.client.post("/v1/score", {"query": "a", "items": [], "labels": [" yes"]})
        self.assertEqual(reply["scores"], [])

    def test_errors(self) -> None:
        with self.assertRaises(scorecast.BadRequestError) as caught:
            self.client.score(TOO_LONG, ["a"], [" yes"])
        self.assertEqual((caught.exception.status, caught.exception.reason), (400, "too_many_positions"))
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(scorecast.NotFoundError):
            self.client.get("/nothing")
        with self.assertRaises(scorecast.BadRequestError) as caught:
            next(self.client.complete_stream("a", top_p=2))
        self.assertEqual((caught.exception.reason, caught.exception.param), ("top_p_out_of_range", "top_p"))

    def test_nobody_listens(self) -> None:
        with Client("http://127.0.0.1:1", max_retries=0) as client, self.assertRaises(scorecast.APIConnectionError):
            client.tokenize("a")


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_has_the_results_of_the_other_client(self) -> None:
        calls: list[Callable[[Any], Any]] = [
            lambda client: client.score("The capital of France is", [" Paris"], [" yes"]),
            lambda client: client.rerank(QUERY, DOCUMENTS),
            lambda client: client.complete("The capital of France is", max_tokens=3, temperature=0),
            lambda client: client.ask(FACTS, "Where is the red key?", between=" "),
            lambda client: client.tokenize("The sky")]
        with Client(service.url) as client:
            expected = [call(client) for call in calls]
        async with AsyncClient(service.url) as client:
            found = await asyncio.gather(*[call(client) for call in calls])
            deltas = [delta async for delta in client.ask_stream(FACTS, "Where is the red key?", between=" ")]
        for one, other in zip(found, expected):
            self.assertEqual(without_raw(one), without_raw(other))
        self.assertEqual("".join(delta.text for delta in deltas).strip(), expected[3].text)

    async def test_errors(self) -> None:
        async with AsyncClient(service.url) as client:
            with self.assertRaises(scorecast.BadRequestError):
                await client.score(TOO_LONG, ["a"], [" yes"])
            with self.assertRaises(scorecast.BadRequestError):
                await anext(client.complete_stream("a", top_p=2))


def without_raw(result: Any) -> Any:
    """The response has times and ids, and what is cached depends on the requests before it."""
    return {name: value for name, value in vars(result).items() if name not in ("raw", "usage")} if hasattr(result, "raw") else result


class OtherModels(unittest.TestCase):
    def client_of(self, model: Path) -> Client:
        other = self.enterContext(Service("--dtype", "f32", model=model, reranks=False))
        return setUpClient(self, other.url)

    def test_decide(self) -> None:
        client = self.client_of(DECIDER)
        request = json.loads((DECIDER.parent / "demo_request.json").read_text())
        questions = {"rome": Noul("Does Mary live in Rome?"), "emma": Noul("Does the key belong to Emma?"),
                     "colour": Choice(["blue", "red", "green", "white"], "What is the colour of the boat?"),
                     "price": Score(["2 to 7 coins", "8 to 13 coins", "14 to 20 coins"], "How expensive is the lamp?")}
        result = client.decide(request["state"], questions)
        plain = client.decide(request["state"], request["questions"])
        assert result["rome"].noul is not None
        assert result["emma"].noul is not None
        self.assertLess(result["rome"].noul, 0.5)
        self.assertGreater(result["emma"].noul, 0.5)
        self.assertEqual(result["colour"].choice, "red")
        self.assertEqual(list(result["colour"].probabilities), ["blue", "red", "green", "white"])
        self.assertEqual(result["price"], plain["price"])
        self.assertEqual(result["colour"], plain["colour"])

    def test_classify(self) -> None:
        client = self.client_of(CLASSIFIER)
        golden = json.loads((CLASSIFIER / "golden.json").read_text())
        cases = golden["classifier"][:3]
        labels = list(json.loads((CLASSIFIER / "config.json").read_text())["id2label"].values())
        result = client.classify([case["ids"] for case in cases])
        self.assertEqual(len(result.results), len(cases))
        for found, case in zip(result.results, cases):
            self.assertEqual(found.label, labels[max(range(len(labels)), key=case["probabilities"].__getitem__)])
            for probability, expected in zip(found.probs, case["probabilities"], strict=True):
                self.assertAlmostEqual(probability, expected, delta=2e-5)

    def test_embed(self) -> None:
        client = self.client_of(EMBEDDER)
        cases = [case for case in json.loads((EMBEDDER / "golden.json").read_text())["text"]
                 if case["prompt_name"] is None and len(case["ids"]) < case["max_length"]][:3]
        texts = [case["text"] for case in cases]
        found = client.embed(texts).embeddings
        self.assertEqual(len(found), len(cases))
        for vector, floats, case in zip(found, client.embed(texts, encoding_format="float").embeddings, cases):
            for value, as_float, expected in zip(vector, floats, case["embedding"], strict=True):
                self.assertAlmostEqual(value, expected, delta=2e-5)
                # Digits tell a float32 from its neighbours.
                self.assertEqual(struct.pack("<f", value), struct.pack("<f", as_float))
        with scorecast.LLM(base_url=client.settings.base_url) as llm:
            outputs = llm.embed(texts)
        self.assertEqual([output.outputs.embedding for output in outputs], found)
        self.assertEqual([output.prompt_token_ids for output in outputs], [client.tokenize(text) for text in texts])


if __name__ == "__main__":
    unittest.main()
