#!/usr/bin/env python3
"""Makes what Python writes of numbers and of letters in another case.

    python_texts.py OUT_FILE

Needs Python alone (made with 3.11.7). The texts are a hundred megabytes, so OUT_FILE has digests of them: FNV-1a of 64 bits, in
hexadecimal digits. In each text a line end is behind each number or letter.
  random     json.dumps of the finite doubles among a million numbers of 64 bits, which a linear congruential generator draws (see
             below), a digest for each hundred thousand;
  multiples  json.dumps of the multiples of 0.00001 from 0 to 10, without 10;
  samples    some doubles, by their 64 bits as an integer, and json.dumps of them;
  upper, lower, title
             str.upper, str.lower and str.title of each character;
  cased      the characters behind which str.title has a small letter: their number and their sum.
"""
import json, struct, sys

MASK = (1 << 64) - 1
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
BLOCKS, BLOCK = 10, 100000


def fnv1a(text):
    digest = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        digest = ((digest ^ byte) * 0x100000001B3) & MASK
    return "%016x" % digest


def lines(texts):
    return "".join(text + "\n" for text in texts)


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def random_blocks():
    state = 0
    for _ in range(BLOCKS):
        bits = []
        for _ in range(BLOCK):
            state = (state * MULTIPLIER + INCREMENT) & MASK
            bits.append(state)
        yield [double(one) for one in bits if (one >> 52) & 0x7FF != 0x7FF]


def main():
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    cased = [ord(c) for c in characters if (c + "A").title()[-1] == "a"]
    samples = [0.01207, 1732800000000000.0, 1e22, 1e23, 1e16, 9999999999999998.0, 1e15, 123456789012345680.0, 0.0001, 0.00001, 0.00012345,
               5e-324, 1.7976931348623157e308, -0.0, 0.1, 0.30000000000000004, 2.5, 100.0, 9007199254740993.0, 1e-7, -1.5e300]
    result = {
        "random": [fnv1a(lines(map(json.dumps, block))) for block in random_blocks()],
        "multiples": fnv1a(lines(json.dumps(i / 100000) for i in range(1000000))),
        "samples": [[str(struct.unpack("<Q", struct.pack("<d", sample))[0]), json.dumps(sample)] for sample in samples],
        "upper": fnv1a(lines(c.upper() for c in characters)),
        "lower": fnv1a(lines(c.lower() for c in characters)),
        "title": fnv1a(lines(c.title() for c in characters)),
        "cased": [len(cased), sum(cased)],
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(json.dumps(result, indent=1) + "\n")


main()
