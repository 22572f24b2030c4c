#!/usr/bin/env python3
"""Trains the decision model on the generated corpus, on two CPUs.

    train.py MODEL_DIR [--seed S] [--last-lesson STEPS] [--checkpoint FILE]

MODEL_DIR must have tokenizer.model; config.json and model.safetensors are written every 500 steps and at the end.

An answer takes four steps, a layer each, and auxiliary aims say what they are. Layer 1 knows subject and kind, at a value in the
state and at a question's last row. In layer 2, that row attends to their value and takes it over, and an option takes over its
label, or the value that a noul claims takes over "yes". In layer 3, the last row attends to the option that is its value, or to
the claim; if the claim is another value, it attends to the first row of all. Then it predicts the label. What predicts the aims
is thrown away afterwards. The training is a series of lessons, and in the last one the learning rate falls to zero.

Matrices of the layers are trained with Muon: the step is the gradient's momentum, made orthogonal. The rest has AdamW.
"""
from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.distributed
import torch.multiprocessing
import torch.nn.functional as F

import decisions
import rows
from decisions import Mixture
from rows import FETCH, KIND, OPTION, POINT, SUBJECT, VALUE, Aim, Tokens

import llama  # of the demo model
import packed
from packed import PackedSequence

LAYERS = 5
TOKENS = 1536  # in a worker's part of a batch
WORKERS = 2
SECTION = 50  # steps
WARM_UP = 20
MUON_RATE, ADAM_RATE = 0.02, 3e-3
MUON_DECAY, ADAM_DECAY = 0.05, 0.05
MOMENTUM = 0.95
LAYER_OF = {SUBJECT: 1, VALUE: 2, OPTION: 2, KIND: 1}  # the layer whose output an auxiliary aim reads
AIM_WEIGHT = 0.5
GUIDED = {FETCH: 2, POINT: 3}  # the layer whose attention is guided
HEADS = 2  # its first ones are guided


@dataclass(frozen=True)
class Lesson:
    mixture: Mixture
    row_length: int
    goal: float  # the lesson ends when this share of a section's answers is right, of each type
    steps: int = 1 << 30  # the lesson also ends after so many steps


EVERYTHING = Mixture()
LESSONS = (
    Lesson(replace(EVERYTHING, facts=(2, 4), kinds=(1, 2), json=0.0, questions=4, types=(0.5, 0.5, 0.0), options=(2, 4), many=0.0,
                   statements=0.0, same_subject=0.0), 96, 0.85, 1500),
    Lesson(replace(EVERYTHING, facts=(2, 6), questions=4, options=(2, 7), many=0.0), 128, 0.85, 1000),
    Lesson(EVERYTHING, 192, 2.0, 500),
    Lesson(replace(EVERYTHING, many=0.2, same_subject=0.5), 208, 2.0),
)


