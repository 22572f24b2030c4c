"""Each call of `Client` and `AsyncClient`: its fields, its URL, and how its response is read. Nothing here sends anything."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scorecast import results
from scorecast.questions import Question
from scorecast.results import Delta
from scorecast.sse import event_of

T = TypeVar("T")

Text = str | Sequence[int]  # A text, or the ids of its tokens.
Texts = Sequence[str] | Sequence[Sequence[int]]
Messages = str | Sequence[Mapping[str, Any]]  # A text is one message of the user.
Event = dict[str, Any]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its response becomes a result."""

    path: str
    body: dict[str, Any]
    read: Callable[[Any], T]


@dataclass(frozen=True)
class StreamCall:
    """A request whose response is a stream, and how an event of it becomes a delta. Other events become None."""

    path: str
    body: dict[str, Any]
    read: Callable[[Event], Delta | None]

    def delta_of(self, line: str) -> Delta | None:
        """The delta of a line of the stream, if it has one. Raises the error that the line may be."""
        event = event_of(line)
        return None if event is None else self.read(event)


def score(
    query: Text,
    items: Texts,
    labels: Sequence[str] | None = None,
    *,
    label_token_ids: Sequence[int] | None = None,
    apply_softmax: bool = False,
    item_first: bool = False,
    **fields: Any,
) -> Call[results.ScoreResult]:
    """Scores each item behind the query: the probability of each label as the next token.

    `labels` are texts of one token, `label_token_ids` are ids. A classifier has classes instead and takes neither. With
    `apply_softmax` the probabilities of the labels add up to 1. `fields`: further fields of `/v1/score`.
    """
    body = _body(
        fields,
        query=query,
        items=items,
        labels=labels,
        label_token_ids=label_token_ids,
        apply_softmax=apply_softmax,
        item_first=item_first,
    )
    return Call("/v1/score", body, _score_result)


def likelihood(query: Text, items: Texts, *, normalize: str | None = None, **fields: Any) -> Call[results.LikelihoodResult]:
    """Scores the items' own tokens: how likely each is behind the query and the item's earlier tokens.

    `normalize`: `sum` (the default), `mean`, or `bytes`. `fields`: further fields of `/v1/score`.
    """
    body = _body(fields, query=query, items=items, likelihood=True, normalize=normalize)
    return Call("/v1/score", body, _likelihood_result)


def rerank(
    query: str,
    documents: Sequence[str],
    *,
    top_n: int | None = None,
    instruction: str | None = None,
    **fields: Any,
) -> Call[results.RerankResult]:
    """Ranks documents by their relevance to the query, the best first.

    `top_n`: how many of the best are returned. `fields`: further fields of `/v1/rerank`.
    """
    texts = list(documents)

    def read(response: Any) -> results.RerankResult:
        ranked = [results.RankedDocument(one["index"], one["relevance_score"], texts[one["index"]]) for one in response["results"]]
        return results.RerankResult(results.usage_of(response), response, ranked)

    body = _body(fields, query=query, documents=texts, top_n=top_n, instruction=instruction)
    return Call("/v1/rerank", body, read)


def embed(
    texts: Text | Texts,
    *,
    dimensions: int | None = None,
    prompt_name: str | None = None,
    **fields: Any,
) -> Call[results.EmbedResult]:
    """Turns each text into a vector.

    `prompt_name`: the model's prompt that is put before each text, such as `query`. `fields`: further fields of
    `/v1/embeddings`.
    """
    body = _body(fields, input=texts, dimensions=dimensions, prompt_name=prompt_name, encoding_format="base64")
    return Call("/v1/embeddings", body, _embed_result)


def classify(texts: Text | Texts, **fields: Any) -> Call[results.ClassifyResult]:
    """Classifies each text with a classifier. `fields`: further fields of `/classify`."""
    return Call("/classify", _body(fields, input=texts), _classify_result)


def decide(
    state: str | Mapping[str, Any] | Sequence[Any],
    questions: Mapping[str, Question | Mapping[str, Any]],
    **fields: Any,
) -> Call[results.DecideResult]:
    """Answers questions about a state, each judged by itself.

    A question is a `Noul`, a `Choice`, a `Score`, or an object of `/v1/systemone`. `fields`: further fields of it.
    """
    asked = {name: one if isinstance(one, Mapping) else one.body() for name, one in questions.items()}
    return Call("/v1/systemone", _body(fields, state=state, questions=asked), _decide_result)


def complete(
    prompt: Text | Texts,
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    stop: str | Sequence[str] | None = None,
    n: int | None = None,
    seed: int | None = None,
    **fields: Any,
) -> Call[results.CompletionResult]:
    """Continues a prompt, or several. `fields`: further fields of `/v1/completions`."""
    body = _body(fields, prompt=prompt, max_tokens=max_tokens, temperature=temperature, stop=stop, n=n, seed=seed)
    return Call("/v1/completions", body, _completion_result)


def complete_stream(
    prompt: Text | Texts,
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    stop: str | Sequence[str] | None = None,
    seed: int | None = None,
    **fields: Any,
) -> StreamCall:
    """Continues a prompt, and yields each part of the text as soon as it is generated."""
    call = complete(prompt, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed, **fields)
    return _streamed(call, _completion_delta)


def chat(
    messages: Messages,
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    stop: str | Sequence[str] | None = None,
    n: int | None = None,
    seed: int | None = None,
    **fields: Any,
) -> Call[results.CompletionResult]:
    """The next message of a conversation. A text is one message of the user.

    Without `max_tokens`, a message ends at the model's last position at the latest. `fields`: further fields of
    `/v1/chat/completions`.
    """
    body = _body(
        fields,
        messages=conversation(messages),
        max_completion_tokens=max_tokens,
        temperature=temperature,
        stop=stop,
        n=n,
        seed=seed,
    )
    return Call("/v1/chat/completions", body, _chat_result)


