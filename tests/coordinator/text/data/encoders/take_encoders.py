#!/usr/bin/env python3
"""Take a part of the yardsticks of encoders' tokenizers as test data: see README.md.

    take_encoders.py GOLDEN_DIR OUT_DIR

Needs `tokenizers` from PyPI for long.jsonl.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import make_tokenizers as base
from tokenizers import Tokenizer

NAMES = ["modernbert", "roberta", "wordpiece-accents", "wordpiece-cased", "wordpiece-uncased", "wordpiece-vocab-txt",
         "xlm-roberta-converted"]
LONG = ["roberta", "wordpiece-uncased"]
# Every n-th line is taken. The first texts and the first pairs are the hardest.
PARTS = {"vectors.jsonl": (150, 10), "single.jsonl": (70, 1), "pairs.jsonl": (10, 3)}


def main(golden, out):
    for name in NAMES:
        os.makedirs(f"{out}/{name}", exist_ok=True)
        for file in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            if os.path.exists(f"{golden}/{name}/{file}"):
                shutil.copy(f"{golden}/{name}/{file}", f"{out}/{name}/{file}")
        for file, (first, step) in PARTS.items():
            with open(f"{golden}/{name}/{file}") as f:
                lines = f.readlines()
            with open(f"{out}/{name}/{file}", "w") as f:
                f.writelines(line for i, line in enumerate(lines) if i < first or i % step == 0)
    for name in LONG:
        tokenizer = Tokenizer.from_file(f"{golden}/{name}/tokenizer.json")
        base.write_long(f"{out}/{name}", lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
                        lambda ids: tokenizer.decode(ids, skip_special_tokens=False))


if __name__ == "__main__":
    main(*sys.argv[1:3])
