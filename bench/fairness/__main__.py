"""bench/run fairness"""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.abuse.service import ServiceFailed
from bench.fairness.cases import CASES, Case
from bench.fairness.measure import Figures, measure
from bench.fairness.model import model_with_positions
from bench.fairness.probes import PROBES
from bench.fairness.probing import ProbeFigures, probe
from bench.fairness.report import document, markdown
from bench.fairness.side import Build, Settings, Unanswered
from bench.progress import progress
from bench.result import add_json_flag, print_result

_TRANSPORTS = ["socket", "http"]
_SPARE_POSITIONS = 64


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run fairness", description="A polite client beside heavy ones.")
    parser.add_argument("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH",
                        help="the executable, which may be an older one (default: %(default)s)")
    parser.add_argument("--beside", type=Path, metavar="PATH", help="another executable, measured in turns with the first")
    names = [each.name for each in (*CASES, *PROBES)]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="these cases alone")
    parser.add_argument("--list", action="store_true", help="prints the names of the cases")
    parser.add_argument("--transport", nargs="+", choices=_TRANSPORTS, default=_TRANSPORTS, help="of all clients (default: both)")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement in a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--limit", type=float, default=30,
                        help="seconds after which a polite request without a reply has failed (default: %(default)s)")
    parser.add_argument("--model", default="0.01b", metavar="SHAPE|DIR",
                        help="0.01b, 0.1b, or the directory of a model with random weights (default: %(default)s)")
    parser.add_argument("--polite-tokens", type=int, default=64, help="of the polite client's requests (default: %(default)s)")
    parser.add_argument("--long-tokens", type=int, default=200_000, help="of long requests (default: %(default)s)")
    parser.add_argument("--positions", type=int,
                        help="of the model, to which long requests are cut (default: enough for --long-tokens)")
    parser.add_argument("--max-pass-ms", type=int, default=200, help="--max-pass-ms of the service; if it does not have the "
                        "flag, the bound to compare with (default: %(default)s)")
    parser.add_argument("--max-wait-ms", type=int, help="--max-wait-ms of the service")
    parser.add_argument("--kv-cache-mb", type=int, help="--kv-cache-mb of the service")
    parser.add_argument("--ranks", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: its share of the CPUs (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    parser.add_argument("--work", type=Path, default=Path("build/bench-fairness"), help="directory of logs (%(default)s)")
    add_json_flag(parser)
    return parser.parse_args()


def _settings(flags: argparse.Namespace) -> Settings:
    builds = [Build("this", flags.scorecast.resolve())]
    if flags.beside:
        builds.append(Build("other", flags.beside.resolve()))
    positions = flags.positions or flags.long_tokens + _SPARE_POSITIONS
    service = {"--threads": flags.threads, "--max-pass-ms": flags.max_pass_ms, "--max-wait-ms": flags.max_wait_ms,
               "--kv-cache-mb": flags.kv_cache_mb}
    return Settings(builds=builds, model=model_with_positions(flags.model, flags.models, positions), work=flags.work,
                    ranks=flags.ranks, flags={name: value for name, value in service.items() if value is not None},
                    seconds=flags.seconds, rounds=flags.rounds, limit=flags.limit, polite_tokens=flags.polite_tokens,
                    long_tokens=min(flags.long_tokens, positions - _SPARE_POSITIONS),
                    max_pass_seconds=flags.max_pass_ms / 1000)


def main() -> int:
    flags = _flags()
    if flags.list:
        for each in (*CASES, *PROBES):
            print(f"{each.name:24}{each.title.format(tokens=flags.long_tokens)}")
        return 0
    load = os.getloadavg()[0]
    settings = _settings(flags)
    figures: list[Figures] = []
    probes: list[ProbeFigures] = []
    failed = False
    for each in (*CASES, *PROBES):
        for transport in flags.transport:
            if flags.only and each.name not in flags.only:
                continue
            progress(f"fairness: {each.name}, {transport}")
            try:
                if isinstance(each, Case):
                    figures += measure(settings, each, http=transport == "http")
                else:
                    probes += probe(settings, each, http=transport == "http")
            except (ServiceFailed, Unanswered, OSError) as fault:
                failed = True
                progress(f"fairness: {each.name}, {transport}: {fault}")
    about = {"scorecast": [str(build.scorecast) for build in settings.builds], "model": str(settings.model),
             "seconds": flags.seconds, "rounds": flags.rounds, "ranks": flags.ranks, "threads": flags.threads,
             "polite_tokens": flags.polite_tokens, "load_before": load, "cpus": os.cpu_count()}
    print_result(markdown(figures, probes), document(figures, probes, about), flags.json)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
