"""The models that are served: the demo's, and random ones, which are written once."""
from __future__ import annotations

import json
import random
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.encoders.model import write_models
from bench.encoders.shapes import SHAPES as ENCODERS

_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "tests/demo_model/model"  # SentencePiece BPE, 2048 positions, 2560 tokens.
_TOKENIZERS = _ROOT / "tests/coordinator/text/data"
_ENCODER = "encoders-"
_DEFAULT_TOKENIZER = "nfc"  # Byte-level BPE with an expression and NFC, as Qwen's.


@dataclass
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int


SHAPES = {
    # As in random_model.cc; with a tokenizer.
    "0.01b": Shape(256, 8, 4, 2, 64, 768, 32000),
    "0.1b": Shape(512, 12, 8, 4, 64, 1536, 32000),
    # The vocabulary of Qwen 2 and 3, with a body that costs little: choosing tokens takes most of the time.
    "sampled": Shape(256, 2, 4, 2, 64, 768, 151936),
    # The vocabulary of Gemma 2 and 3 rounded up to a power of two, with a body that costs nothing.
    "wide": Shape(64, 1, 2, 2, 32, 64, 262144),
}


def model_directory(name: str, models: Path) -> Path:
    """`name` is "demo", a shape, SHAPE:TOKENIZER, or "encoders-" and a shape of bench.encoders: the classifier."""
    if name == "demo":
        return _DEMO
    if name.startswith(_ENCODER):
        return write_models(ENCODERS[name.removeprefix(_ENCODER)], models)[False]
    shape, _, tokenizer = name.partition(":")
    directory = models / f"abuse-{name.replace(':', '-')}"
    if not (directory / "config.json").exists():
        directory.mkdir(parents=True, exist_ok=True)
        for file in (_TOKENIZERS / (tokenizer or _DEFAULT_TOKENIZER)).glob("tokenizer*"):
            shutil.copy(file, directory)
        _write(SHAPES[shape], directory)
    return directory


def is_classifier(about: dict[str, Any]) -> bool:
    """`about`: its config.json."""
    return about["architectures"][0].endswith("ForSequenceClassification")


def config(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "config.json").read_text())


def model_with_positions(name: str, models: Path, positions: int) -> Path:
    """`name` is a shape, or the directory of a model. If that has fewer positions, returns a directory with links to its
    files and another config.json. The weights are random, so that other positions do no harm."""
    source = model_directory(name, models) if name in SHAPES else Path(name).resolve()
    found = config(source)
    if found["max_position_embeddings"] >= positions:
        return source
    directory = models / f"fairness-{source.name}-{positions}"
    directory.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        link = directory / file.name
        if file.name != "config.json" and not link.is_symlink():
            link.symlink_to(file.resolve())
    (directory / "config.json").write_text(json.dumps(found | {"max_position_embeddings": positions}))
    return directory


def _write(s: Shape, directory: Path) -> None:
    heads, kv_heads = s.heads * s.head_size, s.kv_heads * s.head_size
    tensors = {"model.embed_tokens.weight": [s.vocabulary, s.hidden], "model.norm.weight": [s.hidden]}
    for i in range(s.layers):
        shapes = {"input_layernorm": [s.hidden], "post_attention_layernorm": [s.hidden],
                  "self_attn.q_proj": [heads, s.hidden], "self_attn.k_proj": [kv_heads, s.hidden],
                  "self_attn.v_proj": [kv_heads, s.hidden], "self_attn.o_proj": [s.hidden, heads],
                  "mlp.gate_proj": [s.intermediate, s.hidden], "mlp.up_proj": [s.intermediate, s.hidden],
                  "mlp.down_proj": [s.hidden, s.intermediate]}
        tensors.update({f"model.layers.{i}.{name}.weight": shape for name, shape in shapes.items()})
    header = {}
    data = bytearray()
    rng = random.Random(1)
    for name, shape in tensors.items():
        values = _ones(shape[0]) if len(shape) == 1 else _random(rng, shape[0] * shape[1])
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": s.hidden,
              "num_hidden_layers": s.layers, "num_attention_heads": s.heads, "num_key_value_heads": s.kv_heads,
              "head_dim": s.head_size, "intermediate_size": s.intermediate, "vocab_size": s.vocabulary,
              "max_position_embeddings": 16384, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": True, "hidden_act": "silu", "torch_dtype": "bfloat16"}
    # Written last, so that a directory with this file is complete.
    (directory / "config.json").write_text(json.dumps(config))


def _ones(count: int) -> bytes:
    return b"\x80\x3F" * count


def _random(rng: random.Random, count: int) -> bytes:
    """BF16 numbers of either sign, of absolute values between 2^-7 and 2^-5."""
    values = bytearray(2 * count)
    values[0::2] = rng.randbytes(count)
    values[1::2] = rng.randbytes(count).translate(bytes(byte & 0x80 | 0x3C for byte in range(256)))
    return bytes(values)
