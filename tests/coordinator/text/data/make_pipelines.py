#!/usr/bin/env python3
"""Make small tokenizers of the other kinds of tokenizer.json, and the reference library's output.

    make_pipelines.py OUT_DIR [--rules NAME]

Needs what make_tokenizers.py needs, from which it takes the training text and the hard texts. Writes
OUT_DIR/texts.jsonl, a text in each line, and for each tokenizer NAME into OUT_DIR/NAME/
  tokenizer.json;
  ids.jsonl      for each text: the ids (nothing added) and the hash of the decoded text;
  ...            vectors.jsonl (a few texts), single.jsonl, decode.jsonl and long.jsonl as there.
"""
import argparse
import base64
import io
import json
import os
import random
import tempfile
import unicodedata

import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import make_tokenizers as base

COUNT = 1000
SPECIALS = ["<s>", "</s>", "<unk>", "[INST]", "[/INST]", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>", "<pad>", "<l>", "<r>", "word", "▁▁", "\n\n"]
CONTROLS = ["\x00", "\x01", "\x07", "\x1b[0m", "\x7f", "\x85", "\u200b", "\u200e", "\u2028", "\ufeff", "\ufffd", "\u00ad", "\t\t", "\r\n", "\u3000", "\u00a0"]
HARD = ["", " ", "  ", "   a", "▁", " ▁a", "a▁ b", "</s>", " </s>", "x</s> y", "<s></s>", " <s> a <s>b", "x[INST] y [/INST]", "<l>a", "a  <l>  b", "a <r>  b", "<r>", "word", "a word b", "swords", "word word",
        "<unk>", "a<unk>b", "日<unk>龘", "<0x41>", "<0x0A>b", "a<0x41", "龘", "龘龘", "龘a龘", "\u0301a", "e\u0301", "a\u0301\u0301\u0301", "½", "½ ½", "㋿", "㍿", "ﬁ", "ＡＢＣ", "ｶﾞ", "İ", "ẞ", "\u1e9b\u0323", "가각", "각",
        "\x01a", "\x01", "\n", "\n\n", "\n\n\n\n", "\r\n", "a\nb", " \n a", "\u3000a", "a\u3000", "``a``", "''", "Don't. Stop!", "3.14", "a1b22c", "u.s.a.", "e.g., x", "⁇", "٣٤", "\u2e52 x", "🎉", "👩‍👩‍👧‍👦", "🇫🇷🇯🇵",
        "\U0001f3fd", "aaaaaaaaaaaaaaa", "▁▁▁▁▁▁▁", "                ", "!!!!!!!!!!!", "\t", "a\tb", "नमस्ते", "ด้วย", "العربية", "ΑΣ", "ǅ", "<start_of_turn>user\nhi<end_of_turn>\n", "<|eot_id|><|eot_id|>"]


def texts():
    rng = random.Random("pipelines")
    result = HARD + base.TEXTS
    while len(result) < COUNT:
        text = base.random_text(rng)[: rng.randint(4, 60)]
        for _ in range(rng.choice([0, 0, 1, 2])):
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(SPECIALS if rng.random() < 0.6 else CONTROLS) + text[at:]
        result.append(text)
    return result


def bpe(lines, size, specials=("<unk>", "<s>", "</s>"), normalizer=None, pre_tokenizer=None, byte_fallback=True, suffix=None, **options):
    """A BPE model of characters, with tokens for all bytes. `suffix` ends the tokens at the ends of words."""
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    first = list(specials) + ([f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else [])
    ends = dict(end_of_word_suffix=suffix) if suffix else {}
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, special_tokens=first, limit_alphabet=90, show_progress=False, **ends))
    model = json.loads(tokenizer.to_str())["model"]
    model.update(unk_token="<unk>", byte_fallback=byte_fallback, **options)
    return model


def unigram(lines, size, specials=("<unk>", "<s>", "</s>"), normalizer=None, pre_tokenizer=None, byte_fallback=False):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=list(specials), unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    if byte_fallback:
        model["vocab"][len(specials):len(specials)] = [[f"<0x{byte:02X}>", 0.0] for byte in range(256)]
        model["byte_fallback"] = True
    return model


