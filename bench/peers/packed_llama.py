"""A Llama as a plain PyTorch module, for tools that trace a model. Its inputs include a mask and the rows to read.

Parameters have the same names as in Hugging Face transformers, so that it can load a model directory.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.peers.workload import load_config


class RmsNorm(nn.Module):
    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Attention(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, self.head_dim = config["hidden_size"], config["head_dim"]
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.q_proj = nn.Linear(hidden, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, hidden, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        rows = x.shape[1]
        q = rotate(self.q_proj(x).view(1, rows, self.heads, self.head_dim).transpose(1, 2), cos, sin)
        k = rotate(self.k_proj(x).view(1, rows, self.kv_heads, self.head_dim).transpose(1, 2), cos, sin)
        v = self.v_proj(x).view(1, rows, self.kv_heads, self.head_dim).transpose(1, 2)
        out = functional.scaled_dot_product_attention(q, self._for_every_head(k), self._for_every_head(v), attn_mask=mask)
        return self.o_proj(out.transpose(1, 2).reshape(1, rows, self.heads * self.head_dim))

    def _for_every_head(self, x: Tensor) -> Tensor:
        group, rows = self.heads // self.kv_heads, x.shape[2]
        return x[:, :, None].expand(1, self.kv_heads, group, rows, self.head_dim).reshape(1, self.heads, rows, self.head_dim)


class FeedForward(nn.Module):
    def __init__(self, hidden: int, intermediate: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, epsilon = config["hidden_size"], config["rms_norm_eps"]
        self.input_layernorm = RmsNorm(hidden, epsilon)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RmsNorm(hidden, epsilon)
        self.mlp = FeedForward(hidden, config["intermediate_size"])

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class PackedLlama(nn.Module):
    """The model. Its embeddings are tied."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        hidden, head_dim = config["hidden_size"], config["head_dim"]
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(config["vocab_size"], hidden)
        self.model.layers = nn.ModuleList([Layer(config) for _ in range(config["num_hidden_layers"])])
        self.model.norm = RmsNorm(hidden, config["rms_norm_eps"])
        self.frequencies = 1.0 / config["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor, reads: Tensor) -> Tensor:
        """Log-probabilities [n, vocabulary]. ids, positions [1, rows]; additive mask [1, 1, rows, rows]; reads [n]."""
        angles = positions[:, None, :, None].float() * self.frequencies
        angles = torch.cat((angles, angles), -1)
        cos, sin = angles.cos(), angles.sin()
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, cos, sin, mask)
        x = self.model.norm(x[0].index_select(0, reads))
        return functional.log_softmax(functional.linear(x, self.model.embed_tokens.weight), -1)


def load(model: Path) -> PackedLlama:
    """The model in float32."""
    module = PackedLlama(load_config(model))
    weights = safetensors.torch.load_file(model / "model.safetensors")
    module.load_state_dict({name: weight.float() for name, weight in weights.items()}, strict=True)
    return module.eval()
