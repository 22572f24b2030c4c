"""What clients/python does without a service: errors, retries, streams that break off, and flags."""
from __future__ import annotations

import asyncio
import inspect
import json
import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from unittest import mock

import httpx
import scorecast
from scorecast.errors import retry_after_seconds
from scorecast.service import flags_of, launcher_of

BUSY = {"object": "error", "message": "The queue is full.", "type": "RateLimitError", "param": None, "code": 429, "reason": "queue_full"}
SCORED = {"object": "scoring", "scores": [[0.25]], "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3, "cached_tokens": 1}}


class Replies:
    """Replies one after another, to either client. `asked` has the requests, and `slept` the seconds between them."""

    def __init__(self, *replies: httpx.Response | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[httpx.Request] = []
        self.slept: list[float] = []

    def score(self, **options: object) -> scorecast.results.ScoreResult:
        with mock.patch("time.sleep", self.slept.append), scorecast.Client("http://s", transport=self._transport(), **options) as client:
            return client.score("a", ["b"], [" yes"])

    def score_async(self, **options: object) -> scorecast.results.ScoreResult:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        async def run() -> scorecast.results.ScoreResult:
            async with scorecast.AsyncClient("http://s", transport=self._transport(), **options) as client:
                return await client.score("a", ["b"], [" yes"])

        with mock.patch("anyio.sleep", sleep):
            return asyncio.run(run())

    def _transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._reply)

    def _reply(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def busy(status: int = 429, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=BUSY, headers={name.replace("_", "-"): value for name, value in headers.items()})


class Retries(unittest.TestCase):
    def both(self, check: Callable[[Callable[..., scorecast.results.ScoreResult], Replies], None],
             make: Callable[[], Replies]) -> None:
        for name in ("score", "score_async"):
            with self.subTest(name):
                replies = make()
                check(getattr(replies, name), replies)

    def test_waits_as_long_as_the_service_says(self) -> None:
        def check(score: Callable[..., scorecast.results.ScoreResult], replies: Replies) -> None:
            self.assertEqual(score().scores, [[0.25]])
            self.assertEqual(len(replies.slept), 2)
            self.assertGreaterEqual(replies.slept[0], 7)
            self.assertGreaterEqual(replies.slept[1], 3)
            self.assertLess(replies.slept[1], 7)
            self.assertEqual({request.content for request in replies.asked}, {replies.asked[0].content})

        self.both(check, lambda: Replies(busy(Retry_After="7"), busy(503, Retry_After="3"), httpx.Response(200, json=SCORED)))

    def test_gives_up_after_the_last_retry(self) -> None:
        def check(score: Callable[..., scorecast.results.ScoreResult], replies: Replies) -> None:
            with self.assertRaises(scorecast.RateLimitError) as caught:
                score(max_retries=2)
            self.assertEqual(len(replies.asked), 3)
            self.assertEqual((caught.exception.reason, caught.exception.retry_after), ("queue_full", 1.0))

        self.both(check, lambda: Replies(*[busy(Retry_After="1") for _ in range(4)]))

    def test_does_not_wait_for_more_than_a_minute(self) -> None:
        def check(score: Callable[..., scorecast.results.ScoreResult], replies: Replies) -> None:
            with self.assertRaises(scorecast.RateLimitError):
                score()
            self.assertEqual((len(replies.asked), replies.slept), (1, []))

        self.both(check, lambda: Replies(busy(Retry_After="61")))

    def test_tries_again_if_the_connection_breaks(self) -> None:
        def check(score: Callable[..., scorecast.results.ScoreResult], replies: Replies) -> None:
            self.assertEqual(score().prompt_tokens, 3)
            self.assertEqual(len(replies.asked), 3)

        self.both(check, lambda: Replies(httpx.ConnectError("refused"), httpx.RemoteProtocolError("cut"),
                                         httpx.Response(200, json=SCORED)))

    def test_a_timeout_and_other_errors_are_final(self) -> None:
        for make, kind in ((lambda: Replies(httpx.ReadTimeout("slow")), scorecast.APITimeoutError),
                           (lambda: Replies(busy(400)), scorecast.BadRequestError), (lambda: Replies(busy(500)), scorecast.InternalServerError)):
            def check(score: Callable[..., scorecast.results.ScoreResult], replies: Replies, kind: type = kind) -> None:
                with self.assertRaises(kind):
                    score()
                self.assertEqual(len(replies.asked), 1)

            self.both(check, make)

    def test_reads_retry_after(self) -> None:
        self.assertEqual(retry_after_seconds("12"), 12)
        self.assertEqual(retry_after_seconds("-3"), 0)
        for value in (None, "soon", "nan", "inf"):
            self.assertIsNone(retry_after_seconds(value))
        later = retry_after_seconds(format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True))
        assert later is not None
        self.assertTrue(0 < later <= 40, later)


class Errors(unittest.TestCase):
    def test_each_status_has_its_class(self) -> None:
        for status, kind in ((400, scorecast.BadRequestError), (413, scorecast.BadRequestError), (401, scorecast.AuthenticationError),
                             (403, scorecast.PermissionDeniedError), (404, scorecast.NotFoundError), (429, scorecast.RateLimitError),
                             (500, scorecast.InternalServerError), (503, scorecast.ServiceUnavailableError), (504, scorecast.DeadlineError)):
            with self.subTest(status), self.assertRaises(scorecast.ScorecastError) as caught:
                Replies(busy(status)).score(max_retries=0)
            self.assertIs(type(caught.exception), kind)

    def test_reads_both_forms_and_bodies_that_are_none(self) -> None:
        nested = {"error": {"message": "Too long.", "type": "t", "param": "input[1]", "code": "context_length_exceeded"}}
        for reply, reason, param, message in (
                (httpx.Response(400, json=BUSY | {"param": "items[3]"}, headers={"X-Request-Id": "r1"}), "queue_full", "items[3]", "The queue is full."),
                (httpx.Response(400, json=nested, headers={"X-Request-Id": "r1"}), "context_length_exceeded", "input[1]", "Too long."),
                (httpx.Response(400, text="<html>", headers={"X-Request-Id": "r1"}), None, None, "<html>"),
                (httpx.Response(400, headers={"X-Request-Id": "r1"}), None, None, "no message")):
            with self.assertRaises(scorecast.BadRequestError) as caught:
                Replies(reply).score()
            fault = caught.exception
            self.assertEqual((fault.status, fault.reason, fault.param, fault.message, fault.request_id), (400, reason, param, message, "r1"))

    def test_an_error_within_a_stream_is_raised_behind_its_deltas(self) -> None:
        first = {"choices": [{"index": 0, "text": "a", "finish_reason": None}]}
        for error, kind in (({"error": {"message": "m", "code": "deadline_passed", "type": "t", "param": None}}, scorecast.DeadlineError),
                            (BUSY | {"code": 503, "reason": "draining"}, scorecast.ServiceUnavailableError)):
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in (first, error)) + "data: [DONE]\n\n"
            transport = httpx.MockTransport(lambda _, text=text: httpx.Response(200, text=text))
            with scorecast.Client("http://s", transport=transport) as client:
                stream = client.complete_stream("a")
                self.assertEqual(next(stream).text, "a")
                with self.assertRaises(kind):
                    next(stream)


