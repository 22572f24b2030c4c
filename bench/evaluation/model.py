"""Models that are evaluated: that of tests/demo_model, and the bench's random models with its tokenizer.

No BOS is added to a text, because lm-evaluation-harness adds none by default. So all ways to ask have the same tokens.
"""
from __future__ import annotations

import json
from pathlib import Path

from bench.decisions.model import link

DEMO = Path("tests/demo_model/model")


def write_model(source: Path, directory: Path) -> None:
    """`directory` gets links to the weights in `source`."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer_config = json.loads((DEMO / "tokenizer_config.json").read_text())
    # The harness's remote tokenizer finds out the ids of BOS and EOS by tokenizing their texts.
    special = {str(i): {"content": tokenizer_config[name], "special": True} for i, name in ((1, "bos_token"), (2, "eos_token"))}
    tokenizer_config |= {"add_bos_token": False, "added_tokens_decoder": special}
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    (directory / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    for file in (source / "model.safetensors", source / "config.json", DEMO / "tokenizer.model"):
        link(file, directory)
