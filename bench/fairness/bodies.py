"""Requests for either transport, encoded before they are sent."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.abuse import http_wire, wire
from bench.documents.requests import FreshTokens, Tokens

_LABELS = [5, 7]
_CHUNKED_PATH = "/v1/chunked"
_SCORE_FIELD, _CHUNKED_FIELD = 2, 3  # Of a Request.
_SCORE_SALT_FIELD, _CHUNKED_SALT_FIELD = 13, 27


class Body(Protocol):
    """A request without its id and its salt, so that it is encoded once and sent often."""

    tokens: int  # Rows that it takes if none is cached, without those of completions.

    def message(self, request_id: int, salt: str) -> Any:
        """The message for the transport's connection. Only requests with the same salt share cached pages."""


@dataclass
class _SocketBody:
    tokens: int
    content: bytes
    is_chunked: bool

    def message(self, request_id: int, salt: str) -> bytes:
        field, salt_field = (_CHUNKED_FIELD, _CHUNKED_SALT_FIELD) if self.is_chunked else (_SCORE_FIELD, _SCORE_SALT_FIELD)
        content = self.content + wire.bytes_field(salt_field, salt.encode())
        return wire.number_field(1, request_id) + wire.bytes_field(field, content)


@dataclass
class _HttpBody:
    tokens: int
    content: bytes  # JSON without its closing brace.
    path: str

    def message(self, request_id: int, salt: str) -> http_wire.Message:
        content = self.content + b',"cache_salt":' + json.dumps(salt).encode() + b"}"
        return http_wire.Message(request_id, http_wire.post(content, self.path))


class BodyMaker:
    """Makes requests of random token ids for one transport."""

    def __init__(self, http: bool, vocab_size: int) -> None:
        self._http = http
        self._fresh = FreshTokens(vocab_size)

    def score(self, query_tokens: int, items: int, item_tokens: int) -> Body:
        """The probabilities of two labels behind each item."""
        query, lists = self._fresh.take(query_tokens), self._fresh.lists(items, item_tokens)
        tokens = query_tokens + items * item_tokens
        if self._http:
            return _HttpBody(tokens, http_wire.body(query, lists, _LABELS)[:-1], http_wire.SCORE_PATH)
        return _SocketBody(tokens, wire.score_request(query, lists, _LABELS), is_chunked=False)

    def documents(self, documents: int, document_tokens: int, question_tokens: int) -> Body:
        """The probabilities of two labels behind a question about documents."""
        chunks = self._fresh.lists(documents, document_tokens)
        return self._chunked(chunks, self._fresh.take(question_tokens), {"label_token_ids": _LABELS})

    def stream(self, prompt_tokens: int, new_tokens: int) -> Body:
        """A completion of exactly `new_tokens`, token by token."""
        return self._chunked([], self._fresh.take(prompt_tokens),
                             {"max_new_tokens": new_tokens, "ignore_eos": True, "stream": True})

    def _chunked(self, chunks: Sequence[Tokens], question: Tokens, fields: dict[str, Any]) -> Body:
        tokens = sum(map(len, chunks)) + len(question)
        if self._http:
            content = json.dumps({"chunks": chunks, "question": question, **fields}).encode()
            return _HttpBody(tokens, content[:-1], _CHUNKED_PATH)
        return _SocketBody(tokens, wire.chunked_request(chunks, question, **fields), is_chunked=True)
