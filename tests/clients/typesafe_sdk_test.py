"""The official SDK of System One, with bodies in zstd and without."""
from __future__ import annotations

import asyncio
import json
import os
import unittest
from typing import Any
from unittest import mock

import httpx2
import typesafe_sdk as sdk
from typesafe_sdk import Choice, Image, Noul, RetryPolicy, Score, TypeSafeClient

from tests.clients.decisions import LONG_STATE, MOST_OPTIONS, QUESTIONS, STATE, DecisionTest, answers, decision_service, full_queue
from tests.clients.service import DEMO_MODEL, TOO_LONG, Service

NO_RETRY = RetryPolicy(max_retries=0)
NOUL = {"a": Noul(instructions="Is it?")}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
TYPES = {"noul": Noul, "choice": Choice, "score": Score}

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(decision_service())


def typed(questions: dict[str, Any]) -> dict[str, Any]:
    """The questions as objects of the SDK."""
    return {name: TYPES[question["type"]](**{key: value for key, value in question.items() if key != "type"})
            for name, question in questions.items()}


def as_json(response: sdk.SystemOneResponse) -> dict[str, Any]:
    """The answers that the SDK shows, in the form of the response's body."""
    return json.loads(json.dumps({name: answer.model_dump() for name, answer in response.answers.items()}))


class SdkTest(DecisionTest):
    def setUp(self) -> None:
        self.sent: list[httpx2.Request] = []
        self.client = self.new_client()

    def new_client(self, path: str = "", **options: Any) -> TypeSafeClient:
        http = httpx2.Client(event_hooks={"request": [self.sent.append]})
        client = TypeSafeClient(api_key="unused", base_url=service.url + path, http_client=http, **options)
        self.addCleanup(client._http_client.close)
        return client

    def expect_refused(self, param: str, word: str, questions: dict[str, Any] = NOUL, state: Any = "", **fields: Any) -> None:
        """A 400, whose message, field and id the SDK shows."""
        with self.assertRaises(sdk.TypeSafeBadRequestError) as caught:
            self.client.system_one(state=state, questions=questions, **fields)
        error = caught.exception
        self.assertEqual(error.status, 400)
        self.assertIn(word, str(error))
        self.assertRegex(error.request_id, r"^req_[0-9a-f]{32}$")
        self.assertIn(error.request_id, str(error))
        self.assertEqual(error.body["param"], param)
        self.assertEqual(error.body["detail"], {"error_type": error.body["reason"], "message": error.body["message"]})
        self.assertEqual(len(self.sent), 1)  # It is not sent again.


