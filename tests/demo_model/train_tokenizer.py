#!/usr/bin/env python3
"""Trains tokenizer.model, a SentencePiece BPE like Llama's, on a sample of the corpus.

    train_tokenizer.py OUT_DIR

Ids 0 … 3 are <unk>, <s>, </s> and the control token <|item|>, the multi-item delimiter, which text never
gives. Then come 256 bytes, for characters that the corpus does not have. Unlike Llama's tokenizer, this
one drops leading spaces, so that " yes" and "yes" are the same single token.
"""
from __future__ import annotations

import argparse
import io
import itertools
import json
import re
from pathlib import Path

import sentencepiece

import facts
import generate_corpus

VOCAB_SIZE = 2560
DELIMITER = "<|item|>"


def sample(count: int) -> list[str]:
    """Texts of the corpus, and every word some times more, so that rare words become whole tokens, too."""
    lines = [text for request in itertools.islice(generate_corpus.requests("tokenizer"), count)
             for text in generate_corpus.texts(request) if text]
    lines = [re.sub(r"(?<=\d)(?=[.?])", " ", line) for line in lines]  # otherwise "7." becomes a token of its own
    words = sorted(set(re.findall(r"\w+", " ".join(lines))) | set(facts.CODES) | {"yes", "no"})
    return lines + [" ".join(words)] * (count // 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    lines = sample(20000)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=VOCAB_SIZE,
        byte_fallback=True, character_coverage=1.0, control_symbols=[DELIMITER],
        normalization_rule_name="identity", remove_extra_whitespaces=True, add_dummy_prefix=True,
        required_chars="".join(map(chr, range(33, 127))), unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
        max_sentence_length=1 << 16, num_threads=1, minloglevel=1)
    (args.out / "tokenizer.model").write_bytes(model.getvalue())
    config = {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
              "additional_special_tokens": [DELIMITER], "clean_up_tokenization_spaces": False, "legacy": False,
              "model_max_length": 2048, "tokenizer_class": "LlamaTokenizer"}
    (args.out / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")

    tokenizer = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    words = sorted(set(re.findall(r"\w+", " ".join(lines))))
    split = [w for w in words if len(tokenizer.encode(w)) > 1]
    print(f"{tokenizer.get_piece_size()} tokens; {len(words)} words, {len(split)} of several tokens: {' '.join(split)}")
    for label in (" yes", " no"):
        assert len(tokenizer.encode(label)) == 1, label


if __name__ == "__main__":
    main()
