"""llama.cpp through llama-cpp-python: one decode, in which the query's rows belong to the sequence of every item."""
from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp as llama
import numpy as np

from bench.peers.worker_loop import Pass, serve, worker_flags
from bench.peers.workload import LABELS, Workload, load_config, pack


class LlamaEngine:
    def __init__(self, model: Path, vocab_size: int, threads: int) -> None:
        llama.llama_backend_init()
        options = llama.llama_model_default_params()
        options.n_gpu_layers = 0
        self.model = llama.llama_model_load_from_file(str(model).encode(), options)
        if not self.model:
            raise RuntimeError(f"llama.cpp cannot load {model}")
        self.vocab_size = vocab_size
        self.threads = threads

    def _context(self, rows: int, sequences: int) -> ctypes.c_void_p:
        """A context for one decode of all rows in one micro-batch."""
        options = llama.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = (rows + 255) // 256 * 256
        options.n_seq_max = sequences
        options.kv_unified = True
        options.n_threads = options.n_threads_batch = self.threads
        options.no_perf = True
        context = llama.llama_init_from_model(self.model, options)
        if not context:
            raise RuntimeError("llama.cpp cannot make a context")
        return context

    def prepare(self, workload: Workload) -> Pass:
        packed = pack(workload, self.vocab_size)
        rows = len(packed.ids)
        context = self._context(rows, workload.items)
        batch = llama.llama_batch_init(rows, 0, workload.items)
        batch.n_tokens = rows
        reads = set(packed.reads.tolist())
        for row in range(rows):
            item = (row - workload.query_tokens) // workload.item_tokens
            sequences = range(workload.items) if row < workload.query_tokens else [item]
            batch.token[row] = int(packed.ids[row])
            batch.pos[row] = int(packed.positions[row])
            batch.n_seq_id[row] = len(sequences)
            for i, sequence in enumerate(sequences):
                batch.seq_id[row][i] = sequence
            batch.logits[row] = row in reads

        def log_probabilities(row: int) -> np.ndarray:
            logits = np.ctypeslib.as_array(llama.llama_get_logits_ith(context, row), (self.vocab_size,))
            most = logits.max()
            return logits[LABELS] - most - np.log(np.exp(logits - most).sum())

        def run() -> np.ndarray:
            llama.llama_memory_clear(llama.llama_get_memory(context), False)
            code = llama.llama_decode(context, batch)
            if code != 0:
                raise RuntimeError(f"llama_decode: {code}")
            return np.stack([log_probabilities(row) for row in packed.reads.tolist()])

        return run


def main() -> None:
    flags = worker_flags(__doc__).parse_args()
    engine = LlamaEngine(flags.model, load_config(flags.config)["vocab_size"], flags.threads)
    serve({"engine": "llama.cpp", "version": f"llama-cpp-python {llama.__version__}, "
                                             f"{llama.llama_print_system_info().decode().strip()}"}, engine.prepare)


if __name__ == "__main__":
    main()
