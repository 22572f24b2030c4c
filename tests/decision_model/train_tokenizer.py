#!/usr/bin/env python3
"""Makes tokenizer.model: SentencePiece BPE, trained on a sample of the corpus, with the labels of options.

    train_tokenizer.py OUT_DIR

Ids 0 … 3 are <unk>, <s>, </s> and <|item|>, as in the demo model; id 4 is the line break, a user-defined symbol. Words are
tokens of their own both with a space before them and without one, because values in JSON and labels have none. The pairs
AA … BZ are the labels of more than 26 options. They are added behind the trained vocabulary, so that no text but such a pair
becomes one of them.
"""
from __future__ import annotations

import argparse
import io
import json
import re
from itertools import islice
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import decisions
import prompts

VOCAB_SIZE = 1280
DELIMITER = "<|item|>"
PAIRS = [chr(a) + chr(b) for a in range(ord("A"), ord("B") + 1) for b in range(ord("A"), ord("Z") + 1)]


def sample(count: int) -> list[str]:
    lines: list[str] = []
    for request in islice(decisions.requests("tokenizer"), count):
        lines += prompts.state_text(request.state).split("\n")
        for question in request.questions:
            lines += [line for line in prompts.question_text(question.wire).split("\n") if not re.match(r"[A-Z]{2}: ", line)]
    lines = [re.sub(r"(?<=\d)(?=[^\d\s])|(?<=[^\d\s])(?=\d)", " ", line) for line in lines if line]  # digits join nothing
    words = sorted(set(re.findall(r"[A-Za-z]{2,}|\d+", " ".join(lines))) | {"yes", "no"})
    bare = [f"x{word}" if word.isdigit() else f'"{word}"' for word in words]  # pieces do not go from one script to another
    return lines + [" ".join(words), " ".join(bare)] * (count // 4) + [" ".join(map(chr, range(33, 127)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    trained = io.BytesIO()
    lines = sample(4000)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=trained, model_type="bpe", vocab_size=VOCAB_SIZE - len(PAIRS) - 1,
        byte_fallback=True, character_coverage=1.0, control_symbols=[DELIMITER],
        normalization_rule_name="identity", remove_extra_whitespaces=True, add_dummy_prefix=True,
        required_chars="".join(map(chr, range(33, 127))), unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
        max_sentence_length=1 << 16, num_threads=1, minloglevel=1)
    model = sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())
    known, lowest = {p.piece for p in model.pieces}, min(p.score for p in model.pieces)
    for pair in PAIRS:
        assert pair not in known, pair
        lowest -= 1
        model.pieces.add(piece=pair, score=lowest)
    model.pieces.add(piece="\n", score=0, type=sentencepiece_model_pb2.ModelProto.SentencePiece.USER_DEFINED)
    model.trainer_spec.vocab_size = len(model.pieces)
    (args.out / "tokenizer.model").write_bytes(model.SerializeToString())
    config = {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
              "additional_special_tokens": [DELIMITER], "clean_up_tokenization_spaces": False, "legacy": False,
              "model_max_length": 2048, "tokenizer_class": "LlamaTokenizer"}
    (args.out / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")

    tokenizer = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    for request in islice(decisions.requests("words"), 1000):
        for word in re.findall(r"[A-Za-z]{2,}|\d+", prompts.as_text(request.state)):
            assert len(tokenizer.encode(word)) == 1 and len(tokenizer.encode("\n" + word)) == 3, word
    print(f"{tokenizer.get_piece_size()} tokens; all words of states are single tokens, with and without a space")
    begin = len(tokenizer.encode("\nAnswer:"))
    for label in [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *PAIRS, *"0123456789", "yes", "no"]:
        assert tokenizer.encode("\nAnswer:" + label)[begin:] == [tokenizer.piece_to_id(label)], label
        assert tokenizer.encode(f"\n{label}: Oslo")[2] == tokenizer.piece_to_id(label), label


if __name__ == "__main__":
    main()