class Decider(llama.Llama):
    """The model with its inner layers' outputs at given rows."""

    def learn(self, batch: packed.Batch, reads: torch.Tensor, inner: dict[int, torch.Tensor],
              guided: dict[int, torch.Tensor]) -> tuple[torch.Tensor, dict[int, torch.Tensor], dict[int, torch.Tensor]]:
        """Logits of `reads`; outputs at `inner`; log-probabilities [heads, rows, length] of the attention of `guided` rows."""
        half = self.config.head_dim // 2
        angle = batch.positions[:, None, :, None].float() * self.config.rope_theta ** (-torch.arange(half, dtype=torch.float32) / half)
        cos, sin = angle.cos(), angle.sin()
        mask = torch.zeros(batch.visible.shape).masked_fill_(~batch.visible, -1e9).to(torch.get_autocast_dtype("cpu"))
        x, outputs, attended = self.embed_tokens(batch.tokens), {}, {}
        for number, layer in enumerate(self.layers):
            attended |= {what: self.attention(layer, x, cos[:, 0], sin[:, 0], mask, at)
                         for what, at in guided.items() if GUIDED[what] == number}
            x = layer(x, cos, sin, mask)
            outputs |= {what: x.flatten(0, 1)[at] for what, at in inner.items() if LAYER_OF[what] == number}
        return F.linear(self.norm(x.flatten(0, 1)[reads]), self.embed_tokens.weight), outputs, attended

    def attention(self, layer: llama.Layer, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor,
                  at: torch.Tensor) -> torch.Tensor:
        size, length = self.config.head_dim, x.shape[1]
        x = layer.input_layernorm(x)
        q = F.linear(x.flatten(0, 1)[at], layer.self_attn.q_proj.weight[:HEADS * size])
        q = q.view(len(at), HEADS, size).transpose(0, 1).float()
        k = F.linear(x, layer.self_attn.k_proj.weight[:size]).float()
        q = llama.rotate(q, cos.flatten(0, 1)[at], sin.flatten(0, 1)[at])
        k = llama.rotate(k, cos, sin)[at // length]
        return torch.log_softmax(torch.einsum("hnd,nld->hnl", q, k) * size**-0.5 + mask[:, 0].flatten(0, 1)[at].float(), -1)


class Batches:
    """Rows filled with whole requests. Each section has a seed of its own, so that its data does not depend on earlier sections."""

    def __init__(self, tokens: Tokens, lesson: Lesson, seed: str, section: int) -> None:
        self.length, self.tokens = lesson.row_length, tokens
        self.stream = decisions.requests(f"{seed}/{section}", lesson.mixture)
        self.waiting: list[tuple[PackedSequence, list[Aim]]] = []

    def next(self) -> tuple[packed.Batch, list[int], list[Aim]]:
        length = self.length
        held: list[list[PackedSequence]] = [[] for _ in range(TOKENS // length)]
        used, reads, aims, later, misses = [0] * len(held), [], [], [], 0
        while misses < 4:
            sequence, its_aims = self.waiting.pop() if self.waiting else self.draw()
            for r in range(len(held)):
                if used[r] + len(sequence) <= length:
                    begin = r * length + used[r]
                    held[r].append(sequence)
                    used[r] += len(sequence)
                    reads += [begin + i for i in sequence.reads]
                    aims += [Aim(begin + a.row, a.token + (begin if a.what in GUIDED else 0), a.what) for a in its_aims]
                    break
            else:
                misses += 1
                later.append((sequence, its_aims))
        self.waiting += later
        return packed.collate(held, length), reads, aims

    def draw(self) -> tuple[PackedSequence, list[Aim]]:
        """The next request, without the last questions if it is longer than a row."""
        made = next(self.stream)
        while len((drawn := rows.pack(self.tokens, made))[0]) > self.length:
            made.questions.pop()
        return drawn


def loss_of(model: Decider, heads: torch.nn.ModuleDict, given: tuple[packed.Batch, list[int], list[Aim]], types: list[torch.Tensor]
            ) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss; of each type of question, how many labels are the best token, and the number; losses of the aims."""
    batch, reads, aims = given
    aims = {what: torch.tensor([(a.row, a.token) for a in aims if a.what == what], dtype=torch.long).reshape(-1, 2)
            for what in (*LAYER_OF, *GUIDED)}
    inner, guided = ({what: aims[what][:, 0] for what in some} for some in (LAYER_OF, GUIDED))
    at = torch.tensor(reads)
    with torch.autocast("cpu", torch.bfloat16):
        logits, outputs, attended = model.learn(batch, at, inner, guided)
        predicted = {what: F.linear(heads[str(what)](outputs[what]), model.embed_tokens.weight).float() for what in inner}
    targets = batch.targets.flatten()[at]
    loss = F.cross_entropy(logits.float(), targets)
    parts = torch.zeros(6)
    for what, pairs in aims.items():
        if what in predicted:
            aim_loss = F.cross_entropy(predicted[what], pairs[:, 1])
        else:
            to = (pairs[:, 1] % batch.tokens.shape[1])[None, :, None].expand(HEADS, -1, 1)
            aim_loss = -attended[what].gather(2, to).mean()
        parts[what] = aim_loss.detach()
        loss = loss + AIM_WEIGHT * aim_loss
    right = logits.argmax(-1) == targets
    its = [torch.isin(targets, labels) for labels in types]
    return loss, torch.cat([torch.tensor([count for mine in its for count in (right[mine].sum(), mine.sum())]), parts])


class Muon:
    """Each worker makes the steps of a part of the matrices orthogonal, by five Newton-Schulz iterations in BF16."""

    def __init__(self, parameters: list[torch.nn.Parameter], worker: int) -> None:
        self.parameters = parameters
        self.momenta = [torch.zeros_like(p) for p in parameters]
        by_shape: dict[tuple, list[int]] = {}
        for i, p in enumerate(parameters):
            by_shape.setdefault(tuple(sorted(p.shape)), []).append(i)
        self.mine = [group[worker::WORKERS] for group in by_shape.values() if group[worker::WORKERS]]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        steps = [torch.zeros_like(p) for p in self.parameters]
        for momentum, p in zip(self.momenta, self.parameters):
            momentum.lerp_(p.grad, 1 - MOMENTUM)
        for group in self.mine:
            flipped = [self.parameters[i].shape[0] > self.parameters[i].shape[1] for i in group]
            given = [self.parameters[i].grad.lerp(self.momenta[i], MOMENTUM) for i in group]
            x = torch.stack([one.T if f else one for one, f in zip(given, flipped)])
            x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
            for _ in range(5):
                a = x @ x.mT
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
            for i, f, one in zip(group, flipped, x.float()):
                steps[i].copy_(one.T if f else one)
        flat = torch.cat([s.flatten() for s in steps])
        torch.distributed.all_reduce(flat)  # the others' steps were zero
        for p, part in zip(self.parameters, flat.split([p.numel() for p in self.parameters])):
            p.mul_(1 - rate * MUON_DECAY).add_(part.view_as(p), alpha=-rate * max(1.0, p.shape[0] / p.shape[1])**0.5)


def share(parameters: list[torch.nn.Parameter]) -> None:
    """Replaces every gradient by the mean over the workers."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    flat = torch.cat([p.grad.flatten() for p in parameters])
    torch.distributed.all_reduce(flat)
    for parameter, part in zip(parameters, flat.div_(WORKERS).split([p.numel() for p in parameters])):
        parameter.grad = part.view_as(parameter)


def rate_at(step: int, left: int, last_lesson: int) -> float:
    """The part of the highest learning rate; `left` of the last lesson's steps are left."""
    return min(1.0, (step + 1) / WARM_UP) * left / last_lesson


def work(worker: int, args: argparse.Namespace) -> None:
    """Runs one of equal processes, each with its own part of the corpus. Worker 0 prints and writes files."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{args.meet}", rank=worker, world_size=WORKERS)
    torch.manual_seed(0)
    tokens = Tokens(args.model)
    model = Decider(llama.Config(vocab_size=tokens.first.get_piece_size(), num_hidden_layers=LAYERS))
    heads = torch.nn.ModuleDict({str(what): llama.Norm(model.config.hidden_size, model.config.rms_norm_eps) for what in LAYER_OF})
    parameters = [*model.parameters(), *heads.parameters()]
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    muon = Muon(matrices, worker)
    norms = [p for p in parameters if p.dim() == 1]
    adam = torch.optim.AdamW([{"params": [model.embed_tokens.weight], "weight_decay": ADAM_DECAY}, {"params": norms, "weight_decay": 0.0}],
                             lr=ADAM_RATE, betas=(0.9, 0.95), eps=1e-9, fused=True)
    step, lesson, done, left = 0, 0, 0, args.last_lesson
    if args.checkpoint and args.checkpoint.exists():
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        heads.load_state_dict(state["heads"])
        adam.load_state_dict(state["adam"])
        muon.momenta = state["muon"]
        step, lesson, done = state["step"], state["lesson"], state["done"]
        left -= done if lesson == len(LESSONS) - 1 else 0
    elif worker == 0:
        print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    types = [torch.tensor([tokens.label(label) for label in labels]) for labels in (("yes", "no"), "0123456789")]
    types.insert(1, torch.tensor([i for i in range(tokens.first.get_piece_size()) if not torch.isin(torch.tensor(i), torch.cat(types))]))
    began = time.time()
    while left > 0:
        last = lesson == len(LESSONS) - 1
        batches = Batches(tokens, LESSONS[lesson], f"{args.seed}/{worker}", step // SECTION)
        counts, total = torch.zeros(12), 0.0
        for _ in range(SECTION):
            rate = rate_at(step, left, args.last_lesson)
            for group in adam.param_groups:
                group["lr"] = ADAM_RATE * rate
            loss, found = loss_of(model, heads, batches.next(), types)
            for p in parameters:
                p.grad = None
            loss.backward()
            share(parameters)
            torch.nn.utils.clip_grad_norm_(norms + [model.embed_tokens.weight], 1.0)
            adam.step()
            muon.step(MUON_RATE * rate)
            total += loss.item()
            counts += found
            step += 1
            left -= last
        counts = torch.cat([counts, torch.tensor([total])])
        torch.distributed.all_reduce(counts)
        right = [(counts[2 * i] / counts[2 * i + 1].clamp(min=1)).item() for i in range(3)]
        per_step = (counts[6:] / SECTION / WORKERS).tolist()
        lesson_was, done = lesson, done + SECTION
        if min(right[i] for i in range(3) if counts[2 * i + 1]) >= LESSONS[lesson].goal or done >= LESSONS[lesson].steps:
            lesson, done = lesson + 1, 0
        if worker > 0:
            continue
        said = ", ".join(f"{name} {100 * share:.1f} %" for name, share in zip(("noul", "choice", "score"), right))
        aims = " ".join(f"{loss:.2f}" for loss in per_step[:6])
        print(f"{time.time() - began:6.0f} s  step {step}  lesson {lesson_was}  loss {per_step[6]:.4f}  aims {aims}  right: {said}",
              flush=True)
        if args.checkpoint:
            torch.save({"model": model.state_dict(), "heads": heads.state_dict(), "adam": adam.state_dict(), "muon": muon.momenta,
                        "step": step, "lesson": lesson, "done": done}, args.checkpoint)
        if step % args.save_every == 0 or left <= 0:
            llama.save(model, args.model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--last-lesson", type=int, default=750, help="steps of the last lesson")
    parser.add_argument("--seed", default="decisions")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--save-every", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        args.meet = f"{directory}/meet"
        torch.multiprocessing.spawn(work, (args,), WORKERS)


if __name__ == "__main__":
    main()
