"""Clients of System One that others have written: `pydecide` and `systemone-client`."""
from __future__ import annotations

import asyncio
import dataclasses
import unittest
from typing import Any

import decide
import systemone
from decide.backends.typesafe import TypeSafeBackend

from tests.clients.decisions import LONG_STATE, QUESTIONS, STATE, DecisionTest, answers, decision_service, full_queue
from tests.clients.service import Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(decision_service())


def with_instructions(questions: dict[str, Any]) -> dict[str, Any]:
    """pydecide and systemone-client have no questions without instructions."""
    return {name: {"instructions": "Which?", **question} for name, question in questions.items()}


class PyDecide(DecisionTest):
    def client(self, other: Service | None = None) -> decide.Client:
        backend = TypeSafeBackend("unused", base_url=(other or service).url)
        self.addCleanup(backend.close)
        return decide.Client([backend], decide.Gate(on_error="raise"))

    def questions(self) -> dict[str, Any]:
        types = {"noul": decide.Noul, "choice": decide.Choice, "score": decide.Score}
        return {name: types[question["type"]](question["instructions"], question.get("criteria"))
                for name, question in with_instructions(QUESTIONS).items()}

    def as_json(self, response: decide.Response) -> dict[str, Any]:
        """The answers that the client shows, in the form of the response's body."""
        found: dict[str, Any] = {}
        for name, answer in response.answers.items():
            if isinstance(answer, decide.NoulAnswer):
                found[name] = {"type": "noul", "noul": answer.noul}
            elif isinstance(answer, decide.ChoiceAnswer):
                found[name] = {"type": "choice", **dataclasses.asdict(answer)}
            else:
                found[name] = {"type": "score", "score": answer.score, "confidence": answer.confidence,
                               "legend": {str(i): level for i, level in enumerate(QUESTIONS[name]["criteria"])},
                               "probabilities": {str(i): p for i, p in enumerate(answer.probabilities)}}
        return found

    def test_every_question(self) -> None:
        for state in (STATE, LONG_STATE):
            response = self.client().decide(state, self.questions(), model="demo")
            self.expect_plausible(self.as_json(response))
            self.assertEqual(self.as_json(response), answers(service, state, with_instructions(QUESTIONS)))
            self.assertEqual(response.meta.model, "demo")
            self.assertEqual(list(response.scores["ten"].levels), QUESTIONS["ten"]["criteria"])

    def test_several_states(self) -> None:
        states = [STATE, LONG_STATE, "", ["a", {"b": 1}]]
        for state, response in zip(states, self.client().decide_batch(states, self.questions()), strict=True):
            self.assertEqual(self.as_json(response), answers(service, state, with_instructions(QUESTIONS)))

    def test_the_gate_has_the_confidence_of_the_response(self) -> None:
        confidence = answers(service, questions=with_instructions(QUESTIONS))["colour"]["confidence"]
        for least, passes in ((confidence, True), (confidence + 1e-9, False)):
            response = self.client().decide(STATE, self.questions())
            self.assertIs(decide.Gate(per_question={"colour": least}).passes(response)[0], passes)

    def test_errors(self) -> None:
        with self.assertRaises(decide.BackendError) as caught:
            self.client().decide("", {"a": decide.Choice("Which?", {str(i): None for i in range(17)})})
        self.assertEqual(caught.exception.status, 400)
        self.assertEqual(caught.exception.body["param"], "questions.a.criteria")
        self.assertIn("17 > 16", str(caught.exception))
        self.assertRegex(caught.exception.headers["x-typesafe-request-id"], "^req_")
        with self.assertRaises(decide.BackendError) as caught:
            self.client().decide("", {"a": decide.Noul("Is it?", labels=["positive", "negative"])})
        self.assertEqual(caught.exception.status, 400)
        self.assertEqual(caught.exception.body["param"], "questions.a.labels")

    def test_a_full_queue(self) -> None:
        with decision_service("--max-queue", "1") as busy:
            with full_queue(busy), self.assertRaises(decide.RateLimitError) as caught:
                for _ in range(1000):
                    self.client(busy).decide(STATE, self.questions())
            self.assertEqual(caught.exception.status, 429)
            self.assertGreaterEqual(int(caught.exception.headers["retry-after"]), 1)


class SystemOneClient(DecisionTest):
    def setUp(self) -> None:
        self.client = self.enterContext(systemone.Client(service.url, api_key="unused"))

    def questions(self) -> dict[str, Any]:
        """`only` is a dictionary, because a `Choice` must have two options."""
        types = {"noul": systemone.Noul, "choice": systemone.Choice, "score": systemone.Score}
        return {name: question if name == "only" else types[question["type"]](question["instructions"], question.get("criteria"))
                for name, question in with_instructions(QUESTIONS).items()}

    def as_json(self, response: systemone.Response) -> dict[str, Any]:
        """The answers that the client shows, in the form of the response's body."""
        of_types = {"noul": response.nouls, "choice": response.choices, "score": response.scores}
        found = {name: {"type": kind, **dataclasses.asdict(answer)} for kind, of_type in of_types.items() for name, answer in of_type.items()}
        return {name: found[name] for name in response.raw["answers"]}

    def test_every_question(self) -> None:
        for state in (STATE, LONG_STATE):
            response = self.client.system_one(state, self.questions(), model="demo")
            self.expect_plausible(self.as_json(response))
            self.assertEqual(self.as_json(response), answers(service, state, with_instructions(QUESTIONS)))
            self.assertEqual(response.model, "demo")
            self.assertGreater(response.usage.input_tokens, 100)
            self.assertEqual(response.usage.output_tokens, 0)

    def test_asynchronous(self) -> None:
        async def ask() -> list[systemone.Response]:
            async with systemone.AsyncClient(service.url) as client:
                return await asyncio.gather(*[client.system_one(STATE, self.questions()) for _ in range(8)])

        expected = answers(service, questions=with_instructions(QUESTIONS))
        for response in asyncio.run(ask()):
            self.assertEqual(self.as_json(response), expected)

    def test_errors(self) -> None:
        for questions, word in (({"a": systemone.Score("How?", ["low", "high"]), "b": {"type": "box"}}, "questions.b.type"),
                                ({"a": systemone.Noul("Is it?", "a text")}, "questions.a.criteria"),
                                ({"a": systemone.Choice("Which?", {str(i): None for i in range(17)})}, "questions.a")):
            with self.subTest(word), self.assertRaises(systemone.SystemOneError) as caught:
                self.client.system_one("", questions)
            self.assertEqual(caught.exception.status, 400)
            self.assertIn(word, caught.exception.detail)

    def test_other_path(self) -> None:
        with systemone.Client(service.url + "/other") as client, self.assertRaises(systemone.SystemOneError) as caught:
            client.system_one("", self.questions())
        self.assertEqual(caught.exception.status, 404)
        self.assertIn("/other/v1/systemone", caught.exception.detail)

    def test_a_full_queue(self) -> None:
        with decision_service("--max-queue", "1") as busy, systemone.Client(busy.url) as client:
            with full_queue(busy), self.assertRaises(systemone.SystemOneError) as caught:
                for _ in range(1000):
                    client.system_one(STATE, self.questions())
            self.assertEqual(caught.exception.status, 429)
            self.assertIn("wait", caught.exception.detail)


if __name__ == "__main__":
    unittest.main()
