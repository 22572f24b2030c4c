"""Compares a pass with its bare matrix products and with scoring the same items one by one; measures how it
scales with ranks and threads, the memory that it needs, and the time that a cache of documents saves.

All variants of a comparison run in turns, round by round, so that the machine's drift affects all
alike. Run by `bench/run`.
"""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.documents.documents_bench import DocumentsBench
from bench.kernel_sets import add_kernel_flag
from bench.passes.curve import run_curve
from bench.passes.invariance import run_invariance
from bench.passes.jobs import DTYPES, Jobs, Layout, Refused
from bench.passes.memory import run_memory
from bench.passes.pass_bench import PassBench
from bench.passes.report import Figures
from bench.passes.scaling import layouts, run_scaling
from bench.passes.start import run_start
from bench.worker_process import WorkerFailed

PASS_WORKLOADS = ["300+10x10", "300+100x10", "300+128x50"]
SCALING_WORKLOADS = ["300+10x10", "300+100x10"]
BENCHES = ["all", "pass", "scaling", "memory", "documents", "start", "curve", "invariance"]


def parse_flags() -> argparse.Namespace:
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="?", choices=BENCHES, default="all", help=argparse.SUPPRESS)
    parser.add_argument("--scorecast", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="0.5b", help="the model's shape; its weights are random (%(default)s)")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES, metavar="DTYPE",
                        help=f"one or more of: {' '.join(DTYPES)} (all)")
    add_kernel_flag(parser)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2],
                        help="numbers of ranks for scaling, with all --threads for which there are CPUs, and for invariance, "
                             "with the fewest --threads (1 2)")
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, cpus}),
                        help=f"threads of a rank; benches of one rank use the largest value (1 and the number of CPUs: {cpus})")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    parser.add_argument("--workloads", nargs="+", metavar="Q+NxT",
                        help="a query of Q tokens and N items of T; for pass and scaling "
                             f"({' '.join(PASS_WORKLOADS)}; for scaling the first two)")
    flags = parser.parse_args()
    if min([*flags.ranks, *flags.threads, flags.rounds]) < 1:
        parser.error("--ranks, --threads and --rounds must be at least 1")
    flags.layouts = layouts(flags.ranks, flags.threads, cpus)
    if not flags.layouts and flags.bench != "invariance":
        parser.error(f"this machine has {cpus} CPUs: fewer than the smallest --ranks times the smallest --threads")
    return flags


def run(flags: argparse.Namespace, figures: Figures) -> None:
    def wanted(bench: str) -> bool:
        return flags.bench == bench or flags.bench == "all" and bench not in ("start", "curve", "invariance")

    def jobs(stack: ExitStack) -> Jobs:
        return Jobs(flags.scorecast_worker, flags.models, flags.shape, flags.kernel, flags.work / "logs", refused, stack)

    refused = Refused()
    one_rank = max((each for each in flags.layouts if each.ranks == 1), key=lambda each: each.threads,
                   default=next(iter(flags.layouts), None))
    if wanted("pass"):
        with ExitStack() as stack:
            bench = PassBench(jobs(stack), flags.dtype, one_rank, flags.workloads or PASS_WORKLOADS)
            figures.passes = bench.run(flags.rounds)
    if wanted("scaling"):
        with ExitStack() as stack:
            figures.scaling = run_scaling(jobs(stack), flags.dtype, flags.layouts, flags.workloads or SCALING_WORKLOADS,
                                          flags.rounds)
    if wanted("memory"):
        with ExitStack() as stack:
            most_ranks = max(flags.layouts, key=lambda each: (each.ranks, each.threads))
            figures.memory = run_memory(jobs(stack), flags.dtype, list(dict.fromkeys([one_rank, most_ranks])))
    if wanted("documents"):
        with ExitStack() as stack:
            figures.documents = DocumentsBench(jobs(stack), flags.scorecast).run(flags.dtype, one_rank, flags.rounds)
    if wanted("start"):
        with ExitStack() as stack:
            most_ranks = max(flags.layouts, key=lambda each: (each.ranks, each.threads))
            figures.start = run_start(jobs(stack), flags.dtype, list(dict.fromkeys([one_rank, most_ranks])), flags.rounds)
    if wanted("curve"):
        with ExitStack() as stack:
            figures.curve = run_curve(jobs(stack), flags.dtype, one_rank, flags.rounds)
    if wanted("invariance"):
        # Ranks may be more than CPUs: only the two jobs of a layout are compared.
        with ExitStack() as stack:
            figures.invariance = run_invariance(jobs(stack), flags.dtype, [Layout(ranks, min(flags.threads)) for ranks in flags.ranks],
                                                flags.workloads or SCALING_WORKLOADS, flags.rounds)
    figures.not_run = refused.reasons


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    figures = Figures(flags.shape, flags.kernel, flags.rounds)
    try:
        run(flags, figures)
    except WorkerFailed as fault:
        print(f"bench/run: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(figures.markdown())
    flags.work.mkdir(parents=True, exist_ok=True)
    name = "results" if flags.bench == "all" else flags.bench
    (flags.work / f"{name}.json").write_text(json.dumps(figures.document(), indent=1) + "\n")
    plot = figures.plot()
    if plot:
        (flags.work / f"{name}.svg").write_text(plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