def field(message, number):
    """The last value of a field of a serialized protobuf message; only varints and bytes are understood."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 128:
                return value, at
    at, found = 0, None
    while at < len(message):
        key, at = varint(at)
        if key & 7 == 5:
            value, at = message[at:at + 4], at + 4
        elif key & 7 == 0:
            value, at = varint(at)
        else:
            size, at = varint(at)
            value, at = message[at:at + size], at + size
        found = value if key >> 3 == number else found
    return found


def rules():
    """Part of SentencePiece's nmt_nfkc: NFKC of some blocks, composed sequences, and white space. The whole table would have 300 kB."""
    result = {chr(c): " " for c in [9, 10, 12, 13, 0x1680, 0x200b, 0x200e, 0x2028, 0x2581, 0xfeff, 0xfffd]}
    result.update({chr(c): "" for c in [1, 7, 0x1b, 0x7f, 0x8f]})
    for low, high in [(0xa0, 0xff), (0x1100, 0x1112), (0x2100, 0x2120), (0x3000, 0x3010), (0xff01, 0xff9f), (0xfb00, 0xfb06)]:
        for c in range(low, high + 1):
            if unicodedata.normalize("NFKC", chr(c)) != chr(c):
                result[chr(c)] = unicodedata.normalize("NFKC", chr(c))
    for base_letter in "aeiouAEIOUｶか":
        for mark in "\u0300\u0301\u0302\u0308\u3099":
            sequence_ = base_letter + mark
            if unicodedata.normalize("NFKC", sequence_) != sequence_:
                result[sequence_] = unicodedata.normalize("NFKC", sequence_)
    return result


def charsmap(lines, name=None):
    """The table of a SentencePiece model with these rules or with a rule set that SentencePiece has."""
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as tsv:
        codes = lambda text: " ".join(f"{ord(c):X}" for c in text)
        tsv.write("".join(f"{codes(before)}\t{codes(after)}\n" for before, after in rules().items()))
        tsv.flush()
        chosen = dict(normalization_rule_name=name) if name else dict(normalization_rule_tsv=tsv.name)
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=300, hard_vocab_limit=False,
                                                 num_threads=1, minloglevel=2, **chosen)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(field(field(model.getvalue(), 3), 2)).decode()}


def ids_of(model):
    vocab = model["vocab"]
    return dict(vocab) if isinstance(vocab, dict) else {text: i for i, (text, _) in enumerate(vocab)}


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


STRIP_ONE = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BYTES = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}
LLAMA_DECODER = sequence("decoders", replace("▁", " "), BYTES, FUSE, STRIP_ONE)


def tokenizer(model, normalizer, pre_tokenizer, decoder, added=(), post_processor=None):
    """`added`: the content and flags of tokens. Those that the model lacks get ids after its own."""
    ids = ids_of(model)
    tokens = []
    for content, flags in added:
        ids.setdefault(content, len(ids))
        tokens.append(base.added(ids[content], content, **{"normalized": False, **flags}))
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": sorted(tokens, key=lambda token: token["id"]), "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model}


