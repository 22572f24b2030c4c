"""llama.cpp through llama-cpp-python: one decode, in which the query's rows belong to the sequence of every item.

With --decode, the workload Q+NxT is N completions of T tokens, generated together, for prompts of Q tokens.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
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

    def _context(self, rows: int, sequences: int, is_unified: bool) -> ctypes.c_void_p:
        """A context for one decode of all rows in one micro-batch. Keys of all sequences are together if `is_unified`."""
        options = llama.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = (rows + 255) // 256 * 256
        options.n_seq_max = sequences
        options.kv_unified = is_unified
        options.n_threads = options.n_threads_batch = self.threads
        options.no_perf = True
        context = llama.llama_init_from_model(self.model, options)
        if not context:
            raise RuntimeError("llama.cpp cannot make a context")
        return context

    def prepare(self, workload: Workload) -> Pass:
        packed = pack(workload, self.vocab_size)
        rows = len(packed.ids)
        context = self._context(rows, workload.items, is_unified=True)
        batch = llama.llama_batch_init(rows, 0, workload.items)
        batch.n_tokens = rows
        reads = set(packed.reads.tolist())
        for row in range(rows):
            item = (row - workload.query_tokens) // workload.item_tokens
            sequences = range(workload.items) if row < workload.query_tokens else [item]
            _set_row(batch, row, int(packed.ids[row]), int(packed.positions[row]), sequences, row in reads)

        def log_probabilities(row: int) -> np.ndarray:
            logits = np.ctypeslib.as_array(llama.llama_get_logits_ith(context, row), (self.vocab_size,))
            most = logits.max()
            return logits[LABELS] - most - np.log(np.exp(logits - most).sum())

        def run() -> np.ndarray:
            llama.llama_memory_clear(llama.llama_get_memory(context), False)
            _decode(context, batch)
            return np.stack([log_probabilities(row) for row in packed.reads.tolist()])

        return run

    def prepare_completions(self, workload: Workload) -> Pass:
        """Every completion takes the most probable tokens."""
        sequences, prompt_tokens = workload.items, workload.query_tokens
        context = self._context(sequences * (prompt_tokens + workload.item_tokens), sequences, is_unified=False)
        prompts = llama.llama_batch_init(sequences * prompt_tokens, 0, 1)
        step = llama.llama_batch_init(sequences, 0, 1)
        prompts.n_tokens, step.n_tokens = sequences * prompt_tokens, sequences
        ids = Workload(prompt_tokens, sequences, prompt_tokens).item_list(self.vocab_size)
        reads = []
        for sequence in range(sequences):
            for position in range(prompt_tokens):
                row = sequence * prompt_tokens + position
                is_last = position == prompt_tokens - 1
                _set_row(prompts, row, ids[sequence][position], position, [sequence], is_last)
                if is_last:
                    reads.append(row)

        def most_probable(row: int) -> int:
            logits = np.ctypeslib.as_array(llama.llama_get_logits_ith(context, row), (self.vocab_size,))
            return int(logits.argmax())

        def run() -> np.ndarray:
            llama.llama_memory_clear(llama.llama_get_memory(context), False)
            _decode(context, prompts)
            tokens = [most_probable(row) for row in reads]
            for position in range(prompt_tokens, prompt_tokens + workload.item_tokens - 1):
                for sequence, token in enumerate(tokens):
                    _set_row(step, sequence, token, position, [sequence], True)
                _decode(context, step)
                tokens = [most_probable(row) for row in range(sequences)]
            return np.array(tokens)

        return run


def _set_row(batch: llama.llama_batch, row: int, token: int, position: int, sequences: Sequence[int], is_read: bool) -> None:
    batch.token[row] = token
    batch.pos[row] = position
    batch.n_seq_id[row] = len(sequences)
    for i, sequence in enumerate(sequences):
        batch.seq_id[row][i] = sequence
    batch.logits[row] = is_read


def _decode(context: ctypes.c_void_p, batch: llama.llama_batch) -> None:
    code = llama.llama_decode(context, batch)
    if code != 0:
        raise RuntimeError(f"llama_decode: {code}")


def main() -> None:
    parser = worker_flags(__doc__)
    parser.add_argument("--decode", action="store_true")
    flags = parser.parse_args()
    engine = LlamaEngine(flags.model, load_config(flags.config)["vocab_size"], flags.threads)
    serve({"engine": "llama.cpp", "version": f"llama-cpp-python {llama.__version__}, "
                                             f"{llama.llama_print_system_info().decode().strip()}"},
          engine.prepare_completions if flags.decode else engine.prepare)


if __name__ == "__main__":
    main()
