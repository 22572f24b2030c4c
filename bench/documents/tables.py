"""The figures as Markdown tables."""
from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.documents.documents_bench import (COMPLETION_TOKENS, DOCUMENT_TOKENS, DOCUMENTS, DOCUMENTS_TOKENS, ITEM_TOKENS, ITEMS,
                                             PROMPT_TOKENS, QUERY_TOKENS, QUESTION_TOKENS, DocumentsFigures)
from bench.passes.tables import table
from bench.samples import spread


def first_token(all_figures: Sequence[DocumentsFigures]) -> str:
    rows = []
    for figures in all_figures:
        f = figures.first_token
        rows.append([figures.dtype, spread(f.cold.seconds, 3), spread(f.warm.seconds, 4), spread(f.plain.seconds, 3),
                     spread(f.plain_over_cold(), 2), spread(f.plain_over_warm(), 1)])
    return table(["dtype", "cold, s", "warm, s", "plain causal, s", "plain / cold", "plain / warm"], rows)


def multi_item(all_figures: Sequence[DocumentsFigures]) -> str:
    rows = []
    for figures in all_figures:
        f = figures.multi_item
        rows.append([figures.dtype, spread(f.cold.seconds, 4), spread(f.warm.seconds, 4), spread(f.cold_over_warm(), 2)])
    return table(["dtype", "cold, s", "warm, s", "cold / warm"], rows)


def decoding(all_figures: Sequence[DocumentsFigures]) -> str:
    rows = []
    for figures in all_figures:
        for f in figures.decoding:
            limit = [f.completions * rate / figures.weight_bytes for rate in f.bytes_per_second]
            rows.append([figures.dtype, str(f.completions), spread(f.tokens_per_second(), 1),
                         spread([1000 * s for s in f.step_seconds()], 1), spread(limit, 1),
                         spread(f.share_of_limit(figures.weight_bytes), 2)])
    return table(["dtype", "completions together", "tokens/s", "ms per step", "limit, tokens/s", "share of the limit"], rows)


def sections(all_figures: Sequence[DocumentsFigures]) -> list[str]:
    first = all_figures[0]
    threads = first.layout.threads
    rates = "; ".join(f"{f.dtype}: {f.weight_bytes / 1e6:.0f} MB of weights, "
                      f"{median(f.decoding[0].bytes_per_second) / 1e9:.1f} GB/s" for f in all_figures)
    return [
        "## Documents",
        f"`scorecast batch`, one rank of {threads} thread{'s' if threads != 1 else ''}. To the first token of a completion about "
        f"{DOCUMENTS} documents of {DOCUMENT_TOKENS} tokens, with a question of {QUESTION_TOKENS} "
        f"(1/{(DOCUMENTS_TOKENS + QUESTION_TOKENS) / QUESTION_TOKENS:.0f} of all tokens):",
        first_token(all_figures),
        f"{QUERY_TOKENS} + {ITEMS} x {ITEM_TOKENS}, cold, and with a cached query and other items "
        f"(1/{(QUERY_TOKENS + ITEMS * ITEM_TOKENS) / (ITEMS * ITEM_TOKENS):.0f} of all tokens):",
        multi_item(all_figures),
        f"Completions of {COMPLETION_TOKENS} tokens for prompts of {PROMPT_TOKENS}. The limit is a step that only reads every weight "
        f"once, as fast as the same threads read memory ({rates}):",
        decoding(all_figures),
    ]
