"""Converts a Hugging Face directory to an OpenVINO model, unchanged or in int8.

Weights and activations of "int8" have 8 bits, by post-training quantization that is calibrated on a workload. Of
"int8-weights" only the weights have.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import nncf
import numpy as np
import openvino as ov
import torch

from bench.peers import packed_llama
from bench.peers.workload import Packed, Workload, load_config, pack


def model_inputs(packed: Packed) -> list[np.ndarray]:
    """The arguments of PackedLlama.forward, in its order."""
    mask = np.where(packed.sees, 0, -1e9).astype(np.float32)
    return [packed.ids[None], packed.positions[None], mask[None, None], packed.reads]


def convert(model: Path, example: list[np.ndarray]) -> ov.Model:
    torch.set_grad_enabled(False)
    shapes = [ov.PartialShape(shape) for shape in ([1, -1], [1, -1], [1, 1, -1, -1], [-1])]
    return ov.convert_model(packed_llama.load(model), input=shapes,
                            example_input=tuple(torch.from_numpy(array) for array in example))


def quantize(model: ov.Model, example: list[np.ndarray]) -> ov.Model:
    return nncf.quantize(model, nncf.Dataset([tuple(example)] * 2), subset_size=2,
                         model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.PERFORMANCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="Hugging Face directory")
    parser.add_argument("output", type=Path, help="the .xml to write")
    parser.add_argument("--type", choices=["float", "int8", "int8-weights"], default="float")
    parser.add_argument("--workload", default="300+10x10", help="workload for tracing and calibration")
    flags = parser.parse_args()
    example = model_inputs(pack(Workload.parse(flags.workload), load_config(flags.model)["vocab_size"]))
    model = convert(flags.model, example)
    if flags.type == "int8":
        model = quantize(model, example)
    elif flags.type == "int8-weights":
        model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    ov.save_model(model, flags.output, compress_to_fp16=False)


if __name__ == "__main__":
    main()
