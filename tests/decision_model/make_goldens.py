#!/usr/bin/env python3
"""Makes goldens/decisions.json: label logits of Hugging Face transformers for some requests of held_out.jsonl.

    make_goldens.py MODEL_DIR OUT_DIR

Each case has `request`; `prompts`: the tokens of the whole text, state and question together; `label_token_ids`; `logits` of
the labels; and `probabilities`, their softmax: all by question id. Computed in float64 with the stored weights, one causal text
a question, but transformers computes RoPE angles and norms in float32.
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
import transformers

import prompts
from rows import Tokens

HELD_OUT = Path(__file__).resolve().parent / "held_out.jsonl"
EVERY = 30  # one of so many lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokens = Tokens(args.model)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.float64, attn_implementation="eager").eval()
    cases = []
    for text in HELD_OUT.read_text().splitlines()[::EVERY]:
        line = json.loads(text)
        case: dict = {"request": {"state": line["state"], "questions": line["questions"]},
                      "prompts": {}, "label_token_ids": {}, "logits": {}, "probabilities": {}}
        for name, question in line["questions"].items():
            state, asked = prompts.state_text(line["state"]), prompts.question_text(question)
            ids = tokens.state(state + asked)
            assert ids == tokens.state(state) + tokens.later.encode(asked)  # the seam changes no token
            labels = [tokens.label(label) for label in prompts.labels(question)]
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids])).logits[0, -1].double()[labels]
            case["prompts"][name], case["label_token_ids"][name] = ids, labels
            case["logits"][name] = [round(v, 9) for v in logits.tolist()]
            case["probabilities"][name] = [round(v, 9) for v in torch.softmax(logits, 0).tolist()]
        cases.append(case)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "decisions.json").write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
    questions = sum(len(case["prompts"]) for case in cases)
    print(f"{len(cases)} requests, {questions} questions; transformers {transformers.__version__}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
