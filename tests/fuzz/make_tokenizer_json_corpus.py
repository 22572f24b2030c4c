#!/usr/bin/env python3
"""Write the corpus of tokenizer_json_fuzz: small tokenizer.json files, some good, some with one fault.

    make_tokenizer_json_corpus.py OUT_DIR
"""
import copy
import json
import os
import sys

LETTERS = "abcdehrtw123'!-<|>_Ġ" + "Ċ"
MERGES = [["a", "b"], ["t", "h"], ["th", "e"], ["Ġ", "the"], ["Ġ", "Ġ"], ["1", "2"]]
SPELLINGS = list(LETTERS) + ["".join(pair) for pair in MERGES]
BASE = {
    "version": "1.0",
    "added_tokens": [{"id": 40, "content": "<|im_end|>", "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}],
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    "post_processor": {"type": "ByteLevel"},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {s: i for i, s in enumerate(SPELLINGS)}, "merges": MERGES},
}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": [*parts, {"type": "ByteLevel", "add_prefix_space": True, "use_regex": False}]}


def template(single, ids):
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {"x": {"id": "x", "ids": ids, "tokens": ["x"]}}}


A, B = ({"Sequence": {"id": name, "type_id": type_id}} for name, type_id in (("A", 0), ("B", 255)))
X = {"SpecialToken": {"id": "x", "type_id": 0}}
CLASS_AND_SEPARATOR = {"sep": ["b", 1], "cls": ["a", 0]}
DEEP = "[" * 5000

# name: (path of the field, its value)
CHANGES = {
    "good": ([], None),
    "string_merges": (["model", "merges"], [" ".join(pair) for pair in MERGES]),
    "ignore_merges": (["model", "ignore_merges"], True),
    "nfc": (["normalizer"], {"type": "Sequence", "normalizers": [{"type": "NFC"}]}),
    "strip_accents": (["normalizer"], {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}),
    "digits": (["pre_tokenizer"], sequence({"type": "Digits", "individual_digits": True})),
    "llama3": (["pre_tokenizer"], sequence(split({"Regex": r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"}))),
    "behaviours": (["pre_tokenizer"], sequence(*[split({"String": s}, b, i) for s, b, i in
                   [(" ", "Removed", False), ("-", "MergedWithPrevious", True), ("'", "MergedWithNext", False), ("a", "Contiguous", False)]])),
    "exponential": (["pre_tokenizer"], sequence(split({"Regex": "(?:[a-z ]+)+!"}))),
    "empty_matches": (["pre_tokenizer"], sequence(split({"Regex": "(?=[a-z])|x*"}, "MergedWithNext"))),
    "bad_regex": (["pre_tokenizer"], sequence(split({"Regex": r"[\p{L"}))),
    "template": (["post_processor"], {"type": "Sequence", "processors": [template([X, A, X], [40, 1])]}),
    "pair": (["post_processor"], {**template([A], [40, 1]), "pair": [X, B, X, A]}),
    "pair_twice": (["post_processor"], {**template([A], [40, 1]), "pair": [X, A, A]}),
    "two_processors": (["post_processor"], {"type": "Sequence", "processors": [{"type": kind + "Processing", **CLASS_AND_SEPARATOR} for kind in ("Bert", "Roberta")]}),
    "two_templates": (["post_processor"], {"type": "Sequence", "processors": [template([X, A, X], [40, 1])] * 2}),
    "template_id": (["post_processor"], template([X, A], [41])),
    "flags": (["added_tokens"], [{"id": 40 + i, "content": c, "lstrip": i % 2 == 0, "rstrip": i % 3 == 0, "single_word": i % 4 == 1, "normalized": i % 5 == 1}
                                 for i, c in enumerate(["<l>", "<r>", "word", "e\u0301", " ", "<|im_", "<|im_end|>"])]),
    "added_huge_id": (["added_tokens", 0, "id"], 2**63),
    "added_negative_id": (["added_tokens", 0, "id"], -(2**63)),
    "added_known": (["added_tokens", 0, "content"], "a"),
    "vocab_huge_id": (["model", "vocab", "a"], 2**40),
    "vocab_real_id": (["model", "vocab", "a"], 1e300),
    "vocab_twice": (["model", "vocab", "a"], 3),
    "vocab_empty": (["model", "vocab"], {}),
    "vocab_list": (["model", "vocab"], [["a", 0.5]]),
    "merge_unknown": (["model", "merges", 0], ["a", "zz"]),
    "merge_empty": (["model", "merges", 0], ["", ""]),
    "merge_spaces": (["model", "merges", 0], "a  b"),
    "unigram": (["model", "type"], "Unigram"),
    "byte_fallback": (["model", "byte_fallback"], True),
    "unknown_token": (["model", "unk_token"], "a"),
    "no_decoder": (["decoder"], None),
}


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for name, (path, value) in CHANGES.items():
        document = copy.deepcopy(BASE)
        place = document
        for step in path[:-1]:
            place = place[step]
        if path:
            place[path[-1]] = value
        with open(f"{out}/{name}.json", "w") as f:
            json.dump(document, f, ensure_ascii=False, separators=(",", ":"))
    good = json.dumps(BASE)
    for name, text in {"empty": "", "cut": good[: len(good) // 2], "deep": DEEP, "not_utf8": None, "object": "{}", "list": "[]"}.items():
        with open(f"{out}/{name}.json", "wb") as f:
            f.write(b'{"model":"\xff"}' if text is None else text.encode())


if __name__ == "__main__":
    main()
