#!/usr/bin/env python3
"""Makes a tiny embedder with every kind of module, and the vectors that sentence-transformers gives for it.

    modules.py OUT_DIR

Needs sentence-transformers, transformers, tokenizers and torch (made with 6.2.0, 5.24.0, 0.23.3 and 2.15.0). Weights are
random; vectors are computed in float64. OUT_DIR is tests/golden/encoders/st-modules. `embedding[]` of its golden.json is that
of the other directories there, without the pooled rows.
"""
import json
import sys
import tempfile

import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
from tokenizers import Tokenizer, models, pre_tokenizers

HIDDEN, VALUES, CUT, TOKENS = 16, 24, 20, 64
LENGTHS = [1, 2, 3, 5, 8, 13, 21, 34]


def save_model(folder):
    torch.manual_seed(57)
    config = transformers.BertConfig(
        vocab_size=TOKENS, hidden_size=HIDDEN, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
        max_position_embeddings=40, initializer_range=0.5)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    vocabulary = {name: i for i, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    vocabulary |= {f"w{i}": i for i in range(len(vocabulary), TOKENS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=40).save_pretrained(folder)


def make_modules(folder):
    dense = Dense(3 * HIDDEN, VALUES, bias=False, activation_function=torch.nn.SiLU())
    torch.nn.init.normal_(dense.linear.weight, std=0.3)
    norm = LayerNorm(VALUES)
    torch.nn.init.normal_(norm.norm.weight, mean=1, std=0.3)
    torch.nn.init.normal_(norm.norm.bias, std=0.3)
    pooling = Pooling(HIDDEN, pooling_mode=["max", "cls", "cls"])
    return SentenceTransformer(
        modules=[Transformer(folder), pooling, dense, norm, Normalize()], truncate_dim=CUT, device="cpu")


def main(out):
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder)
        make_modules(folder).save(out, create_model_card=False)
    model = SentenceTransformer(out, device="cpu").double().eval()
    cases = []
    for length in LENGTHS:
        ids = torch.randint(5, TOKENS, (1, length), generator=torch.Generator().manual_seed(length))
        with torch.no_grad():
            vector = model({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["sentence_embedding"][0]
        vector = sentence_transformers.util.truncate_embeddings(vector, model.truncate_dim)
        cases.append({"ids": ids[0].tolist(), "embedding": [round(value, 9) for value in vector.tolist()]})
    versions = f"sentence-transformers {sentence_transformers.__version__}, transformers {transformers.__version__}"
    with open(f"{out}/golden.json", "w", encoding="utf-8") as file:
        json.dump({"made_with": f"{versions}, torch {torch.__version__}, float64", "embedding": cases}, file,
                  separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])
