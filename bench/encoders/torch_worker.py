"""PyTorch with transformers. int8 is dynamic quantization of all linear layers of the float32 model."""
from __future__ import annotations

import numpy as np
import torch
import transformers

from bench.encoders.shapes import SHAPES
from bench.encoders.torch_model import Encoder
from bench.encoders.worker_loop import Batch, serve, worker_flags


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    torch.set_num_threads(flags.threads)
    torch.set_grad_enabled(False)
    model = Encoder(flags.model, torch.bfloat16 if flags.dtype == "bf16" else torch.float32)
    if flags.dtype == "int8":
        model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)

    def compute(batch: Batch) -> np.ndarray:
        return model(**{name: torch.from_numpy(array) for name, array in batch.arrays().items()}).numpy()

    version = f"torch {torch.__version__}, transformers {transformers.__version__}, {torch.backends.cpu.get_cpu_capability()}"
    serve({"engine": "torch", "version": version}, compute, SHAPES[flags.shape])


if __name__ == "__main__":
    main()
