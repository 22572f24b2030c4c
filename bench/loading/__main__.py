"""Loading of a model by hosts that have nothing of it in memory, with one rank each.

The hosts are network namespaces, which need root. Each has a copy of the model, whose pages leave the page cache
before each start. Weights that are split by columns are read by each rank as a whole, or each rank reads some rows
and sends the others their columns of these, or the ranks choose. The three take turns. Run by `bench/run loading`.
"""
from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.loading.disks import Disks
from bench.network.hosts import Hosts, NoHosts
from bench.network.jobs import environment, on_hosts
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.samples import spread
from bench.worker_process import WorkerFailed, WorkerProcess, write_random_model

WAYS = {"as a whole": ["--column-reads", "by-each-rank"], "exchanged": ["--column-reads", "exchanged"], "chosen": []}


@dataclass
class Figures:
    """One way of loading, one value for each start."""

    hosts: int
    rate: str
    disk: int | None
    way: str
    seconds: list[float] = field(default_factory=list)
    read_mb: list[float] = field(default_factory=list)  # The bytes that the host reads which reads most.
    storage_mb: list[float] = field(default_factory=list)
    exchanged: list[bool] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def add(self, load: dict[str, Any]) -> None:
        self.seconds.append(load["seconds"])
        self.read_mb.append(max(load["read_bytes"]) * 1e-6)
        self.storage_mb.append(max(load["storage_bytes"]) * 1e-6)
        self.exchanged.append(load["exchanged"])
        self.reasons.append(load["reason"])


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run loading", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="0.5b", help="the model's shape (%(default)s)")
    parser.add_argument("--dtype", default="bf16", help="precision of the products (%(default)s)")
    parser.add_argument("--hosts", nargs="+", type=int, default=[2, 4, 8], metavar="N", help="numbers of hosts (%(default)s)")
    parser.add_argument("--rates", nargs="+", default=["none", "1gbit"], metavar="RATE",
                        help="what a host sends at most, in the notation of tc, or none (%(default)s)")
    parser.add_argument("--disks", nargs="+", default=["none", "200"], metavar="MB",
                        help="what a host reads at most, in MB/s, or none: then the hosts share the disk (%(default)s)")
    parser.add_argument("--warm", action="store_true", help="leave the model in the page cache")
    parser.add_argument("--rounds", type=int, default=3, help="starts of each way (%(default)s)")
    add_json_flag(parser)
    return parser.parse_args()


def leave_page_cache(directory: Path) -> None:
    for path in directory.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


class LoadingBench:
    def __init__(self, flags: argparse.Namespace, stack: ExitStack) -> None:
        self.flags = flags
        self.worker = flags.scorecast_worker.resolve()
        self.model = flags.models.resolve() / flags.shape
        flags.work.mkdir(parents=True, exist_ok=True)
        self.copies_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=flags.work.resolve())))
        self.session_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.copies: list[Path] = []

    def run(self) -> list[Figures]:
        figures: list[Figures] = []
        write_random_model(self.worker, self.flags.models, self.flags.shape)
        for count in self.flags.hosts:
            while len(self.copies) < count:
                self.copies.append(self.copies_dir / str(len(self.copies)))
                progress(f"loading: copying the model for host {len(self.copies)}")
                shutil.copytree(self.model, self.copies[-1])
            with Hosts(count) as hosts, Disks(hosts) as disks:
                disks.give(self.model, self.copies)
                for disk in self.flags.disks:
                    for rate in self.flags.rates:
                        figures += self._ways(hosts, disks, rate, None if disk == "none" else int(disk))
        return figures

    def _ways(self, hosts: Hosts, disks: Disks, rate: str, disk: int | None) -> list[Figures]:
        count = len(hosts.hosts)
        hosts.set_rate(None if rate == "none" else rate)
        figures = [Figures(count, rate, disk, way) for way in WAYS]
        for number in range(self.flags.rounds):
            for each in figures:
                progress(f"loading: round {number + 1} of {self.flags.rounds}, {count} hosts, {rate}, {disk} MB/s, {each.way}")
                disks.limit(self.model, disk)
                for copy in [] if self.flags.warm else self.copies[:count]:
                    leave_page_cache(copy)
                each.add(self._load(hosts, disks, each.way))
        return figures

    def _load(self, hosts: Hosts, disks: Disks, way: str) -> dict[str, Any]:
        command = [str(self.worker), "--model", str(self.model), "--dtype", self.flags.dtype, "--threads", "1", *WAYS[way]]
        with WorkerProcess(way, on_hosts(hosts, 1, self.session_dir, disks.limited(command)),
                           self.flags.work / "logs" / f"{way}.txt", environment()) as job:
            job.wait_until_ready()
            return job.info["load"]


def table(flags: argparse.Namespace, all_figures: list[Figures]) -> str:
    lines = [f"Loading: shape {flags.shape}, {flags.dtype}, {'in' if flags.warm else 'not in'} the page cache, one rank of one "
             f"thread on each host, {flags.rounds} starts of each way; seconds: median (min-max)", "",
             "| hosts | disk of a host | network of a host | columns | read by a host, MB | from storage, MB | seconds |",
             "|---|---|---|---|---|---|---|"]
    for each in all_figures:
        disk = f"{each.disk} MB/s" if each.disk else "shared by all"
        way = each.way
        if way == "chosen":
            way += f": exchanged {sum(each.exchanged)} of {len(each.exchanged)} times"
        lines.append(f"| {each.hosts} | {disk} | {each.rate.replace('none', 'no limit')} | {way} | {median(each.read_mb):.0f} "
                     f"| {median(each.storage_mb):.0f} | {spread(each.seconds, 2)} |")
    return "\n".join(lines)


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends jobs and hosts.
    try:
        with ExitStack() as stack:
            figures = LoadingBench(flags, stack).run()
    except (WorkerFailed, NoHosts) as fault:
        print(f"bench/run loading: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    document = {"bench": "loading", "shape": flags.shape, "dtype": flags.dtype, "warm": flags.warm, "rounds": flags.rounds,
                "figures": [vars(each) for each in figures]}
    print_result(table(flags, figures), document, flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
