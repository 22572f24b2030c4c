#!/usr/bin/env python3
"""Prints accuracy and expected calibration error of a model directory on held_out.jsonl, by type and number of options.

    evaluate.py MODEL_DIR [--held-out FILE]

Computes with packed sequences in float32, as scorecast does. Temperatures by type and number of options are fitted on the first
half of the questions; the calibrated error is that of the second half with them. The exit code is 0 only if the targets are met.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

import prompts
import rows
from decisions import Question
from rows import Tokens

import llama  # of the demo model
import packed
from packed import BLOCK, PREFIX, PackedSequence

BINS = 15
TARGET_ACCURACY, TARGET_ERROR = 0.95, 0.05
BUCKETS = ((2, 2), (3, 5), (6, 26), (27, 255))


@torch.no_grad()
def label_logits(model: llama.Llama, tokens: Tokens, state: object, questions: list[Question]) -> list[torch.Tensor]:
    """The labels' logits of each question."""
    sequence, labels = PackedSequence(), []
    sequence.add(tokens.state(prompts.state_text(state)), PREFIX, 0)
    behind = len(sequence)
    for question in questions:
        ids, _, its = rows.question_ids(tokens, question)
        sequence.add(ids, BLOCK, behind)
        sequence.reads.append(len(sequence) - 1)
        labels.append(its)
    batch = packed.collate([[sequence]], len(sequence))
    logits = model(batch.tokens, batch.positions, batch.visible, torch.tensor(sequence.reads)).double()
    return [row[its] for row, its in zip(logits, labels)]


def calibration_error(confidence: torch.Tensor, right: torch.Tensor) -> float:
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    return sum(abs((confidence[bins == b] - right[bins == b].double()).sum().item()) for b in range(BINS)) / len(right)


def temperature(logits: list[torch.Tensor], targets: list[int]) -> float:
    """The temperature with the least loss."""
    def loss(t: float) -> float:
        return -sum(torch.log_softmax(row / t, 0)[target].item() for row, target in zip(logits, targets))
    return min((round(2 ** (i / 8), 4) for i in range(-16, 25)), key=loss)


def bucket(question: dict) -> tuple[str, int]:
    """What a temperature is for: the type and, of a choice, the least number of options."""
    if question["type"] != "choice":
        return question["type"], 0
    count = len(prompts.labels(question))
    return question["type"], next(low for low, high in BUCKETS if low <= count <= high)


def report(name: str, confidence: torch.Tensor, right: torch.Tensor, calibrated: torch.Tensor, right_half: torch.Tensor
           ) -> tuple[float, float]:
    accuracy, error, after = right.double().mean().item(), calibration_error(confidence, right), calibration_error(calibrated, right_half)
    print(f"{name}: {len(right)} questions, accuracy {100 * accuracy:.1f} %, calibration error {error:.4f}, calibrated {after:.4f}")
    return accuracy, after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--held-out", type=Path, default=Path(__file__).resolve().parent / "held_out.jsonl")
    parser.add_argument("--misses", type=int, default=0, help="prints so many wrong answers")
    args = parser.parse_args()
    model, tokens = llama.load(args.model), Tokens(args.model)
    cases: list[tuple[tuple[str, int], torch.Tensor, int]] = []
    for text in args.held_out.read_text().splitlines():
        line = json.loads(text)
        questions = [Question(wire, line["labels"][name], "") for name, wire in line["questions"].items()]
        for question, logits in zip(questions, label_logits(model, tokens, line["state"], questions)):
            target = prompts.label_index(question.wire, question.answer)
            cases.append((bucket(question.wire), logits, target))
            if args.misses and int(logits.argmax()) != target:
                args.misses -= 1
                said = prompts.labels(question.wire)[int(logits.argmax())]
                print(prompts.as_text(line["state"]), "|", json.dumps(question.wire), "|", said, "instead of", question.answer)
    half = len(cases) // 2
    temperatures = {key: temperature([row for k, row, _ in cases[:half] if k == key], [t for k, _, t in cases[:half] if k == key])
                    for key in sorted({key for key, _, _ in cases})}

    def columns(some: list[tuple[tuple[str, int], torch.Tensor, int]], calibrate: bool) -> tuple[torch.Tensor, torch.Tensor]:
        peaks = [torch.softmax(row / (temperatures[key] if calibrate else 1.0), 0).max() for key, row, _ in some]
        return torch.stack(peaks), torch.tensor([int(row.argmax()) == target for _, row, target in some])

    good = True
    groups = [(f"choice {low} to {high}", lambda key, low=low: key == ("choice", low)) for low, high in BUCKETS]
    groups += [(kind, lambda key, kind=kind: key[0] == kind) for kind in ("noul", "choice", "score")] + [("all", lambda key: True)]
    for name, belongs in groups:
        second = [case for case in cases[half:] if belongs(case[0])]
        accuracy, error = report(name, *columns([case for case in cases if belongs(case[0])], False), *columns(second, True))
        good &= name.startswith("choice ") or accuracy >= TARGET_ACCURACY and error <= TARGET_ERROR
    names = {low: f"{low}-{high}" if low < high else str(low) for low, high in BUCKETS}
    of_choices = {names[low]: temperatures["choice", low] for low in names}
    found = {"noul": temperatures["noul", 0], "choice": of_choices, "score": temperatures["score", 0]}
    print("temperature: " + json.dumps(found, default=float))
    print(f"targets of all, noul, choice, score: accuracy {100 * TARGET_ACCURACY:.0f} %, calibrated error {TARGET_ERROR}")
    print("all targets met" if good else "TARGETS MISSED")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
