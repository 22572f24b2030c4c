"""Compares scorecast with PyTorch and transformers, OpenVINO and llama.cpp, on the same weights, tokens and threads.

Each engine is a process of its own. In every round each engine runs every workload in one pass, in random
order, so that the machine's drift affects all alike. With --decode, scorecast and llama.cpp generate completions
instead. Run by `bench/run peers`.
"""
from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from bench.kernel_sets import add_kernel_flag
from bench.peers import decoding
from bench.peers.engines import ALL, DEFAULT, REFERENCE, Bench, ConversionFailed, EnvironmentIncomplete
from bench.peers.report import EngineFigures, Figures, document, table
from bench.peers.workload import Workload
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import WorkerFailed, WorkerProcess

SETTLE_SECONDS = 0.05  # Pause before each pass, because threads of the engine before may still spin.


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorecast", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="0.5b", help="the model's shape (%(default)s)")
    add_kernel_flag(parser, list(DEFAULT))
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each engine (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    parser.add_argument("--workloads", nargs="+", default=["300+10x10", "300+100x10"], metavar="Q+NxT",
                        help="a query of Q tokens and N items of T (%(default)s)")
    parser.add_argument("--engines", nargs="+", choices=ALL, metavar="ENGINE",
                        help=f"one or more of: {' '.join(ALL)} (all, but of f32 only scorecast's; with --kernel avx2 all "
                             "but openvino:bf16, which is f32 there, and torch:bf16)")
    parser.add_argument("--decode", action="store_true",
                        help="tokens per second of 1, 4 and 16 completions, by scorecast and llama.cpp")
    add_json_flag(parser)
    parser.add_argument("--seed", type=int, help="seed of the random order")
    flags = parser.parse_args()
    flags.engines = flags.engines or DEFAULT[flags.kernel]
    for workload in flags.workloads:
        try:
            Workload.parse(workload)
        except ValueError as fault:
            parser.error(str(fault))
    return flags


def reference(bench: Bench, workloads: list[str]) -> dict[str, list[float]]:
    """Label log-probabilities in float32, by workload. Its process ends before others are timed."""
    progress("peers: the float32 reference")
    with bench.start(REFERENCE) as worker:
        worker.wait_until_ready()
        return {workload: worker.run(workload)["r"] for workload in workloads}


def measure(worker: WorkerProcess, workload: str, expected: list[float], engine: EngineFigures) -> None:
    reply = worker.run(workload)
    engine.seconds.setdefault(workload, []).append(reply["t"])
    engine.cpu_seconds.setdefault(workload, []).append(reply["cpu"])
    engine.memory = reply["memory"]
    if len(reply["r"]) != len(expected):
        raise WorkerFailed(f"{worker.name}: {workload}: {len(reply['r'])} values, not {len(expected)}")
    engine.differences.setdefault(workload, []).extend(abs(a - b) for a, b in zip(reply["r"], expected))


def run(flags: argparse.Namespace, bench: Bench, order: random.Random) -> Figures:
    bench.write_model()
    expected = reference(bench, flags.workloads)
    figures = Figures(flags.shape, flags.kernel, flags.threads, flags.rounds, flags.workloads, [], [])
    with ExitStack() as stack:
        workers: list[tuple[WorkerProcess, EngineFigures]] = []
        for name in flags.engines:
            progress(f"peers: starting {name}")
            try:
                worker = stack.enter_context(bench.start(name))
                worker.wait_until_ready()
                for workload in flags.workloads:
                    worker.run(workload)  # Warm-up.
            except (WorkerFailed, ConversionFailed) as fault:
                figures.not_run.append(str(fault))
                progress(f"peers: not run: {fault}")
                continue
            workers.append((worker, EngineFigures(name, worker.info)))
        for number in range(flags.rounds):
            progress(f"peers: round {number + 1} of {flags.rounds}")
            for workload in flags.workloads:
                for worker, engine in order.sample(workers, len(workers)):
                    time.sleep(SETTLE_SECONDS)
                    measure(worker, workload, expected[workload], engine)
        figures.engines = [engine for _, engine in workers]
    return figures


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    bench = Bench(flags.scorecast, flags.scorecast_worker, flags.shape, flags.kernel, flags.models, flags.work, flags.threads)
    order = random.Random(flags.seed)
    try:
        bench.check(flags.engines)
        if flags.decode:
            decoded = decoding.run(bench, flags.engines, flags.rounds, order)
            print_result(decoding.table_of(bench, *decoded), decoding.document_of(bench, *decoded), flags.json)
            return 0
        figures = run(flags, bench, order)
    except (WorkerFailed, ConversionFailed, EnvironmentIncomplete) as fault:
        print(f"bench/run peers: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(table(figures), document(figures), flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
