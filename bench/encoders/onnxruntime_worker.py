"""ONNX Runtime on the CPU, with a model of convert.py. int8 is its dynamic quantization."""
from __future__ import annotations

import numpy as np
import onnxruntime

from bench.encoders.shapes import SHAPES
from bench.encoders.worker_loop import Batch, serve, worker_flags


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = flags.threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(flags.model, options, providers=["CPUExecutionProvider"])

    def compute(batch: Batch) -> np.ndarray:
        return session.run(None, batch.arrays())[0]

    serve({"engine": "onnxruntime", "version": f"onnxruntime {onnxruntime.__version__}"}, compute, SHAPES[flags.shape])


if __name__ == "__main__":
    main()
