"""Encoders: pairs for a classifier, and texts for an embedder with mean pooling, by scorecast and by other engines.

scorecast is asked over HTTP with token ids. PyTorch with transformers, ONNX Runtime and OpenVINO compute the same ids with the
same weights in padded batches. All take turns, in random order. Run by `bench/run encoders`.
"""
from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench import kernel_sets
from bench.company.service import ServiceFailed
from bench.encoders.agreement import ask
from bench.encoders.model import write_models
from bench.encoders.peers import DEFAULT, NotRun, Peers
from bench.encoders.products import Passes
from bench.encoders.report import OURS, EngineFigures, Run
from bench.encoders.server import Server
from bench.encoders.shapes import SHAPES, Shape
from bench.encoders.workload import WORKLOADS, Measured, Workload
from bench.kernel_sets import add_kernel_flag
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import WorkerFailed, WorkerProcess

_DEFAULT_PASS_MS = 200  # Of `scorecast serve`.
_DTYPES = ["f32", "bf16", "int8"]
_SETTLE_SECONDS = 0.05  # Pause before an engine's turn, because threads of the engine before may still spin.

Engine = tuple[str, str, str, Callable[[Workload], Measured]]  # Tool, dtype, version, and what computes.


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run encoders", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH", help="the executable (%(default)s)")
    add("--scorecast-worker", type=Path, default=Path("build/release/bench/worker/scorecast_bench_worker"), metavar="PATH",
        help="the engine without a service, for passes beside their products (%(default)s)")
    add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    add("--work", type=Path, default=Path("build/bench-encoders"), help="directory of logs and of other engines' models (%(default)s)")
    add("--shape", nargs="+", choices=list(SHAPES), default=["minilm-l6"], metavar="SHAPE",
        help=f"one or more of: {' '.join(SHAPES)} (minilm-l6)")
    add("--dtype", nargs="+", choices=_DTYPES, default=_DTYPES, metavar="DTYPE", help=f"one or more of: {' '.join(_DTYPES)} (all)")
    add_kernel_flag(parser)
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of each engine (%(default)s)")
    add("--workloads", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS), metavar="WORKLOAD",
        help="; ".join(f"{name}: {workload.title}" for name, workload in WORKLOADS.items()) + " (all)")
    add("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    add("--max-pass-ms", type=int, nargs="+", default=[_DEFAULT_PASS_MS], metavar="MS",
        help="bound of the time of a pass; with several, scorecast runs once for each, and others are compared with the first (%(default)s)")
    add("--engines", nargs="*", choices=DEFAULT, default=DEFAULT, metavar="ENGINE",
        help=f"other engines: {' '.join(DEFAULT)} (all; none if no name follows)")
    add("--agreement", action="store_true",
        help="also how well bf16 and int8 agree with f32: cosines of vectors, and 200 random rankings")
    add_json_flag(parser)
    add("--seed", type=int, help="seed of the random order")
    flags = parser.parse_args()
    if min(flags.threads, flags.rounds, *flags.max_pass_ms) < 1:
        parser.error("--threads, --rounds and --max-pass-ms must be at least 1")
    if flags.agreement and "f32" not in flags.dtype:
        parser.error("--agreement needs the dtype f32, with which others are compared")
    return flags


def _worker(worker: WorkerProcess) -> Callable[[Workload], Measured]:
    def run(workload: Workload) -> Measured:
        reply = worker.run(workload.name)
        return Measured(reply["t"], reply["cpu"], reply["r"])
    return run


