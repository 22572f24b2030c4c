#!/usr/bin/env python3
"""Make the small tokenizers of this directory and the reference libraries' output for hard texts.

    make_tokenizers.py OUT_DIR

Needs `tokenizers` (made with 0.23.3) and `sentencepiece` (0.2.3) from PyPI. Everything is trained on
text that is generated here, from fixed seeds. Writes, for each tokenizer NAME, into OUT_DIR/NAME/
  tokenizer.json or tokenizer.model; tokenizer_config.json if the tokenizer needs one;
  vectors.jsonl  text, ids (nothing added), ids_special (with what the post-processor adds; for a
                 tokenizer.model with BOS in front), decoded (special tokens kept);
  single.jsonl   text and its id, null if it is not exactly one token;
  decode.jsonl   ids, some of them cut inside characters, and their text;
  long.jsonl     a text given as a unit and its number of repetitions, the number of ids, their hash.
"""
import argparse
import copy
import io
import json
import os
import random
import unicodedata

import sentencepiece
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", " \n ", "a", " a", "a ", "  a  b   c    d",
    "The harbour is open.", " harbour", "harbour", ".", " .", "Hello, world!", "HELLO WORLD",
    "don't can't we'll I'm you're they've he'd IT'S Don'T x'ſ", "’twas the night", "it’s",
    "0 1 12 123 1234 12345 3.14159 1e-5 0x7F 1,000,000", "½ ² ٣ ३ Ⅷ ㊿", "2026-11-21T10:03:00Z", "a1b22c333d4444",
    "foo_bar fooBar FooBAR foo-bar foo.bar::baz->qux", "if (x == 0) { return; }\n\telse {\n\t\tx++;\n\t}\n",
    "https://example.org/a/b?c=d&e=f#g", "C:\\dir\\file.txt", "日本語", " 日本語", "日本語のテキストです。",
    "中文 English 混合 text", "한국어 문장입니다", "한국어", "ภาษาไทย", "हिन्दी में पाठ",
    "العربية", "עברית", "Ελληνικά", "Русский текст", "Tiếng Việt", "Ünïcödé çà et là", "naïve café",
    "nai\u0308ve cafe\u0301", "q\u0323\u0307 q\u0307\u0323", "\u0301a", "a\u0301\u0301\u0323", "ﬁ Å Å Ω Ω \u0340\u0344", "\u1e9b\u0323",
    "emoji 🎉", "🎉", "👩‍👩‍👧‍👦 👍🏽 🇫🇷🇯🇵 ❤️", "𝕳𝖊𝖑𝖑𝖔 𝟙𝟚𝟛", "\u200b\u200c\u200d\ufeff", "a\u00a0b\u2003c\u3000d",
    "\u2028\u2029\u0085", "a\u180eb \u180e c", "\x00", "\x01\x02\x7f", "\x1c\x1d a", "tab\tseparated\tvalues",
    "trailing spaces   \nnext", "   leading", "\n \n  \n", "  \r\n  x", "....!!!???", "--- *** ___ === ~~~", "!\n!\r\n/\n",
    "<s>", "</s>", "<unk>", "<|endoftext|>", "<|im_start|>user\nhi<|im_end|>\n", "<|im_start", "<|im_start|", "a<|im_end|>b",
    " <|im_end|> ", "<|im_end|><|im_end|>", "a" * 300, " " * 200, "\n" * 90, "ab" * 120, "0123456789" * 20,
    "🎉" * 40, "AAAA" * 30 + "a", "▁", "▁▁x", "a▁b", "Ġ", "Ġharbour", "Ċ", "<0x0A>", "<0x41>", "\ud7ff\ue000\U0010ffff",
    "İstanbul ıI ẞß ſ ǅ", "1st 2nd 3rd 4th", "ⓐⓑ ₁₂ ⁿ ª º", "sys # # chunk1 # # chunk2 # # question",
]
# For the tokenizer whose added tokens have every option.
ADDED_TEXTS = [
    "x<l>y", "x  <l>  y", "x \n\t<l><l> y", "\u3000<l>", "<l>", "  <r>  y", "x<r>   ", "<r> <r>\u2003<l> <r>", "<r>   <l>   y", "x  <lr>  y", " <lr> <lr> ",
    "word", "a word b", "swords", "words", "sword", "word.", "word_", "éword", "word🎉", "wordword", "word word", "word\u200d", "word\u0301", "ⓐword", "word-word", "3word",
    "ca\u0301fe", "cáfe", "a cáfe!", "a ca\u0301fe!", "\u212b", "\u00c5", "x\u212by A\u030a", "<a>", "<a><b>", "<a><b", "<a><b><c>", "<a><b><", "<aa>", "é", "aéb", "e\u0301",
    "<n>", "N<n>N", "<N>", "<l>word<r>", " <l> word <r> ", "<l> word", "x <s1> y", "x <s1> <l> y", "<sp> x", "a  <sp>", "\u0301<n>", "<n>\u0301", "<l>\u0301",
    "<r> \u0301", "token one token two", "token  one", "two", "twos",
]
SINGLES = ["", "a", " a", "the", " the", " harbour", "harbour", "1", "12", "\n", " ", "é", "日", "🎉", "<|endoftext|>", "<|im_end|>", "word", "two words", ".", " ."]
LONG_UNITS = ["a", " ", "7", "🎉", "\n", "日本語", " \n", "!", "A", "harbour", "it's ", "\u0323\u0301", "<|im_end|>", "<|im_"]
LONG = ["digits", "ignore-merges", "nfc", "sentencepiece-bpe"]
BLOCKS = [(0x20, 0x7e)] * 6 + [(0xa0, 0x17f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x5d0, 0x5ea), (0x620, 0x65f), (0x905, 0x939), (0xe01, 0xe30),
          (0x1100, 0x11ff), (0x1e00, 0x1eff), (0x2000, 0x206f), (0x2100, 0x218f), (0x3041, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xff00, 0xffef), (0x1f300, 0x1f6ff), (0x1d400, 0x1d7ff)]
