"""Tokens per second of completions that are generated together, by `scorecast batch` and by llama.cpp."""
from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any

from bench.documents.documents_bench import (COMPLETION_TOKENS, COMPLETIONS, PROMPT_TOKENS, DecodingFigures, complete,
                                             kv_cache_mb)
from bench.documents.requests import FreshTokens
from bench.documents.scorecast import Scorecast, batch_command
from bench.passes.tables import table
from bench.peers.engines import Bench, ConversionFailed
from bench.peers.workload import load_config
from bench.progress import progress
from bench.samples import spread
from bench.worker_process import WorkerFailed, WorkerProcess

SETTLE_SECONDS = 0.2  # Pause before each measurement, because threads of llama.cpp spin for a while.


class Scorecasts:
    """The executable, and a worker that knows the bytes of its weights and reads memory as fast as it can."""

    def __init__(self, bench: Bench, dtype: str, stack: ExitStack) -> None:
        config = load_config(bench.model)
        self._tokens = FreshTokens(config["vocab_size"])
        command = batch_command(bench.scorecast, bench.model, dtype, bench.kernel, bench.threads, kv_cache_mb(config, dtype))
        log = bench.work / "logs" / f"scorecast-batch-{dtype}.txt"
        self._scorecast = stack.enter_context(Scorecast(f"scorecast {dtype}", command, log, bench.environment("scorecast")))
        self._worker = stack.enter_context(bench.start(f"scorecast:{dtype}"))
        self._worker.wait_until_ready()
        self.info = self._worker.info

    def measure(self, figures: DecodingFigures) -> None:
        complete(self._scorecast, self._tokens, figures)
        figures.bytes_per_second.append(self._worker.run("reads")["bytes_per_second"])


class LlamaCpp:
    def __init__(self, bench: Bench, dtype: str, stack: ExitStack) -> None:
        self._worker: WorkerProcess = stack.enter_context(bench.start(f"llama.cpp:{dtype}", "--decode"))
        self._worker.wait_until_ready()
        self.info = self._worker.info

    def measure(self, figures: DecodingFigures) -> None:
        for samples, new_tokens in [(figures.first, 1), (figures.whole, COMPLETION_TOKENS)]:
            samples.seconds.append(self._worker.run(f"{PROMPT_TOKENS}+{figures.completions}x{new_tokens}")["t"])


@dataclass
class EngineDecoding:
    """Figures of one engine and dtype, by number of completions."""

    name: str  # "tool:dtype"
    engine: Scorecasts | LlamaCpp
    figures: dict[int, DecodingFigures] = field(default_factory=lambda: {n: DecodingFigures(n) for n in COMPLETIONS})

    @property
    def dtype(self) -> str:
        return self.name.split(":")[1]


def start(bench: Bench, name: str, stack: ExitStack) -> EngineDecoding:
    tool, dtype = name.split(":")
    engine = EngineDecoding(name, (Scorecasts if tool == "scorecast" else LlamaCpp)(bench, dtype, stack))
    for completions in COMPLETIONS:
        engine.engine.measure(DecodingFigures(completions))  # Warm-up.
    return engine


def run(bench: Bench, names: list[str], rounds: int, order: Random) -> tuple[list[EngineDecoding], list[str]]:
    """Engines of scorecast and llama.cpp among `names`, and the reasons why others were not run."""
    engines: list[EngineDecoding] = []
    not_run: list[str] = []
    bench.write_model()
    with ExitStack() as stack:
        for name in names:
            if name.startswith(("scorecast:", "llama.cpp:")):
                progress(f"peers: starting {name}")
                try:
                    engines.append(start(bench, name, stack))
                except (WorkerFailed, ConversionFailed) as fault:
                    not_run.append(str(fault))
                    progress(f"peers: not run: {fault}")
        for number in range(rounds):
            progress(f"peers: round {number + 1} of {rounds}")
            for completions in COMPLETIONS:
                for engine in order.sample(engines, len(engines)):
                    time.sleep(SETTLE_SECONDS)
                    engine.engine.measure(engine.figures[completions])
    return engines, not_run


def ratios(theirs: DecodingFigures, ours: DecodingFigures) -> list[float]:
    """Our tokens per second over theirs, round by round."""
    return [a / b for a, b in zip(theirs.step_seconds(), ours.step_seconds())]


def table_of(bench: Bench, engines: list[EngineDecoding], not_run: list[str]) -> str:
    rows = []
    for engine in engines:
        ours = next((e for e in engines if e.name == f"scorecast:{engine.dtype}" and e is not engine), None)
        weight_bytes = engine.engine.info.get("weight_bytes", 0)
        for completions, figures in engine.figures.items():
            compared = ratios(figures, ours.figures[completions]) if ours else []
            share = figures.share_of_limit(weight_bytes)
            rows.append([*engine.name.split(":"), str(completions), spread(figures.tokens_per_second(), 1),
                         spread([1000 * s for s in figures.step_seconds()], 1), spread(compared, 2) if compared else "",
                         spread(share, 2) if share else ""])
    lines = [f"Completions of {COMPLETION_TOKENS} tokens for prompts of {PROMPT_TOKENS}: shape {bench.shape}, --kernel "
             f"{bench.kernel}, {bench.threads} thread{'s' if bench.threads != 1 else ''}; median (min-max)", "",
             table(["engine", "dtype", "completions together", "tokens/s", "ms per step", "scorecast / engine",
                    "share of the limit"], rows), "",
             "\"scorecast / engine\": tokens/s in the same dtype and round. \"share of the limit\": time of reading scorecast's "
             "weights once over that of a step.", ""]
    lines += [f"- {engine.name}: {engine.engine.info['version']}" for engine in engines]
    lines += [f"- not run: {reason}" for reason in not_run]
    for engine in engines:
        rates = engine.figures[1].bytes_per_second
        if rates:
            lines.append(f"- {engine.name}: {engine.engine.info['weight_bytes'] / 1e6:.0f} MB of weights, "
                         f"{median(rates) / 1e9:.1f} GB/s")
    return "\n".join(lines)


def document_of(bench: Bench, engines: list[EngineDecoding], not_run: list[str]) -> dict[str, Any]:
    """The JSON document, with every sample."""
    return {"bench": "peers --decode", "shape": bench.shape, "kernel": bench.kernel, "threads": bench.threads,
            "engines": [{"engine": engine.name, "version": engine.engine.info["version"],
                         "weight_bytes": engine.engine.info.get("weight_bytes"),
                         "completions": [{"together": completions, "step_seconds": figures.step_seconds(),
                                          "bytes_per_second": figures.bytes_per_second}
                                         for completions, figures in engine.figures.items()]} for engine in engines],
            "not_run": not_run}
