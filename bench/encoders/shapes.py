"""Shapes of encoders: their config.json and their tensors, as Hugging Face names them."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

VOCABULARY = 4096  # Small, because nothing but a row of it is read for each token.


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.shape[0] * (self.shape[1] if len(self.shape) > 1 else 1)

    @property
    def is_norm(self) -> bool:
        """Whether these are the multipliers of a norm, which are 1."""
        return "norm" in self.name.lower() and self.name.endswith(".weight")


@dataclass(frozen=True)
class Special:
    """Ids of special tokens."""

    pad: int
    begin: int
    end: int
    middle: int  # How many ends there are between the two texts of a pair.


@dataclass(frozen=True)
class Shape:
    name: str
    model_type: str  # A key of _FAMILIES.
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int

    @property
    def special(self) -> Special:
        return _FAMILIES[self.model_type].special

    @property
    def has_types(self) -> bool:
        return self.model_type == "bert"

    @property
    def parameters_of_products(self) -> int:
        """Of all layers, without embeddings: the products of a token are two operations for each."""
        gates = 2 if self.model_type == "modernbert" else 1
        return self.layers * self.hidden * (4 * self.hidden + (gates + 1) * self.intermediate)

    def config(self, embeds: bool) -> dict[str, Any]:
        """config.json: of a classifier with one label, or of the body alone."""
        family, special = _FAMILIES[self.model_type], self.special
        return {"architectures": [family.prefix + ("Model" if embeds else "ForSequenceClassification")], "model_type": self.model_type,
                "hidden_size": self.hidden, "num_hidden_layers": self.layers, "num_attention_heads": self.heads,
                "intermediate_size": self.intermediate, "max_position_embeddings": self.positions, "vocab_size": VOCABULARY,
                "pad_token_id": special.pad, "bos_token_id": special.begin, "eos_token_id": special.end,
                "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "torch_dtype": "float32", **family.config}

    def tensors(self, embeds: bool) -> list[Tensor]:
        """Of the classifier, or of the body alone, whose names have no prefix then."""
        prefix = _FAMILIES[self.model_type].body + "."
        tensors = list(_modernbert_tensors(self) if self.model_type == "modernbert" else _bert_tensors(self))
        if not embeds:
            return tensors
        return [Tensor(tensor.name.removeprefix(prefix), tensor.shape) for tensor in tensors if tensor.name.startswith(prefix)]


@dataclass(frozen=True)
class _Family:
    prefix: str  # With which the names of its classes begin.
    body: str  # Before the names of the body's tensors in a classifier.
    special: Special
    config: dict[str, Any]  # What is the same for all sizes.


_FAMILIES = {
    "bert": _Family("Bert", "bert", Special(0, 2, 3, 1), {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2}),
    "xlm-roberta": _Family("XLMRoberta", "roberta", Special(1, 0, 2, 2), {
        "hidden_act": "gelu", "layer_norm_eps": 1e-5, "type_vocab_size": 1}),
    "modernbert": _Family("ModernBert", "model", Special(0, 2, 3, 1), {
        "hidden_activation": "gelu", "norm_eps": 1e-5, "norm_bias": False, "attention_bias": False, "mlp_bias": False,
        "local_attention": 128, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
        "classifier_pooling": "mean", "classifier_activation": "gelu", "classifier_bias": False, "cls_token_id": 2, "sep_token_id": 3}),
}

SHAPES = {shape.name: shape for shape in (
    Shape("minilm-l6", "bert", 384, 6, 12, 1536, 512),
    Shape("bge-base", "bert", 768, 12, 12, 3072, 512),
    Shape("bge-m3", "xlm-roberta", 1024, 24, 16, 4096, 8194),
    Shape("modernbert-base", "modernbert", 768, 22, 12, 1152, 8192),
)}


def _dense(name: str, out: int, into: int) -> list[Tensor]:
    return [Tensor(f"{name}.weight", (out, into)), Tensor(f"{name}.bias", (out,))]


def _norm(name: str, size: int) -> list[Tensor]:
    return [Tensor(f"{name}.weight", (size,)), Tensor(f"{name}.bias", (size,))]


def _bert_tensors(s: Shape) -> Iterator[Tensor]:
    body = _FAMILIES[s.model_type].body
    rows = {"word": VOCABULARY, "position": s.positions, "token_type": _FAMILIES[s.model_type].config["type_vocab_size"]}
    yield from (Tensor(f"{body}.embeddings.{what}_embeddings.weight", (count, s.hidden)) for what, count in rows.items())
    yield from _norm(f"{body}.embeddings.LayerNorm", s.hidden)
    for i in range(s.layers):
        layer = f"{body}.encoder.layer.{i}"
        for what in ("query", "key", "value"):
            yield from _dense(f"{layer}.attention.self.{what}", s.hidden, s.hidden)
        yield from _dense(f"{layer}.attention.output.dense", s.hidden, s.hidden)
        yield from _norm(f"{layer}.attention.output.LayerNorm", s.hidden)
        yield from _dense(f"{layer}.intermediate.dense", s.intermediate, s.hidden)
        yield from _dense(f"{layer}.output.dense", s.hidden, s.intermediate)
        yield from _norm(f"{layer}.output.LayerNorm", s.hidden)
    head = ("bert.pooler.dense", "classifier") if s.model_type == "bert" else ("classifier.dense", "classifier.out_proj")
    yield from _dense(head[0], s.hidden, s.hidden)
    yield from _dense(head[1], 1, s.hidden)


def _modernbert_tensors(s: Shape) -> Iterator[Tensor]:
    yield Tensor("model.embeddings.tok_embeddings.weight", (VOCABULARY, s.hidden))
    yield Tensor("model.embeddings.norm.weight", (s.hidden,))
    for i in range(s.layers):
        layer = f"model.layers.{i}"
        if i > 0:
            yield Tensor(f"{layer}.attn_norm.weight", (s.hidden,))
        yield Tensor(f"{layer}.attn.Wqkv.weight", (3 * s.hidden, s.hidden))
        yield Tensor(f"{layer}.attn.Wo.weight", (s.hidden, s.hidden))
        yield Tensor(f"{layer}.mlp_norm.weight", (s.hidden,))
        yield Tensor(f"{layer}.mlp.Wi.weight", (2 * s.intermediate, s.hidden))
        yield Tensor(f"{layer}.mlp.Wo.weight", (s.hidden, s.intermediate))
    yield Tensor("model.final_norm.weight", (s.hidden,))
    yield Tensor("head.dense.weight", (s.hidden, s.hidden))
    yield Tensor("head.norm.weight", (s.hidden,))
    yield from _dense("classifier", 1, s.hidden)
