#!/usr/bin/env python3
"""Writes places.jsonl: tokens and their places by Hugging Face's tokenizers library.

    make_places.py ../../text/data > places.jsonl
"""
import json
import pathlib
import sys

import tokenizers

TEXTS = [
    "Hello world, the cat sat on the mat.",
    "  two spaces, then\n\nlines\tand tabs  ",
    "naïve café – “quoted” 日本語 text",
    "emoji 😀👍🏽 and é (decomposed)",
    "12345 + 678 = 13023",
    "x",
]

for directory in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if not (directory / "tokenizer.json").exists():
        continue
    tokenizer = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    for text in TEXTS:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        places = [list(place) for place in encoding.offsets]
        print(json.dumps({"tokenizer": directory.name, "text": text, "ids": encoding.ids,
                          "places": places}, ensure_ascii=False))
