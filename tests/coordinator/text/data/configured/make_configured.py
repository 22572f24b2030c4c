#!/usr/bin/env python3
"""Make what transformers gives for tokenizers whose tokenizer_config.json changes a tokenizer.json.

    make_configured.py TOKENIZERS_DIR OUT_DIR

TOKENIZERS_DIR is the parent of this directory. Needs `transformers` 5.24 and `tokenizers` 0.23.3 from PyPI. Writes
OUT_DIR/cases.jsonl: for each case
  name, base      the directory of TOKENIZERS_DIR that has the tokenizer.json;
  patch           a JSON merge patch (RFC 7386) of it;
  files           the texts of the files beside it;
  max_length      of the pairs that are cut;
  texts           a, b, ids and token_type_ids (null if the tokenizer gives none) of the pair, cut (the ids of the cut pair),
                  and single (the ids of a).
"""
import json
import os
import sys
import tempfile

from transformers import AutoTokenizer

UNCASED, CASED = "encoders/wordpiece-uncased", "encoders/wordpiece-cased"
MAX_LENGTH = 12
TEXTS = [
    ("query", "document"), ("The QUERY of water", "Leaves return; the capital's document is out of the query"), ("", "Ünïcödé é à"),
    ("日本 water", "a日本b"), ("[SEP] a [MASK]", "x[CLS]y [unused1]"), ("<s>a<s> </s>", "[E1][E2] <img> <snd> <vid>"),
    ("capital water", "Capital WATER"), ("a  <r>  b  <l>  c", "waters water"), ("STOLICA столица СТОЛИЦА", "one two three four five six seven eight"),
]
NAMES = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
BERT = {"model_type": "bert"}


def config(tokenizer_class, **more):
    named = {"tokenizer_class": tokenizer_class} if tokenizer_class else {}
    return {**named, **NAMES, "model_max_length": 512, **more}


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False, **flags}


def listed(index, content, **flags):
    return {"id": index, **token(content, **flags)}


SPECIALS = [listed(i, name, special=True) for i, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])]
TYPES = ["input_ids", "token_type_ids", "attention_mask"]
NO_TYPES = ["input_ids", "attention_mask"]
LEFT = {"direction": "Left", "max_length": 512, "strategy": "LongestFirst", "stride": 0}


