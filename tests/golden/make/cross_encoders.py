#!/usr/bin/env python3
"""Makes tiny CrossEncoders of decoders, and the scores that sentence-transformers gives for them.

    cross_encoders.py OUT_DIR

Needs sentence-transformers, transformers, tokenizers and torch (made with 6.2.0, 5.24.0, 0.23.3 and 2.15.0). Weights are
random; scores are computed in float64. OUT_DIR is tests/golden/encoders. `predict[]` of a golden.json: a pair, the `ids` that
the model got, the `class_logits` and the `score` of CrossEncoder.predict.
"""
import json
import os
import shutil
import sys
import tempfile

import sentence_transformers
import torch
import transformers
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Transformer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

LIMIT = 120
BASE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "max_position_embeddings": LIMIT + 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "initializer_range": 0.5}
SPECIAL = ["<pad>", "<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]

# The system message is the prompt, or a text of its own.
CHAT = ("<|im_start|>system\n{{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | default('Judge.') }}"
        "<|im_end|>\n<|im_start|>user\nQuery: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
        "Document: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}<|im_end|>\n"
        "<|im_start|>assistant\n")

QUERIES = ["who makes bread", "Wie weit ist es?", ""]
DOCUMENTS = ["A baker does.", "", "Не знаю, 42 километра по дороге и 30 напрямик через лес.",
             "The miller grinds the grain between two stones, and the baker, who gets up at three in the morning, kneads the dough; "
             "it rises for two hours before it goes into the oven, and everybody in the street smells it.",
             "<|im_end|> is a token"]


def byte_tokenizer(frames):
    """A byte-level BPE of few merges. `frames`: whether the tokenizer puts tokens of its own around texts."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("e", "r"), ("i", "n"), ("y", "e"), ("ye", "s"), ("n", "o")]
    names = SPECIAL + alphabet + [a + b for a, b in merges]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if frames:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<bos> $A <eos>", pair="<bos> $A <eos> $B:1 <eos>:1", special_tokens=[("<bos>", 1), ("<eos>", 2)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=LIMIT, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>",
        additional_special_tokens=SPECIAL[3:])


def save_model(folder, name, tokenizer, **options):
    torch.manual_seed(57)
    model_class = getattr(transformers, name)
    model_class(model_class.config_class(vocab_size=len(tokenizer), **BASE, **options)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_pair(folder):
    save_model(folder, "Qwen3ForSequenceClassification", byte_tokenizer(frames=True), num_labels=1)
    return CrossEncoder(modules=[Transformer(folder, transformer_task="sequence-classification")], device="cpu")


def make_messages(folder):
    tokenizer = byte_tokenizer(frames=False)
    tokenizer.chat_template = CHAT
    save_model(folder, "Qwen3ForSequenceClassification", tokenizer, num_labels=1)
    return CrossEncoder(modules=[Transformer(folder, transformer_task="sequence-classification")], device="cpu",
                        prompts={"web": "Does the document answer the query?"}, default_prompt_name="web")


def make_logit_score(folder):
    tokenizer = byte_tokenizer(frames=False)
    tokenizer.chat_template = CHAT
    save_model(folder, "Qwen3ForCausalLM", tokenizer, tie_word_embeddings=True)
    return CrossEncoder(folder, device="cpu")  # Adds a LogitScore of "yes" and "no".


def predictions(model):
    transformer = model[0]
    forward, got = transformer.forward, []

    def watched(features, **options):
        got.append(features["input_ids"][0].tolist())
        return forward(features, **options)

    transformer.forward = watched
    for query in QUERIES:
        for document in DOCUMENTS:
            logits = model.predict([(query, document)], activation_fn=torch.nn.Identity(), show_progress_bar=False)
            score = model.predict([(query, document)], show_progress_bar=False)
            assert got[-1] == got[-2]
            yield {"query": query, "document": document, "max_length": LIMIT, "ids": got[-1],
                   "class_logits": [round(float(logits[0]), 9)], "score": round(float(score[0]), 9)}


def main(out):
    versions = f"sentence-transformers {sentence_transformers.__version__}, transformers {transformers.__version__}"
    for name, make in {"st-qwen3-pair": make_pair, "st-qwen3-message": make_messages, "st-qwen3-logit-score": make_logit_score}.items():
        shutil.rmtree(f"{out}/{name}", ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            make(folder).save_pretrained(f"{out}/{name}", create_model_card=False)
        model = CrossEncoder(f"{out}/{name}", device="cpu").double().eval()
        golden = {"made_with": f"{versions}, torch {torch.__version__}, float64", "predict": list(predictions(model))}
        with open(f"{out}/{name}/golden.json", "w", encoding="utf-8") as file:
            json.dump(golden, file, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])
