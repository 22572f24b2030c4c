"""A classifier or an embedder with mean pooling, by PyTorch and transformers."""
from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers


class Encoder(torch.nn.Module):
    """The arguments are those of a padded batch: int64 [texts, tokens]."""

    def __init__(self, directory: Path, dtype: torch.dtype = torch.float32, attention: str = "sdpa") -> None:
        super().__init__()
        self.embeds = "ForSequenceClassification" not in json.loads((directory / "config.json").read_text())["architectures"][0]
        kind = transformers.AutoModel if self.embeds else transformers.AutoModelForSequenceClassification
        self.model = kind.from_pretrained(directory, dtype=dtype, attn_implementation=attention).eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor | None = None) -> torch.Tensor:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        output = self.model(input_ids=input_ids, attention_mask=attention_mask, **types)
        if not self.embeds:
            return output.logits.float()
        weights = attention_mask[:, :, None].float()
        return (output.last_hidden_state.float() * weights).sum(1) / weights.sum(1)
