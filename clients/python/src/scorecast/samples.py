"""Texts and pairs with which `scorecast.compare` asks: those of a file, or built-in ones."""
# ruff: noqa: RUF001 (the texts have letters of other scripts)

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Pair = tuple[str, str]  # A query and a document.

# The built-in pairs are each query with each document of its row. The documents have what tokenizers treat apart: capitals,
# accents, other scripts, numbers, runs of spaces, words that no vocabulary has, and the spellings of special tokens.
_BUILT_IN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Who makes bread?",
        (
            "The baker makes bread.",
            "Bread rises because yeast turns sugar into gas, and the baker waits until the dough has doubled.",
            "The carpenter makes chairs and tables.",
            "BREAD, CAKE AND ROLLS: FRESH EVERY MORNING FROM 6:30.",
            "Une boulangère pétrit la pâte; les clients, eux, préfèrent les croissants à la crème brûlée.",
            "面包师每天早上五点开始烤面包。",
            "no",
            "A mill grinds grain   into    flour.\tFlour is not bread yet.",
            "[CLS] The baker [SEP] makes [MASK] bread. </s> <s>",
            "Grandmother's recipe: 500 g of flour, 350 ml of water, 10 g of salt, 7 g of yeast; bake at 240 °C for 40 minutes.",
        ),
    ),
    (
        "Where is the red key?",
        (
            "The red key is in the kitchen.",
            "The blue key is in the garden, behind the third flower pot.",
            "Keys open doors. A red door needs a red key, or so the story goes.",
            "the Red KEY, as ANNA said, hangs NEXT to the door of the cellar",
            "Der rote Schlüssel liegt in der Küche, neben dem großen Fenster.",
            "Красный ключ лежит на кухне.",
            "key",
            "antidisestablishmentarianism floccinaucinihilipilification pneumonoultramicroscopicsilicovolcanoconiosis",
            "<|im_start|>user\nWhere is it?<|im_end|>\n<|endoftext|>",
            "It was the year 1987; room 404 on floor 12 had 3,520,031 keys (0.01 % of them red).",
        ),
    ),
    (
        "what colour does the sky have on a clear day",
        (
            "The sky is blue.",
            "On a clear day the air scatters short waves of light more than long ones, so the sky looks blue.",
            "The grass is green.",
            "Ｔｈｅ　ｓｋｙ　ｉｓ　ｂｌｕｅ．",
            "El cielo está azul; mañana lloverá en Málaga, según el pronóstico del niño.",
            "空は青い。草は緑です。",
            "?!",
            "At night the sky is black. In the morning it is grey, then red, then blue. In the evening it is red again.",
            "sky_colour = \"blue\" if is_clear(day) else 'grey'  # see https://example.org/sky?day=1&hour=12",
            "🙂 The weather is lovely today ☀️ and the sky 🌌 could not be bluer ✨",
        ),
    ),
    (
        "How long does the train from Oslo to Bergen take?",
        (
            "The train from Oslo to Bergen takes about seven hours.",
            "By car the way from Oslo to Bergen takes eight hours, with a ferry more.",
            "Trains run on rails.",
            "Toget fra Oslo til Bergen bruker nesten sju timer, og utsikten over Hardangervidda er på sitt beste i februar.",
            "Oslo S 08:25 - Bergen 15:01 (6 h 36 min), NOK 1,109.00",
            "القطار من أوسلو إلى بيرغن يستغرق سبع ساعات.",
            "long",
            "I'd've said it doesn't take that long, but they're never on time, aren't they?",
            "In 1909 the line was opened. It climbs to 1,237 metres above the sea, has 182 tunnels, and is 371 kilometres long.",
            "The flight from Oslo to Bergen takes fifty minutes. The train takes longer, but it leaves from the middle of the city.",
        ),
    ),
    (
        "Does the moon have an atmosphere, and if so, what is it made of?",
        (
            "The moon has almost no atmosphere: some helium, neon and argon, as thin as a laboratory's vacuum.",
            "The earth's atmosphere is made of nitrogen, oxygen, argon, and a little carbon dioxide.",
            "Yes.",
            "Ο ουρανός της Σελήνης είναι μαύρος ακόμα και την ημέρα, γιατί δεν υπάρχει αέρας.",
            "달에는 대기가 거의 없습니다.",
            "Moon landings: Apollo 11 (1969), 12 (1969), 14 (1971), 15 (1971), 16 (1972) and 17 (1972).",
            "The cheese theory of the moon's composition has not been confirmed.",
            "A sonata by Beethoven is named after moonlight.",
            "Mars has a thin atmosphere of carbon dioxide. Venus has a thick one. Mercury has nearly none.",
            # Longer than the 512 tokens of many models, so that it is cut.
            " ".join(f"Line {line} of the log: the probe measured {line * 7 % 31} atoms per unit of volume." for line in range(1, 61)),
        ),
    ),
)


@dataclass(frozen=True)
class Samples:
    """`texts` are for models that read one text, and `pairs` for those that read two."""

    texts: list[str]
    pairs: list[Pair]

    def queries(self) -> dict[str, list[str]]:
        """The documents of each query."""
        found: dict[str, list[str]] = {}
        for query, document in self.pairs:
            found.setdefault(query, []).append(document)
        return found


def built_in(limit: int) -> Samples:
    return _of_pairs([(query, document) for query, documents in _BUILT_IN for document in documents], limit)


def from_file(path: Path, limit: int) -> Samples:
    """The first lines of a file. Each is a text, or each is a JSON list of a query and a document.

    Of texts, the first one becomes the query of all others. Raises ValueError, which names the line.
    """
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    if not lines:
        raise ValueError(f"{path}: no text")
    first = _pair_of(lines[0])
    if first is None:
        return of_texts(lines, limit)
    pairs: list[Pair] = []
    for number, line in enumerate(lines, 1):
        pair = _pair_of(line)
        if pair is None:
            raise ValueError(f"{path}: line {number}, not counting empty ones, is not a pair as the first one is: {line[:80]}")
        pairs.append(pair)
    return _of_pairs(pairs, limit)


def of_texts(texts: Sequence[str], limit: int) -> Samples:
    chosen = list(texts[:limit])
    return Samples(chosen, [(chosen[0], other) for other in chosen[1:]])


def _of_pairs(pairs: Sequence[Pair], limit: int) -> Samples:
    chosen = list(pairs[:limit])
    texts = dict.fromkeys(text for pair in chosen for text in pair if text.strip())
    return Samples(list(texts)[:limit], chosen)


def _pair_of(line: str) -> Pair | None:
    if not line.lstrip().startswith("["):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value):
        return value[0], value[1]
    return None
