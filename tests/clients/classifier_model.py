"""A classifier that is made from the model of tests/demo_model."""
from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

from tests.clients.service import DEMO_MODEL

_BFLOAT16_BYTES = 2


def _bfloat16_to_float(two: bytes) -> float:
    return struct.unpack("<f", b"\0\0" + two)[0]


def _float_to_bfloat16(value: float) -> bytes:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def write_classifier(directory: Path, yes: int, no: int) -> None:
    """The model with a head of one class, whose weights are the row of the token `yes` minus that of `no`."""
    shutil.copytree(DEMO_MODEL, directory, dirs_exist_ok=True)
    config = json.loads((directory / "config.json").read_text())
    config |= {"architectures": ["LlamaForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
               "num_labels": 1, "pad_token_id": 0}
    (directory / "config.json").write_text(json.dumps(config))
    data = (directory / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header: dict[str, Any] = json.loads(data[8:8 + size])
    tensors = data[8 + size:]
    width = config["hidden_size"]
    begin = header["model.embed_tokens.weight"]["data_offsets"][0]

    def row(token: int) -> list[float]:
        at = begin + token * width * _BFLOAT16_BYTES
        return [_bfloat16_to_float(tensors[at + i:at + i + 2]) for i in range(0, width * _BFLOAT16_BYTES, _BFLOAT16_BYTES)]

    head = b"".join(_float_to_bfloat16(y - n) for y, n in zip(row(yes), row(no), strict=True))
    header["score.weight"] = {"dtype": "BF16", "shape": [1, width], "data_offsets": [len(tensors), len(tensors) + len(head)]}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(encoded)) + encoded + tensors + head)