def chat_stream(
    messages: Messages,
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    stop: str | Sequence[str] | None = None,
    seed: int | None = None,
    **fields: Any,
) -> StreamCall:
    """The next message of a conversation, part by part."""
    call = chat(messages, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed, **fields)
    return _streamed(call, _chat_delta)


def ask(
    documents: Sequence[str],
    question: str,
    *,
    system_prompt: str = "",
    between: str = "\n",
    max_new_tokens: int = 64,
    **fields: Any,
) -> Call[results.Answer]:
    """Answers a question from documents that do not see each other, so that each is computed once and cached.

    `between` is put before each document and before the question. `fields`: further fields of `/v1/chunked`.
    """
    body = _body(
        fields,
        system_prompt=system_prompt,
        chunks=[between + document for document in documents],
        question=between + question,
        max_new_tokens=max_new_tokens,
    )
    return Call("/v1/chunked", body, _answer)


def ask_stream(
    documents: Sequence[str],
    question: str,
    *,
    system_prompt: str = "",
    between: str = "\n",
    max_new_tokens: int = 64,
    **fields: Any,
) -> StreamCall:
    """The answer to a question, part by part."""
    call = ask(documents, question, system_prompt=system_prompt, between=between, max_new_tokens=max_new_tokens, **fields)
    return _streamed(call, _answer_delta)


def tokenize(text: Messages, *, add_special_tokens: bool | None = None, **fields: Any) -> Call[list[int]]:
    """The ids of a text's tokens, or of a conversation's."""
    given: dict[str, Any] = {"prompt": text} if isinstance(text, str) else {"messages": list(text)}
    body = _body(fields, add_special_tokens=add_special_tokens, **given)
    return Call("/tokenize", body, lambda response: list(response["tokens"]))


def detokenize(ids: Sequence[int], **fields: Any) -> Call[str]:
    """The text of tokens."""
    return Call("/detokenize", _body(fields, tokens=ids), lambda response: str(response["prompt"]))


def conversation(messages: Messages) -> list[Mapping[str, Any]]:
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)


def _streamed(call: Call[Any], read: Callable[[Event], Delta | None]) -> StreamCall:
    return StreamCall(call.path, {**call.body, "stream": True}, read)


def _body(fields: Mapping[str, object], **named: object) -> dict[str, Any]:
    """The fields that are given. Sequences become lists, so that any kind of them is JSON."""
    return {name: _plain(value) for name, value in {**named, **fields}.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        return value
    return [_plain(one) for one in value]


def _score_result(response: Any) -> results.ScoreResult:
    return results.ScoreResult(results.usage_of(response), response, response["scores"], response.get("token_logprobs"))


def _likelihood_result(response: Any) -> results.LikelihoodResult:
    return results.LikelihoodResult(
        results.usage_of(response),
        response,
        results.column(response["scores"]),
        response["token_logprobs"],
        response["is_greedy"],
    )


def _embed_result(response: Any) -> results.EmbedResult:
    vectors = [_vector(one["embedding"]) for one in response["data"]]
    return results.EmbedResult(results.usage_of(response), response, vectors)


def _vector(encoded: str | list[float]) -> list[float]:
    """`encoded`: base64 of float32 in little-endian order, unless the caller has asked for another `encoding_format`."""
    if not isinstance(encoded, str):
        return encoded
    values = array("f", base64.b64decode(encoded))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def _classify_result(response: Any) -> results.ClassifyResult:
    found = [results.Classification(one["label"], one["probs"]) for one in response["data"]]
    return results.ClassifyResult(results.usage_of(response), response, found)


def _decide_result(response: Any) -> results.DecideResult:
    answers = {
        name: results.Decision(
            type=answer["type"],
            noul=answer.get("noul"),
            choice=answer.get("choice"),
            score=answer.get("score"),
            confidence=answer.get("confidence"),
            probabilities=answer.get("probabilities", {}),
        )
        for name, answer in response["answers"].items()
    }
    return results.DecideResult(results.usage_of(response), response, answers)


def _completion_result(response: Any) -> results.CompletionResult:
    return _choices(response, lambda choice: str(choice["text"]))


def _chat_result(response: Any) -> results.CompletionResult:
    return _choices(response, lambda choice: str(choice["message"]["content"]))


def _choices(response: Any, text_of: Callable[[Any], str]) -> results.CompletionResult:
    choices = [
        results.Completion(choice["index"], text_of(choice), choice["finish_reason"], choice.get("token_ids"), choice.get("logprobs"))
        for choice in response["choices"]
    ]
    return results.CompletionResult(results.usage_of(response), response, choices)


def _answer(response: Any) -> results.Answer:
    output = response["outputs"][0]
    return results.Answer(results.usage_of(response), response, output["text"].strip(), output["finish_reason"], output["token_ids"])


def _completion_delta(event: Event) -> Delta | None:
    return _delta(event, lambda choice: str(choice["text"]))


def _chat_delta(event: Event) -> Delta | None:
    return _delta(event, lambda choice: str(choice["delta"].get("content") or ""))


def _delta(event: Event, text_of: Callable[[Any], str]) -> Delta | None:
    if not event.get("choices"):
        return None  # An event of the usage.
    choice = event["choices"][0]
    return Delta(text_of(choice), choice["index"], choice.get("finish_reason"))


def _answer_delta(event: Event) -> Delta | None:
    if event["object"] != "chunked.delta":
        return None  # The complete response.
    return Delta(event["text"], event["question"], event.get("finish_reason"))
