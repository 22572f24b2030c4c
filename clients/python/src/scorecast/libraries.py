"""Models as sentence-transformers and transformers load them from a directory. Each has questions, which are calls of the
library, and with each question the request that asks a service the same."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from scorecast.client import Client
from scorecast.errors import APIStatusError
from scorecast.samples import Pair, Samples

Rows = list[list[float]]  # The numbers of each input.


class NotComparableError(Exception):
    """A library is missing or does not load the directory, or models of its kind have no questions here."""


@dataclass(frozen=True)
class Numbers:
    """A question whose answer is some numbers for each input."""

    what: str
    inputs: Sequence[object]
    library: Callable[[], Rows]
    service: Callable[[], Rows]


@dataclass(frozen=True)
class Order:
    """A question whose answer is an order of documents. `library` gives each document's score before any function that could
    make different scores equal. `service` gives the documents' indices, the best first."""

    query: str
    library: Callable[[], list[float]]
    service: Callable[[], list[int]]


@dataclass(frozen=True)
class Omission:
    """What is not compared, and why."""

    why: str


Question = Numbers | Order | Omission


class Model(Protocol):
    """A directory as a class of a library loads it."""

    name: str

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]: ...


class Embedder:
    """`SentenceTransformer`."""

    name = "an embedder"

    def __init__(self, directory: Path) -> None:
        self._model = _sentence_transformer(directory, "SentenceTransformer")

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]:
        texts = samples.texts
        for what, method, fields in (
            ("vectors", "encode", {}),
            ("vectors of queries", "encode_query", {"input_type": "query"}),
            ("vectors of documents", "encode_document", {"input_type": "document"}),
        ):
            yield Numbers(what, texts, partial(self._encode, method, texts), partial(_vectors, client, texts, fields))
        queries = samples.queries()
        similarities = cache(lambda query: self._similarities(query, queries[query]))
        yield from _ranking_questions("similarities", client, queries, similarities, similarities)

    def _encode(self, method: str, texts: Sequence[str]) -> Rows:
        return _rows(getattr(self._model, method)(list(texts), batch_size=1, show_progress_bar=False))

    def _similarities(self, query: str, documents: Sequence[str]) -> list[float]:
        vectors = [self._model.encode(texts, batch_size=1, show_progress_bar=False) for texts in ([query], list(documents))]
        return _rows(self._model.similarity(*vectors))[0]


class Reranker:
    """`CrossEncoder` with one class. If the directory `is_plain`, none of the library's own files says that it is one."""

    name = "a reranker"

    def __init__(self, model: Any, *, is_plain: bool) -> None:
        self._model = model
        self._is_plain = is_plain

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]:
        if self._is_plain:
            template = client.get("/v1/models")["data"][0]["rerank_template"]
            # A file is the model's own chat template, which the library takes, too.
            if template["name"] != "pair" and "." not in str(template["name"]):
                yield Omission(f"pairs: the library has no rerank template, and the service's is {template['name']} ({template['reason']})")
                return
        queries = samples.queries()
        scores = cache(lambda query: self._predict(query, queries[query], None))
        raw_scores = cache(lambda query: self._predict(query, queries[query], _identity()))
        yield from _ranking_questions("scores", client, queries, scores, raw_scores)
        yield _scores_question("raw scores", queries, raw_scores, _Ranked(client, queries, raw_scores=True))

    def _predict(self, query: str, documents: Sequence[str], activation: Any) -> list[float]:
        pairs = [(query, document) for document in documents]
        found = self._model.predict(pairs, batch_size=1, show_progress_bar=False, activation_fn=activation)
        return [row[0] for row in _rows(found)]


class PairClassifier:
    """`CrossEncoder` with several classes. Its answers are logits: its own function of them is not that of the endpoint."""

    name = "a classifier of pairs"

    def __init__(self, directory: Path, model: Any, *, is_plain: bool) -> None:
        self._model = model
        self._labels = _labels_of(directory)
        self._is_plain = is_plain

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]:
        if self._is_plain and not _reads_pairs(client):
            yield Omission("pairs: the service reads one text with this model")
            return
        service = partial(_predictions, client, samples.pairs, self._labels)
        yield Numbers("logits of pairs", samples.pairs, partial(self._predict, samples.pairs), service)

    def _predict(self, pairs: Sequence[Pair]) -> Rows:
        return _rows(self._model.predict(list(pairs), batch_size=1, show_progress_bar=False, activation_fn=_identity()))


