#!/usr/bin/env python3
"""Trains the demo model on the generated corpus, on two CPUs.

    train.py MODEL_DIR [--seed S] [--last-lesson STEPS] [--checkpoint FILE]

MODEL_DIR must have tokenizer.model; config.json and model.safetensors are written at every report. The training is a series
of lessons. The first ones teach only reading, from few short documents that differ in their subject alone; each ends
when its goal is reached. The last lesson has all kinds of requests and a fixed number of steps. The learning rate falls to
zero in its last 45 %.

Two aids make the model learn to read in some hundred steps; without them it did not in thousands. The weights start leaning
towards matching (llama.py). And an auxiliary head, thrown away afterwards, predicts the subject of the sentence from an early
layer, at every value in a document and at the end of every question.

With --checkpoint the state is saved in FILE after every section of 100 steps. If FILE exists, training continues from it with
the same data as if it had never stopped.
"""
from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed
import torch.multiprocessing
import torch.nn.functional as F

import evaluate
import generate_corpus
import llama
import packed
from generate_corpus import Judgement, Mixture, Reading
from packed import Batch, PackedSequence, Tokens

TOKENS = 1344  # in a worker's part of a batch
WORKERS = 2  # processes of one thread; twice as fast as one process of two threads
SECTION = 100  # steps
WARM_UP = 100
SUBJECT_WEIGHT = 0.5  # weight of the loss of the head that predicts subjects
DECAY_PART = 0.45  # part of the last lesson in which the learning rate falls
WEIGHT_DECAY = 0.05


@dataclass(frozen=True)
class Lesson:
    mixture: Mixture
    row_length: int
    goal: float  # the lesson ends when this share of a section's readings is right
    rate: float = 1.5e-3  # learning rate
    steps: int = 1 << 30  # the lesson also ends after so many steps


READING_ONLY = {"answers": 0, "reranks": 0, "readings": 1, "sentences": (1,)}
LESSONS = (
    Lesson(Mixture(**READING_ONLY, smallest_reading=4, largest_reading=8, questions=8, of_persons=True, kinds=(1,)), 144, 0.85),
    Lesson(Mixture(**READING_ONLY, smallest_reading=3, largest_reading=8, questions=8, kinds=(1, 1, 2), beginnings=0.1), 160, 0.8),
    Lesson(Mixture(answers=0.45, reranks=0.17, readings=0.33, questions=5), 192, 0.945),
    Lesson(Mixture(answers=0.63, reranks=0.17, readings=0.13, questions=5), 192, 2.0, 2e-3, 800),
    Lesson(Mixture(answers=0.6, reranks=0.17, readings=0.17, questions=6, sentences=(1, 1, 1, 2, 2), same_subject=0.3), 224, 2.0, 2e-3, 800),
    Lesson(Mixture(answers=0.6, reranks=0.17, readings=0.17, arithmetic=2.5, questions=6, sentences=(1, 1, 1, 2, 2), same_subject=0.3), 224, 2.0, 2e-3),
)


def pack(tokens: Tokens, request: object, rng: random.Random) -> PackedSequence:
    if isinstance(request, Judgement):
        return packed.pack_judgement(tokens, request, delimiter_first=rng.random() < 0.1, complete=rng.random() < 0.15)
    if isinstance(request, Reading):
        return packed.pack_reading(tokens, request, rng.choices(("shared", "offset", "plain"), (85, 10, 5))[0], answered=rng.random() < 0.25)
    return packed.pack_passage(tokens, request)


