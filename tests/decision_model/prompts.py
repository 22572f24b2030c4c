"""The texts of a decision, as scorecast puts them together from decision_template.txt, and their labels."""
from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parent / "model" / "decision_template.txt"


@lru_cache
def template() -> dict[str, object]:
    """The template's keys. Several lines of a key are joined."""
    found: dict[str, object] = {}
    for line in TEMPLATE.read_text().splitlines():
        key, _, value = line.partition(": ")
        parsed = json.loads(value)
        found[key] = found[key] + parsed if key in found else parsed  # type: ignore[operator]
    return found


def as_text(value: object) -> str:
    """A string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def blank(value: object) -> bool:
    return value is None or not as_text(value).strip()


def state_text(state: object) -> str:
    return str(template()["state"]).replace("{state}", as_text(state))


def labels(question: dict) -> list[str]:
    """The labels in the order of the options; yes and no for a noul. More than 26 options all get two letters."""
    letters = [chr(ord("A") + i) for i in range(26)]
    if question["type"] == "noul":
        return [spellings[0] for spellings in template()["labels.noul"]]  # type: ignore[union-attr]
    if question["type"] == "score":
        return [str(i) for i in range(len(question["criteria"]))]
    count = len(question["criteria"])
    return letters[:count] if count <= len(letters) else [a + b for a in letters for b in letters][:count]


def fill(text: str, fields: dict[str, object]) -> str:
    """Fills places in, and leaves out what is between {if place} and {end} if the field is blank."""
    text = re.sub(r"\{if (\w+)\}(.*?)\{end\}", lambda m: "" if blank(fields.get(m[1])) else m[2], text, flags=re.DOTALL)
    return re.sub(r"\{(\w+)\}", lambda m: "" if blank(fields.get(m[1])) else as_text(fields[m[1]]), text)


def line(key: str, label: str, name: str = "", description: object = None) -> str:
    return fill(str(template()[key]), {"label": label, "name": name, "description": description})


def option_lines(question: dict) -> list[str]:
    """The lines of the options, of the levels, or of the outcomes that have a description."""
    names, criteria = labels(question), question.get("criteria")
    if question["type"] == "choice":
        return [line("option", label, name, description) for label, (name, description) in zip(names, criteria.items())]
    if question["type"] == "score":
        return [line("level", label, description=level) for label, level in zip(names, criteria)]
    return [line("outcome", label, description=(criteria or {}).get(outcome)) for label, outcome in zip(names, ("true", "false"))
            if not blank((criteria or {}).get(outcome))]


def head_and_end(question: dict) -> tuple[str, str]:
    """The texts before and behind the options."""
    head, _, tail = str(template()[question["type"]]).partition("{options}")
    fields = {"instructions": question.get("instructions")}
    return fill(head, fields), fill(tail, fields) + str(template()["end"])


def question_text(question: dict) -> str:
    head, end = head_and_end(question)
    return head + "".join(option_lines(question)) + end


def label_index(question: dict, answer: object) -> int:
    """The index in `labels` of an answer as held_out.jsonl writes it."""
    if question["type"] == "noul":
        return 0 if answer else 1
    return int(answer) if question["type"] == "score" else list(question["criteria"]).index(answer)  # type: ignore[call-overload]
