#!/usr/bin/env python3
"""Makes goldens/: results of Hugging Face transformers for a few requests to the demo model.

    make_goldens.py MODEL_DIR OUT_DIR

OUT_DIR/ids/golden.json has the format of tests/golden/families: requests of ids, multi-item and chunk-aware, together with
the texts of the ids. OUT_DIR/text/golden.json has the format of text models: `multi_item[]` (query and items tokenized
separately) and `one_by_one[]` (tokenized as one text), each with `softmax` over the labels and `probabilities` over the
vocabulary. Computed in float64 with the stored weights, but transformers computes RoPE angles and norms in float32.
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import sentencepiece
import torch
import transformers

DELIMITER = "<|item|>"
LABELS = [" yes", " no"]
CITIES = [" Paris", " London", " Rome", " Tokyo", " Madrid", " Berlin", " Lisbon", " Vienna", " Oslo", " Athens"]
SENTENCES = [" The grass is green.", " The sky is blue.", " Paris is the capital of France.", " The opposite of hot is cold.",
             " The colour of the lemon is yellow.", " The baker makes bread.", " The dog barks.", " The window is made of glass.",
             " The snow is white.", " The day after Monday is Tuesday."]
MULTI_ITEM = [
    ("The capital of France is", CITIES, LABELS),
    ("Which sentence tells the colour of the sky?", SENTENCES, LABELS),
    ("What is 3 plus 4?", ["7", "8", "", "twelve times nine"], LABELS),
    ("The opposite of hot is", [" cold", " warm", " Ulan Bator \u2615"], [" yes", " no", " cold", "."]),
]
ONE_BY_ONE = [("The capital of France is", CITIES[:4], LABELS, False),
              ("Which sentence tells the colour of the sky?", SENTENCES[:3], LABELS, False),
              (" is the capital of", ["Paris", "Madrid"], [" France", " Spain", " yes"], True)]
CHUNK_AWARE = [
    ("Read the documents.",
     ["Anna lives in Oslo. Anna works as a baker.", "The red key is in the kitchen.", "The blue key is in the tower.", "Ben has 12 apples."],
     ["Where is the red key?", "Where does Anna live?", "How many apples does Ben have?"]),
    ("", ["The code of the green box is 47.", "The owner of the green box is Rosa. The price of the green box is 9 coins."],
     ["Who owns the green box?", "What is the code of the green box?"]),
]
NEW_TOKENS = 3


def packed_layout(prefix: int, blocks: list[int], suffix: int, strategy: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions [rows] and visibility [rows, rows] of a prefix, blocks that do not attend to each other, and a suffix."""
    segments = [("prefix", prefix), *(("block", n) for n in blocks), ("suffix", suffix)]
    begin, positions, rows = 0, [], []
    for kind, length in segments:
        first = begin
        if strategy == "shared" and kind != "prefix":
            first = prefix if kind == "block" else prefix + max(blocks, default=0)
        for i in range(length):
            visible = torch.zeros(prefix + sum(blocks) + suffix, dtype=torch.bool)
            visible[:begin if kind == "suffix" else prefix] = True
            visible[begin:begin + i + 1] = True
            if kind == "prefix":
                visible[begin + i + 1:] = False
            positions.append(first + i)
            rows.append(visible)
        begin += length
    return torch.tensor(positions), torch.stack(rows)


class Reference:
    def __init__(self, model_dir: Path) -> None:
        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(model_dir / "tokenizer.model"))
        self.model = transformers.AutoModelForCausalLM.from_pretrained(model_dir, torch_dtype=torch.float64, attn_implementation="eager").eval()

    def ids(self, text: str, start: bool = False) -> list[int]:
        return ([self.tokenizer.bos_id()] if start else []) + self.tokenizer.encode(text)

    def label_ids(self, labels: list[str]) -> list[int]:
        ids = [self.ids(label) for label in labels]
        assert all(len(i) == 1 for i in ids), labels
        return [i[0] for i in ids]

    @torch.no_grad()
    def last_row(self, ids: list[int], layout: tuple[torch.Tensor, torch.Tensor] | None = None) -> torch.Tensor:
        """Log-probabilities over the vocabulary after the last of `ids`."""
        options = {}
        if layout:
            mask = torch.zeros(layout[1].shape, dtype=torch.float64).masked_fill(~layout[1], torch.finfo(torch.float64).min)
            options = {"position_ids": layout[0][None], "attention_mask": mask[None, None]}
        return torch.log_softmax(self.model(input_ids=torch.tensor([ids]), **options).logits[0, -1].double(), -1)


def rounded(values: torch.Tensor) -> list[float]:
    return [round(v, 9) for v in values.tolist()]


