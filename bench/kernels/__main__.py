"""Measures single kernels of the engine on one thread: attention, loops over elements, and products.

The worker runs each kernel in turns with the bare instruction and with bare reads of memory, and measures CPU time.
With --beside, the same kernels of another worker, for example of another compiler, run in turns with them. Run by
`bench/run kernels`.
"""
from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.kernel_sets import add_kernel_flag
from bench.kernels.tables import KernelFigures, document, markdown
from bench.passes.jobs import DTYPES, Jobs, Layout, Refused
from bench.progress import progress
from bench.worker_process import WorkerFailed, WorkerProcess

SHAPE = "0.01b"  # The kernels have shapes of their own.
ONE_THREAD = Layout(1, 1)


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run kernels", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES, metavar="DTYPE",
                        help=f"one or more of: {' '.join(DTYPES)} (all)")
    add_kernel_flag(parser)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="kernels whose names contain one of these texts")
    parser.add_argument("--beside", type=Path, metavar="WORKER", help="another scorecast_bench_worker, to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of measurements (%(default)s)")
    flags = parser.parse_args()
    if flags.rounds < 1:
        parser.error("--rounds must be at least 1")
    return flags


def run(flags: argparse.Namespace, refused: Refused) -> list[KernelFigures]:
    all_figures = []
    for dtype in flags.dtype:
        with ExitStack() as stack:
            def start(worker: Path, logs: str) -> WorkerProcess | None:
                jobs = Jobs(worker, flags.models, SHAPE, flags.kernel, flags.work / logs, refused, stack)
                return jobs.start_if_any(dtype, ONE_THREAD)

            ours = start(flags.scorecast_worker, "logs")
            if not ours:
                continue
            other = start(flags.beside, "logs-beside") if flags.beside else None
            names = [name for name in ours.run("kernels")["kernels"]
                     if not flags.only or any(text in name for text in flags.only)]
            figures = [KernelFigures(dtype, name, ours.info["version"]) for name in names]
            for number in range(flags.rounds):
                for each in figures:
                    progress(f"kernels: round {number + 1} of {flags.rounds}, {dtype}, {each.name}")
                    each.ours.append(ours.run(f"kernel {each.name}"))
                    if other:
                        each.other.append(other.run(f"kernel {each.name}"))
            all_figures += figures
    return all_figures


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    refused = Refused()
    try:
        figures = run(flags, refused)
    except WorkerFailed as fault:
        print(f"bench/run kernels: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(markdown(figures, flags.kernel, refused.reasons))
    flags.work.mkdir(parents=True, exist_ok=True)
    (flags.work / "kernels.json").write_text(json.dumps(document(figures, flags.kernel), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