class Answers(SdkTest):
    def test_every_question(self) -> None:
        response = self.client.system_one(state=STATE, questions=typed(QUESTIONS))
        self.expect_plausible(as_json(response))
        self.assertEqual(as_json(response), answers(service))
        self.assertEqual(list(response.nouls), ["key", "key.described"])
        self.assertEqual(list(response.choices), ["colour", "farbe ü", "only", "sixteen"])
        self.assertEqual(list(response.scores), ["0", "ten"])
        self.assertEqual(response.scores["0"].legend, {0: "cold", 1: {"degrees": 20}, 2: ["hot", "very hot"]})
        self.assertEqual(list(response.scores["ten"].probabilities), list(range(10)))
        self.assertEqual(response.choices["only"].probabilities, {"one": 1})

    def test_a_question_alone_has_the_same_bits(self) -> None:
        together = as_json(self.client.system_one(state=STATE, questions=typed(QUESTIONS)))
        for name, question in typed(QUESTIONS).items():
            with self.subTest(name):
                alone = self.client.system_one(state=STATE, questions={"another id": question})
                self.assertEqual(as_json(alone), {"another id": together[name]})

    def test_dictionaries(self) -> None:
        self.assertEqual(as_json(self.client.system_one(state=STATE, questions=QUESTIONS)), answers(service))

    def test_states(self) -> None:
        for state in ("", "The sky is blue.", ["The sky", {"is": "blue"}], STATE, {"b": 1, "a": None}):
            with self.subTest(state):
                response = self.client.system_one(state=state, questions=typed(QUESTIONS))
                self.assertEqual(as_json(response), answers(service, state))
        b_first, a_first = (as_json(self.client.system_one(state=state, questions=NOUL)) for state in ({"b": 1, "a": 2}, {"a": 2, "b": 1}))
        self.assertNotEqual(b_first, a_first)  # The order of keys is kept on the way.

    def test_model_and_usage(self) -> None:
        response = self.client.system_one(state=STATE, questions=NOUL)
        question = {"type": "noul", "instructions": "Is it?"}
        plain = service.post("/v1/systemone", {"state": STATE, "model": "jev-latest", "questions": {"a": question}})
        self.assertEqual(response.model, plain["model"])
        self.assertGreater(plain["usage"]["input_tokens"], 10)
        self.assertEqual(response.usage.model_dump(), plain["usage"])
        self.assertEqual(response.usage.output_tokens, 0)

    def test_request_ids(self) -> None:
        ids = [self.client.system_one(state="", questions=NOUL).request_id for _ in range(2)]
        for each in ids:
            self.assertRegex(each, r"^req_[0-9a-f]{32}$")
        self.assertNotEqual(*ids)

    def test_asynchronous(self) -> None:
        async def ask() -> list[sdk.SystemOneResponse]:
            async with sdk.AsyncTypeSafeClient(api_key="unused", base_url=service.url) as client:
                return await asyncio.gather(*[client.system_one(state=STATE, questions=typed(QUESTIONS)) for _ in range(8)])

        expected = answers(service)
        for response in asyncio.run(ask()):
            self.assertEqual(as_json(response), expected)

    def test_other_base(self) -> None:
        client = self.new_client("/api/")  # As of OpenRouter.
        self.assertEqual(as_json(client.system_one(state=STATE, questions=typed(QUESTIONS))), answers(service))
        self.assertEqual(self.sent[-1].url.path, "/api/v1/systemone")

    def test_environment(self) -> None:
        with mock.patch.dict(os.environ, TYPESAFE_API_KEY="unused", TYPESAFE_BASE_URL=service.url, TYPESAFE_DEFAULT_MODEL="demo"), \
                TypeSafeClient() as client:
            response = client.system_one(state=STATE, questions=typed(QUESTIONS))
        self.assertEqual(as_json(response), answers(service))
        self.assertEqual(response.model, "demo")

    def test_list_of_models(self) -> None:
        models = self.client.models.list().models
        self.assertEqual([model.model_dump() for model in models], service.get("/v1/models")["models"])
        self.assertEqual([model.name for model in models], ["demo"])
        self.assertRegex(models[0].release_date, r"^\d{4}-\d\d-\d\dT")

    def test_extensions(self) -> None:
        extra = {"x_orders": 2, "x_label_mass": True}
        questions = {name: question for name, question in QUESTIONS.items() if question["type"] != "score"}
        expected = answers(service, questions=questions, **extra)
        response = self.client.system_one(state=STATE, questions=typed(questions), extra_body=extra)
        masses = {name: answer.pop("x_label_mass", None) for name, answer in expected.items()}
        self.assertEqual(as_json(response), expected)
        self.assertNotEqual(expected, answers(service, questions=questions))
        raw = response.raw_http_response.json()["answers"]
        self.assertEqual({name: answer.get("x_label_mass") for name, answer in raw.items()}, masses)


class Compression(SdkTest):
    def test_long_bodies_are_sent_in_zstd(self) -> None:
        expected = answers(service, LONG_STATE)
        for compression, encoding in ((None, "zstd"), ("zstd", "zstd"), (False, None)):
            with self.subTest(compression):
                client = self.new_client(compression=compression)
                self.assertEqual(as_json(client.system_one(state=LONG_STATE, questions=typed(QUESTIONS))), expected)
                self.assertEqual(self.sent[-1].headers.get("content-encoding"), encoding)
                client.system_one(state="", questions=NOUL)  # Shorter than 1024 bytes.
                self.assertNotIn("content-encoding", self.sent[-1].headers)


