"""A random model that decides: the bench's model of a shape, with a tokenizer and a template.

The tokenizer is a byte-level BPE in which a space with two small letters is one token, and so are the labels. So the number of
tokens of a text is that of its words.
"""
from __future__ import annotations

import json
import random
import string
from pathlib import Path

_SPACE, _LINE_END = "Ġ", "Ċ"  # As byte-level BPE writes them.
_TEMPLATE = '''# The template of bench/run decisions.
state: "{state}\\n\\n"
noul: "{instructions}\\n{options}"
choice: "{instructions}\\n{options}"
score: "{instructions}\\n{options}"
option: "{label}:{name}{if description} {description}{end}\\n"
level: "{label}:{description}\\n"
outcome: "{label}:{description}\\n"
labels.noul: [["yes"], ["no"]]
labels.choice: "A-Z"
labels.score: "A-J"
end: "= "
'''


def write_model(source: Path, directory: Path) -> None:
    """`source`: a random model without a tokenizer. `directory` gets links to its files."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "decision_template.txt").write_text(_TEMPLATE)
    (directory / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    for file in ("model.safetensors", "config.json"):
        link(source / file, directory)


def link(file: Path, directory: Path) -> None:
    """Links to a file from a directory."""
    place = directory / file.name
    if not place.is_symlink():
        place.symlink_to(file.resolve())


def words(count: int, order: random.Random) -> str:
    """Random words, of a token each if there is a space before the text."""
    return " ".join("".join(order.choices(string.ascii_lowercase, k=2)) for _ in range(count))


def _tokenizer() -> dict[str, object]:
    letters = string.ascii_lowercase
    pairs = [(a, b) for a in letters for b in letters]
    merges = [*pairs, ("y", "es"), *((_SPACE, a + b) for a, b in pairs), (_SPACE, "yes"),
              *((_SPACE, label) for label in string.ascii_uppercase), (_LINE_END, _LINE_END)]
    tokens = [*_byte_letters(), *(a + b for a, b in merges)]
    split = {"type": "Split", "pattern": {"Regex": r" ?\p{L}+| ?[^\s\p{L}]+|\s*[\r\n]+|\s+"}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]}, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "vocab": {token: i for i, token in enumerate(tokens)},
                      "merges": [" ".join(merge) for merge in merges]}}


def _byte_letters() -> list[str]:
    """The letters with which byte-level BPE writes the bytes: most stand for themselves, the others begin at U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [*map(chr, printable), *(chr(0x100 + i) for i in range(len(others)))]
