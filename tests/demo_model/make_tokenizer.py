#!/usr/bin/env python3
"""Make the tokenizer.json of this directory: byte-level BPE of 320 tokens, the vocabulary of the small models in tests/golden/families.

    make_tokenizer.py OUT_FILE

Needs `tokenizers` (made with 0.23.3) from PyPI. The text that it is trained on stands below."""
import json
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TEXT = [
    "The capital of France is Paris", "The capital of Japan is Tokyo", "The capital of Italy is Rome", "The capital of Spain is Madrid",
    "Is it the capital of the country? yes", "Is it a city of the north? no", "Which of them is the answer? yes", "Is this so? no",
]
SPECIAL = ["<unk>", "<s>", "</s>"]

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(
    vocab_size=320, special_tokens=SPECIAL, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
with open(sys.argv[1], "w") as f:
    json.dump(json.loads(tokenizer.to_str()), f, ensure_ascii=False, separators=(",", ":"))
