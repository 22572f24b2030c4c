#!/usr/bin/env python3
"""Prints the accuracy of a model directory on combinations that training never saw.

    evaluate.py MODEL_DIR [--requests N] [--seed S]

Computes with packed sequences, as scorecast does. The exit code is 0 only if the targets are met.
"""
from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

import torch

import generate_corpus
import llama
import packed
from generate_corpus import Judgement, Reading
from packed import PackedSequence, Tokens

TARGETS = {"right candidate first": 0.95, "verdict right": 0.95, "answer right": 0.90}


@torch.no_grad()
def logits_of_reads(model: llama.Llama, sequence: PackedSequence) -> torch.Tensor:
    """[reads, vocab_size]"""
    batch = packed.collate([[sequence]], len(sequence))
    return model(batch.tokens, batch.positions, batch.visible, torch.tensor(sequence.reads)).float()


def judge(model: llama.Llama, tokens: Tokens, request: Judgement, delimiter_first: bool = False) -> tuple[bool, int, int, bool]:
    """Returns whether the right candidate is first, the numbers of right candidates that get yes and of wrong ones
    that get no, and whether the completion is right.
    """
    sequence = packed.pack_judgement(tokens, request, delimiter_first)
    if request.completion:
        sequence.reads.append(len(tokens.encode(request.query)))
    logits = logits_of_reads(model, sequence)
    completes = False
    if request.completion:
        completes = int(logits[-1].argmax()) == tokens.encode(request.completion)[0]
    margin = (logits[:len(request.items), tokens.yes] - logits[:len(request.items), tokens.no]).tolist()
    right = request.verdicts.index(True)
    return (max(range(len(margin)), key=margin.__getitem__) == right, int(margin[right] > 0),
            sum(m < 0 for i, m in enumerate(margin) if i != right), completes)


def judgements(model: llama.Llama, tokens: Tokens, requests: list[Judgement], delimiter_first: bool = False) -> dict[str, float]:
    first = yes = no = completed = wrong_items = 0
    missed: Counter[str] = Counter()
    for request in requests:
        won, got_yes, got_no, completes = judge(model, tokens, request, delimiter_first)
        first, yes, no, completed = first + won, yes + got_yes, no + got_no, completed + completes
        wrong_items += len(request.items) - 1
        if not won:
            missed[request.relation] += 1
    count = len(requests)
    result = {"right candidate first": first / count, "yes to the right one": yes / count, "no to a wrong one": no / wrong_items,
              "verdict right": (yes / count + no / wrong_items) / 2, "completion right": completed / count}
    result["missed"] = dict(missed.most_common(4))  # type: ignore[assignment]
    return result


@torch.no_grad()
def greedy(model: llama.Llama, tokens: Tokens, request: Reading, strategy: str) -> bool:
    """Returns whether greedy decoding gives the first question's answer, "." and EOS: each target is the best token of its row."""
    sequence = packed.pack_reading(tokens, request, strategy)
    sequence.reads = list(range(sequence.reads[0], len(sequence) - 1))
    return bool((logits_of_reads(model, sequence).argmax(-1) == torch.tensor([sequence.targets[r] for r in sequence.reads])).all())


def readings(model: llama.Llama, tokens: Tokens, count: int, chunks: int, seed: str, strategy: str = "shared",
             same_subject: float = 0.0) -> list[float]:
    """Accuracy by the place of the document that answers."""
    rng = random.Random(f"{seed}/{chunks}")
    return [sum(greedy(model, tokens, generate_corpus.reading(rng, True, chunks, 1, place=place, same_subject=same_subject), strategy)
                for _ in range(count)) / count for place in range(chunks)]


def requests(make, count: int, seed: str) -> list[Judgement]:
    rng = random.Random(seed)
    return [make(rng) for _ in range(count)]


def evaluate(model: llama.Llama, tokens: Tokens, count: int, seed: str, quick: bool = False) -> bool:
    """Prints the accuracies. Returns whether all targets are met."""
    answers = requests(lambda rng: generate_corpus.answer_judgement(rng, True, 10, 1.0), count, seed + "/answers")
    reranks = requests(lambda rng: generate_corpus.rerank_judgement(rng, True, 10), count, seed + "/reranks")
    good = True
    runs = [("bare answers", answers, False), ("sentences", reranks, False)]
    if not quick:
        runs += [("bare answers, delimiter seen", answers, True), ("sentences, delimiter seen", reranks, True)]
    for name, some, delimiter_first in runs:
        result = judgements(model, tokens, some, delimiter_first)
        print(f"{name}: " + ", ".join(f"{k} {100 * v:.1f} %" if isinstance(v, float) else f"{k} {v}" for k, v in result.items()
                                      if not (k == "completion right" and some is reranks)), flush=True)
        good &= delimiter_first or all(result[k] >= TARGETS[k] for k in ("right candidate first", "verdict right"))
    cases = [(8, "shared", 0.0)]
    if not quick:
        cases = [(4, "shared", 0.0), *cases, (10, "shared", 0.0), (8, "shared", 0.5), (8, "offset", 0.0), (8, "plain", 0.0)]
    for chunks, strategy, same_subject in cases:
        by_place = readings(model, tokens, max(count // (10 if quick else 5), 1), chunks, seed, strategy, same_subject)
        print(f"answers from {chunks} documents, {strategy}{', half with other facts of the same subject' if same_subject else ''}: "
              f"{100 * sum(by_place) / chunks:.1f} %; by place " + " ".join(f"{100 * p:.0f}" for p in by_place), flush=True)
        good &= strategy != "shared" or same_subject > 0 or min(by_place) >= TARGETS["answer right"]
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", default="evaluation")
    args = parser.parse_args()
    good = evaluate(llama.load(args.model), Tokens(args.model), args.requests, args.seed)
    print("all targets met" if good else "TARGETS MISSED")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
