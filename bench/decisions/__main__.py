"""Questions about a state, all in one request against one request for each.

Two services of one rank take turns: one with a cache of keys and values, and one without. Other engines compute a pass for each
question, in the same turns. Run by `bench/run decisions`.
"""
from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench import kernel_sets
from bench.company.service import ServiceFailed
from bench.decisions.measure import Asked, Figures, Rounds
from bench.decisions.model import write_model
from bench.decisions.peers import DEFAULT, Peers
from bench.decisions.report import Run
from bench.decisions.server import Server
from bench.kernel_sets import add_kernel_flag
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import WorkerFailed, write_random_model

DTYPES = ["f32", "bf16", "int8"]


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run decisions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH", help="the executable (%(default)s)")
    add("--scorecast-worker", type=Path, default=Path("build/release/bench/worker/scorecast_bench_worker"), help=argparse.SUPPRESS)
    add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    add("--work", type=Path, default=Path("build/bench-decisions"), help="directory of logs (%(default)s)")
    add("--peers-work", type=Path, default=Path("build/bench-peers"), help="directory of other engines' models (%(default)s)")
    add("--shape", default="0.5b", help="the model's shape; its weights are random (%(default)s)")
    add("--dtype", nargs="+", choices=DTYPES, default=["bf16"], metavar="DTYPE", help=f"one or more of: {' '.join(DTYPES)} (bf16)")
    add_kernel_flag(parser)
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of each engine (%(default)s)")
    add("--questions", nargs="+", type=int, default=[1, 20, 100], help="numbers of questions about a state (1 20 100)")
    add("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    add("--engines", nargs="*", choices=DEFAULT, default=DEFAULT, metavar="ENGINE",
        help=f"other engines, with the same dtype: {' '.join(DEFAULT)} (all; none if no name follows)")
    add_json_flag(parser)
    flags = parser.parse_args()
    if min([flags.threads, flags.rounds, *flags.questions]) < 1:
        parser.error("--threads, --rounds and --questions must be at least 1")
    return flags


def _measure(flags: argparse.Namespace, model: Path, dtype: str, run: Run) -> Figures:
    with ExitStack() as stack:
        def server(cached: bool) -> Server:
            log = flags.work / "logs" / f"{flags.shape}-{dtype}{'' if cached else '-uncached'}.txt"
            return stack.enter_context(Server(flags.scorecast, model, dtype, flags.kernel, flags.threads, cached, log))

        progress(f"decisions: starting {dtype}")
        cached, uncached = server(True), server(False)
        peers = Peers(flags.engines, flags.shape, dtype, flags.kernel, flags.threads, flags.scorecast, flags.scorecast_worker, flags.models,
                      flags.peers_work, stack)
        run.not_run += peers.not_run
        rounds = Rounds(cached, uncached)
        figures = Figures(dtype, cached.engine(), flags.threads, [Asked(questions) for questions in flags.questions])
        rounds.warm_up(figures)
        for number in range(flags.rounds):
            progress(f"decisions: round {number + 1} of {flags.rounds}, {dtype}")
            rounds.run(figures)
            peers.run(figures)
        figures.peer_versions = peers.versions()
        return figures


def main() -> int:
    flags = _flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    os.environ.update(kernel_sets.environment(flags.kernel))  # For the services' libraries.
    source, model = flags.models / flags.shape, flags.models / f"decisions-{flags.shape}"
    try:
        write_random_model(flags.scorecast_worker, flags.models, flags.shape)
        write_model(source, model)
        run = Run(flags.shape, flags.kernel, flags.rounds)
        for dtype in flags.dtype:
            run.figures.append(_measure(flags, model, dtype, run))
    except (ServiceFailed, WorkerFailed, subprocess.CalledProcessError) as fault:
        print(f"bench/run decisions: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(run.markdown(), run.document(), flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
