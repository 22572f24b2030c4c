#!/usr/bin/env python3
"""Generates the corpus: an endless stream of requests, drawn from facts.py with a seed.

    generate_corpus.py [--count N] [--seed S] [--held-out]      prints N requests as JSON lines

There are three kinds (README.md shows each):
    Judgement   a query and candidates, each with its verdict: the next token is "yes" or "no"
    Reading     documents and questions that one of them answers
    Passage     plain sentences
train.py and evaluate.py draw from this module. Combinations whose key `is_held_out` are drawn for
evaluation only, the others for training only.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import facts
from facts import DOCUMENT_KINDS, RELATIONS, DocumentKind, Relation, View

HELD_OUT_ONE_IN = 10


def is_held_out(*key: object) -> bool:
    """True for one combination in ten. Depends on a checksum of its parts, not on a seed."""
    return zlib.crc32("|".join(map(str, key)).encode()) % HELD_OUT_ONE_IN == 0


@dataclass
class Judgement:
    query: str
    items: list[str]
    verdicts: list[bool]
    completion: str | None  # the right answer as a continuation of the query; None if items are sentences
    relation: str


@dataclass
class Reading:
    system: str
    chunks: list[str]
    questions: list[tuple[str, str, int]]  # question, answer, index of the chunk that has it
    subjects: list[list[tuple[str, str, str]]]  # [chunks][sentences]: the sentence, its subject, its value
    question_subjects: list[str]


@dataclass
class Passage:
    text: str


# A bird is also an animal: "animal" is not the answer that is taught, but never used as a wrong one.
TRUE_BUT_NOT_TAUGHT = {("category", member, "animal") for member, category in facts.CATEGORIES
                       if category in ("bird", "fish", "insect")}
SYNONYMS_OF: dict[str, set[str]] = {}
for _word, _same in facts.SYNONYMS:
    SYNONYMS_OF.setdefault(_word, set()).add(_same)


class ViewTable:
    """The subjects of a view, their right answers, and the pool of all answers, from which candidates are drawn."""

    def __init__(self, relation: Relation, view: View, number: int) -> None:
        self.relation, self.view = relation, view
        self.key = f"{relation.name}/{number}"
        self.right: dict[str, set[str]] = {}
        for subject, obj in relation.pairs:
            given, asked = (obj, subject) if view.reverse else (subject, obj)
            self.right.setdefault(given, set()).add(asked)
        self.subjects = list(self.right)
        self.pool = sorted({answer for answers in self.right.values() for answer in answers})

    def fill(self, template: str, subject: str) -> str:
        return facts.fill(template, obj=subject) if self.view.reverse else facts.fill(template, subject)

    def is_wrong(self, subject: str, answer: str) -> bool:
        right = self.right[subject]
        return (answer not in right and (self.relation.name, subject, answer) not in TRUE_BUT_NOT_TAUGHT
                and not (self.relation.name in ("opposite", "synonym")
                         and any(answer in SYNONYMS_OF.get(r, ()) for r in right)))


TABLES = [ViewTable(relation, view, i) for relation in RELATIONS for i, view in enumerate(relation.views)]
TABLE_WEIGHTS = [t.relation.weight * (0.5 if t.view.reverse else 1.0) for t in TABLES]
RERANK_TABLES = [t for t in TABLES if t.view.topics]
RERANK_WEIGHTS = [t.relation.weight * (0.5 if t.view.reverse else 1.0) for t in RERANK_TABLES]
TOPIC_QUERIES = ("Which sentence tells {}?", "Find the sentence that tells {}.")


def wrong_answers(rng: random.Random, table: ViewTable, subject: str, count: int, same_pool: float) -> list[str]:
    """Distinct wrong candidates: from this view's answers with probability `same_pool`, else from any view's."""
    wrong: list[str] = []
    while len(wrong) < count:
        pool = table.pool
        if rng.random() >= same_pool or len(wrong) >= len(pool) - 1:
            pool = rng.choice(TABLES).pool
        answer = rng.choice(pool)
        if answer not in wrong and table.is_wrong(subject, answer):
            wrong.append(answer)
    return wrong


def answer_judgement(rng: random.Random, held_out: bool, candidates: int, same_pool: float, arithmetic: float = 1.0) -> Judgement:
    """A query like "The capital of France is" or "What is the capital of France?", and bare answers.

    Sums and differences are drawn `arithmetic` times as often as their weights say.
    """
    weights = [w * arithmetic if t.relation.name in ("sum", "difference") else w for t, w in zip(TABLES, TABLE_WEIGHTS)]
    while True:
        table = rng.choices(TABLES, weights)[0]
        subject = rng.choice(table.subjects)
        templates = table.view.completions + table.view.questions
        number = rng.randrange(len(templates))
        if is_held_out("answer", table.key, number, subject) == held_out:
            break
    right = rng.choice(sorted(table.right[subject]))
    items = [right] + wrong_answers(rng, table, subject, candidates - 1, same_pool)
    return shuffled(rng, table.fill(templates[number], subject), items, right, table.key)


def sentence(rng: random.Random, relation: Relation, pair: tuple[str, str]) -> str:
    return facts.fill(rng.choice(relation.statements), *pair)


def rerank_judgement(rng: random.Random, held_out: bool, candidates: int) -> Judgement:
    """A query like "Which sentence tells the colour of the sky?", or the question itself, and whole sentences."""
    while True:
        table = rng.choices(RERANK_TABLES, RERANK_WEIGHTS)[0]
        subject = rng.choice(table.subjects)
        relation = table.relation
        queries = [t.format(topic) for topic in table.view.topics for t in TOPIC_QUERIES] + list(table.view.questions)
        query, statement = rng.randrange(len(queries)), rng.randrange(len(relation.statements))
        if is_held_out("rerank", table.key, query, subject, statement) == held_out:
            break

    def pair(answer: str) -> tuple[str, str]:
        return (answer, subject) if table.view.reverse else (subject, answer)

    right = facts.fill(relation.statements[statement], *pair(rng.choice(sorted(table.right[subject]))))
    items = [right]
    words = {subject} | table.right[subject]
    while len(items) < candidates:
        draw = rng.random()
        if draw < 0.1:  # a false sentence of the right kind
            item = sentence(rng, relation, pair(wrong_answers(rng, table, subject, 1, 1.0)[0]))
        elif draw < 0.5:  # a sentence of the same relation, about another subject
            other = rng.choice(relation.pairs)
            if other[1 if table.view.reverse else 0] == subject or (relation.name in ("opposite", "synonym")
                                                                     and words & set(other)):
                continue
            item = sentence(rng, relation, other)
        else:  # a sentence of another relation, about the same subject if there is one
            other_relation = rng.choice(RELATIONS)
            if other_relation is relation:
                continue
            others = [p for p in other_relation.pairs if p[0] == subject]
            item = sentence(rng, other_relation, rng.choice(others or other_relation.pairs))
        if item not in items:
            items.append(item)
    return shuffled(rng, table.fill(queries[query], subject), items, right, "rerank " + table.key)


def shuffled(rng: random.Random, query: str, items: list[str], right: str, relation: str) -> Judgement:
    rng.shuffle(items)
    completion = None if relation.startswith("rerank") else right
    return Judgement(query, items, [item == right for item in items], completion, relation)


def passage(rng: random.Random) -> Passage:
    """One to four true sentences, of one relation or of several."""
    relation = rng.choices(RELATIONS, [r.weight for r in RELATIONS])[0]
    sentences = []
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.5:
            relation = rng.choices(RELATIONS, [r.weight for r in RELATIONS])[0]
        sentences.append(sentence(rng, relation, rng.choice(relation.pairs)))
    return Passage("Text: " + " ".join(sentences))


@dataclass(frozen=True)
class DocumentFact:
    kind: DocumentKind
    subject: str
    counted: str
    value: str

    @property
    def is_held_out(self) -> bool:
        return is_held_out("document", self.kind.name, self.subject, self.counted, self.value)

    def fill(self, template: str, bystander: str = "") -> str:
        text = template.format(p=self.subject, t=self.subject, c=self.counted, v=self.value, q=bystander,
                               av=facts.with_article(self.value))
        return text[0].upper() + text[1:]


    def beginning(self, rng: random.Random) -> str:
        """A statement up to the value, "The home of Anna is in"."""
        end = "{v}."
        return self.fill(rng.choice([s for s in self.kind.statements if s.endswith(end) and "{q}" not in s]).removesuffix(end).rstrip())


PERSONAL = [k for k in DOCUMENT_KINDS if "{p}" in k.statements[0]]
OF_THINGS = [k for k in DOCUMENT_KINDS if "{p}" not in k.statements[0]]


def draw_subject(rng: random.Random, personal: bool) -> str:
    return rng.choice(facts.NAMES) if personal else f"{rng.choice(facts.PAINTS)} {rng.choice(facts.OBJECTS)}"


def document_facts(rng: random.Random, count: int, kinds: list[DocumentKind], taken: set[tuple[str, str, str]],
                   same_subject: float) -> list[DocumentFact]:
    """Facts about one subject. Their questions differ from those of all facts in `taken`, to which they are added.

    With probability `same_subject` the subject is one that has a fact in `taken`.
    """
    personal = rng.choice(kinds) in PERSONAL
    mine = [k for k in kinds if (k in PERSONAL) == personal]
    subject = draw_subject(rng, personal)
    known = sorted({s for _, s, _ in taken if (s in facts.NAMES) == personal}) if same_subject else []
    if known and rng.random() < same_subject:
        subject = rng.choice(known)
    found: list[DocumentFact] = []
    while len(found) < count:
        kind = rng.choice(mine)
        counted = rng.choice(facts.COUNTED) if kind.name == "count" else ""
        key = (kind.name, subject, counted)
        if key in taken:
            subject = draw_subject(rng, personal)
            continue
        taken.add(key)
        found.append(DocumentFact(kind, subject, counted, rng.choice(kind.values)))
    return found


SENTENCES = (1, 1, 1, 1, 2)  # numbers of sentences of a document, one of which is drawn
KINDS = (1, 2, len(DOCUMENT_KINDS))  # numbers of kinds of facts in a reading, one of which is drawn


def reading(rng: random.Random, held_out: bool, chunks: int, questions: int,
            sentences: tuple[int, ...] = SENTENCES, kinds_of_facts: tuple[int, ...] = KINDS, beginnings: float = 0.0, place: int | None = None,
            of_persons: bool = False, same_subject: float = 0.0) -> Reading:
    """Documents of a few sentences and questions about them, at most one for each fact.

    Without `held_out` no document has a held-out fact. With `held_out` every fact that is asked for is held out.
    If `place` is given, it is the index of the document that the question is about. If all facts are of one kind or
    two, only the subject tells which of them is asked for.
    """
    kinds = rng.sample(PERSONAL if of_persons else DOCUMENT_KINDS, rng.choice(kinds_of_facts))
    taken: set[tuple[str, str, str]] = set()
    documents: list[list[DocumentFact]] = []
    for number in range(chunks):
        wanted = held_out and place in (None, number)
        while True:
            mine = set(taken)
            document = document_facts(rng, rng.choice(sentences), kinds, mine, same_subject)
            good = any(f.is_held_out for f in document) if wanted else not any(f.is_held_out for f in document)
            if good:
                break
        taken = mine
        documents.append(document)
    said = [[(f.fill(rng.choice(f.kind.statements), rng.choice(facts.NAMES)), f.subject, f.value) for f in document] for document in documents]
    texts = [" ".join(sentence for sentence, _, _ in document) for document in said]
    askable = [(number, f) for number, document in enumerate(documents) for f in document
               if f.is_held_out == held_out and (place is None or number == place)]
    asked = rng.sample(askable, min(questions, len(askable)))
    return Reading(rng.choice(facts.SYSTEM_PROMPTS), texts,
                   [(f.beginning(rng) if rng.random() < beginnings else f.fill(rng.choice(f.kind.questions)), f.value, number)
                    for number, f in asked],
                   said, [f.subject for _, f in asked])


@dataclass(frozen=True)
class Mixture:
    """Shares of the kinds of requests, and options of readings. The rest are passages."""

    answers: float = 0.5  # judgements of bare answers
    reranks: float = 0.2  # judgements of sentences
    readings: float = 0.22
    arithmetic: float = 1.0  # factor of the weights of sums and differences
    smallest_reading: int = 1  # in documents
    largest_reading: int = 10
    questions: int = 6  # most of a reading
    same_subject: float = 0.0  # probability that a document has the subject of an earlier one
    of_persons: bool = False  # if true, documents are about persons only, whose names are one token
    sentences: tuple[int, ...] = SENTENCES
    kinds: tuple[int, ...] = KINDS
    beginnings: float = 0.1  # share of questions that are the beginning of a statement


def requests(seed: str, mixture: Mixture = Mixture()) -> Iterator[Judgement | Reading | Passage]:
    """Yields training requests without end."""
    rng = random.Random(seed)
    while True:
        draw = rng.random()
        if draw < mixture.answers:
            yield answer_judgement(rng, False, rng.randint(5, 10), 0.8, mixture.arithmetic)
        elif draw < mixture.answers + mixture.reranks:
            yield rerank_judgement(rng, False, rng.randint(5, 10))
        elif draw < mixture.answers + mixture.reranks + mixture.readings:
            yield reading(rng, False, rng.randint(mixture.smallest_reading, mixture.largest_reading), mixture.questions,
                          mixture.sentences, mixture.kinds, mixture.beginnings, of_persons=mixture.of_persons, same_subject=mixture.same_subject)
        else:
            yield passage(rng)


def texts(request: Judgement | Reading | Passage) -> list[str]:
    """The texts of a request that are tokenized separately."""
    if isinstance(request, Judgement):
        return [request.query, *request.items]
    if isinstance(request, Reading):
        return [request.system, *request.chunks, *(t for q, a, _ in request.questions for t in (q, a + "."))]
    return [request.text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", default="corpus")
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    stream = requests(args.seed)
    for i in range(args.count):
        if args.held_out:
            request = (answer_judgement(rng, True, 10, 1.0), rerank_judgement(rng, True, 10), reading(rng, True, 8, 1, place=i % 8))[i % 3]
        else:
            request = next(stream)
        print(json.dumps({"kind": type(request).__name__, **dataclasses.asdict(request)}))


if __name__ == "__main__":
    main()
