"""A classifier asked by 1, 16 and 64 clients at once, each with one pair at a time, and what the time goes into.

Run by `bench/run load --clients`.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench import kernel_sets
from bench.company.bodies import Body, BodyMaker
from bench.company.clients import Clients
from bench.company.load import OK, Load, Traffic
from bench.company.metrics import scrape
from bench.company.service import Service, ServiceFailed
from bench.encoders.model import write_models
from bench.encoders.shapes import SHAPES, VOCABULARY
from bench.kernel_sets import add_kernel_flag
from bench.passes.tables import table
from bench.progress import progress
from bench.result import add_json_flag, print_result
from bench.samples import percentile, spread
from bench.worker_process import WorkerFailed, WorkerProcess

_PAIR_TOKENS = 150
_BODIES = 64  # Different ones.
_RAMP_SECONDS = 1.0
_PASSES = 5  # The worker computes so many, and their median counts.
_DTYPES = ["f32", "bf16", "int8"]


@dataclass
class ClientsFigures:
    """Of one number of clients and one dtype; one value for each round."""

    clients: int
    dtype: str
    requests_per_second: list[float] = field(default_factory=list)
    milliseconds: list[list[float]] = field(default_factory=list)  # Of each request.
    rows_per_pass: list[float] = field(default_factory=list)
    in_passes: list[float] = field(default_factory=list)  # Share of the time.
    products: list[float] = field(default_factory=list)  # Share of a pass of so many pairs, by the worker's clocks.
    cpu_ms: list[float] = field(default_factory=list)  # CPU time that all threads of the service take for a request.
    outcomes: Traffic = field(default_factory=Traffic)  # What failed.

    def of_all(self) -> list[float]:
        """The products' share of all time."""
        return [a * b for a, b in zip(self.in_passes, self.products)]


def _pair(maker: BodyMaker, _: int) -> Body:
    return maker.text(_PAIR_TOKENS)


