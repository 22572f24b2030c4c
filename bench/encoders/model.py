"""Random encoders as Hugging Face directories without a tokenizer: a classifier, and an embedder.

The embedder's weights are those of the classifier's body, because a head comes last.
"""
from __future__ import annotations

import json
import random
from array import array
from pathlib import Path

from bench.encoders.shapes import Shape
from bench.progress import progress

# So many random numbers are drawn, and repeated. The number is a prime, so that no two rows of a matrix are equal.
_DRAWN = 1_000_003
_DEVIATION = 0.02  # Hugging Face's initializer_range.
_MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]


def write_models(shape: Shape, models: Path) -> dict[bool, Path]:
    """The classifier (False) and the embedder (True) of a shape in the directory `models`, made unless they exist."""
    classifier, embedder = models / f"encoders-{shape.name}", models / f"encoders-{shape.name}-embed"
    for embeds, directory in ((False, classifier), (True, embedder)):
        _write_weights(shape, embeds, directory / "model.safetensors")
    _write_json(classifier / "config.json", shape.config(embeds=False))
    _write_json(embedder / "config.json", shape.config(embeds=True))
    _write_json(embedder / "modules.json", _MODULES)
    _write_json(embedder / "1_Pooling" / "config.json", {"word_embedding_dimension": shape.hidden, "pooling_mode_cls_token": False,
                                                         "pooling_mode_mean_tokens": True})
    return {False: classifier, True: embedder}


def _write_json(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n")


def _write_weights(shape: Shape, embeds: bool, file: Path) -> None:
    if file.exists():
        return
    progress(f"encoders: writing {file}")
    file.parent.mkdir(parents=True, exist_ok=True)
    header, offset, tensors = {}, 0, shape.tensors(embeds)
    for tensor in tensors:
        header[tensor.name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, offset + 4 * tensor.size]}
        offset += 4 * tensor.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    order = random.Random(1)
    drawn = array("f", (order.gauss(0, _DEVIATION) for _ in range(_DRAWN))).tobytes()
    part = file.with_suffix(".part")  # Renamed when it is complete.
    with part.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        at = 0  # In `drawn`.
        for tensor in tensors:
            left = 4 * tensor.size
            if tensor.is_norm:
                out.write(array("f", [1.0]).tobytes() * tensor.size)
                continue
            while left > 0:
                taken = min(left, len(drawn) - at)
                out.write(memoryview(drawn)[at:at + taken])
                left, at = left - taken, (at + taken) % len(drawn)
    part.rename(file)
