#!/usr/bin/env python3
"""Writes corpus/frames: valid and invalid input from clients of the request socket."""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "frames"


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value % 2**64)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def data(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def text(value: str) -> bytes:
    return data(1, value.encode())


def ids(*values: int) -> bytes:
    return data(1, b"".join(varint(value % 2**64) for value in values))


def of_ids(*values: int) -> bytes:
    return data(2, ids(*values))


def score(query: bytes, items: list[bytes], rest: bytes = b"") -> bytes:
    return data(1, query) + b"".join(data(2, item) for item in items) + rest


def frame(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def request(request_id: int, message: bytes) -> bytes:
    return frame(number(1, request_id) + data(2, message))


def chunked(request_id: int, message: bytes) -> bytes:
    return frame(number(1, request_id) + data(3, message))


def chat(request_id: int, message: bytes) -> bytes:
    return frame(number(1, request_id) + data(8, message))


def message(role: bytes, content: bytes) -> bytes:
    return data(101, data(1, role) + data(2, content))


def parts(*chunks: bytes) -> bytes:
    return data(1, text("system")) + b"".join(data(2, chunk) for chunk in chunks)


LABELS = data(4, b" yes") + data(4, b" no")
FOR_ALL = data(3, data(1, ids(5, 6)))
CHUNKED_LABELS = data(11, b" yes") + data(11, b" no")
QUESTION = data(4, text("why?"))
DOCUMENTS = parts(text("one"), text(""), text("three"))
PER_ITEM = data(3, data(2, data(1, ids(5)) + data(1, ids(6, 7))))
GOOD = request(7, score(text("a query"), [text("one"), text("")], LABELS))

INPUTS = {
    "empty": b"",
    "good": GOOD,
    "two": GOOD + request(8, score(of_ids(1, 2), [of_ids(3), of_ids()], FOR_ALL)),
    "per_item": request(1, score(text("q"), [text("a"), text("b")], PER_ITEM)),
    "every_field": request(2**64 - 1, score(
        text("q"), [text("a")],
        LABELS + number(5, 1) + number(6, 1) + double(7, 2.0) + number(8, 1) + number(9, 3)
        + number(10, 0) + number(11, 60000) + data(12, b"model"))),
    "not_a_number": request(3, score(text("q"), [text("a")],
                                     LABELS + number(5, 1) + double(7, float("nan")))),
    "negative": request(4, score(of_ids(-1), [of_ids(2**31 - 1)], FOR_ALL + number(9, -1))),
    "no_labels": request(5, score(text("q"), [text("a")])),
    "no_query": request(6, data(2, text("a"))),
    "no_item_value": request(6, score(text("q"), [b""], LABELS)),
    "delimiter": request(9, score(text("q"), [text("a<d>")], LABELS)),
    "too_many_items": request(10, score(text("q"), [text("")] * 129, LABELS)),
    "long_query": request(11, score(text("q" * 600), [text("a")], LABELS)),
    "several_passes": request(12, score(text("q" * 90), [text("a" * 70)] * 3, LABELS)),
    "cut_header": GOOD + b"\0\0",
    "cut_message": GOOD + GOOD[:-3],
    "too_large": struct.pack(">I", 4097) + b"x" * 4097 + GOOD,
    "too_large_cut": GOOD + struct.pack(">I", 2**32 - 1) + b"x" * 10,
    "largest_length": struct.pack(">I", 4096) + b"x" * 4096 + GOOD,
    "not_a_message": frame(b"\xff\xff\xff") + GOOD,
    "not_utf8": request(13, score(data(1, b"\xff"), [], LABELS)) + GOOD,
    "zero_length": frame(b"") * 3 + GOOD,
    "unknown_endpoint": frame(number(1, 14)) + frame(number(1, 15) + data(9, b"what?")),
    "unknown_fields": frame(number(1, 16) + number(99, 5) + data(2, score(
        text("q"), [text("a")], LABELS + data(77, b"later")))),
    "endpoint_twice": frame(number(1, 17) + data(2, score(text("q"), [], LABELS))
                        + data(2, score(text("r"), [text("a")]))),
    "chunked": chunked(18, DOCUMENTS + QUESTION + CHUNKED_LABELS),
    "chunked_ids": chunked(19, data(2, of_ids(1, 2)) + data(4, of_ids(3)) + data(10, ids(5, 6))),
    "chunked_prompt": chunked(20, data(6, b"s # # a # #  # # q?") + CHUNKED_LABELS),
    "chunked_plain": chunked(21, data(6, b"s # # q?") + CHUNKED_LABELS),
    "chunked_questions": chunked(22, DOCUMENTS + data(5, text("a?")) + data(5, text("b?"))
                                 + CHUNKED_LABELS + number(14, 1) + number(15, 3)),
    "chunked_every_field": chunked(23, (
        DOCUMENTS + data(3, varint(2) + varint(1)) + QUESTION + data(7, b"offset") + double(8, 0.9)
        + double(9, 0.5) + CHUNKED_LABELS + number(12, 1) + double(13, 2.0) + number(14, 1)
        + number(15, 3) + number(16, 5) + double(17, 0.7) + double(18, 0.9) + number(19, 40)
        + number(20, 2**64 - 1) + data(21, b"x") + data(22, varint(7)) + number(23, 1)
        + number(24, 1) + number(25, 60000) + data(26, b"model") + data(27, b"salt"))),
    "chunked_completions": b"".join(
        chunked(24 + stream, data(6, prompt) + number(16, 9) + number(24, stream))
        for stream in (0, 1) for prompt in (b"plain", b"s # # a # # q")) + GOOD,
    "chunked_faults": (
        chunked(30, b"") + chunked(31, DOCUMENTS + CHUNKED_LABELS) + chunked(32, DOCUMENTS + QUESTION)
        + chunked(33, DOCUMENTS + QUESTION + CHUNKED_LABELS + data(3, varint(4)))
        + chunked(34, data(6, b"a # # b # # ") + CHUNKED_LABELS)
        + chunked(35, QUESTION + CHUNKED_LABELS + double(8, float("nan")))
        + chunked(36, QUESTION + CHUNKED_LABELS + double(9, float("inf")))
        + chunked(37, QUESTION + number(16, 2**63 - 1)) + chunked(38, QUESTION + number(16, -1))
        + chunked(39, data(2, b"") + QUESTION) + chunked(40, data(6, b"p") + QUESTION)),
    "chat": chat(41, message(b"system", text("Be brief.")) + message(b"user", text("why?")) + number(2, 3)) + GOOD,
    "chat_every_field": chat(42, (
        message(b"user", data(2, data(1, data(1, b"text") + data(2, b"s # # a # # q")) * 2)) + message(b"assistant", b"")
        + number(102, 3) + number(3, 2) + double(6, 0.7) + double(7, 0.9) + number(8, 4) + double(40, 0.1) + double(41, 1.1)
        + double(42, 1.0) + double(43, -1.0) + number(46, 1) + data(47, ids(5, 6, 7)) + number(48, 1) + number(9, 5)
        + data(10, b"x") + data(11, varint(7)) + number(12, 1) + number(13, 0) + number(14, 1) + number(106, 1) + number(107, 2)
        + data(54, ids(5, 9)) + number(15, 1) + data(16, number(1, 1)) + number(103, 0) + number(104, 1)
        + data(105, data(1, b"mood") + data(2, b'"glad"')) + number(17, 1) + data(18, varint(1)) + data(19, b"offset")
        + double(20, 0.9) + double(21, 0.5) + number(22, 60000) + data(23, b"model") + data(24, b"salt") + number(25, 1))),
    "chat_faults": (
        chat(43, b"") + chat(44, message(b"tool", text("x"))) + chat(45, message(b"user", text("x")) + number(2, -1))
        + chat(46, data(101, b"\xff")) + chat(47, message(b"user", data(1, b"\xff"))) + chat(48, message(b"user", text("x" * 9000)))),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100a5010000a10303") + b"\x5a" * 64,
    "many": b"".join(request(i, score(text("q"), [text("a" * (i % 5))], LABELS))
                     for i in range(40)),
}

CORPUS.mkdir(parents=True, exist_ok=True)
for name, content in INPUTS.items():
    (CORPUS / name).write_bytes(content)