class _Subject:
    """A service of one rank, and a worker with the same model."""

    def __init__(self, flags: argparse.Namespace, dtype: str, model: Path, stack: ExitStack) -> None:
        options = {"--dtype": dtype, "--kernel": flags.kernel, "--threads": flags.threads}
        logs = flags.work / "logs"
        progress(f"load: starting scorecast:{dtype} with {model.name}")
        self._service = Service(flags.scorecast, model, 1, options, logs / f"clients-{dtype}.txt")
        stack.enter_context(self._service)
        command = [str(flags.scorecast_worker), "--model", str(model), *(str(word) for pair in options.items() for word in pair)]
        self._worker = stack.enter_context(WorkerProcess(f"scorecast_bench_worker:{dtype}", command, logs / f"clients-{dtype}-pass.txt"))
        self._worker.wait_until_ready()
        maker = BodyMaker(http=True, vocab_size=VOCABULARY, labels=None)
        self._bodies = [_pair(maker, number) for number in range(_BODIES)]

    def measure(self, figures: ClientsFigures, seconds: float) -> None:
        load = Load(_pair, _BODIES, clients=figures.clients, obeys=False)
        with Clients(self._service.http_address, True, [(load, self._bodies)]) as clients:
            time.sleep(_RAMP_SECONDS)
            before, cpu, begin = scrape(self._service), self._service.cpu_seconds(), time.monotonic()
            time.sleep(seconds)
            took, cpu, after = time.monotonic() - begin, self._service.cpu_seconds() - cpu, scrape(self._service)
            seen = [sample for sample in clients.stop().samples if begin <= sample.due + sample.ms / 1000 < begin + took]
        figures.outcomes.samples += [sample for sample in seen if sample.outcome != OK]
        times = [sample.ms for sample in seen if sample.outcome == OK]
        passes, rows, inside = (after[name] - before[name] for name in
                                ("scorecast_pass_seconds_count", "scorecast_pass_rows_sum", "scorecast_pass_seconds_sum"))
        if not times or not passes:
            raise ServiceFailed(f"no replies to {figures.clients} clients: {dict(figures.outcomes.outcomes())}")
        figures.milliseconds.append(times)
        figures.requests_per_second.append(len(times) / took)
        figures.cpu_ms.append(1000 * cpu / len(times))
        figures.rows_per_pass.append(rows / passes)
        figures.in_passes.append(inside / took)
        figures.products.append(self._share_of_products(max(1, round(rows / passes / _PAIR_TOKENS))))

    def _share_of_products(self, pairs: int) -> float:
        name = "texts:" + ",".join([str(_PAIR_TOKENS)] * pairs)
        shares = []
        for _ in range(_PASSES):
            reply = self._worker.run(name)
            shares.append(reply["ranks"][0]["phase"]["gemm"] / reply["t"])
        return median(shares)


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--clients", type=int, nargs="*", default=[], metavar="N", help="how many at once (1 16 64)")
    add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH", help="the executable (%(default)s)")
    add("--scorecast-worker", type=Path, default=Path("build/release/bench/worker/scorecast_bench_worker"), metavar="PATH",
        help="the engine without a service, which has clocks within passes (%(default)s)")
    add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    add("--work", type=Path, default=Path("build/bench-encoders"), help="directory of logs (%(default)s)")
    add("--shape", choices=list(SHAPES), default="minilm-l6", help="of the classifier: " + ", ".join(SHAPES) + " (%(default)s)")
    add("--dtype", nargs="+", choices=_DTYPES, default=_DTYPES, metavar="DTYPE", help=f"one or more of: {' '.join(_DTYPES)} (all)")
    add_kernel_flag(parser)
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of the service (%(default)s)")
    add("--seconds", type=float, default=5, help="of each measurement (%(default)s)")
    add("--rounds", type=int, default=3, help="rounds of measurements (%(default)s)")
    add_json_flag(parser)
    flags = parser.parse_args()
    flags.clients = flags.clients or [1, 16, 64]
    if min(flags.threads, flags.rounds, *flags.clients) < 1 or flags.seconds <= 0:
        parser.error("--clients, --threads, --rounds and --seconds must be positive")
    return flags


def markdown(all_figures: list[ClientsFigures]) -> str:
    header = ["dtype", "clients", "requests/s", "p50, ms", "p99, ms", "rows of a pass", "in passes, %", "products of a pass, %",
              "products of all time, %", "CPU of a request, ms", "failures"]
    rows = []
    for f in all_figures:
        percents = (spread([percentile(each, percent) for each in f.milliseconds], 1) for percent in (50, 99))
        shares = (spread([100 * share for share in each], 0) for each in (f.in_passes, f.products, f.of_all()))
        failures = ", ".join(f"{count} {what}" for what, count in f.outcomes.outcomes().items())
        rows.append([f.dtype, str(f.clients), spread(f.requests_per_second, 1), *percents, spread(f.rows_per_pass, 0), *shares,
                     spread(f.cpu_ms, 2), failures or "0"])
    return table(header, rows)


def main() -> int:
    flags = _flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    os.environ.update(kernel_sets.environment(flags.kernel))  # For the libraries.
    model = write_models(SHAPES[flags.shape], flags.models)[False]
    all_figures: list[ClientsFigures] = []
    try:
        for dtype in flags.dtype:
            with ExitStack() as stack:
                subject = _Subject(flags, dtype, model, stack)
                figures = [ClientsFigures(number, dtype) for number in flags.clients]
                for number in range(flags.rounds):
                    for each in figures:
                        progress(f"load: round {number + 1} of {flags.rounds}, {dtype}, {each.clients} clients")
                        subject.measure(each, flags.seconds)
                all_figures += figures
    except (ServiceFailed, WorkerFailed) as fault:
        print(f"bench/run load: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    about: dict[str, Any] = {"shape": flags.shape, "kernel": flags.kernel, "threads": flags.threads, "seconds": flags.seconds}
    print_result(markdown(all_figures), {"about": about, "figures": all_figures}, flags.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
