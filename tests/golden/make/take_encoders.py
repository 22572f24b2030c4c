#!/usr/bin/env python3
"""Take some of the project's shared yardsticks of encoders as test data.

    take_encoders.py GOLDEN_DIR OUT_DIR REFUSED_DIR

GOLDEN_DIR is the project's golden, with encoders and more, whose README.md say how the figures were made and what
golden.json holds. The tests also take all of the former: SCORECAST_MORE_ENCODERS=GOLDEN_DIR/encoders. REFUSED_DIR gets
models that are refused, of which only the configurations are needed.
"""
import os
import shutil
import sys

# One of each kind of encoder: token types and an I64 tensor, three classes and vocab.txt, positions behind the
# padding, own names, small embeddings, windows and mean pooling, transformers 5's spelling; a causal embedder;
# classes that do not exclude each other; texts that are messages, and lengths of queries and documents; where
# tokenizer_config.json changes what the tokenizer does; a CrossEncoder of modules.
NAMES = [*(f"encoders/{name}" for name in (
             "bert-embed", "bert-classifier-labels", "roberta-classifier", "distilbert-classifier", "electra-classifier",
             "modernbert-classifier", "modernbert-classifier-cls", "qwen3-embed")),
         *(f"more/{name}" for name in (
             "bert-multilabel-classifier", "st-message", "st-lengths", "st-lengths-override", "bert-lower-in-config",
             "st-lower-left", "st-ettin-cross-encoder"))]
REFUSED = ["more/st-colbert", "more/st-splade"]


def others_than_configurations(folder, names):
    return [name for name in names if name.startswith(("golden", "model.", "tokenizer"))]


def main(golden, out, refused):
    for name in NAMES:
        copy = f"{out}/{os.path.basename(name)}"
        shutil.copytree(f"{golden}/{name}", copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
        os.chmod(copy, 0o755)
    for name in REFUSED:
        shutil.copytree(f"{golden}/{name}", f"{refused}/{os.path.basename(name)}", dirs_exist_ok=True,
                        ignore=others_than_configurations, copy_function=shutil.copyfile)


if __name__ == "__main__":
    main(*sys.argv[1:4])