def pipelines(lines, rule_set):
    special = dict(special=True)
    basic = [("<unk>", special), ("<s>", special), ("</s>", special)]
    spaced = normalizers.Replace(" ", "▁")
    words = pre_tokenizers.Metaspace(prepend_scheme="always")
    nmt = charsmap(lines, rule_set)
    llama = bpe(lines, 800, pre_tokenizer=words, fuse_unk=True)

    # Like Llama 2's first conversions: every added token is searched for in the normalized text.
    legacy = [(content, dict(flags, normalized=True)) for content, flags in basic]
    yield "llama2", tokenizer(llama, sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), None, LLAMA_DECODER, legacy,
                              base.template([("<s>", 1)]))

    flags = [("<l>", dict(lstrip=True)), ("<r>", dict(rstrip=True)), ("word", dict(single_word=True)), ("[INST]", dict(special=True, lstrip=True, rstrip=True)),
             ("[/INST]", dict(normalized=True)), ("<pad>", dict(normalized=True, rstrip=True)), ("▁▁", {}), ("<|eot_id|>", dict(special=True, normalized=True, single_word=True))]
    yield "llama2-flags", tokenizer(llama, sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), None, LLAMA_DECODER,
                                    basic + flags, base.template([("<s>", 1)], [("</s>", 2)]))

    # Like Mistral: a space before the first piece only.
    yield "mistral", tokenizer(dict(llama, ignore_merges=True), None, metaspace("first", split=False), LLAMA_DECODER,
                               basic + [("[INST]", special), ("[/INST]", special)], base.template([("<s>", 1)]))

    # Spaces before every piece, merges as strings, some bytes without tokens, unknown tokens side by side.
    lacking = json.loads(json.dumps(llama))
    lacking.update(fuse_unk=False, merges=[" ".join(pair) for pair in llama["merges"]])
    for byte in range(0xE9, 0x100):
        lacking["vocab"][f"<none {byte}>"] = lacking["vocab"].pop(f"<0x{byte:02X}>")
    yield "metaspace-always", tokenizer(lacking, None, metaspace("always"), {**metaspace("always")}, basic + flags)

    # Like Gemma: no space before the text, every space splits, line feeds are tokens.
    gemma = bpe(lines, 800, ("<pad>", "<eos>", "<bos>", "<unk>"), spaced, fuse_unk=True, ignore_merges=True)
    turns = [("<pad>", special), ("<eos>", special), ("<bos>", special), ("<unk>", special), ("<start_of_turn>", special), ("<end_of_turn>", special), ("\n\n", {}), ("▁▁", {})]
    yield "gemma", tokenizer(gemma, replace(" ", "▁"), base.split(" ", "MergedWithPrevious", kind="String"), sequence("decoders", replace("▁", " "), BYTES, FUSE), turns,
                             base.template([("<bos>", 2)]))

    # Like T5 and XLM-RoBERTa.
    yield "unigram-precompiled", tokenizer(unigram(lines, 500), sequence("normalizers", nmt, replace(" {2,}", " ", "Regex")),
                                           sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")), metaspace("always"),
                                           basic + [("<pad>", dict(special=True, lstrip=True)), ("word", dict(normalized=True, single_word=True))],
                                           base.template([], [("</s>", 2)]))

    yield "unigram-first", tokenizer(unigram(lines, 700, byte_fallback=True),
                                     sequence("normalizers", {"type": "Strip", "strip_left": False, "strip_right": True}, replace("``", "\""), {"type": "NFKC"}),
                                     metaspace("first"), sequence("decoders", BYTES, metaspace("first")), basic + flags[:5])

    yield "unigram-never", tokenizer(unigram([line.lower() for line in lines], 500), sequence("normalizers", {"type": "NFKD"}, {"type": "Lowercase"}),
                                     sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, metaspace("never", split=False)), metaspace("never"), basic)

    # Words alone, without spaces.
    plain = bpe([line.lower() for line in lines], 400, pre_tokenizer=pre_tokenizers.Whitespace(), byte_fallback=False, fuse_unk=False)
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    yield "words", tokenizer(plain, sequence("normalizers", {"type": "NFD"}, {"type": "Lowercase"}, strip),
                             sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Whitespace"}, {"type": "Digits", "individual_digits": False}), FUSE,
                             basic + [("<|eot_id|>", special)], {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": False})

    # Like GPT 1: the last token of a word has a suffix. Bytes stand for characters without tokens, and unknown tokens for others.
    ends = bpe([line.lower() for line in lines], 500, pre_tokenizer=pre_tokenizers.BertPreTokenizer(), suffix="</w>", fuse_unk=True)
    for byte in range(0xE9, 0x100):
        ends["vocab"][f"<none {byte}>"] = ends["vocab"].pop(f"<0x{byte:02X}>")
    yield "word-ends", tokenizer(ends, sequence("normalizers", {"type": "NFC"}, {"type": "Lowercase"}), {"type": "BertPreTokenizer"},
                                 sequence("decoders", BYTES, {"type": "BPEDecoder", "suffix": "</w>"}), basic + flags[:4])

    # Like CLIP: the same in the alphabet of bytes. Some bytes lack a token at the end of a word.
    clip = Tokenizer(models.BPE())
    clip.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    clip.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>", show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    clip = json.loads(clip.to_str())["model"]
    clip.update(unk_token="<|endoftext|>")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield "byte-word-ends", tokenizer(clip, None, byte_level, byte_level,
                                      [("<|startoftext|>", special), ("<|endoftext|>", special)], base.template([("<|startoftext|>", 0)], [("<|endoftext|>", 1)]))

    # A space at the beginning, after steps that change what the beginning is.
    yield "first-after-steps", tokenizer(llama, sequence("normalizers", nmt, {"type": "Strip", "strip_left": True, "strip_right": False}),
                                         sequence("pretokenizers", {"type": "Punctuation", "behavior": "MergedWithNext"}, base.split("[0-9]+", "Removed", False), {"type": "Digits", "individual_digits": True},
                                                  metaspace("first")),
                                         sequence("decoders", BYTES, metaspace("first")), basic + [("<pad>", dict(normalized=True))])


def write_ids(directory, all_texts, encode, decode):
    base.write_lines(f"{directory}/ids.jsonl", [dict(ids=ids, hash=base.hash_of(decode(ids).encode())) for ids in map(encode, all_texts)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--rules", help="a rule set that SentencePiece has, e.g. nmt_nfkc, instead of the small one")
    args = parser.parse_args()
    out = args.out
    lines = [part for line in base.training_text(random.Random("training")) for part in line.split("\n") if part]
    all_texts = texts()
    os.makedirs(out, exist_ok=True)
    base.write_lines(f"{out}/texts.jsonl", all_texts)
    for name, document in pipelines(lines, args.rules):
        directory = f"{out}/{name}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/tokenizer.json", "w") as f:
            json.dump(document, f, ensure_ascii=False, separators=(",", ":"))
        reference = Tokenizer.from_file(f"{directory}/tokenizer.json")
        encode = lambda s: reference.encode(s, add_special_tokens=False).ids
        special = lambda s: reference.encode(s, add_special_tokens=True).ids
        decode = lambda ids: reference.decode(ids, skip_special_tokens=False)
        write_ids(directory, all_texts, encode, decode)
        lists = base.id_lists(random.Random(name), reference.get_vocab_size(), encode)
        base.write_vectors(directory, HARD[:20] + base.TEXTS[:60], encode, special, decode, lists)
        if name in ("llama2", "gemma", "unigram-precompiled", "unigram-never"):
            base.write_long(directory, encode, decode)


if __name__ == "__main__":
    main()