class Classifier:
    """The pipeline `text-classification` of transformers."""

    name = "a classifier"

    def __init__(self, directory: Path) -> None:
        torch, transformers = _import("torch"), _import_transformers()
        options = {"model": str(directory), "dtype": torch.float32, "device": "cpu"}
        self._pipeline = _load(lambda: transformers.pipeline("text-classification", **options))
        self._labels = _labels_of(directory)

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]:
        texts = samples.texts
        for what, options, fields in (
            ("probabilities", {}, {}),
            ("logits", {"function_to_apply": "none"}, {"use_activation": False}),
        ):
            yield Numbers(what, texts, partial(self._classify, texts, options), partial(_classifications, client, texts, fields))

    def _classify(self, texts: Sequence[str], options: Mapping[str, str]) -> Rows:
        return _by_class([self._pipeline(text, top_k=None, truncation=True, **options) for text in texts], self._labels)


class LanguageModel:
    """`AutoModelForCausalLM`. Its answer to a text is the log-probability of each token of the text but the first."""

    name = "a language model"

    def __init__(self, directory: Path) -> None:
        self._torch, transformers = _import("torch"), _import_transformers()
        self._tokenizer = _load(lambda: transformers.AutoTokenizer.from_pretrained(str(directory)))
        self._model = _load(lambda: transformers.AutoModelForCausalLM.from_pretrained(str(directory), dtype=self._torch.float32)).eval()

    def questions(self, client: Client, samples: Samples) -> Iterator[Question]:
        most = getattr(self._model.config, "max_position_embeddings", sys.maxsize)
        texts = [text for text in samples.texts if len(self._ids(text)) <= most]
        if len(texts) < len(samples.texts):
            yield Omission(f"{len(samples.texts) - len(texts)} texts of more than {most} tokens")
        if texts:
            service = partial(_log_probabilities_of, client, texts)
            yield Numbers("log-probabilities of tokens", texts, lambda: [self._log_probabilities(text) for text in texts], service)

    def _ids(self, text: str) -> list[int]:
        """With BOS, if the tokenizer adds it, and without EOS, which the service adds to no text that can go on."""
        alone = list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        whole = list(self._tokenizer(text)["input_ids"])
        adds_eos = len(whole) > len(alone) and whole[-1] == self._tokenizer.eos_token_id and whole[len(whole) - len(alone) :] != alone
        return whole[:-1] if adds_eos else whole

    def _log_probabilities(self, text: str) -> list[float]:
        ids = self._ids(text)
        with self._torch.no_grad():
            logits = self._model(input_ids=self._torch.tensor([ids])).logits[0].double()
        rows = self._torch.log_softmax(logits, -1)
        return [float(rows[place, token]) for place, token in enumerate(ids[1:])]


def models_of(directory: Path) -> list[Model]:
    """The directory as each class loads it whose answers the service should have. Raises NotComparableError if there is none."""
    config = _json(directory / "config.json")
    if (directory / "modules.json").exists():
        # Directories without the key were written when there was only this class.
        saved_by = _json(directory / "config_sentence_transformers.json", {}).get("model_type", "SentenceTransformer")
        if saved_by == "SentenceTransformer":
            return [Embedder(directory)]
        if saved_by == "CrossEncoder":
            return [_cross_encoder(directory, is_plain=False)]
        raise NotComparableError(f"models of sentence-transformers' class {saved_by} are not compared")
    architecture = str((config.get("architectures") or ["none"])[0])
    if architecture.endswith("ForCausalLM"):
        return [LanguageModel(directory)]
    if architecture.endswith("ForSequenceClassification"):
        # Cross-encoders had no modules.json before version 6 of sentence-transformers.
        is_plain = not {"sentence_transformers", "sbert_ce_default_activation_function"} & config.keys()
        classifier = Classifier(directory)
        return [classifier, _cross_encoder(directory, is_plain=is_plain)] if _has("sentence_transformers") or not is_plain else [classifier]
    if architecture.endswith(("Model", "ForMaskedLM")):
        return [Embedder(directory)]
    raise NotComparableError(f"{directory / 'config.json'}: models of the architecture {architecture} are not compared")


def versions() -> str:
    """The versions of the libraries that are in use."""
    names = [name for name in ("sentence_transformers", "transformers", "tokenizers", "torch") if name in sys.modules]
    return ", ".join(f"{name.replace('_', '-')} {sys.modules[name].__version__}" for name in names)


class _Ranked:
    """The service's rankings of the documents of each query. Each is asked for once."""

    def __init__(self, client: Client, queries: Mapping[str, Sequence[str]], **fields: Any) -> None:
        self._client = client
        self._queries = queries
        self._fields = fields
        self._known: dict[str, list[tuple[int, float]]] = {}

    def scores(self, query: str) -> list[float]:
        """In the order of the documents."""
        return [score for _, score in sorted(self._rank(query))]

    def order(self, query: str) -> list[int]:
        return [index for index, _ in self._rank(query)]

    def _rank(self, query: str) -> list[tuple[int, float]]:
        if query not in self._known:
            ranked = self._client.rerank(query, self._queries[query], **self._fields)
            self._known[query] = [(one.index, one.relevance_score) for one in ranked]
        return self._known[query]