def top(row: torch.Tensor) -> list[list[float]]:
    best = torch.topk(row, 5)
    return [[i, round(v, 9)] for i, v in zip(best.indices.tolist(), best.values.tolist())]


def over_labels(row: torch.Tensor, labels: list[int]) -> dict[str, list[float]]:
    return {"softmax": rounded(torch.softmax(row[labels], 0)), "probabilities": rounded(row[labels].exp())}


def columns(rows: list[dict[str, list[float]]]) -> dict[str, list[list[float]]]:
    return {name: [row[name] for row in rows] for name in ("softmax", "probabilities")}


def multi_item_of_ids(reference: Reference, query: str, items: list[str], labels: list[str]) -> dict:
    delimiter, label_ids = reference.tokenizer.piece_to_id(DELIMITER), reference.label_ids(labels)
    query_ids, items_ids = reference.ids(query, start=True), [reference.ids(item) for item in items]
    case = {"texts": {"query": query, "items": items, "labels": labels}, "query": query_ids, "items": items_ids,
            "label_token_ids": label_ids, "delimiter": delimiter}
    for visibility, prefix in (("hidden", query_ids), ("first", [*query_ids, delimiter])):
        rows = [reference.last_row(prefix + item) for item in ([], *items_ids)]
        case[visibility] = {"label_logprobs": [rounded(row[label_ids]) for row in rows], "top_logprobs": [top(row) for row in rows]}
    return case


def chunk_aware(reference: Reference, system: str, chunks: list[str], question: str, strategy: str) -> dict:
    prefix, blocks, suffix = reference.ids(system, start=True), [reference.ids(c) for c in chunks], reference.ids(question)
    ids = prefix + sum(blocks, []) + suffix
    lengths = len(prefix), [len(b) for b in blocks]
    row = reference.last_row(ids, packed_layout(*lengths, len(suffix), strategy))
    labels = reference.label_ids(LABELS)
    case = {"texts": {"system": system, "chunks": chunks, "question": question}, "system": prefix, "chunks": blocks, "question": suffix,
            "strategy": strategy, "positions": packed_layout(*lengths, len(suffix), strategy)[0].tolist(), "label_token_ids": labels,
            "label_logprobs": rounded(row[labels]), "top_logprobs": top(row)}
    greedy: list[int] = []
    margins = []
    for _ in range(NEW_TOKENS):
        row = reference.last_row(ids + greedy, packed_layout(*lengths, len(suffix) + len(greedy), strategy))
        best = torch.topk(row, 2)
        margins.append((best.values[0] - best.values[1]).item())
        greedy.append(int(best.indices[0]))
    case["texts"]["answer"] = reference.tokenizer.decode(greedy)
    return {**case, "greedy": greedy, "smallest_greedy_margin": round(min(margins), 6)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    reference = Reference(args.model)
    made_with = f"transformers {transformers.__version__}, torch {torch.__version__}, float64"

    ids = {"made_with": made_with, "family": "demo_model",
           "multi_item": [multi_item_of_ids(reference, *case) for case in MULTI_ITEM],
           "chunk_aware": [chunk_aware(reference, system, chunks, question, strategy) for system, chunks, questions in CHUNK_AWARE
                           for question in questions for strategy in ("shared", "offset")]}

    text: dict = {"made_with": made_with, "delimiter": reference.tokenizer.piece_to_id(DELIMITER), "delimiter_text": DELIMITER,
                  "multi_item": [], "one_by_one": []}
    for query, items, labels in MULTI_ITEM:
        label_ids, query_ids = reference.label_ids(labels), reference.ids(query, start=True)
        items_ids = [reference.ids(item) for item in items]
        text["multi_item"].append({
            "query": query, "items": items, "label_token_ids": label_ids, "query_ids": query_ids, "items_ids": items_ids,
            **columns([over_labels(reference.last_row(query_ids + item), label_ids) for item in items_ids])})
    for query, items, labels, item_first in ONE_BY_ONE:
        label_ids = reference.label_ids(labels)
        prompts = [reference.ids(item + query if item_first else query + item, start=True) for item in items]
        text["one_by_one"].append({
            "query": query, "items": items, "label_token_ids": label_ids, "item_first": item_first, "prompts_ids": prompts,
            **columns([over_labels(reference.last_row(prompt), label_ids) for prompt in prompts])})

    for name, golden in (("ids", ids), ("text", text)):
        (args.out / name).mkdir(parents=True, exist_ok=True)
        (args.out / name / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    for case in text["multi_item"][:2]:
        print(case["query"], [(item, round(s[0], 4)) for item, s in zip(case["items"], case["softmax"])])
    for case in ids["chunk_aware"]:
        print(case["texts"]["question"], case["strategy"], case["texts"]["answer"], case["smallest_greedy_margin"])


if __name__ == "__main__":
    main()
