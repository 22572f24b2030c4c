#!/usr/bin/env python3
"""Makes the log-probabilities that Hugging Face transformers gives for the tokens of prompts, and of one greedy token more.

    prompts.py FAMILIES_DIR OUT_DIR NAME…

Needs torch, transformers and safetensors (PyPI). Reads the checkpoints FAMILIES_DIR/NAME, which families.py makes, and computes in
float64. Of each it writes OUT_DIR/NAME.json: `tokens`, the prompt and the token after it; `token_logprobs`, that of each token but
the first; `top_logprobs`, [id, log-probability] of the best three in its place.
"""
import json, random, sys
import torch, transformers

LENGTH = 100  # More than a page of K/V.
TOP = 3


def main():
    families, out, *names = sys.argv[1:]
    for name in names:
        model = transformers.AutoModelForCausalLM.from_pretrained(f"{families}/{name}", dtype=torch.float64, attn_implementation="eager")
        draw = random.Random(name)
        tokens = [draw.randrange(10, model.config.vocab_size) for _ in range(LENGTH)]
        with torch.no_grad():
            logprobs = torch.log_softmax(model(torch.tensor([tokens])).logits[0], dim=-1)
        tokens.append(int(logprobs[-1].argmax()))
        best = logprobs.topk(TOP)
        golden = dict(made_with=f"transformers {transformers.__version__}, torch {torch.__version__}, float64", tokens=tokens,
                      token_logprobs=[round(float(row[token]), 7) for row, token in zip(logprobs, tokens[1:])],
                      top_logprobs=[[[int(i), round(float(v), 7)] for i, v in zip(ids, values)] for ids, values in zip(best.indices, best.values)])
        with open(f"{out}/{name}.json", "w") as file:
            file.write(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