def _ranking_questions(
    what: str,
    client: Client,
    queries: Mapping[str, Sequence[str]],
    scores: Callable[[str], list[float]],
    raw_scores: Callable[[str], list[float]],
) -> Iterator[Question]:
    """`scores` and `raw_scores`: the library's, of the documents of a query."""
    ranked = _Ranked(client, queries)
    yield _scores_question(what, queries, scores, ranked)
    for query in queries:
        yield Order(query, partial(raw_scores, query), partial(ranked.order, query))


def _scores_question(what: str, queries: Mapping[str, Sequence[str]], scores: Callable[[str], list[float]], ranked: _Ranked) -> Question:
    def column(scores_of: Callable[[str], list[float]]) -> Rows:
        return [[score] for query in queries for score in scores_of(query)]

    pairs = [(query, document) for query, documents in queries.items() for document in documents]
    return Numbers(what, pairs, partial(column, scores), partial(column, ranked.scores))


def _vectors(client: Client, texts: Sequence[str], fields: Mapping[str, Any]) -> Rows:
    # The library cuts texts that are too long. This request refuses them unless it says otherwise.
    return client.embed(texts, truncate=True, **fields).embeddings


def _classifications(client: Client, texts: Sequence[str], fields: Mapping[str, Any]) -> Rows:
    return [one.probs for one in client.classify(texts, truncate_prompt_tokens=-1, **fields).results]


def _predictions(client: Client, pairs: Sequence[Pair], labels: Sequence[str]) -> Rows:
    return _by_class(client.post("/predict", {"inputs": [list(pair) for pair in pairs], "raw_scores": True, "truncate": True}), labels)


def _reads_pairs(client: Client) -> bool:
    try:
        client.post("/predict", {"inputs": [["a", "b"]]})
    except APIStatusError as fault:
        return fault.reason != "no_pairs"
    return True


def _log_probabilities_of(client: Client, texts: Sequence[str]) -> Rows:
    choices = client.complete(texts, max_tokens=0, echo=True, logprobs=0).raw["choices"]
    return [choice["logprobs"]["token_logprobs"][1:] for choice in sorted(choices, key=lambda choice: int(choice["index"]))]


def _cross_encoder(directory: Path, *, is_plain: bool) -> Model:
    model = _sentence_transformer(directory, "CrossEncoder")
    if model.num_labels == 1:
        return Reranker(model, is_plain=is_plain)
    return PairClassifier(directory, model, is_plain=is_plain)


def _sentence_transformer(directory: Path, name: str) -> Any:
    torch, _ = _import("torch"), _import_transformers()
    library = _import("sentence_transformers")
    options = {"device": "cpu", "local_files_only": True, "model_kwargs": {"dtype": torch.float32}}
    return _load(lambda: getattr(library, name)(str(directory), **options))


def _identity() -> Any:
    return _import("torch").nn.Identity()


def _import_transformers() -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # All files are in the directory.
    transformers = _import("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as fault:
        package = name.replace("_", "-")
        raise NotComparableError(f"{package} is needed and cannot be imported ({fault}). Install it: pip install {package}") from fault


def _has(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _load(load: Callable[[], Any]) -> Any:
    """What `load` returns. The libraries raise exceptions of many classes, and the text of each says what is wrong."""
    try:
        return load()
    except Exception as fault:
        raise NotComparableError(f"the library does not load the directory: {type(fault).__name__}: {fault}") from fault


def _json(path: Path, default: Any = None) -> Any:
    if default is not None and not path.exists():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise NotComparableError(f"{path}: {fault}") from fault


def _labels_of(directory: Path) -> list[str]:
    """The names of the classes in the order of the classes, as transformers fills them in."""
    transformers = _import_transformers()
    names: Mapping[int, object] = _load(lambda: transformers.AutoConfig.from_pretrained(str(directory))).id2label
    labels = [str(names[index]) for index in sorted(names)]
    if len(set(labels)) < len(labels):
        raise NotComparableError(f"{directory / 'config.json'}: id2label has one name for several classes")
    return labels


def _by_class(found: Sequence[Sequence[Mapping[str, Any]]], labels: Sequence[str]) -> Rows:
    """The scores of each text in the order of the classes. In `found`, classes are in any order."""
    scores = [{str(one["label"]): float(one["score"]) for one in of_text} for of_text in found]
    return [[of_text[label] for label in labels] for of_text in scores]


def _rows(found: Any) -> Rows:
    """Rows of an array or tensor. A number instead of a row is a row by itself."""
    return [row if isinstance(row, list) else [row] for row in found.tolist()]
