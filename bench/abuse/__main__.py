"""bench/run abuse"""
from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.abuse import attacks, http_attacks
from bench.abuse.abuse import Abuse, Settings, beside_polite_clients
from bench.abuse.batch_abuses import BATCH_ABUSES
from bench.abuse.rank_abuses import RANK_ABUSES
from bench.abuse.report import document, markdown
from bench.abuse.service import ServiceFailed
from bench.abuse.soak import soak
from bench.result import add_json_flag, print_result

HTTP_ABUSES: list[Abuse] = [
    beside_polite_clients(f"http-{name}", f"{title}, HTTP", attack, http=True, **options)
    for name, title, attack, options in [
        ("none", "none", lambda hostile: None, {}),
        ("refused-texts", "200 clients with 65 kB texts that are refused", http_attacks.refused_texts, {}),
        ("words", "15 MB of escaped text", http_attacks.words, {"drains": True}),
        ("emoji", "1.3 million escaped emoji", http_attacks.emoji, {"drains": True}),
        ("shared-queries", "200 clients with requests of 20 KB and 128 items", http_attacks.shared_queries,
         {"model": "0.01b"}),
        ("empty-values", "5 million empty items", http_attacks.empty_values, {}),
        ("nested-lists", "15 million lists in each other", http_attacks.nested_lists, {}),
        ("tiny-chunks", "15 MB in chunks of a byte", http_attacks.tiny_chunks, {}),
        ("gzip-bombs", "512 MB of spaces, compressed to half a megabyte", http_attacks.gzip_bombs, {}),
        ("endless-headers", "headers of 10 MB", http_attacks.endless_headers, {}),
        ("slow-headers", "50 connections at 1 byte/s of headers, --max-connections 50", http_attacks.slow_headers,
         {"flags": {"--max-connections": 50}}),
        ("slow-bodies", "50 connections at 1 byte/s of a body, --max-connections 50", http_attacks.slow_bodies,
         {"flags": {"--max-connections": 50}}),
        ("half-bodies", "clients that leave in the middle of a body", http_attacks.half_bodies, {}),
        ("leaving-clients", "clients that leave before their replies", http_attacks.leaving_clients, {}),
        ("pipelining", "thousands of requests on connections that read nothing", http_attacks.pipelining, {"drains": True}),
        ("idle-connections", f"{http_attacks.IDLE_CONNECTIONS} idle connections", http_attacks.idle_connections,
         {"flags": {"--max-connections-per-address": 11_000}, "drains": True}),
    ]
]

ABUSES: list[Abuse] = [
    beside_polite_clients("none", "none", lambda hostile: None),
    beside_polite_clients("refused-texts", "200 clients with 65 kB texts that are refused", attacks.refused_texts),
    beside_polite_clients("emoji", "16 MB of emoji, SentencePiece Unigram", attacks.emoji,
                          model="0.01b:sentencepiece-unigram", drains=True),
    beside_polite_clients("spaces", "16 MB of spaces, SentencePiece BPE", attacks.spaces, model="0.01b:sentencepiece-bpe",
                          drains=True),
    beside_polite_clients("byte-level-emoji", "16 MB of emoji, byte-level BPE", attacks.emoji, model="0.01b", drains=True),
    beside_polite_clients("byte-level-spaces", "16 MB of spaces, byte-level BPE", attacks.spaces, model="0.01b", drains=True),
    beside_polite_clients("sentencepiece", "15 MB of text, SentencePiece BPE", attacks.words, drains=True),
    beside_polite_clients("sentencepiece-word", "15 MB without a space, SentencePiece BPE", attacks.one_word, drains=True),
    beside_polite_clients("shared-queries", "1000 requests of 8 KB with 128 items each", attacks.shared_queries, model="0.01b",
                          flags={"--max-queue": 1024}),
    beside_polite_clients("empty-messages", "16 MB frames of 8 million empty messages", attacks.empty_messages),
    beside_polite_clients("slow-senders", "50 connections at 1 byte/s, --max-connections 50", attacks.slow_senders,
                          flags={"--max-connections": 50}),
    *HTTP_ABUSES,
    *RANK_ABUSES,
    *BATCH_ABUSES,
]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/run abuse", description="Polite clients beside hostile ones.")
    parser.add_argument("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH",
                        help="the executable, which may be an older one (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=[abuse.name for abuse in ABUSES], metavar="NAME", help="these abuses alone")
    parser.add_argument("--list", action="store_true", help="prints the names of the abuses")
    parser.add_argument("--seconds", type=float, default=10, help="of an abuse in a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="each with time without the abuse, and with it (default: %(default)s)")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="all abuses at once, except those that end the service; "
                        "exit code 1 if a polite client gets other bits or no reply, or if the memory stays higher")
    parser.add_argument("--patience", type=float, default=60,
                        help="of a soak's polite clients: seconds after which a request without a reply has failed (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds until something that does not end is given up (default: %(default)s)")
    parser.add_argument("--models", type=Path, default=Path("build/bench-models"), help="directory of random models (%(default)s)")
    parser.add_argument("--work", type=Path, default=Path("build/bench-abuse"), help="directory of logs (%(default)s)")
    add_json_flag(parser)
    flags = parser.parse_args()
    if flags.list:
        for abuse in ABUSES:
            print(f"{abuse.name:24}{abuse.title}")
        return 0
    settings = Settings(flags.scorecast.resolve(), flags.models, flags.work, flags.seconds, flags.rounds, limit=flags.limit)
    if flags.soak:
        result = soak(settings, flags.soak, flags.patience)
        print_result(result.markdown(), result.document(), flags.json)
        return 1 if result.faults else 0
    load = os.getloadavg()[0]
    results = []
    fault = None
    for abuse in ABUSES:
        if not flags.only or abuse.name in flags.only:
            try:
                results.append(abuse.measure(settings))
            except ServiceFailed as failed:
                fault = f"{abuse.name}: {failed}"
                print(f"bench: {fault}", file=sys.stderr)
    about = {"scorecast": str(settings.scorecast), "seconds": flags.seconds, "rounds": flags.rounds, "load_before": load,
             "cpus": os.cpu_count()}
    print_result(markdown(results), document(results, about), flags.json)
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