WORDS = "the harbour is open and every boat has a light on its mast while wind comes from the west in winter or summer can't don't it's they're".split()


def training_text(rng):
    """Lines of words, numbers and made-up syllables in a few scripts."""
    syllables = ["ka", "lo", "mi", "ter", "ing", "an", "est", "é", "ña", "ö", "да", "ни", "日", "本語", "の", "λο"]
    lines = []
    for _ in range(600):
        words = []
        for _ in range(rng.randint(3, 12)):
            kind = rng.random()
            if kind < 0.6:
                word = rng.choice(WORDS)
            elif kind < 0.9:
                word = "".join(rng.choice(syllables) for _ in range(rng.randint(1, 4)))
            else:
                word = str(rng.randint(0, 99999))
            words.append(word.capitalize() if rng.random() < 0.15 else word)
        lines.append((" " if rng.random() < 0.9 else "  ").join(words) + rng.choice([".", "!", ",\n", " 🎉", "\n\n"]))
    lines += [c * n for c in ("a", " ", "!", "\n", "ab", "🎉") for n in (4, 8, 30, 30)]
    return lines


def random_text(rng):
    words = []
    for _ in range(rng.randint(1, 10)):
        if rng.random() < 0.3:
            words.append(rng.choice(WORDS))
            continue
        low, high = rng.choice(BLOCKS)
        words.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
    text = "".join(w + rng.choice([" ", " ", "", "  ", "\n", "\t", "'s ", ", ", " \n"]) for w in words)
    return unicodedata.normalize("NFD", text) if rng.random() < 0.2 else text


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **options}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(i, content, special=False, **flags):
    return {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": not special, "special": special, **flags}


def template(prefix=(), suffix=()):
    names = {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in [*prefix, *suffix]}
    special = lambda side: [{"SpecialToken": {"id": name, "type_id": 0}} for name, _ in side]
    a, b = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    return {"type": "TemplateProcessing", "single": special(prefix) + [a] + special(suffix), "pair": [a, b], "special_tokens": names}


def bpe_tokenizers(lines):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=560, initial_alphabet=alphabet, show_progress=False))
    base = json.loads(tokenizer.to_str())
    size = len(base["model"]["vocab"])
    pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in base["model"]["merges"]]

    def variant(**changes):
        result = copy.deepcopy(base)
        result["model"]["merges"] = pairs
        result.update(changes)
        return result

    chat = [added(size, "<|endoftext|>", True), added(size + 1, "<|im_start|>", True), added(size + 2, "<|im_end|>", True),
            added(size + 3, "<think>", False, normalized=False)]
    made = {}

    # Like SmolLM2: digits, GPT-2's expression, merges as strings, special tokens in the vocabulary.
    digits = variant(pre_tokenizer=sequence({"type": "Digits", "individual_digits": True}, byte_level()),
                     added_tokens=[added(0, "<|endoftext|>", True), added(1, "<|im_start|>", True), added(2, "<|im_end|>", True)])
    vocab = {spelling: i + 3 for spelling, i in digits["model"]["vocab"].items()}
    digits["model"]["vocab"] = {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2, **vocab}
    digits["model"]["merges"] = [" ".join(pair) for pair in pairs]
    digits["model"]["unk_token"] = "<|endoftext|>"
    made["digits"] = digits, None

    # Like Llama 3: whole pieces come before merges. Removing every other merge makes that matter.
    whole = variant(pre_tokenizer=sequence(split(LLAMA3), byte_level(use_regex=False)), added_tokens=chat,
                    post_processor={"type": "Sequence", "processors": [byte_level(), template([("<|endoftext|>", size)])]})
    whole["model"]["ignore_merges"] = True
    needed = set()
    for left, right in pairs[::2]:
        needed |= {left, right}
    whole["model"]["merges"] = [pair for i, pair in enumerate(pairs) if i % 2 == 0 or "".join(pair) in needed]
    made["ignore-merges"] = whole, {"bos_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}

    # Like Qwen: NFC, nothing added.
    made["nfc"] = variant(normalizer={"type": "NFC"}, pre_tokenizer=sequence(split(QWEN), byte_level(use_regex=False)), added_tokens=chat,
                          post_processor=byte_level()), {"add_bos_token": False, "bos_token": None, "tokenizer_class": "Qwen2Tokenizer"}

    flags = [("<l>", dict(lstrip=True)), ("<r>", dict(rstrip=True)), ("<lr>", dict(lstrip=True, rstrip=True)), ("word", dict(single_word=True)),
             ("ca\u0301fe", dict(normalized=True)), ("\u212b", dict(normalized=True)), ("<a>", {}), ("<a><b>", {}), ("<a><b><c>", {}),
             ("<n>", dict(normalized=True, lstrip=True)), ("<s1>", dict(special=True, lstrip=True)), (" <sp>", dict(normalized=False)),
             ("token one", dict(normalized=False, single_word=True)), ("two", dict(normalized=True, single_word=True, rstrip=True))]
    tokens = [added(size + i, content, **{"normalized": False, **options}) for i, (content, options) in enumerate(flags)]
    # One that is also in the vocabulary, as the spelling of a byte.
    tokens.append(added(base["model"]["vocab"]["é"], "é", normalized=False))
    made["added-tokens"] = variant(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}, pre_tokenizer=byte_level(),
                                   added_tokens=tokens), None

    # Adds a space before every text, and BOS and EOS around it.
    made["prefix-space"] = variant(pre_tokenizer=byte_level(add_prefix_space=True), added_tokens=chat,
                                   post_processor=template([("<|im_start|>", size + 1)], [("<|im_end|>", size + 2), ("<|endoftext|>", size)])), None

    # Every behaviour of Split, with strings and with expressions.
    made["splits"] = variant(pre_tokenizer=sequence(split("--", "MergedWithPrevious", kind="String"), split(".", "MergedWithNext", kind="String"),
                                                    split(r"\s+", "Removed"), split("[aeiou]", "Contiguous"), split(r"\p{Lu}", "MergedWithNext", True),
                                                    {"type": "Digits", "individual_digits": False}, byte_level(add_prefix_space=True, use_regex=False)),
                             added_tokens=chat[:1]), None
    made["cased"] = variant(pre_tokenizer=sequence(split(GPT4O), byte_level(use_regex=False)), added_tokens=chat), None

    # A vocabulary without the bytes above 0xBF, which are therefore left out.
    missing = variant(pre_tokenizer=byte_level())
    lacking = set(alphabet) - set(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str("".join(map(chr, range(128))))[0][0])
    lacking = {c for c in lacking if 0xC0 <= ord(c) <= 0xFF}
    missing["model"]["vocab"] = {s: i for s, i in missing["model"]["vocab"].items() if not lacking & set(s)}
    missing["model"]["merges"] = [pair for pair in pairs if "".join(pair) in missing["model"]["vocab"]]
    made["missing-bytes"] = missing, None
    return made


