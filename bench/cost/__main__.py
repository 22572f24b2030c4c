"""What `scorecast inspect --hosts` predicts, beside what is measured on layouts that its calibrations have not seen.

In each round, a service calibrates one rank with a thread for each core, and one rank on each of two hosts. Then a
pass is measured on each of other layouts of ranks on 1, 2 and 4 hosts, which are network namespaces and need root. If
every thread has a core, seconds count, at each rate of the network; otherwise CPU seconds, and the bytes that a host
sends.

With --plots, instead, draws the predictions of docs/scaling.md. Run by `bench/run cost`.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from typing import Any

from bench.cost import plots
from bench.cost.layouts import Directories, Layout, command_line, environment
from bench.cost.predictions import CostFailed, predicted, write_calibration
from bench.cost.report import Comparison, document, table
from bench.network.hosts import Hosts, NoHosts
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import WorkerFailed, WorkerProcess, write_random_model

GBIT_OF_RATE = {"100mbit": 0.1, "1gbit": 1.0, "10gbit": 10.0}
FULL_RATE = 1000.0  # Gbit/s: the memory of this machine is the limit.
# Small beside what an exchange sends, so that a limited rate is one; a millisecond of 1 Gbit/s, because the timer of the limit
# waits for cores that are busy.
BURST = "128kb"
TIMED = [Layout(1, 1, 1), Layout(1, 2, 1), Layout(2, 1, 1)]
SHARED_CORES = [Layout(1, 4, 1), Layout(1, 8, 1), Layout(2, 2, 1), Layout(2, 4, 1), Layout(4, 1, 1), Layout(4, 2, 1)]


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run cost", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorecast", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="0.5b", help="the model's shape (%(default)s)")
    parser.add_argument("--dtype", nargs="+", default=["f32", "bf16"], help="precisions of the products (f32 bf16)")
    parser.add_argument("--rates", nargs="+", default=["100mbit", "1gbit"], choices=GBIT_OF_RATE, metavar="RATE",
                        help="rates of the network between hosts for seconds (100mbit 1gbit)")
    parser.add_argument("--workloads", nargs="+", default=["300+10x10"], metavar="Q+NxT",
                        help="a query of Q tokens and N items of T (300+10x10)")
    parser.add_argument("--rounds", type=int, default=3, help="calibrations, and passes of each layout and workload (%(default)s)")
    parser.add_argument("--only", choices=["seconds", "cpu"], help="only layouts with a core for each thread, or only others")
    parser.add_argument("--quick", action="store_true", help="shape 0.1b and one round, to see whether it works")
    plots.add_flags(parser)
    add_json_flag(parser)
    flags = parser.parse_args()
    if flags.quick:
        flags.shape, flags.rounds = "0.1b", 1
    return flags


class CostBench:
    """Jobs and hosts end with `stack`."""

    def __init__(self, flags: argparse.Namespace, stack: ExitStack) -> None:
        self.flags = flags
        self._stack = stack
        self.model = flags.models / flags.shape
        self._directories = Directories(Path(stack.enter_context(tempfile.TemporaryDirectory())),
                                        Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))))
        self._hosts: dict[int, Hosts] = {}
        self.calibrated: dict[str, list[str]] = {}
        self._comparisons: dict[tuple[str, ...], Comparison] = {}
        self.skipped: list[str] = []

    def run(self) -> None:
        write_random_model(self.flags.scorecast_worker, self.flags.models, self.flags.shape)
        # Several layouts need as many hosts. All exist before the first is measured.
        for count in (2, 4):
            try:
                self._hosts[count] = self._stack.enter_context(Hosts(count))
            except NoHosts as reason:
                self.skipped.append(f"{count} hosts: {reason}")
        cores = len(os.sched_getaffinity(0))
        layouts = [each for each in TIMED + SHARED_CORES if each.hosts == 1 or each.hosts in self._hosts]
        if self.flags.only:
            layouts = [each for each in layouts if (each.cores <= cores) == (self.flags.only == "seconds")]
        # A machine's speed may change from one minute to the next, so each round has calibrations of its own.
        for number in range(self.flags.rounds):
            for dtype in self.flags.dtype:
                where = f"round {number + 1} of {self.flags.rounds}: {dtype}"
                progress(f"cost: {where}, calibrations")
                calibrations = self._calibrate(dtype, cores)
                for layout in layouts:
                    progress(f"cost: {where}, {layout}")
                    self._measure(dtype, layout, calibrations, has_cores=layout.cores <= cores)

    @property
    def comparisons(self) -> list[Comparison]:
        return list(self._comparisons.values())

    def _calibrate(self, dtype: str, cores: int) -> list[Path]:
        paths: list[Path] = []
        layouts = [Layout(1, 1, cores)] + ([Layout(2, 1, 1)] if 2 in self._hosts else [])
        for layout in layouts:
            path = self.flags.work / f"calibration-{self.flags.shape}-{dtype}-{layout.hosts}x{layout.ranks_a_host}x{layout.threads}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            hosts = self._hosts_of(layout)
            if hosts:
                hosts.set_rate(None)
            write_calibration(self.flags.scorecast, self.model, dtype, layout, hosts, self._directories, path)
            paths.append(path)
        self.calibrated[dtype] = [str(each) for each in layouts]
        return paths

    def _hosts_of(self, layout: Layout) -> Hosts | None:
        return self._hosts[layout.hosts] if layout.hosts > 1 else None

    def _measure(self, dtype: str, layout: Layout, calibrations: list[Path], has_cores: bool) -> None:
        flags = self.flags
        worker = [str(flags.scorecast_worker.resolve()), "--models", str(flags.models.resolve()), "--shape", flags.shape,
                  "--dtype", dtype, "--threads", str(layout.threads)]
        hosts = self._hosts_of(layout)
        # At full rate, seconds of a network depend on how fast this machine copies, which is not what a model is for.
        rates: list[str | None] = list(flags.rates) if hosts and has_cores else [None]
        if hosts:
            hosts.set_rate(None)
        log = flags.work / "logs" / f"{dtype}, {layout}.txt"
        name = f"{dtype}, {layout}"
        with WorkerProcess(name, command_line(layout, hosts, self._directories, worker), log, environment()) as job:
            job.wait_until_ready()
            for workload in flags.workloads:
                job.run(workload)  # Warm-up.
                for rate in rates:
                    if hosts:
                        hosts.set_rate(rate, BURST)
                    self._compare(dtype, layout, calibrations, hosts, rate, workload, job, has_cores)

    def _compare(self, dtype: str, layout: Layout, calibrations: list[Path], hosts: Hosts | None, rate: str | None,
                 workload: str, job: WorkerProcess, has_cores: bool) -> None:
        before = [host.bytes_sent() for host in hosts.hosts] if hosts else []
        reply = job.run(workload)
        sent = mean(host.bytes_sent() - bytes_ for host, bytes_ in zip(hosts.hosts, before)) if hosts else 0
        cpu = sum(rank["cpu"]["all_s"] - rank["cpu"]["mpi_s"] for rank in reply["ranks"])
        cost = predicted(self.flags.scorecast, self.model, calibrations, layout,
                         GBIT_OF_RATE[rate] if rate else FULL_RATE, workload)
        figures = [("seconds", cost["p50_s"], reply["t"])] if has_cores else [("CPU seconds", cost["cpu_s"], cpu)]
        if hosts:
            figures.append(("MB a host", cost["host_bytes"] * 1e-6, sent * 1e-6))
        network = (rate or "full rate") if hosts else ""
        for figure, prediction, measured in figures:
            key = (dtype, str(layout), network, workload, figure)
            self._comparisons.setdefault(key, Comparison(*key)).add(prediction, measured)


def results(bench: CostBench) -> tuple[str, dict[str, Any]]:
    parts = (bench.flags.shape, bench.calibrated, bench.flags.rounds, bench.comparisons, bench.skipped)
    return table(*parts), document(*parts)


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends jobs and hosts.
    try:
        if flags.plots:
            plots.draw(flags)
            return 0
        with ExitStack() as stack:
            bench = CostBench(flags, stack)
            bench.run()
            text, figures = results(bench)
    except (CostFailed, WorkerFailed, NoHosts) as fault:
        print(f"bench/run cost: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(text, figures, flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