class Batches:
    """Rows filled with whole requests, each in the first row that has room for it.

    Each section of the training has a seed of its own, so that its data does not depend on earlier sections.
    """

    def __init__(self, tokens: Tokens, lesson: Lesson, seed: str, section: int) -> None:
        self.row_length = lesson.row_length
        self.tokens, self.rng = tokens, random.Random(f"{seed}/packing/{section}")
        self.stream = generate_corpus.requests(f"{seed}/{section}", lesson.mixture)
        self.waiting: list[PackedSequence] = []

    def next(self) -> Batch:
        rows: list[list[PackedSequence]] = [[] for _ in range(TOKENS // self.row_length)]
        room = [self.row_length] * len(rows)
        later: list[PackedSequence] = []
        misses = 0
        while misses < 8:
            sequence = self.waiting.pop() if self.waiting else pack(self.tokens, next(self.stream), self.rng)
            if len(sequence) > self.row_length:
                continue
            for r in range(len(rows)):
                if len(sequence) <= room[r]:
                    rows[r].append(sequence)
                    room[r] -= len(sequence)
                    break
            else:
                misses += 1
                later.append(sequence)
        self.waiting += later
        return packed.collate(rows, self.row_length)


def learning_rate(peak: float, step: int, left: int, last_lesson: int) -> float:
    """The learning rate at `step`, if the last lesson has `last_lesson` steps and `left` of them are left."""
    return peak * min((step + 1) / WARM_UP, 1.0, left / (DECAY_PART * last_lesson))


def loss_of(model: llama.Llama, subject_head: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the weighted mean over the rows that have a target, and which answers of readings are right.

    The lm-head computes only rows with a target.
    """
    weights = batch.weights.flatten()
    rows = torch.nonzero(weights)[:, 0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, inner = model(batch.tokens, batch.positions, batch.visible, rows, batch.subject_rows)
        subjects = subject_head(inner)
    weights, targets = weights[rows], batch.targets.flatten()[rows]
    losses = F.cross_entropy(logits.float(), targets, reduction="none")
    read = (weights == packed.READING_WEIGHT)
    subject_loss = F.cross_entropy(subjects.float(), batch.subject_tokens) if len(batch.subject_tokens) else 0.0
    return (losses * weights).sum() / weights.sum() + SUBJECT_WEIGHT * subject_loss, (logits.argmax(-1) == targets)[read]


def share(parameters: list[torch.nn.Parameter]) -> None:
    """Replaces every gradient by the mean over the workers."""
    gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
    flat = torch.cat([g.flatten() for g in gradients])
    torch.distributed.all_reduce(flat)
    for parameter, part in zip(parameters, flat.div_(WORKERS).split([p.numel() for p in parameters])):
        parameter.grad = part.view_as(parameter)


def work(worker: int, args: argparse.Namespace) -> None:
    """Runs one of WORKERS equal processes, each with its own part of the corpus. Worker 0 prints and writes files."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{args.meet}", rank=worker, world_size=WORKERS)
    torch.manual_seed(0)
    tokens = Tokens(args.model)
    model = llama.Llama(llama.Config(vocab_size=tokens.processor.get_piece_size()))
    if worker == 0:
        print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    subject_head = torch.nn.Sequential(llama.Norm(model.config.hidden_size, model.config.rms_norm_eps),
                                       torch.nn.Linear(model.config.hidden_size, model.config.vocab_size, bias=False))
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0},
                                   {"params": list(subject_head.parameters()), "weight_decay": WEIGHT_DECAY}],
                                  lr=LESSONS[0].rate, betas=(0.9, 0.95), eps=1e-9, fused=True)
    step, lesson, done, left = 0, 0, 0, args.last_lesson  # `done`: steps of this lesson so far
    if args.checkpoint and args.checkpoint.exists():
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        subject_head.load_state_dict(state["subject head"])
        optimizer.load_state_dict(state["optimizer"])
        step, lesson, done = state["step"], state["lesson"], state["done"]
        left -= done if lesson == len(LESSONS) - 1 else 0
    parameters = [*model.parameters(), *subject_head.parameters()]
    began = time.time()
    while left > 0:
        batches = Batches(tokens, LESSONS[lesson], f"{args.seed}/{worker}", step // SECTION)
        total, right = 0.0, []
        for _ in range(SECTION):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(LESSONS[lesson].rate, step, left, args.last_lesson)
            loss, read = loss_of(model, subject_head, batches.next())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            share(parameters)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            total += loss.item()
            right.append(read)
            step += 1
            left -= lesson == len(LESSONS) - 1
        counts = torch.tensor([torch.cat(right).sum(), sum(map(len, right)), total / SECTION])
        torch.distributed.all_reduce(counts)
        read_right, mean_loss = (counts[0] / counts[1]).item(), counts[2].item() / WORKERS
        lesson_was, done = lesson, done + SECTION
        if read_right >= LESSONS[lesson].goal or done >= LESSONS[lesson].steps:
            lesson, done = lesson + 1, 0
        if worker > 0:
            continue
        print(f"{time.time() - began:6.0f} s  step {step}  lesson {lesson_was}  loss {mean_loss:.4f}  read right {100 * read_right:.1f} %", flush=True)
        if args.checkpoint:
            torch.save({"model": model.state_dict(), "subject head": subject_head.state_dict(), "optimizer": optimizer.state_dict(),
                        "step": step, "lesson": lesson, "done": done}, args.checkpoint)
        if step % args.report_every == 0 or left <= 0:
            llama.save(model, args.model)
            evaluate.evaluate(llama.load(args.model), tokens, 100, "reports", quick=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--last-lesson", type=int, default=2400, help="steps of the last lesson")
    parser.add_argument("--seed", default="demo")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--report-every", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        args.meet = f"{directory}/meet"
        torch.multiprocessing.spawn(work, (args,), WORKERS)


if __name__ == "__main__":
    main()
