"""OpenVINO on the CPU, with a model of openvino_model.py."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import openvino as ov

from bench.peers.openvino_model import model_inputs
from bench.peers.worker_loop import Pass, serve, worker_flags
from bench.peers.workload import LABELS, Workload, load_config, pack


class OpenVinoEngine:
    def __init__(self, model: Path, vocab_size: int, dtype: str, threads: int) -> None:
        # The parts of an int8 model that are not quantized run in bf16, the fastest precision of OpenVINO. It believes
        # that oneDNN has bf16 also if that is held to older instructions, and then fails.
        is_float32 = dtype == "f32" or "ONEDNN_MAX_CPU_ISA" in os.environ
        options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                   "INFERENCE_PRECISION_HINT": "f32" if is_float32 else "bf16"}
        self.vocab_size = vocab_size
        self.request = ov.Core().compile_model(model, "CPU", options).create_infer_request()

    def prepare(self, workload: Workload) -> Pass:
        inputs = model_inputs(pack(workload, self.vocab_size))

        def run() -> np.ndarray:
            return self.request.infer(inputs, share_inputs=True, share_outputs=True)[0][:, LABELS].copy()

        return run


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    engine = OpenVinoEngine(flags.model, load_config(flags.config)["vocab_size"], flags.dtype, flags.threads)
    held = ", whose float32 products use AVX-512 if the CPU has it" if "ONEDNN_MAX_CPU_ISA" in os.environ else ""
    serve({"engine": "openvino", "version": f"OpenVINO {ov.__version__}{held}"}, engine.prepare)


if __name__ == "__main__":
    main()
