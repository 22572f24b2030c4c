"""Tiny random models that transformers saves, with vocabularies of the built-in texts of scorecast.compare."""
from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from scorecast import samples
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

transformers.logging.disable_progress_bar()

WIDTH = 32
POSITIONS = 160  # Fewer than the longest of the texts has tokens, so that it is cut.
_MORE_ROWS = 8  # Of the embedding: for tokens that are added to a vocabulary.

_BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# "yes" and "no" become tokens, because CrossEncoder asks language models for them.
_LINES = [text for pair in samples.built_in(50).pairs for text in pair] + ["yes", "no"] * 50 + ["query: passage: title: text:"] * 50

ENCODER = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
}
DECODER = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def bert_tokenizer(**options: Any) -> transformers.PreTrainedTokenizerBase:
    """A `BertTokenizer`, the class that transformers saves for BERT."""
    return transformers.BertTokenizer(vocab=_bert_vocabulary(options.get("do_lower_case", True)), model_max_length=POSITIONS, **options)


@cache
def _bert_vocabulary(lowercase: bool) -> dict[str, int]:
    """All characters of the texts, and the words of up to six."""
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    words = {word for line in _LINES for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalizer.normalize_str(line))}
    characters = {character for word in words for character in word}
    pieces = sorted(characters | {"##" + character for character in characters} | {word for word in words if len(word) <= 6})
    return {piece: number for number, piece in enumerate(_BERT_TOKENS + pieces)}


def byte_tokenizer(*, adds_bos: bool = False, **options: Any) -> transformers.PreTrainedTokenizerBase:
    """A byte-level BPE, of the class that transformers saves for tokenizers that it does not know."""
    special = ["<pad>", "<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(_LINES, trainer)
    if adds_bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1",
                                                                 special_tokens=[("<bos>", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, pad_token="<pad>", bos_token="<bos>",
                                                eos_token="<eos>", **options)


def word_end_tokenizer() -> transformers.PreTrainedTokenizerBase:
    """A BPE whose words end in `</w>`, as CLIP's do."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=_BERT_TOKENS, end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator(_LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, unk_token="[UNK]", pad_token="[PAD]",
                                                cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def save_model(directory: Path, name: str, tokenizer: transformers.PreTrainedTokenizerBase, **options: Any) -> None:
    """Saves a random model of the class `name` with its tokenizer."""
    model_class = getattr(transformers, name)
    kind = DECODER if name.startswith(("Llama", "Qwen", "Mistral", "Gemma")) else ENCODER
    config = model_class.config_class(**{**kind, "vocab_size": len(tokenizer) + _MORE_ROWS, **options})
    model = model_class(config).float().eval()
    randomise(model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def randomise(module: torch.nn.Module) -> None:
    """Draws weights with which each token of a text counts, so that scores of different texts differ in their first digits."""
    generator = torch.Generator().manual_seed(5)
    for name, parameter in module.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if "norm" in name.lower():
            value = 0.2 * noise + (0 if name.endswith("bias") else 1)
        elif parameter.dim() < 2:
            value = 0.3 * noise
        elif "embed" in name:
            value = noise
        else:
            value = 1.5 * noise / math.sqrt(parameter.shape[-1])
        parameter.data.copy_(value)


def edit(path: Path, **values: Any) -> None:
    """Sets keys of a JSON file."""
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def remove(path: Path, *keys: str) -> None:
    """Removes keys of a JSON file, all of which it must have."""
    content = json.loads(path.read_text())
    for key in keys:
        del content[key]
    path.write_text(json.dumps(content))


def special_token(text: str) -> AddedToken:
    return AddedToken(text, special=True, normalized=False)
