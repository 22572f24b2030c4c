"""Tasks for lm-evaluation-harness: a question about some 500 tokens of statements, with four choices.

The statements are what the model of tests/demo_model has learnt to read.
"""
from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

CHOICES = 4
READING, ROLLING, GENERATING = "scorecast_reading", "scorecast_rolling", "scorecast_generating"
_STATEMENTS = 61  # About 500 tokens.
_PAINTS = "red blue green black white yellow brown grey pink purple".split()
_THINGS = "key book cup hat box coat lamp bag ball ring".split()
_PLACES = "kitchen garden tower cellar hall attic garage office library barn".split()

_TASKS = {
    READING: """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{text}}}} {{{{question}}}}"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}, {{metric: acc_norm, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
""",
    ROLLING: """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list: [{{metric: bits_per_byte, aggregation: bits_per_byte, higher_is_better: false}}]
metadata: {{version: 1.0}}
""",
    GENERATING: """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{text}}}} {{{{question}}}}"
doc_to_target: " {{{{choices[answer]}}}}"
generation_kwargs: {{until: ["."], max_gen_toks: 8, temperature: 0, do_sample: false}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true, ignore_punctuation: true}}]
metadata: {{version: 1.0}}
""",
}


@dataclass(frozen=True)
class Question:
    text: str
    question: str
    choices: list[str]
    answer: int


def questions(count: int, seed: int = 1) -> list[Question]:
    order = random.Random(seed)
    return [_question(order) for _ in range(count)]


def write_tasks(directory: Path, count: int) -> None:
    """Writes questions and the descriptions of the tasks, for the harness's `include_path`."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory.resolve() / "questions.jsonl"
    data.write_text("".join(json.dumps(vars(question)) + "\n" for question in questions(count)))
    for name, task in _TASKS.items():
        (directory / f"{name}.yaml").write_text(task.format(name=name, data=data))


def _question(order: random.Random) -> Question:
    things = order.sample([f"{paint} {thing}" for paint in _PAINTS for thing in _THINGS], _STATEMENTS)
    places = [order.choice(_PLACES) for _ in things]
    asked = order.randrange(_STATEMENTS)
    wrong = order.sample([place for place in _PLACES if place != places[asked]], CHOICES - 1)
    choices = [places[asked], *wrong]
    order.shuffle(choices)
    text = " ".join(f"The {thing} is in the {place}." for thing, place in zip(things, places))
    return Question(text, f"Where is the {things[asked]}?", [f"{place}." for place in choices], choices.index(places[asked]))
