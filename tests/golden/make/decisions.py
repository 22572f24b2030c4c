#!/usr/bin/env python3
"""Makes the reference tokens of decision prompts.

    decisions.py OUT_DIR SHARED_DIR [MODELS_DIR]

Needs tokenizers and sentencepiece (made with 0.22.2 and 0.2.1), for models torch and transformers (2.7.1 and 4.57.6). The prompts are spelled here as SGLang's prompt format 1 and
the models' chat templates spell them, not read from scorecast's template files; a prompt is tokenized as one text, as SGLang
does. SHARED_DIR has tokenizers/qwen3, tokenizers/llama3 (tokenizer.json) and tokenizers/llama2-sentencepiece
(tokenizer.model). Writes into OUT_DIR
  cases.jsonl       state, and a question as a client sends it;
  TEMPLATE.jsonl    for each case the tokens of its prompt, and of its labels behind that;
  MODEL.jsonl       for each model of MODELS_DIR and each case the probabilities of the options, by the logits of the labels
                    in float64. Those of a noul are of yes and no, whose two spellings are summed.
"""
import json, os, sys
import sentencepiece
from tokenizers import Tokenizer

here = os.path.dirname(os.path.abspath(__file__))
QWEN25 = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
DATE = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
LLAMA3 = "<|start_header_id|>user<|end_header_id|>\n\n%s<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
STATES = ["The shop is closed.", "", "a", "Ends without a stop", "Two lines\nof text", "Ends with a line end\n", "Ends with two\n\n", " leading space",
          "\n\nleading lines", "trailing  ", "tab\t", "日本語のテキストです。", "naïve café 🎉", "1234567890", "def f(x):\n    return x\n", "a?b!c…", "(brackets)", "\"quoted\"",
          {"order": {"id": 7, "late": True, "tags": ["a", "b"]}, "note": "ring \"twice\"\n"}, ["x", 1.5, None, {"k": []}]]
QUESTIONS = [{"type": "noul", "instructions": "Is it urgent?"},
             {"type": "noul", "instructions": "Urgent", "criteria": {"false": "Can wait", "true": "Reply today"}},
             {"type": "noul", "criteria": {"true": None, "false": {"k": 1}}},
             {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "Payments", "sales": None, "other": {"k": 1}}},
             {"type": "choice", "instructions": {"question": "Which team?"}, "criteria": {"a": "", "b": " x "}},
             {"type": "choice", "instructions": " \n", "criteria": {str(i): None for i in range(26)}},
             {"type": "choice", "criteria": {"option %d" % i: "no. %d" % i for i in range(27)}},
             {"type": "score", "instructions": "Mood?", "criteria": ["Calm", "Angry"]},
             {"type": "score", "criteria": ["level %d" % i for i in range(10)]}]


def text(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def blank(value):
    return value is None or (isinstance(value, str) and not value.strip())


def letters(count):
    return [chr(65 + i) for i in range(26)][:count] if count <= 26 else [chr(65 + i // 26) + chr(65 + i % 26) for i in range(26 * 26)]


def content(state, question, labels):
    asked = "" if blank(question.get("instructions")) else text(question["instructions"])
    criteria = question.get("criteria")
    lines = ["Question: " + asked] if asked else []
    if question["type"] == "choice":
        for label, (name, description) in zip(labels, criteria.items()):
            detail = text(description)
            lines.append("%s: %s - %s" % (label, name, detail) if detail else "%s: %s" % (label, name))
        lines.append("Answer with the letter of one option only.")
    elif question["type"] == "score":
        lines += ["%s: %s" % (label, text(level)) for label, level in zip(labels, criteria)]
        lines.append("Answer with the number of one level only.")
    else:
        lines = ["Is the following true? " + asked if asked else "Is the following true?"]
        for label, key in (("yes", "true"), ("no", "false")):
            detail = text((criteria or {}).get(key))
            if detail:
                lines.append("%s: %s" % (label, detail))
        lines.append("Answer with yes or no only.")
    return "\n".join([text(state), "", *lines])


TEMPLATES = {
    "sglang-v1-qwen3": lambda c: "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n" % c,
    "sglang-v1-qwen25": lambda c: "<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n" % (QWEN25, c),
    "sglang-v1-chatml": lambda c: "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n" % c,
    "sglang-v1-llama3": lambda c: "<|begin_of_text|>" + LLAMA3 % c.strip(),
    "sglang-v1-llama31": lambda c: "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n%s<|eot_id|>" % DATE + LLAMA3 % c.strip(),
    "sglang-v1-llama2": lambda c: "[INST] %s [/INST]" % c.strip(),
}

MODELS = {"qwen3-tiny": "sglang-v1-qwen3", "llama2-tiny": "sglang-v1-llama2"}


def probabilities(directory, cases, prompts):
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float64, attn_implementation="eager").eval()
    for case, prompt in zip(cases, prompts):
        with torch.no_grad():
            logits = model(torch.tensor([prompt["ids"]])).logits[0, -1, prompt["labels"]]
        found = torch.softmax(logits, 0)
        if case["question"]["type"] == "noul":
            found = found.reshape(2, 2).sum(1)
        yield {"probabilities": [round(one, 10) for one in found.tolist()]}


def main():
    out, shared, *models = sys.argv[1:]
    hf = lambda name: Tokenizer.from_file(os.path.join(shared, "tokenizers", name, "tokenizer.json"))
    encoders = {name: (lambda t: lambda s: t.encode(s, add_special_tokens=False).ids)(hf(name)) for name in ("qwen3", "llama3")}
    pieces = sentencepiece.SentencePieceProcessor(os.path.join(shared, "tokenizers/llama2-sentencepiece/tokenizer.model"))
    encoders["llama2"] = lambda s: [1] + pieces.encode(s)
    cases = [{"state": s, "question": q} for i, s in enumerate(STATES) for j, q in enumerate(QUESTIONS) if i < 2 or (i + j) % 3 == 0]
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "cases.jsonl"), "w") as file:
        for case in cases:
            file.write(json.dumps(case, ensure_ascii=False) + "\n")
    prompts = {}
    for name, wrap in TEMPLATES.items():
        encode = encoders["llama2" if name.endswith("llama2") else "llama3" if "llama3" in name else "qwen3"]
        label = lambda prompt, ids, one: (lambda both: both[-1] if both[:-1] == ids else None)(encode(prompt + one))
        with open(os.path.join(out, name + ".jsonl"), "w") as file:
            for case in cases:
                question = case["question"]
                count = len(question.get("criteria") or [])
                if question["type"] == "choice":
                    prompt = wrap("x")
                    labels = [one for one in letters(count) if label(prompt, encode(prompt), one) is not None][:count]
                else:
                    labels = [str(i) for i in range(count)] if question["type"] == "score" else ["yes", "Yes", "no", "No"]
                prompt = wrap(content(case["state"], question, labels))
                ids = encode(prompt)
                prompts.setdefault(name, []).append({"ids": ids, "labels": [label(prompt, ids, one) for one in labels]})
                file.write(json.dumps(prompts[name][-1], separators=(",", ":")) + "\n")
    for name, template in MODELS.items() if models else ():
        with open(os.path.join(out, name + ".jsonl"), "w") as file:
            for one in probabilities(os.path.join(models[0], name), cases, prompts[template]):
                file.write(json.dumps(one, separators=(",", ":")) + "\n")


main()
