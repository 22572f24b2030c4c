"""bench/run abuse and bench/run fairness: polite clients in company."""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.company import bounded
from bench.company.batch import BATCHES, BatchCase, measure_batch
from bench.company.bounded import BoundedFigures, measure_bounded
from bench.company.bounded_cases import BOUNDED, BoundedCase
from bench.company.cases import ABUSES, FAIRNESS
from bench.company.measure import Figures, measure
from bench.company.models import model_with_positions
from bench.company.probes import PROBES, ProbeFigures
from bench.company.report import markdown
from bench.company.service import ServiceFailed
from bench.company.side import Build, Settings, Unanswered
from bench.company.soak import soak
from bench.progress import progress
from bench.result import add_json_flag, print_result

_CASES = {"abuse": [*ABUSES, *BOUNDED, *BATCHES], "fairness": [*FAIRNESS, *PROBES]}
_COMPANY = {"abuse": "abuse", "fairness": "heavy clients"}
_TRANSPORTS = ["socket", "http"]
_SPARE_POSITIONS = 64
_ABUSE_RANKS, _ABUSE_FLAGS = 2, {"--threads": 1}


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run")
    parts = parser.add_subparsers(dest="part", required=True)
    for part, about, seconds, limit in (("abuse", "Polite clients beside hostile ones.", 10, 60),
                                        ("fairness", "A polite client beside heavy ones.", 3, 30)):
        flags = parts.add_parser(part, description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        add = flags.add_argument
        add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH",
            help="the executable, which may be an older one")
        add("--beside", type=Path, metavar="PATH", help="another executable, measured in turns with the first")
        add("--only", nargs="+", choices=[case.name for case in _CASES[part]], metavar="NAME", help="these cases alone")
        add("--list", action="store_true", help="prints the names of the cases")
        add("--transport", nargs="+", choices=_TRANSPORTS, default=_TRANSPORTS, help="of all clients")
        add("--seconds", type=float, default=seconds, help="of each measurement in a round")
        add("--rounds", type=int, default=2, help="each with time alone, and in company")
        add("--limit", type=float, default=limit, help="seconds until something that does not end is given up")
        add("--patience", type=float, default=argparse.SUPPRESS,
            help="seconds after which a polite request without a reply has failed (default: 30, in a soak 60)")
        add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models")
        add("--work", type=Path, default=Path(f"build/bench-{part}"), help="directory of logs")
        add_json_flag(flags)
        if part == "abuse":
            add("--soak", type=float, metavar="SECONDS", help="all abuses at once, except those that end the service; exit code 1 "
                "if a polite client gets other bits or no reply, or if the memory stays higher")
            continue
        add("--model", default="0.01b", metavar="SHAPE|DIR", help="0.01b, 0.1b, or the directory of a model with random weights")
        add("--polite-tokens", type=int, default=64, help="of the polite client's requests")
        add("--long-tokens", type=int, default=200_000, help="of long requests")
        add("--positions", type=int, help="of the model, to which long requests are cut; otherwise enough for --long-tokens")
        add("--max-pass-ms", type=int, default=200,
            help="--max-pass-ms of the service; if it does not have the flag, the bound to compare with")
        add("--max-wait-ms", type=int, help="--max-wait-ms of the service")
        add("--kv-cache-mb", type=int, help="--kv-cache-mb of the service")
        add("--ranks", type=int, default=1, help="of the service")
        add("--threads", type=int, default=0, help="of each rank; 0: its share of the CPUs")
    return parser.parse_args()


def _settings(flags: argparse.Namespace) -> Settings:
    builds = [Build("this", flags.scorecast.resolve())]
    if flags.beside:
        builds.append(Build("other", flags.beside.resolve()))
    settings = Settings(builds, flags.models, flags.work, flags.seconds, flags.rounds, flags.limit,
                        getattr(flags, "patience", 60 if getattr(flags, "soak", None) else 30), _ABUSE_RANKS, _ABUSE_FLAGS)
    if flags.part == "fairness":
        positions = flags.positions or flags.long_tokens + _SPARE_POSITIONS
        service = {"--threads": flags.threads, "--max-pass-ms": flags.max_pass_ms, "--max-wait-ms": flags.max_wait_ms,
                   "--kv-cache-mb": flags.kv_cache_mb}
        settings.ranks = flags.ranks
        settings.flags = {name: value for name, value in service.items() if value is not None}
        settings.model = model_with_positions(flags.model, flags.models, positions)
        settings.polite_tokens = flags.polite_tokens
        settings.long_tokens = min(flags.long_tokens, positions - _SPARE_POSITIONS)
        settings.max_pass_seconds = flags.max_pass_ms / 1000
    return settings


def main() -> int:
    flags = _flags()
    cases = _CASES[flags.part]
    if flags.list:
        for case in cases:
            print(f"{case.name:24}{case.title.format(tokens=getattr(flags, 'long_tokens', 0))}")
        return 0
    load = os.getloadavg()[0]
    settings = _settings(flags)
    if flags.part == "abuse" and flags.soak:
        result = soak(settings, flags.soak)
        print_result(result.markdown(), vars(result), flags.json)
        return 1 if result.faults else 0
    results: list[Figures | ProbeFigures | BoundedFigures] = []
    failed = False
    for case, transport in [(case, transport) for case in cases for transport in case.transports]:
        if (flags.only and case.name not in flags.only) or transport not in (*flags.transport, "batch", "both"):
            continue
        progress(f"{flags.part}: {case.name}, {transport}")
        try:
            if isinstance(case, BoundedCase):
                results += measure_bounded(settings, case, transport)
            elif isinstance(case, BatchCase):
                results += measure_batch(settings, case, transport)
            else:
                results += measure(settings, case, transport)
        except (ServiceFailed, Unanswered, OSError) as fault:
            failed = True
            progress(f"{flags.part}: {case.name}, {transport}: {fault}")
    about = {name: str(value) if isinstance(value, Path) else value for name, value in vars(flags).items()}
    bounds = [each for each in results if isinstance(each, BoundedFigures)]
    parts = [markdown(_COMPANY[flags.part], results), bounded.markdown(bounds) if bounds else ""]
    print_result("\n\n".join(part for part in parts if part),
                 {"about": about | {"load_before": load, "cpus": os.cpu_count()}, "cases": results}, flags.json)
    return 1 if failed or not all(each.holds() for each in bounds) else 0


if __name__ == "__main__":
    sys.exit(main())
