#!/usr/bin/env python3
"""Writes the seeds of safetensors_fuzz: make_safetensors_corpus.py OUT_DIR"""
import json
import pathlib
import struct
import sys


def file(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


F32 = tensor("F32", [2, 3], 0, 24)
VALUES = struct.pack("<6f", 0, -1, 2.5, float("inf"), float("nan"), 1e-40)
HALVES = struct.pack("<6H", 0x0001, 0x83FF, 0x3C00, 0x7C00, 0xFE00, 0x7BFF)

SEEDS = {
    "empty": b"",
    "no_tensors": file({}),
    "metadata": file({"__metadata__": {"format": "pt"}}),
    "f32": file({"w": F32}, VALUES),
    "f16": file({"w": tensor("F16", [3, 2], 0, 12)}, HALVES),
    "bf16_odd_alignment": file({"w": tensor("BF16", [6], 0, 12)}, HALVES),
    "padded": file(json.dumps({"w": F32}).encode() + b"      ", VALUES),
    "many": file({"__metadata__": {"a": "b"}, "b": tensor("F16", [2], 24, 28), "a": F32,
                  "scalar": tensor("BF16", [], 28, 30), "none": tensor("F32", [0, 9], 24, 24),
                  "i": tensor("I64", [1], 30, 38), "f4": tensor("F4", [2], 38, 39)},
                 VALUES + bytes(15)),
    "truncated_data": file({"w": F32}, VALUES[:-1]),
    "truncated_header": file({"w": F32})[:20],
    "longer_than_tensors": file({"w": F32}, VALUES + b"x"),
    "header_length_huge": file({}, length=2**64 - 1),
    "header_length_limit": file({}, length=100_000_000),
    "header_length_short": file({"w": F32}, VALUES, length=10),
    "overlap": file({"a": F32, "b": tensor("F32", [2, 3], 20, 44)}, bytes(44)),
    "hole": file({"a": F32, "b": tensor("F32", [1], 28, 32)}, bytes(32)),
    "end_before_begin": file({"w": tensor("F32", [1], 4, 0)}, bytes(4)),
    "shape_overflow": file({"w": tensor("F32", [2**32, 2**32], 0, 4)}, bytes(4)),
    "shape_wraps_to_fit": file({"w": tensor("F32", [2**62, 4, 4], 0, 0)}),
    "offsets_past_int64": file({"w": tensor("F32", [1], 2**64 - 4, 2**64)}, bytes(4)),
    "offsets_at_int64": file({"w": tensor("U8", [2**60 - 1], 0, 2**60 - 1)}, bytes(4)),
    "rows_without_columns": file({"w": tensor("F32", [2**50, 0], 0, 0)}),
    "negative": file({"w": tensor("F32", [-1, -6], 0, 24)}, VALUES),
    "fraction": file({"w": tensor("F32", [6.0], 0, 24)}, VALUES),
    "unknown_dtype": file({"w": tensor("F33", [6], 0, 24)}, VALUES),
    "unknown_field": file({"w": {**F32, "stride": 1}}, VALUES),
    "lacks_offsets": file({"w": {"dtype": "F32", "shape": [6]}}, VALUES),
    "three_offsets": file({"w": {**F32, "data_offsets": [0, 24, 24]}}, VALUES),
    "twice": file(b'{"w":%s,"w":%s}' % ((json.dumps(F32).encode(),) * 2), VALUES),
    "field_twice": file(b'{"w":{"dtype":"F32","dtype":"F32","shape":[6],"data_offsets":[0,24]}}',
                        VALUES),
    "deep": file(b'{"w":' + b"[" * 200),
    "array": file(b"[]"),
    "zero_byte": file(b"{}\0{}"),
    "not_utf8": file(b'{"\xff":{}}'),
    "control_characters": file({"a\n\x1b[31m": tensor("F32", [6], 0, 20)}, VALUES),
    "byte_order_mark": file(b"\xef\xbb\xbf{}"),
}


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (out / name).write_bytes(data)


if __name__ == "__main__":
    main()
