"""Writes the models of other engines: a Hugging Face directory becomes ONNX, and ONNX becomes int8.

The name of the output says whose: ONNX Runtime's int8 is an .onnx, OpenVINO's an .xml.
"""
from __future__ import annotations

import argparse
from pathlib import Path

from bench.encoders.shapes import SHAPES, Shape
from bench.encoders.worker_loop import pad
from bench.encoders.workload import WORKLOADS, texts_of

_CALIBRATION_TEXTS = 8


def _export(directory: Path, output: Path) -> None:
    import torch

    from bench.encoders.torch_model import Encoder
    model = Encoder(directory)
    shape = next(shape for shape in SHAPES.values() if shape.model_type == model.model.config.model_type
                 and shape.hidden == model.model.config.hidden_size and shape.layers == model.model.config.num_hidden_layers)
    arrays = pad(texts_of(WORKLOADS["texts" if model.embeds else "pairs"], shape)[:2], shape).arrays()
    dimensions = {0: torch.export.Dim("texts", min=1, max=4096), 1: torch.export.Dim("tokens", min=2, max=min(shape.positions, 8192) - 2)}
    torch.onnx.export(model, tuple(torch.from_numpy(array) for array in arrays.values()), output, input_names=list(arrays),
                      output_names=["result"], dynamic_shapes=tuple(dimensions for _ in arrays), dynamo=True)


def _quantize(plain: Path, output: Path, shape: Shape, embeds: bool) -> None:
    if output.suffix == ".onnx":
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
        model = onnx.load(plain)
        # PyTorch's exporter leaves shapes that contradict those that the quantization infers, which then fails.
        del model.graph.value_info[:]
        quantize_dynamic(model, output, weight_type=QuantType.QInt8, use_external_data_format=shape.parameters_of_products > 2**28)
        return
    import nncf
    import openvino as ov
    texts = texts_of(WORKLOADS["texts" if embeds else "pairs"], shape)[:_CALIBRATION_TEXTS]
    samples = [pad([text], shape).arrays() for text in texts]
    ov.save_model(nncf.quantize(ov.Core().read_model(plain), nncf.Dataset(samples), subset_size=len(samples),
                                model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.PERFORMANCE), output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export")
    quantize = commands.add_parser("quantize")
    for command in (export, quantize):
        command.add_argument("model", type=Path)
        command.add_argument("output", type=Path)
    quantize.add_argument("--shape", choices=list(SHAPES), required=True)
    quantize.add_argument("--embeds", action="store_true")
    flags = parser.parse_args()
    if flags.command == "export":
        _export(flags.model, flags.output)
    else:
        _quantize(flags.model, flags.output, SHAPES[flags.shape], flags.embeds)


if __name__ == "__main__":
    main()