def write_lines(path, records):
    with open(path, "w") as f:
        for record in records:
            f.write(json.dumps(record) + "\n")


def write_vectors(directory, texts, encode, special, decode, id_lists):
    write_lines(f"{directory}/vectors.jsonl", [dict(text=s, ids=encode(s), ids_special=special(s), decoded=decode(encode(s))) for s in texts])
    singles = [(s, encode(s)) for s in SINGLES]
    write_lines(f"{directory}/single.jsonl", [dict(text=s, id=ids[0] if len(ids) == 1 else None) for s, ids in singles])
    write_lines(f"{directory}/decode.jsonl", [dict(ids=ids, decoded=decode(ids)) for ids in id_lists])


def hash_of(ids):
    value = 0
    for i in ids:
        value = (value * 31 + i) % 2**32
    return value


def write_long(directory, encode, decode):
    """Texts of a megabyte, in most of which a pre-tokenizer finds no place to cut."""
    records = []
    for unit in LONG_UNITS:
        repeats = 1_000_000 // len(unit.encode())
        ids = encode(unit * repeats)
        lossy = dict(lossy=True) if decode(ids) != unit * repeats else {}
        records.append(dict(unit=unit, repeats=repeats, count=len(ids), hash=hash_of(ids), **lossy))
    write_lines(f"{directory}/long.jsonl", records)


