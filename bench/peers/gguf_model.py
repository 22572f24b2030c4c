"""Converts a Hugging Face directory of a Llama to a GGUF file for llama.cpp, in BF16, Q8_0 or F32."""
from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
import safetensors.torch

from bench.peers.workload import load_config

FILE_TYPES = {"F32": gguf.LlamaFileType.ALL_F32, "BF16": gguf.LlamaFileType.MOSTLY_BF16, "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
OF_MODEL = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}
OF_LAYER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
            "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
            "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def gguf_name(name: str) -> str:
    name = name.removesuffix(".weight")
    if name in OF_MODEL:
        return OF_MODEL[name] + ".weight"
    _, _, layer, part = name.split(".", 3)
    return f"blk.{layer}.{OF_LAYER[part]}.weight"


def interleave(weight: np.ndarray, heads: int) -> np.ndarray:
    """Reorders rows for llama.cpp's RoPE, which rotates neighbours instead of halves."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write(model: Path, output: Path, type_name: str) -> None:
    config = load_config(model)
    writer = gguf.GGUFWriter(output, "llama")
    writer.add_name("random")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    writer.add_file_type(FILE_TYPES[type_name])
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, tensor in safetensors.torch.load_file(model / "model.safetensors").items():
        weight = tensor.float().numpy()
        projection = name.split(".")[-2]
        if projection in heads:
            weight = interleave(weight, heads[projection])
        if weight.ndim == 1:
            writer.add_tensor(gguf_name(name), weight)
            continue
        kind = gguf.GGMLQuantizationType[type_name]
        writer.add_tensor(gguf_name(name), gguf.quants.quantize(np.ascontiguousarray(weight), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="Hugging Face directory")
    parser.add_argument("output", type=Path, help="the .gguf to write")
    parser.add_argument("--type", choices=list(FILE_TYPES), default="BF16")
    flags = parser.parse_args()
    write(flags.model, flags.output, flags.type)


if __name__ == "__main__":
    main()
