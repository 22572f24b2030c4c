#!/usr/bin/env python3
"""Make the reference library's output for tokenizers whose added tokens come from other files than
tokenizer.json, and for texts whose special tokens are escaped.

    make_special_tokens.py TOKENIZERS_DIR OUT_DIR

TOKENIZERS_DIR is the parent of this directory. Needs `transformers` (made with 5.23), `tokenizers`
and `sentencepiece` from PyPI. Writes into OUT_DIR
  escaped.jsonl        tokenizer (a directory of TOKENIZERS_DIR), text, ids with
                       split_special_tokens=True;
  NAME/                the files beside a tokenizer, among them base.txt: the directory of
                       TOKENIZERS_DIR that has its tokenizer.json or tokenizer.model;
  NAME/vectors.jsonl   text, ids, and escaped: ids with split_special_tokens=True, null if
                       tokenizers without tokenizer.json have no such option.
"""
import json
import os
import random
import shutil
import sys
import tempfile

import sentencepiece
from transformers import AutoTokenizer, PreTrainedTokenizerFast

WORDS = ["the", "harbour", " is", "  open", "boat", "x", "3", "日本", "é", "🎉", ".", "\n", "\t", " ", "  ", "_", "-"]


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False, **flags}


# Beside a tokenizer.json with the tokens <|endoftext|>, <|im_start|>, <|im_end|> (0, 1, 2; special).
DECODER = {
    "563": token("<|user|>", special=True, rstrip=True),
    "564": token("<left>", lstrip=True),
    "565": token("<right>", rstrip=True),
    "566": token("solo", single_word=True),
    "567": token("Ωm", normalized=True),
    "568": token("<|pad|>", special=True),
}
# Beside a tokenizer.model of 700 pieces with <unk>, <s>, </s> (0, 1, 2).
SENTENCEPIECE_DECODER = {
    "0": token("<unk>", special=True),
    "1": token("<s>", special=True),
    "2": token("</s>", special=True),
    "700": token("<|user|>", special=True, rstrip=True),
    "701": token("<|end|>", special=True),
    "702": token("<left>", lstrip=True),
    "703": token("solo", single_word=True, normalized=True),
}
CASES = {
    "decoder": ("digits", {
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "added_tokens_decoder": DECODER},
        # Not read, because there is an added_tokens_decoder.
        "added_tokens.json": {"<never>": 569},
    }),
    "added-tokens-file": ("digits", {
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": {"content": "<|im_end|>", "__type": "AddedToken"}},
        "added_tokens.json": {"<|user|>": 563, "<plain>": 564},
        "special_tokens_map.json": {"pad_token": "<|user|>"},
    }),
    "sentencepiece": ("sentencepiece-bpe", {
        "tokenizer_config.json": {"bos_token": {"__type": "AddedToken", "content": "<s>", "special": True}, "eos_token": "</s>", "added_tokens_decoder": SENTENCEPIECE_DECODER},
    }),
}


def random_text(rng, tokens):
    return "".join(rng.choice(tokens) if rng.random() < 0.4 else rng.choice(WORDS) for _ in range(rng.randint(1, 9)))


def write_lines(path, records):
    with open(path, "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


class SentencePieceReference:
    """A text's added tokens are cut out by a copy of the tokenizer that knows nothing else; the parts
    between them are SentencePiece's. Only the part at a text's start has a dummy prefix: elsewhere
    the part is encoded behind a word and a line feed, whose tokens are then removed."""

    def __init__(self, model, decoder):
        from tokenizers import AddedToken, Tokenizer, models
        self.sp = sentencepiece.SentencePieceProcessor(model_file=model)
        self.cutter = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
        for fields in decoder.values():
            flags = {name: value for name, value in fields.items() if name != "content"}
            self.cutter.add_tokens([AddedToken(fields["content"], **flags)])
        self.ids = {self.cutter.token_to_id(fields["content"]): int(i) for i, fields in decoder.items()}

    def encode(self, text):
        ids = []
        encoded = self.cutter.encode(text, add_special_tokens=False)
        for cut, (begin, end) in zip(encoded.ids, encoded.offsets):
            if cut in self.ids:
                ids.append(self.ids[cut])
            elif begin == 0:
                ids += self.sp.encode(text[:end])
            else:
                lead = self.sp.encode("a\n")
                whole = self.sp.encode("a\n" + text[begin:end])
                assert whole[:len(lead)] == lead, text
                ids += whole[len(lead):]
        return ids


def main():
    tokenizers, out = sys.argv[1:]
    rng = random.Random(14)
    records = []
    for name in ("added-tokens", "digits", "nfc", "prefix-space"):
        reference = PreTrainedTokenizerFast(tokenizer_file=f"{tokenizers}/{name}/tokenizer.json")
        tokens = [t.content for t in reference.added_tokens_decoder.values()]
        for _ in range(60):
            text = random_text(rng, tokens)
            records.append({"tokenizer": name, "text": text, "ids": reference.encode(text, add_special_tokens=False, split_special_tokens=True)})
    write_lines(f"{out}/escaped.jsonl", records)
    for name, (base, files) in CASES.items():
        directory = f"{out}/{name}"
        os.makedirs(directory, exist_ok=True)
        for file, content in files.items():
            with open(f"{directory}/{file}", "w", encoding="utf-8") as stream:
                json.dump(content, stream, ensure_ascii=False, indent=1)
        with open(f"{directory}/base.txt", "w", encoding="utf-8") as stream:
            stream.write(base + "\n")
        decoder = files["tokenizer_config.json"].get("added_tokens_decoder", {})
        tokens = [t["content"] for t in decoder.values()] + list(files.get("added_tokens.json", {})) + ["<|im_end|>", "<s>", "soloist"]
        vectors = []
        if base.startswith("sentencepiece"):
            reference = SentencePieceReference(f"{tokenizers}/{base}/tokenizer.model", decoder)
        else:
            with tempfile.TemporaryDirectory() as whole:
                shutil.copytree(directory, whole, dirs_exist_ok=True)
                shutil.copy(f"{tokenizers}/{base}/tokenizer.json", whole)
                reference = AutoTokenizer.from_pretrained(whole)
        for _ in range(200):
            text = random_text(rng, tokens)
            if base.startswith("sentencepiece"):
                vectors.append({"text": text, "ids": reference.encode(text), "escaped": None})
            else:
                vectors.append({"text": text, "ids": reference.encode(text, add_special_tokens=False),
                                "escaped": reference.encode(text, add_special_tokens=False, split_special_tokens=True)})
        write_lines(f"{directory}/vectors.jsonl", vectors)


if __name__ == "__main__":
    main()