def id_lists(rng, size, encode):
    """Lists of random ids, and texts that are cut in the middle of characters."""
    lists = [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(25)]
    for text in ["日本語🎉é", "👩‍👩‍👧‍👦", "Ünïcödé"]:
        ids = encode(text)
        lists += [ids[i:j] for i in range(len(ids)) for j in (i + 1, i + 2, len(ids))]
    return [ids for ids in lists if ids]


def sentencepiece_models(lines):
    common = dict(normalization_rule_name="identity", hard_vocab_limit=False, num_threads=1, minloglevel=2)
    options = {
        # Like Llama 2.
        "sentencepiece-bpe": dict(model_type="bpe", vocab_size=700, byte_fallback=True, split_digits=True, remove_extra_whitespaces=False,
                                  allow_whitespace_only_pieces=True, character_coverage=0.99),
        "sentencepiece-unigram": dict(model_type="unigram", vocab_size=400, user_defined_symbols=["<|im_end|>"], control_symbols=["<|im_start|>"]),
    }
    for name, chosen in options.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([part for line in lines for part in line.split("\n") if part]),
                                                 model_writer=model, **common, **chosen)
        yield name, model.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    out = parser.parse_args().out
    lines = training_text(random.Random("training"))
    rng = random.Random("texts")
    texts = TEXTS + [random_text(rng) for _ in range(40)]

    for name, (tokenizer, config) in bpe_tokenizers(lines).items():
        directory = f"{out}/{name}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/tokenizer.json", "w") as f:
            json.dump(tokenizer, f, ensure_ascii=False, separators=(",", ":"))
        if config is not None:
            with open(f"{directory}/tokenizer_config.json", "w") as f:
                json.dump(config, f)
        reference = Tokenizer.from_file(f"{directory}/tokenizer.json")
        encode = lambda s: reference.encode(s, add_special_tokens=False).ids
        special = lambda s: reference.encode(s, add_special_tokens=True).ids
        decode = lambda ids: reference.decode(ids, skip_special_tokens=False)
        lists = id_lists(random.Random(name), reference.get_vocab_size(), encode)
        if name in LONG:
            write_long(directory, encode, decode)
        write_vectors(directory, texts + (ADDED_TEXTS if name == "added-tokens" else []), encode, special, decode, lists)

    for name, model in sentencepiece_models(lines):
        directory = f"{out}/{name}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/tokenizer.model", "wb") as f:
            f.write(model)
        sp = sentencepiece.SentencePieceProcessor(model_proto=model)
        special = lambda s: [sp.bos_id()] + sp.encode(s)
        if name in LONG:
            write_long(directory, sp.encode, sp.decode)
        # SentencePiece decodes control tokens to no text; we keep them. They are tested by hand.
        lists = [[i for i in ids if not sp.is_control(i)] for ids in id_lists(random.Random(name), sp.get_piece_size(), sp.encode)]
        write_vectors(directory, texts, sp.encode, special, sp.decode, lists)


if __name__ == "__main__":
    main()
