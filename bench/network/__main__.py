"""The cost of a pass on several ranks: on one host, and on two hosts that are connected by a cable.

The hosts are network namespaces, which need root; without root this part is skipped. The cable is measured
at full speed and with a limited rate (tc's tbf), and both with added latency (the worker's --latency-us), too.
All links take turns, in a random order in each round. Run by `bench/run network`.
"""
from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.network.hosts import Hosts, NoHosts
from bench.network.jobs import environment, on_hosts, on_this_host
from bench.network.report import Figures, LinkFigures, document, table
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.worker_process import WorkerFailed, WorkerProcess


@dataclass
class Link:
    """The connection between the ranks, and the job that is measured over it."""

    name: str
    job: WorkerProcess
    hosts: Hosts | None = None
    rate: str | None = None


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run network", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorecast-worker", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="0.5b", help="the model's shape (%(default)s)")
    parser.add_argument("--dtype", default="f32", help="precision of the products (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each rank (%(default)s)")
    parser.add_argument("--ranks-a-host", nargs="+", type=int, default=[1], metavar="K",
                        help="ranks on each of the two hosts (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurements (%(default)s)")
    parser.add_argument("--workloads", nargs="+", default=["16+2x10", "300+10x10", "300+100x10"], metavar="Q+NxT",
                        help="a query of Q tokens and N items of T (%(default)s)")
    parser.add_argument("--rates", nargs="*", default=["1gbit"], metavar="RATE", help="limited rates, in the notation of tc (%(default)s)")
    parser.add_argument("--latencies-us", nargs="*", type=float, default=[100.0, 1000.0], metavar="US",
                        help="added latencies, one way, in microseconds (%(default)s)")
    add_json_flag(parser)
    return parser.parse_args()


class NetworkBench:
    """Jobs and hosts end with `stack`."""

    def __init__(self, flags: argparse.Namespace, stack: ExitStack) -> None:
        self.flags = flags
        self.stack = stack
        self.session_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.shared_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        self.skipped: list[str] = []

    def links(self) -> list[Link]:
        """Starts all jobs and returns the links to measure."""
        links = [Link(name, self._start(name, on_this_host(ranks, self.session_dir, self.shared_dir, self._worker())))
                 for name, ranks in (("one rank", 1), ("one host", 2))]
        try:
            hosts = self.stack.enter_context(Hosts(2))
        except NoHosts as reason:
            progress(f"network: skipping two hosts: {reason}")
            self.skipped.append(f"two hosts: {reason}")
            return links
        for ranks in self.flags.ranks_a_host:
            links += self._links_between(hosts, ranks)
        return links

    def _links_between(self, hosts: Hosts, ranks: int) -> list[Link]:
        of_ranks = "two hosts" if ranks == 1 else f"two hosts of {ranks} ranks"
        links = []
        for latency in (0, *self.flags.latencies_us):
            more = f", {latency:g} us more" if latency else ""
            job = self._start(of_ranks + more, on_hosts(hosts, ranks, self.session_dir, self._worker(latency)))
            links += [Link(of_ranks + (f", {rate}" if rate else "") + more, job, hosts, rate) for rate in (None, *self.flags.rates)]
        return links

    def measure(self, links: list[Link]) -> list[LinkFigures]:
        figures = {(link.name, workload): LinkFigures(link.name, workload, link.job.info["ranks"], link.job.info["layers"])
                   for workload in self.flags.workloads for link in links}
        for number in range(self.flags.rounds):
            progress(f"network: round {number + 1} of {self.flags.rounds}")
            for workload in self.flags.workloads:
                for link in random.sample(links, len(links)):
                    self._pass(link, workload, figures[link.name, workload])
        return list(figures.values())

    def _pass(self, link: Link, workload: str, figures: LinkFigures) -> None:
        if link.hosts:
            link.hosts.set_rate(link.rate)
        before = [host.bytes_sent() for host in link.hosts.hosts] if link.hosts else []
        reply = link.job.run(workload)
        figures.seconds.append(reply["t"])
        figures.exchange_seconds.append(reply["mpi"]["exchange_s"])
        figures.broadcast_seconds.append(reply["mpi"]["broadcast_s"])
        if link.hosts:
            figures.bytes_sent.append([host.bytes_sent() - sent for host, sent in zip(link.hosts.hosts, before)])

    def _worker(self, latency_us: float = 0) -> list[str]:
        return [str(self.flags.scorecast_worker.resolve()), "--models", str(self.flags.models.resolve()),
                "--shape", self.flags.shape, "--dtype", self.flags.dtype, "--threads", str(self.flags.threads),
                "--latency-us", f"{latency_us:g}"]

    def _start(self, name: str, command: list[str]) -> WorkerProcess:
        progress(f"network: starting {name}")
        log = self.flags.work / "logs" / f"{name}.txt"
        job = self.stack.enter_context(WorkerProcess(name, command, log, environment()))
        job.wait_until_ready()
        for workload in self.flags.workloads:
            job.run(workload)  # Warm-up.
        return job


def main() -> int:
    flags = parse_flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends jobs and hosts.
    try:
        with ExitStack() as stack:
            bench = NetworkBench(flags, stack)
            links = bench.links()
            figures = Figures(flags.shape, flags.dtype, flags.threads, flags.rounds, bench.measure(links), bench.skipped)
    except (WorkerFailed, NoHosts) as fault:
        print(f"bench/run network: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print_result(table(figures), document(figures), flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