class Errors(SdkTest):
    def test_fields(self) -> None:
        self.expect_refused("temperature", "temperature", extra_body={"temperature": 0.5})
        self.sent.clear()
        self.expect_refused("something", "something", extra_body={"something": None})
        self.sent.clear()
        self.expect_refused("questions.b.type", "box", {**NOUL, "b": {"type": "box", "instructions": "Where?"}})
        self.sent.clear()
        self.expect_refused("questions.b.extra", "extra", {**NOUL, "b": {"type": "noul", "instructions": "Is it?", "extra": 1}})

    def test_sizes(self) -> None:
        self.expect_refused("questions.b.criteria", str(MOST_OPTIONS),
                            {**NOUL, "b": Choice(criteria={str(i): None for i in range(MOST_OPTIONS + 1)})})
        self.sent.clear()
        self.expect_refused("questions.c.criteria", "10", {"c": Score(criteria=[str(i) for i in range(11)])})
        self.sent.clear()
        self.expect_refused("questions", "1000", {str(i): Noul(instructions="Is it?") for i in range(1001)})

    def test_a_state_that_is_too_long(self) -> None:
        self.expect_refused("state", "2048", state=TOO_LONG)

    def test_orders_of_a_score(self) -> None:
        self.expect_refused("x_orders", "x_orders", {"a": Score(criteria=["low", "high"])}, extra_body={"x_orders": 2})

    def test_images(self) -> None:
        with self.assertRaises(sdk.TypeSafeAPIError) as caught:
            self.client.system_one(state={"photo": Image(PNG)}, questions=NOUL)
        self.assertEqual(caught.exception.status, 415)
        self.assertIn("multipart/form-data", str(caught.exception))
        self.assertRegex(caught.exception.request_id, r"^req_[0-9a-f]{32}$")
        self.sent.clear()
        self.expect_refused("assets", "assets", extra_body={"assets": {"a": {"type": "image", "format": "png", "data_base64": "AA=="}}})

    def test_other_path(self) -> None:
        with self.assertRaises(sdk.TypeSafeNotFoundError) as caught:
            self.new_client("/other").system_one(state="", questions=NOUL)
        self.assertIn("/other/v1/systemone", str(caught.exception))
        self.assertEqual(len(self.sent), 1)

    def test_a_model_that_does_not_decide(self) -> None:
        with Service(model=DEMO_MODEL) as other, TypeSafeClient(api_key="unused", base_url=other.url) as client:
            with self.assertRaises(sdk.TypeSafeBadRequestError) as caught:
                client.system_one(state="", questions=NOUL)
            self.assertEqual(caught.exception.body["reason"], "no_decider")
            self.assertIn("decision template", str(caught.exception))


class Busy(DecisionTest):
    def test_a_full_queue(self) -> None:
        with decision_service("--max-queue", "1") as busy, TypeSafeClient(api_key="unused", base_url=busy.url) as client:
            expected = answers(busy)
            with full_queue(busy), self.assertRaises(sdk.TypeSafeRateLimitError) as caught:
                for _ in range(1000):
                    client.system_one(state=STATE, questions=NOUL, retry=NO_RETRY)
            error = caught.exception
            self.assertEqual(error.status, 429)
            self.assertEqual(error.body["reason"], "queue_full")
            self.assertEqual(error.retry_after_ms, 1000 * int(error.headers["retry-after"]))
            self.assertGreaterEqual(error.retry_after_ms, 1000)
            self.assertIn("wait", str(error))
            self.assertRegex(error.request_id, r"^req_[0-9a-f]{32}$")
            self.assertEqual(as_json(client.system_one(state=STATE, questions=typed(QUESTIONS))), expected)

    def test_the_client_comes_back(self) -> None:
        with decision_service("--max-queue", "1") as busy:
            expected = answers(busy)
            with full_queue(busy) as ends:
                codes: list[int] = []

                def note(response: httpx2.Response) -> None:
                    codes.append(response.status_code)
                    if response.status_code == 429:
                        ends.set()

                http = httpx2.Client(event_hooks={"response": [note]})
                with TypeSafeClient(api_key="unused", base_url=busy.url, http_client=http, retry=RetryPolicy(timeout=120)) as client:
                    while not ends.is_set():
                        response = client.system_one(state=STATE, questions=typed(QUESTIONS))
            self.assertEqual(as_json(response), expected)
            self.assertEqual(codes[-1], 200)
            self.assertIn(429, codes)


if __name__ == "__main__":
    unittest.main()
