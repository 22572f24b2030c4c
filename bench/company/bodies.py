"""Requests for either transport, encoded before they are sent."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.company import wire
from bench.documents.requests import FreshTokens

LABELS = [5, 7]
# Numbers of an endpoint in Request, and of its fields. No message has 2000; it makes a message long.
_NUMBERS: dict[str, tuple[int, dict[str, int]]] = {
    "score": (2, {"query": 1, "items": 2, "label_token_ids": 3, "timeout_ms": 11, "cache_salt": 13, "priority": 16,
                  "padding": 2000}),
    "chunked": (3, {"chunks": 2, "question": 4, "label_token_ids": 10, "max_new_tokens": 16, "ignore_eos": 23, "stream": 24,
                    "cache_salt": 27}),
}


@dataclass(frozen=True)
class Body:
    """A request without its id and its salt, so that it is encoded once and sent often."""

    content: bytes  # The fields of the endpoint, as JSON without the closing brace. Without an endpoint: all that is sent.
    endpoint: str = ""
    http: bool = False
    tokens: int = 0  # Rows that it takes if none is cached, without those of completions.
    is_salted: bool = False

    def message(self, request_id: int, salt: str) -> bytes:
        """The bytes of the request. Only requests with the same salt share cached pages."""
        if not self.endpoint:
            return self.content
        if self.http:
            end = b',"cache_salt":' + json.dumps(salt).encode() + b"}" if self.is_salted else b"}"
            return wire.post(self.content + end, f"/v1/{self.endpoint}")
        number, fields = _NUMBERS[self.endpoint]
        salt_field = wire.bytes_field(fields["cache_salt"], salt.encode()) if self.is_salted else b""
        return wire.frame(wire.number_field(1, request_id) + wire.bytes_field(number, self.content + salt_field))


class BodyMaker:
    """Makes requests for one transport. Token ids are random."""

    def __init__(self, http: bool, vocab_size: int, labels: Sequence[int] | None = LABELS) -> None:
        """`labels`: of scores. None if the model is a classifier, whose labels are its own."""
        self.http = http
        self._labels = {"label_token_ids": labels} if labels else {}
        self.long_tokens = 0  # Of long requests.
        self._fresh = FreshTokens(vocab_size)

    def score(self, query_tokens: int, items: int = 2, item_tokens: int = 1, **fields: Any) -> Body:
        """The probabilities of two labels behind each item, or a classifier's scores of each pair."""
        return self._body("score", query_tokens + items * item_tokens, True, query=self._fresh.take(query_tokens),
                          items=self._fresh.lists(items, item_tokens), **self._labels, **fields)

    def text(self, tokens: int) -> Body:
        """A single text."""
        return self.score(tokens - 1, items=1)

    def long(self) -> Body:
        return self.score(self.long_tokens - 2)

    def scores(self, query: str | wire.Tokens, items: Sequence[str | wire.Tokens] = (" yes",), **fields: Any) -> Body:
        """What the service may have cached."""
        return self._body("score", 0, False, query=query, items=items, label_token_ids=LABELS, **fields)

    def repeated(self, text: str, size: int) -> Body:
        """A query of about `size` bytes, as the transport encodes them: JSON escapes those that are not ASCII."""
        return self.scores(text * (size // (len(json.dumps(text)) - 2 if self.http else len(text.encode()))))

    def documents(self, documents: int, document_tokens: int, question_tokens: int) -> Body:
        """The probabilities of two labels behind a question about documents."""
        return self._body("chunked", documents * document_tokens + question_tokens, True,
                          chunks=self._fresh.lists(documents, document_tokens), question=self._fresh.take(question_tokens),
                          label_token_ids=LABELS)

    def stream(self, prompt_tokens: int, new_tokens: int) -> Body:
        """A completion of exactly `new_tokens`, token by token."""
        return self._body("chunked", prompt_tokens, True, question=self._fresh.take(prompt_tokens), max_new_tokens=new_tokens,
                          ignore_eos=True, stream=True)

    def _body(self, endpoint: str, tokens: int, is_salted: bool, **fields: Any) -> Body:
        content = (json.dumps(fields)[:-1].encode() if self.http else
                   b"".join(_field(endpoint, name, value) for name, value in fields.items()))
        return Body(content, endpoint, self.http, tokens, is_salted)


def _field(endpoint: str, name: str, value: Any) -> bytes:
    number = _NUMBERS[endpoint][1][name]
    if name == "label_token_ids":
        ids = wire.token_ids(value)
        return wire.bytes_field(number, wire.bytes_field(1, ids) if endpoint == "score" else ids)
    if name in ("items", "chunks"):
        return b"".join(wire.bytes_field(number, wire.text_or_ids(each)) for each in value)
    if isinstance(value, int):
        return wire.number_field(number, value)
    return wire.bytes_field(number, value.encode() if name == "padding" else wire.text_or_ids(value))
