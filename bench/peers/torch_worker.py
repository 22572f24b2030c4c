"""PyTorch with Hugging Face transformers: one forward pass with a mask, positions and the rows to read.

int8 is dynamic quantization of all linear layers of the float32 model.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers

from bench.peers.worker_loop import Pass, serve, worker_flags
from bench.peers.workload import LABELS, Workload, pack

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}


class TorchEngine:
    def __init__(self, model: Path, dtype: str) -> None:
        self.dtype = DTYPES[dtype]
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            model, dtype=self.dtype, attn_implementation="sdpa").eval()
        if dtype == "int8":
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)

    def prepare(self, workload: Workload) -> Pass:
        packed = pack(workload, self.model.config.vocab_size)
        ids, positions, reads = (torch.from_numpy(a) for a in (packed.ids, packed.positions, packed.reads))
        mask = torch.zeros(packed.sees.shape, dtype=self.dtype)
        mask.masked_fill_(~torch.from_numpy(packed.sees), torch.finfo(self.dtype).min)

        def run() -> np.ndarray:
            logits = self.model(input_ids=ids[None], position_ids=positions[None], attention_mask=mask[None, None],
                                use_cache=False, logits_to_keep=reads).logits[0]
            return torch.log_softmax(logits.float(), -1)[:, LABELS].numpy()

        return run


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    torch.set_num_threads(flags.threads)
    torch.set_grad_enabled(False)
    engine = TorchEngine(flags.model, flags.dtype)
    serve({"engine": "torch", "version": f"torch {torch.__version__}, transformers {transformers.__version__}, "
                                         f"{torch.backends.cpu.get_cpu_capability()}"}, engine.prepare)


if __name__ == "__main__":
    main()
