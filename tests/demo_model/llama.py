"""A small Llama, the same as in Hugging Face transformers, and its checkpoint directory."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


INNER_LAYER = 1  # `inner_rows` reads the output of this layer


@dataclass(frozen=True)
class Config:
    vocab_size: int
    hidden_size: int = 192
    intermediate_size: int = 512
    num_hidden_layers: int = 5
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_attention_heads


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [batch, heads, rows, head_dim], with RoPE's halves convention."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Norm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        # Cast once here, not in each projection that reads the result.
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps).to(dtype)


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        query, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, query, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv, bias=False)
        self.o_proj = nn.Linear(query, config.hidden_size, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        batch, rows, _ = x.shape
        heads, kv_heads, size = self.config.num_attention_heads, self.config.num_key_value_heads, self.config.head_dim
        q, k, v = (p(x).view(batch, rows, -1, size).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        # The query heads of one K/V head are one matrix. On a CPU this is twice as fast as scaled_dot_product_attention.
        grouped = (batch, kv_heads, heads // kv_heads * rows, -1)
        with torch.autocast("cpu", enabled=False):  # autocast would convert the softmax to float32 and back
            scores = q.reshape(grouped) * size**-0.5 @ k.transpose(-1, -2)
            weights = torch.softmax(scores.view(batch, heads, rows, rows) + mask, dim=-1)
            out = (weights.view(grouped) @ v).view(batch, heads, rows, size)
        return self.o_proj(out.transpose(1, 2).reshape(batch, rows, -1))


class Mlp(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input_layernorm = Norm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = Norm(config.hidden_size, config.rms_norm_eps)
        self.mlp = Mlp(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Parameters have the names of transformers without the leading "model.". The lm-head is the embedding."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = Norm(config.hidden_size, config.rms_norm_eps)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                scale = 1 / math.sqrt(2 * config.num_hidden_layers) if residual else 1.0
                std = 0.06 if "embed" in name else 0.5 / math.sqrt(parameter.shape[1])
                nn.init.normal_(parameter, std=std * scale)
        self.lean_towards_matching()

    @torch.no_grad()
    def lean_towards_matching(self) -> None:
        """Makes two of each three heads behind the first layer start with queries like their keys, and copy values.

        These heads attend to rows like their own and pass on their content. With such weights the model learns to read
        in some hundred steps; with plain random weights it hardly learns at all.
        """
        size, heads = self.config.head_dim, self.config.num_attention_heads
        shared = heads // self.config.num_key_value_heads
        for layer in self.layers[1:]:
            attention = layer.self_attn
            for projection in (attention.k_proj, attention.v_proj):
                nn.init.normal_(projection.weight, std=1 / math.sqrt(self.config.hidden_size))
            for head in range(heads):
                if head % shared == shared - 1:
                    continue
                mine, kv = slice(head * size, (head + 1) * size), slice(head // shared * size, (head // shared + 1) * size)
                attention.q_proj.weight[mine] = attention.q_proj.weight[mine] * 0.5 + attention.k_proj.weight[kv]
                attention.o_proj.weight[:, mine] += 0.15 * attention.v_proj.weight[kv].T

    def forward(self, tokens: Tensor, positions: Tensor, visible: Tensor, rows: Tensor | None = None,
                inner_rows: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        """Logits [batch, rows, vocab_size], or [len(rows), vocab_size] of the given rows of the flattened batch.

        If `inner_rows` is given, also the output of INNER_LAYER at these rows of the flattened batch.
        tokens, positions [batch, rows]; visible [batch, 1, rows, rows] of bool.
        """
        half = self.config.head_dim // 2
        frequency = self.config.rope_theta ** (-torch.arange(half, dtype=torch.float32) / half)
        angle = positions[:, None, :, None].float() * frequency
        cos, sin = angle.cos(), angle.sin()
        mask = torch.zeros(visible.shape).masked_fill_(~visible, -1e9)
        x = self.embed_tokens(tokens)
        if torch.is_autocast_enabled("cpu"):
            mask = mask.to(torch.get_autocast_dtype("cpu"))
        inner = None
        for number, layer in enumerate(self.layers):
            x = layer(x, cos, sin, mask)
            if inner_rows is not None and number == INNER_LAYER:
                inner = x.flatten(0, 1)[inner_rows]
        x = self.norm(x)
        if rows is not None:
            x = x.flatten(0, 1)[rows]
        logits = F.linear(x, self.embed_tokens.weight)
        return logits if inner is None else (logits, inner)


def save(model: Llama, model_dir: Path) -> None:
    """Writes model.safetensors in BF16, and config.json."""
    config = model.config
    state = {"model." + name: value.detach().to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()}
    save_file(state, str(model_dir / "model.safetensors"), metadata={"format": "pt"})
    (model_dir / "model.safetensors").chmod(0o644)
    document = {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
        "head_dim": config.head_dim, "hidden_act": "silu", "hidden_size": config.hidden_size, "initializer_range": 0.02,
        "intermediate_size": config.intermediate_size, "max_position_embeddings": config.max_position_embeddings, "mlp_bias": False,
        "model_type": "llama", "num_attention_heads": config.num_attention_heads, "num_hidden_layers": config.num_hidden_layers,
        "num_key_value_heads": config.num_key_value_heads, "rms_norm_eps": config.rms_norm_eps, "rope_scaling": None,
        "rope_theta": config.rope_theta, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True,
        "vocab_size": config.vocab_size}
    (model_dir / "config.json").write_text(json.dumps(document, indent=1) + "\n")


def load(model_dir: Path) -> Llama:
    """The model with the stored weights in float32."""
    document = json.loads((model_dir / "config.json").read_text())
    model = Llama(Config(**{name: document[name] for name in Config.__dataclass_fields__}))
    state = load_file(str(model_dir / "model.safetensors"))
    model.load_state_dict({name.removeprefix("model."): value.float() for name, value in state.items()})
    return model.eval()
