"""Other engines, which compute a pass for each question."""
from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from bench.decisions.measure import TIMED, Figures
from bench.decisions.questions import QUESTION_TOKENS, STATE_TOKENS
from bench.peers.engines import Bench, ConversionFailed, EnvironmentIncomplete
from bench.progress import progress
from bench.worker_process import WorkerFailed, WorkerProcess

_PACKAGES = {"llama.cpp": ("llama_cpp", "gguf"), "torch": ("torch", "transformers")}
DEFAULT = list(_PACKAGES)
_WORKLOAD = f"{STATE_TOKENS}+1x{QUESTION_TOKENS}"
_SETTLE_SECONDS = 0.05  # Pause before an engine's passes, because threads of the engine before may still spin.


class Peers:
    """Engines that are not installed, or do not start, are in `not_run`, with the reason."""

    def __init__(self, tools: Sequence[str], shape: str, dtype: str, kernel: str, threads: int, scorecast: Path, worker: Path, models: Path,
                 work: Path, stack: ExitStack) -> None:
        self.not_run: list[str] = []
        self._workers: list[WorkerProcess] = []
        bench = Bench(scorecast, worker, shape, kernel, models, work, threads)
        for tool in tools:
            name = f"{tool}:{dtype}"
            missing = [package for package in _PACKAGES[tool] if not find_spec(package)]
            if missing:
                self.not_run.append(f"{name}: {' and '.join(missing)} not installed: see bench/peers/make_environment")
                continue
            progress(f"decisions: starting {name}")
            try:
                bench.check([name])
                engine = stack.enter_context(bench.start(name))
                engine.wait_until_ready()
                engine.run(_WORKLOAD)  # Warm-up.
            except (WorkerFailed, ConversionFailed, EnvironmentIncomplete) as fault:
                self.not_run.append(str(fault))
                continue
            self._workers.append(engine)

    def run(self, figures: Figures) -> None:
        """A pass is that of a state and one question, so that those of several questions are so many times as long."""
        most = max(asked.questions for asked in figures.asked)
        for worker in self._workers:
            time.sleep(_SETTLE_SECONDS)
            seconds = [worker.run(_WORKLOAD)["t"] for _ in range(min(most, TIMED))]
            for asked in figures.asked:
                timed = seconds[:asked.questions]
                asked.peers.setdefault(worker.name, []).append(sum(timed) * asked.questions / len(timed))

    def versions(self) -> dict[str, str]:
        return {worker.name: worker.info["version"] for worker in self._workers}
