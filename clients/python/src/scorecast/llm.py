"""A model in a few lines: starts a service, or connects to one, and has the methods that users of vLLM and SGLang call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar, cast

from scorecast import calls
from scorecast.calls import Texts, conversation
from scorecast.client import Client
from scorecast.errors import BadRequestError
from scorecast.outputs import EmbeddingOutput, EmbeddingRequestOutput, RequestOutput, all_logprobs, request_output
from scorecast.results import ScoreResult
from scorecast.sampling import SamplingParams
from scorecast.service import Service, find_binary, flags_of, launcher_of
from scorecast.shared_client import SharedAsyncClient
from scorecast.transport import DEFAULT_TIMEOUT

T = TypeVar("T")
R = TypeVar("R")

Prompt = str | Mapping[str, Any] | Sequence[int]  # Mapping: vLLM's {"prompt": text} or {"prompt_token_ids": ids}.
_MOST_AT_ONCE = 32  # Requests in flight. The service computes those that it has together.


class LLM:
    """Starts a service with `ranks` ranks, which ends with the `with` statement, with `shutdown`, or with this process. With
    `base_url`, connects to a service that runs.

    `binary`: the executable; by default that of SCORECAST_BINARY or PATH. `launcher`: a command that starts the ranks, instead
    of mpirun, such as `["srun", "-n", "4"]`. `flags`: further flags of `scorecast serve`, such as `kv_cache_mb=64`.

    All methods but `async_score` wait for the reply. They may be called within a running event loop.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        ranks: int = 1,
        enable_chunk_aware: bool = False,
        chunk_separator: str | None = None,
        chunk_position_strategy: str | None = None,
        max_chunk_len: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        verify: Any = True,
        timeout: float = DEFAULT_TIMEOUT,
        start_timeout: float = 3600.0,
        binary: str | os.PathLike[str] | None = None,
        launcher: Sequence[str] | None = None,
        **flags: object,
    ) -> None:
        all_flags: dict[str, object] = {
            "model": model,
            "enable_chunk_aware": enable_chunk_aware,
            "chunk_separator": chunk_separator,
            "chunk_position_strategy": chunk_position_strategy,
            "max_chunk_len": max_chunk_len,
            **flags,
        }
        self._service: Service | None = None
        if base_url is None:
            if model is None:
                raise TypeError("LLM() needs model=, or base_url= of a service that runs")
            if ranks < 1:
                raise ValueError(f"ranks must be at least 1, not {ranks}")
            command = [*(launcher_of(ranks) if launcher is None else launcher), find_binary(binary), "serve"]
            arguments = flags_of({"port": 0, "http_port": 0, **all_flags})
            self._service = Service([*command, *arguments], start_timeout, tls="tls_cert" in flags)
            base_url = self._service.url
        elif given := [name for name, value in all_flags.items() if value not in (None, False)]:
            raise TypeError(f"a service that runs has its own flags: base_url= does not go with {', '.join(given)}")
        self.client = Client(base_url, api_key=api_key, timeout=timeout, verify=verify)
        self._shared_client = SharedAsyncClient(self.client.settings)
        self._token_texts: dict[int, str] = {}

    @property
    def url(self) -> str:
        """The service's URL, for other clients of it."""
        return self.client.settings.base_url

    def log(self) -> str:
        """The last lines of the log, if the service was started here."""
        return self._service.log() if self._service else ""

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
    ) -> list[RequestOutput]:
        """Continues prompts, each by itself. Without `sampling_params` the defaults are the model's.

        With `enable_chunk_aware`, a text with two or more separators is a system prompt, documents that do not see each
        other, and a question. `use_tqdm` is accepted for programs written for vLLM, and has no effect.
        """
        each = _prompts(prompts)
        if isinstance(sampling_params, Sequence):
            if len(sampling_params) != len(each):
                raise ValueError(f"{len(sampling_params)} sampling_params for {len(each)} prompts")
            pairs: list[tuple[Prompt, SamplingParams | None]] = list(zip(each, sampling_params, strict=True))
        else:
            pairs = [(prompt, sampling_params) for prompt in each]
        return self._map(lambda pair: self._generate(*pair), pairs)

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]] | Sequence[Sequence[Mapping[str, Any]]],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
        **fields: Any,
    ) -> list[RequestOutput]:
        """The next message of a conversation, or of each of several.

        `fields`: what the chat template takes, such as `chat_template_kwargs`, `add_generation_prompt` and
        `continue_final_message`.
        """
        several = [messages] if isinstance(messages[0], Mapping) else messages
        prompts = self._map(lambda one: self.client.tokenize(conversation(one), **fields), several)  # type: ignore[arg-type]
        outputs = self.generate(prompts, sampling_params)
        for output in outputs:
            output.prompt = self.client.detokenize(output.prompt_token_ids)
        return outputs

    def embed(self, prompts: Prompt | Sequence[Prompt], *, use_tqdm: bool = True) -> list[EmbeddingRequestOutput]:
        """Turns each text into a vector."""
        texts = [_text_or_ids(prompt) for prompt in _prompts(prompts)]
        return self._map(self._embed, texts)

    def score(
        self,
        query: str | Sequence[int],
        items: str | Texts,
        label_token_ids: Sequence[int] | None = None,
        apply_softmax: bool = False,
        item_first: bool = False,
        **fields: Any,
    ) -> ScoreResult:
        """Scores each item behind the query, as the `score` of SGLang's engine does. It is not vLLM's `score`, which compares
        pairs of texts: for those there is `client.rerank`.

        `fields`: further fields of `/v1/score`, such as `labels`.
        """
        return self.client.send(_score(query, items, label_token_ids, apply_softmax, item_first, fields))

    async def async_score(
        self,
        query: str | Sequence[int],
        items: str | Texts,
        label_token_ids: Sequence[int] | None = None,
        apply_softmax: bool = False,
        item_first: bool = False,
        **fields: Any,
    ) -> ScoreResult:
        """`score` as a coroutine."""
        async with self._shared_client.borrow() as client:
            return await client.send(_score(query, items, label_token_ids, apply_softmax, item_first, fields))

    def shutdown(self) -> None:
        """Ends the service if it was started here. Accepted requests are answered before."""
        self.client.close()
        if self._service is not None:
            self._service.stop()

    def __enter__(self) -> LLM:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.shutdown()

    @cached_property
    def _max_lists(self) -> int:
        return int(self.client.get("/info")["max_client_batch_size"])

    @cached_property
    def _max_model_len(self) -> int:
        return int(self.client.get("/v1/models")["data"][0]["max_model_len"])

    def _generate(self, prompt: Prompt, sampling_params: SamplingParams | None) -> RequestOutput:
        given = _text_or_ids(prompt)
        ids = self.client.tokenize(given) if isinstance(given, str) else list(given)
        body: dict[str, Any] = {"prompt": given if isinstance(given, str) else ids}
        if sampling_params is not None:
            body |= sampling_params.body()
            if sampling_params.max_tokens is None:
                body["max_tokens"] = max(self._max_model_len - len(ids), 1)
        body |= {"return_token_ids": True, "return_tokens_as_token_ids": True}
        response = self.client.post("/v1/completions", body)
        output = request_output(given if isinstance(given, str) else None, ids, response)
        self._spell(output)
        return output

    def _spell(self, output: RequestOutput) -> None:
        """Sets the texts of all tokens with log-probabilities. The service is asked for each text once."""
        entries = list(all_logprobs(output))
        if not entries:
            return
        unknown = sorted({token for token, _ in entries} - self._token_texts.keys())
        try:
            for begin in range(0, len(unknown), self._max_lists):
                part = unknown[begin : begin + self._max_lists]
                lead, lead_text = self._lead
                texts = self._texts_of([[*lead, token] for token in part])
                self._token_texts.update(zip(part, [text.removeprefix(lead_text) for text in texts], strict=True))
        except BadRequestError as fault:
            if fault.reason != "no_tokenizer":
                raise
        for token, entry in entries:
            entry.decoded_token = self._token_texts.get(token)

    @cached_property
    def _lead(self) -> tuple[list[int], str]:
        """Tokens that stand before one that is decoded, because some tokenizers drop the space at the beginning of a text."""
        lead = self.client.tokenize("a", add_special_tokens=False)
        return lead, self._texts_of([lead])[0]

    def _texts_of(self, lists: list[list[int]]) -> list[str]:
        return cast("list[str]", self.client.post("/detokenize", {"ids": lists, "skip_special_tokens": False}))

    def _embed(self, text: str | Sequence[int]) -> EmbeddingRequestOutput:
        ids = self.client.tokenize(text) if isinstance(text, str) else list(text)
        result = self.client.embed(text if isinstance(text, str) else [ids])
        return EmbeddingRequestOutput(result.raw.get("id", ""), EmbeddingOutput(result.embeddings[0]), ids)

    def _map(self, function: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """The results in the order of the arguments. The first fault ends what has not begun."""
        pool = ThreadPoolExecutor(_MOST_AT_ONCE)
        try:
            return list(pool.map(function, arguments))
        finally:
            pool.shutdown(cancel_futures=True)


def _prompts(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    """A list, also of a single prompt: a text, a mapping, or ids."""
    if isinstance(prompts, str | Mapping) or (prompts and isinstance(prompts[0], int)):
        return [cast(Prompt, prompts)]
    return list(cast("Sequence[Prompt]", prompts))


def _text_or_ids(prompt: Prompt) -> str | Sequence[int]:
    if not isinstance(prompt, Mapping):
        return prompt
    ids: Sequence[int] | None = prompt.get("prompt_token_ids")
    if ids is not None:
        return ids
    text: str = prompt["prompt"]
    return text


def _score(
    query: str | Sequence[int],
    items: str | Texts,
    label_token_ids: Sequence[int] | None,
    apply_softmax: bool,
    item_first: bool,
    fields: Mapping[str, object],
) -> calls.Call[ScoreResult]:
    call = calls.score(
        query,
        [items] if isinstance(items, str) else items,
        label_token_ids=label_token_ids,
        apply_softmax=apply_softmax,
        item_first=item_first,
    )
    return calls.Call(call.path, {**call.body, **fields}, call.read)
