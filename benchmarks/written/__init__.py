"""Which score finds errors in an answer that somebody else wrote, and which word it marks.

Two packaged models read pairs of a right and a wrong written answer to a question about a fact, and each reads answers
of the other one. Scores are compared by ROC-AUC, over all answers and within families of facts, and so are controls
that know no probability. Marks are compared by how often they fall on the name in incorrect answers.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from analysis.answer_sets.separation import areas_with_interval, labelled
from analysis.answer_sets.sides import Sides
from analysis.evidence.record import Cell, Record
from analysis.evidence.written import AREA, CHOSEN, PAIRS, PAPERS
from benchmarks.support.recording import measured
from benchmarks.written.marks import MARKS, hits, share_with_interval
from benchmarks.written.reading import MODELS, Answers, read_answers
from benchmarks.written.scores import LENGTH, rated
from rauq.labels import number

MARKED = "share of incorrect answers whose name is marked"
COLUMNS = ("model", "answers", "measure", "score", "n", "value", "low", "high", "within", "within low", "within high")
Row = tuple[Cell, ...]
_NAMED = {PAIRS, *(f"answers of {model}" for model in MODELS)}
_NONE = (math.nan, math.nan, math.nan)


def measure() -> Record:
    """Read all answers with both models, and compare the scores."""
    return record_of([row for model in MODELS for answers in read_answers(model) for row in rows_of(answers)])


def rows_of(answers: Answers) -> Iterator[Row]:
    """All scores and marks; of written pairs also the two that matter, in each form of sentence."""
    yield from score_rows(answers)
    yield from mark_rows(answers)
    if answers.name == PAIRS:
        for form in dict.fromkeys(one.item.form for one in answers.read):
            yield from (row for row in score_rows(answers.of_form(form)) if row[3] in {PAPERS, CHOSEN})


def score_rows(answers: Answers) -> Iterator[Row]:
    """ROC-AUC of each score with 95 % intervals by question: over all answers, and the mean within families."""
    clusters, sides = answers.clusters, Sides(answers.correct, ~answers.correct)
    for name, values in rated(answers.read).items():
        found = []
        for groups in (("all",) * len(values), answers.groups):
            counted = labelled(values[:, None], sides, groups, clusters=clusters)
            area = areas_with_interval(-values[:, None], counted)
            found += [round(float(end[0]), 3) for end in (area.value, area.low, area.high)]
        yield (answers.model, answers.name, AREA, name, int(np.isfinite(values).sum()), *found)


def mark_rows(answers: Answers) -> Iterator[Row]:
    """How often each mark falls on the name in incorrect answers."""
    for name, mark in MARKS.items():
        found = hits(mark, answers)
        shares = [round(float(value), 3) for value in share_with_interval(found)] if len(found) else _NONE
        yield (answers.model, answers.name, MARKED, name, len(found), *shares, *_NONE)


def record_of(rows: Sequence[Row]) -> Record:
    """The table, and what it shows of the score that is used."""
    return measured(
        "written",
        title="Errors in answers that the model did not write",
        about="ROC-AUC, incorrect vs correct, of scores of written answers to questions about facts that a model "
        "reads; and how often the token that a score marks is part of the incorrect name. 95 % intervals by question.",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "Written pairs: one sentence, in five forms, with the right name, and with that of another question.",
            "Each name is as often right as wrong. Paraphrased pairs have other words around the name.",
            "Within: the mean over families of facts. Answers of the other model are judged by the rule for facts.",
            "Rarity of the words alone: of the rarest word, among all these answers.",
            "The surprisal after another question is known of every fifth pair.",
        ),
        finding=finding(rows),
    )


def finding(rows: Sequence[Row]) -> str:
    """What the chosen score reaches beside the paper's, on pairs and on answers of another model, and what it marks."""
    return f"Scored by the {CHOSEN}. {' '.join(_of_model(model, rows) for model in dict.fromkeys(map(_model, rows)))}"


def _model(row: Row) -> str:
    return str(row[0])


def _of_model(model: str, rows: Sequence[Row]) -> str:
    of = {(row[1], row[2], row[3]): row for row in rows if _model(row) == model}
    said, kinds = [], dict.fromkeys(str(row[1]) for row in of.values())
    for answers in (one for one in kinds if one in _NAMED):
        chosen, papers, length = (_with_interval(of[answers, AREA, name]) for name in (CHOSEN, PAPERS, LENGTH))
        said.append(f"{answers}, ROC-AUC {chosen} (RAUQ by entropy {papers}, length {length})")
    marked = of[PAIRS, MARKED, CHOSEN]
    share = number(100 * float(marked[5]), places=0)
    return f"{model}: {'; '.join(said)}; of {marked[4]:,} incorrect pairs it marks the wrong name in {share} %."


def _with_interval(row: Row) -> str:
    value, low, high = (number(float(cell), places=2) for cell in row[5:8])
    return f"{value} [{low}, {high}]"