class Shapes(unittest.TestCase):
    def test_sends_the_key_and_any_sequence(self) -> None:
        replies = Replies(httpx.Response(200, json=SCORED))
        replies.score(api_key="sk-1")
        self.assertEqual(replies.asked[0].headers["authorization"], "Bearer sk-1")
        transport = httpx.MockTransport(lambda request: httpx.Response(200, json=SCORED | {"model": json.loads(request.content)}))
        with scorecast.Client("http://s", transport=transport) as client:
            sent = client.score((1, 2), (range(3), (4,)), label_token_ids=range(5, 7), top_logprobs=2).raw["model"]
        self.assertEqual(sent, {"query": [1, 2], "items": [[0, 1, 2], [4]], "label_token_ids": [5, 6], "apply_softmax": False,
                                "item_first": False, "top_logprobs": 2})

    def test_both_clients_have_the_same_calls_with_help(self) -> None:
        names = [name for name in vars(scorecast.Client) if not name.startswith("_") and name not in ("close", "send", "get", "post", "stream")]
        self.assertGreaterEqual(set(names), {"score", "rerank", "likelihood", "embed", "classify", "decide", "complete", "chat", "ask", "tokenize"})
        for name in names:
            one, other = getattr(scorecast.Client, name), getattr(scorecast.AsyncClient, name)
            self.assertEqual(inspect.signature(one).parameters, inspect.signature(other).parameters)
            self.assertTrue(one.__doc__)
            self.assertEqual(list(inspect.signature(one).parameters)[0], "self")

    def test_flags(self) -> None:
        self.assertEqual(flags_of({"kv_cache_mb": 64, "enable_mis": True, "one_by_one": False, "max_chunk_len": None, "proxy": ["a", "b"],
                                   "chunk_separator": " # # ", "http_port": -1}),
                         ["--kv-cache-mb=64", "--enable-mis", "--proxy=a", "--proxy=b", "--chunk-separator= # # ", "--http-port=-1"])
        self.assertEqual(launcher_of(1), [])
        self.assertEqual(launcher_of(3)[-2:], ["-n", "3"])

    def test_refuses_what_does_not_go_together(self) -> None:
        for arguments in ({}, {"base_url": "http://s", "model": "m"}, {"base_url": "http://s", "kv_cache_mb": 1}):
            with self.assertRaises(TypeError):
                scorecast.LLM(**arguments)
        with self.assertRaises(ValueError):
            scorecast.LLM("m", ranks=0)
        with self.assertRaisesRegex(scorecast.ServiceStartError, "no executable"):
            scorecast.LLM("m", binary="/nowhere/scorecast")


if __name__ == "__main__":
    unittest.main()