def _start(flags: argparse.Namespace, shape: Shape, dtype: str, model: Path, workloads: list[Workload], run: Run,
           stack: ExitStack) -> list[Engine]:
    """All engines of a dtype, after they have computed each workload once."""
    embeds = workloads[0].embeds
    engines: list[Engine] = []
    for pass_ms in dict.fromkeys(flags.max_pass_ms):
        progress(f"encoders: starting {OURS}:{dtype} with {model.name} and passes of {pass_ms} ms")
        log = flags.work / "logs" / f"{model.name}-{dtype}-{pass_ms}.txt"
        server = stack.enter_context(Server(flags.scorecast, model, shape, dtype, flags.kernel, flags.threads, pass_ms, log))
        for workload in workloads:
            server.run(workload)
        if flags.agreement and not engines:
            run.agreements.append(ask(server, shape, dtype, embeds))
        engines.append((f"{OURS}, passes of {pass_ms} ms" if engines else OURS, dtype, server.version(), server.run))
    peers = Peers(shape, flags.kernel, flags.threads, flags.work)
    for tool in flags.engines:
        progress(f"encoders: starting {tool}:{dtype} with {model.name}")
        try:
            worker = peers.start(tool, dtype, model, embeds)
            stack.enter_context(worker)
            worker.wait_until_ready()
            for workload in workloads:
                worker.run(workload.name)
        except (NotRun, WorkerFailed) as fault:
            progress(f"encoders: not run: {fault}")
            if str(fault) not in run.not_run:
                run.not_run.append(str(fault))
            continue
        engines.append((tool, dtype, worker.info["version"], _worker(worker)))
    return engines


def _start_passes(flags: argparse.Namespace, shape: Shape, dtype: str, model: Path, workloads: list[Workload], run: Run,
                  stack: ExitStack) -> Passes | None:
    """None for texts of an embedder, whose passes are of the same kind."""
    if workloads[0].embeds:
        return None
    log = flags.work / "logs" / f"{model.name}-{dtype}-pass.txt"
    progress(f"encoders: starting the bench worker:{dtype} with {model.name}")
    passes = Passes(flags.scorecast_worker, model, shape, dtype, flags.kernel, flags.threads, workloads, log, stack)
    run.passes += passes.figures.values()
    run.not_run += passes.not_run
    return passes


def _measure(flags: argparse.Namespace, shape: Shape, engines: list[Engine], passes: Passes | None, workloads: list[Workload],
             order: random.Random) -> list[EngineFigures]:
    figures = {(tool, workload.name): EngineFigures(shape.name, workload.name, tool, dtype, version)
               for workload in workloads for tool, dtype, version, _ in engines}
    for number in range(flags.rounds):
        for workload in workloads:
            progress(f"encoders: round {number + 1} of {flags.rounds}, {shape.name}, {engines[0][1]}, {workload.title}")
            for tool, _, _, compute in order.sample(engines, len(engines)):
                time.sleep(_SETTLE_SECONDS)
                results = [compute(workload) for _ in range(workload.repeats)]
                engine = figures[tool, workload.name]
                engine.seconds.append(median(each.seconds for each in results))
                engine.cpu_seconds.append(median(each.cpu_seconds for each in results))
                engine.values = engine.values or results[0].values
            if passes:
                time.sleep(_SETTLE_SECONDS)
                passes.measure(workload)
    return list(figures.values())


def main() -> int:
    flags = _flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    os.environ.update(kernel_sets.environment(flags.kernel))  # For the service's libraries.
    order = random.Random(flags.seed)
    run = Run(flags.kernel, flags.rounds, flags.threads, flags.max_pass_ms[0])
    try:
        for shape in (SHAPES[name] for name in flags.shape):
            models = write_models(shape, flags.models)
            for embeds in (False, True):
                workloads = [WORKLOADS[name] for name in flags.workloads if WORKLOADS[name].embeds == embeds]
                for dtype in flags.dtype if workloads else []:
                    with ExitStack() as stack:
                        engines = _start(flags, shape, dtype, models[embeds], workloads, run, stack)
                        passes = _start_passes(flags, shape, dtype, models[embeds], workloads, run, stack)
                        run.figures += _measure(flags, shape, engines, passes, workloads, order)
    except (ServiceFailed, WorkerFailed) as fault:
        print(f"bench/run encoders: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(run.markdown(), run.document(), flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
