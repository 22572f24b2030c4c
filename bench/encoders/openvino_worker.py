"""OpenVINO on the CPU, with a model of convert.py. int8 is post-training quantization of weights and activations."""
from __future__ import annotations

import os

import numpy as np
import openvino as ov

from bench.encoders.shapes import SHAPES
from bench.encoders.worker_loop import Batch, serve, worker_flags


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    options = {"INFERENCE_NUM_THREADS": flags.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "bf16" if flags.dtype == "bf16" else "f32"}
    request = ov.Core().compile_model(flags.model, "CPU", options).create_infer_request()

    def compute(batch: Batch) -> np.ndarray:
        return request.infer(batch.arrays(), share_inputs=True)[0]

    held = ", whose float32 products use AVX-512 if the CPU has it" if "ONEDNN_MAX_CPU_ISA" in os.environ else ""
    serve({"engine": "openvino", "version": f"OpenVINO {ov.__version__}{held}"}, compute, SHAPES[flags.shape])


if __name__ == "__main__":
    main()
