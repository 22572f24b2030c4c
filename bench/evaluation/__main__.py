"""lm-evaluation-harness: a question's choices as one request of our model class, against its own local-completions.

Every way to ask has a service of its own in each round, with a cache of keys and values that is empty at first, or without one. Run
by `bench/run evaluation`.
"""
from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.company.service import Service, ServiceFailed
from bench.evaluation.model import DEMO, write_model
from bench.evaluation.report import Row, Run
from bench.evaluation.tasks import write_tasks
from bench.kernel_sets import add_kernel_flag
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import write_random_model

_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "LOGLEVEL": "ERROR", "TQDM_DISABLE": "1"}


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run evaluation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH", help="the executable (%(default)s)")
    add("--scorecast-worker", type=Path, default=Path("build/release/bench/worker/scorecast_bench_worker"), help=argparse.SUPPRESS)
    add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    add("--work", type=Path, default=Path("build/bench-evaluation"), help="directory of tasks and logs (%(default)s)")
    add("--shape", nargs="*", default=["0.1b"], help="shapes of random models beside tests/demo_model (0.1b)")
    add("--dtype", default="f32", choices=["f32", "bf16", "int8"], help="precision (%(default)s)")
    add_kernel_flag(parser)
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of each service (%(default)s)")
    add("--questions", type=int, default=10, help="questions of four choices (%(default)s)")
    add("--rounds", type=int, default=3, help="rounds of measurements (%(default)s)")
    add_json_flag(parser)
    flags = parser.parse_args()
    if min(flags.threads, flags.rounds, flags.questions) < 1:
        parser.error("--threads, --rounds and --questions must be at least 1")
    return flags


def _url(service: Service) -> str:
    host, port = service.http_address
    return f"http://{host}:{port}"


def _difference(task_answers: list[Any], ours: list[Any]) -> float:
    def of(a: Any, b: Any) -> float:
        if isinstance(a, str):
            return float(a != b)
        return abs(a[0] - b[0]) if isinstance(a, tuple) else abs(a - b)

    return max(of(a, b) for a, b in zip(task_answers, ours, strict=True))


def _measure(flags: argparse.Namespace, name: str, model: Path, tasks: Path, run: Run) -> None:
    from bench.evaluation.harness import WAYS, Harness  # Only this needs lm-eval.

    harness = Harness(tasks)
    rows = {(task, way.name): Row(name, task, way.name, 0, 0) for task, ways in WAYS.items() for way in ways}
    run.rows += rows.values()
    for number in range(flags.rounds):
        for cached in (False, True):
            for task, ways in WAYS.items():
                ours: list[Any] = []
                for way in ways:
                    progress(f"evaluation: round {number + 1} of {flags.rounds}, {name}, {task}, {way.name}{', cached' if cached else ''}")
                    engine_flags = {"--dtype": flags.dtype, "--kernel": flags.kernel, "--threads": flags.threads}
                    with Service(flags.scorecast, model, 1, engine_flags | ({} if cached else {"--kv-cache-mb": 0}),
                                 flags.work / "logs" / f"{name}.txt") as service:
                        evaluated = harness.evaluate(task, way, _url(service), model)
                        found = re.search(r"dtype [^;\n]+", service.log.read_text(errors="replace"))
                        run.engine = found[0] if found else "unknown"
                    ours = ours or evaluated.answers
                    row = rows[task, way.name]
                    row.metric, row.difference = evaluated.metric, max(row.difference, _difference(evaluated.answers, ours))
                    (row.cached if cached else row.uncached).append(evaluated.seconds)


def main() -> int:
    flags = _flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    os.environ.update(_OFFLINE, HF_HOME=str(flags.work.resolve() / "huggingface"))
    try:
        from bench.evaluation.harness import versions
    except ImportError as fault:
        print(f"bench/run evaluation: {fault.name} is not installed: see bench/README.md", file=sys.stderr)
        return 1
    write_tasks(flags.work / "tasks", flags.questions)
    run = Run(versions(), flags.questions, flags.rounds)
    try:
        for name in ["demo", *flags.shape]:
            source = DEMO if name == "demo" else flags.models / name
            if source != DEMO:
                write_random_model(flags.scorecast_worker, flags.models, name)
            write_model(source, flags.models / f"evaluation-{name}")
            _measure(flags, name, flags.models / f"evaluation-{name}", flags.work / "tasks", run)
    except (ServiceFailed, subprocess.CalledProcessError) as fault:
        print(f"bench/run evaluation: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(run.markdown(), run.document(), flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