def cases():
    """name, base, config.json, tokenizer_config.json, patch, other files."""
    def lower(name, **more):
        return config(name, do_lower_case=True, **more)
    # Classes and their defaults.
    yield "backend", UNCASED, BERT, lower("TokenizersBackend"), {}, {}
    yield "bert", UNCASED, BERT, lower("BertTokenizer"), {}, {}
    yield "bert-fast", UNCASED, BERT, lower("BertTokenizerFast"), {}, {}
    yield "no-class", UNCASED, BERT, lower(None), {}, {}
    yield "no-configuration", CASED, BERT, None, {}, {}
    yield "distilbert", UNCASED, BERT, lower("DistilBertTokenizer"), {}, {}
    yield "electra", UNCASED, {"model_type": "electra"}, lower("ElectraTokenizerFast"), {}, {}
    yield "class-of-config", UNCASED, {**BERT, "tokenizer_class": "DistilBertTokenizer"}, lower(None), {}, {}
    yield "unknown-class", UNCASED, BERT, lower("MyTokenizer"), {}, {}
    yield "bert-of-roberta", UNCASED, {"model_type": "xlm-roberta"}, lower("BertTokenizer"), {}, {}
    yield "bert-of-modernbert", UNCASED, {"model_type": "modernbert"}, lower("BertTokenizer"), {}, {}
    yield "inputs-without-types", UNCASED, BERT, lower("BertTokenizer", model_input_names=NO_TYPES), {}, {}
    yield "inputs-with-types", UNCASED, BERT, lower("TokenizersBackend", model_input_names=TYPES), {}, {}
    # The end that is cut.
    yield "left", UNCASED, BERT, lower("BertTokenizer", truncation_side="left"), {}, {}
    yield "left-of-tokenizer-json", UNCASED, BERT, lower("TokenizersBackend"), {"truncation": LEFT}, {}
    yield "left-of-rebuilt-tokenizer-json", UNCASED, BERT, lower("BertTokenizer"), {"truncation": LEFT}, {}
    yield "right-over-left", UNCASED, BERT, lower("TokenizersBackend", truncation_side="right"), {"truncation": LEFT}, {}
    # The switches of BERT's classes.
    yield "lower-over-cased", CASED, BERT, lower("BertTokenizer"), {}, {}
    yield "cased-over-lower", UNCASED, BERT, config("BertTokenizer", do_lower_case=False), {}, {}
    yield "default-switches", CASED, BERT, config("BertTokenizer"), {}, {}
    yield "accents-stay", UNCASED, BERT, lower("BertTokenizer", strip_accents=False), {}, {}
    yield "accents-go", CASED, BERT, config("BertTokenizer", do_lower_case=False, strip_accents=True), {}, {}
    yield "ideographs-together", UNCASED, BERT, lower("BertTokenizer", tokenize_chinese_chars=False), {}, {}
    yield "distilbert-lower", CASED, {"model_type": "distilbert"}, lower("DistilBertTokenizer"), {}, {}
    yield "switches-of-no-class", CASED, BERT, lower("TokenizersBackend", strip_accents=True), {}, {}
    # Special tokens.
    yield "split", UNCASED, BERT, lower("BertTokenizer", split_special_tokens=True), {}, {}
    yield "split-not-others", UNCASED, BERT, lower("TokenizersBackend", split_special_tokens=True), {"added_tokens": SPECIALS + [listed(1100, "<s>")]}, {}
    yield "new-tokens", UNCASED, BERT, lower("TokenizersBackend", bos_token="<s>", eos_token="</s>", vid_token="<vid>", snd_token="<snd>", img_token="<img>",
                                             additional_special_tokens=["[E2]", "[E1]"]), {}, {}
    yield "new-tokens-of-bert", UNCASED, BERT, lower("BertTokenizer", bos_token="<s>", extra_special_tokens=["[E2]", "[E1]"]), {}, {}
    yield "new-tokens-by-name", UNCASED, BERT, lower("TokenizersBackend", extra_special_tokens={"snd_token": "<snd>", "img_token": "<img>"}), {}, {}
    yield "new-tokens-with-flags", UNCASED, BERT, lower("TokenizersBackend", bos_token={"__type": "AddedToken", **token("<r>", rstrip=True, special=True)},
                                                        eos_token={"__type": "AddedToken", **token("<l>", lstrip=True, special=True)}), {}, {}
    yield "special-word", UNCASED, BERT, lower("TokenizersBackend", bos_token="water"), {}, {}
    yield "new-tokens-of-map", UNCASED, BERT, lower("TokenizersBackend"), {}, {
        "special_tokens_map.json": {**NAMES, "bos_token": "<s>", "eos_token": token("</s>"), "additional_special_tokens": ["[E1]"]}}
    yield "map-behind-decoder", UNCASED, BERT, lower("TokenizersBackend", added_tokens_decoder={"1100": token("<img>", special=True)}), {}, {
        "special_tokens_map.json": {"bos_token": "<s>"}}
    # Ids.
    yield "gap", UNCASED, BERT, lower("TokenizersBackend"), {"added_tokens": SPECIALS + [listed(1200, "<img>"), listed(1150, "<snd>", special=True)]}, {}
    yield "gap-of-decoder", UNCASED, BERT, lower("TokenizersBackend", eos_token="</s>", added_tokens_decoder={
        "1300": token("<img>"), "1205": token("<snd>", special=True), "9": token("[unused1]")}), {}, {}
    yield "gap-of-added-tokens", UNCASED, BERT, lower("TokenizersBackend"), {}, {"added_tokens.json": {"<img>": 1300, "<snd>": 1205}}


def merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def main():
    tokenizers, out = sys.argv[1:]
    with open(f"{out}/cases.jsonl", "w", encoding="utf-8") as lines:
        for name, base, model, tokenizer_config, patch, others in cases():
            contents = {"config.json": model, **({"tokenizer_config.json": tokenizer_config} if tokenizer_config else {}), **others}
            # Texts, because their order counts.
            files = {file: json.dumps(content, ensure_ascii=False) for file, content in contents.items()}
            with tempfile.TemporaryDirectory() as directory:
                with open(f"{tokenizers}/{base}/tokenizer.json", encoding="utf-8") as file:
                    document = json.dumps(merged(json.load(file), patch), ensure_ascii=False)
                for file, content in {"tokenizer.json": document, **files}.items():
                    with open(os.path.join(directory, file), "w", encoding="utf-8") as stream:
                        stream.write(content)
                reference = AutoTokenizer.from_pretrained(directory)
                texts = []
                for a, b in TEXTS:
                    # As a batch, because an empty text alone has no pair.
                    pair = reference([a], [b])
                    cut = reference([a], [b], truncation="longest_first", max_length=MAX_LENGTH)
                    types = pair.get("token_type_ids")
                    texts.append({"a": a, "b": b, "ids": pair["input_ids"][0], "token_type_ids": types and types[0], "cut": cut["input_ids"][0],
                                  "single": reference([a])["input_ids"][0]})
            lines.write(json.dumps({"name": name, "base": base, "patch": patch, "files": files, "max_length": MAX_LENGTH, "texts": texts}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
