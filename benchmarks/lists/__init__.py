"""Whether the score of a sentence finds the incorrect items of an answer that lists five.

Two packaged models answer questions that each name five subjects. The scores of the items are compared by ROC-AUC, over
all items and within relations, beside controls that know no probability.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.detectors.fit import question_folds, scores_unseen, words
from analysis.evidence.record import Cell, Record
from benchmarks.lists.areas import Interval, intervals, resampled
from benchmarks.lists.items import Counts, Item, items_of
from benchmarks.lists.questions import ListQuestion, list_questions
from benchmarks.support.recording import measured, tell
from rauq.labels import TRANSFORMERS, EngineName, listed, number
from rauq.model.loading import load_model
from rauq.trace.trace import Trace

MODELS = ("smollm2", "gemma3-270m")
RAUQ, SURPRISAL, ENTROPY = "RAUQ of the sentence", "mean surprisal", "mean entropy"
LENGTH, PLACE, WORDS = "control: length in tokens", "control: position in the list", "control: words of the item"
REPEATS = "control: repeats an earlier answer"
COLUMNS = ("model", "score", "items", "incorrect", "ROC-AUC", "within relations", "RAUQ minus it", "the same, within")
_BATCH, _LONGEST = 8, 100  # tokens: a loop is cut off
_STOPS = ("\n\n", "\nQ:", "\nA:")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One score of a model's items: its ROC-AUC, and how far that of RAUQ is above it, over all and within relations.

    `lead`, `lead_within`: None for RAUQ itself.
    """

    model: str
    score: str
    items: int
    incorrect: int
    area: Interval
    area_within: Interval
    lead: Interval | None
    lead_within: Interval | None


def measure() -> Record:
    """Ask both models all questions, and compare the scores of the items in their answers."""
    questions = list_questions()
    found = {model: items_of(questions, answers_of(model, questions)) for model in MODELS}
    return record_of(
        [one for model, (items, _) in found.items() for one in compared(model, items)],
        {model: counts for model, (_, counts) in found.items()},
    )


def answers_of(
    model: str, questions: Sequence[ListQuestion], *, engine: EngineName = TRANSFORMERS
) -> list[Trace | None]:
    """A model's greedy answers; None where one failed."""
    tell(f"{model} answers {len(questions)} questions by {engine}")
    lm = load_model(model, engine=engine)
    prompts = [question.prompt(lm.kind) for question in questions]
    answers = lm.generate_batch(prompts, batch_size=_BATCH, max_new_tokens=_LONGEST, stop=_STOPS)
    return [answer if isinstance(answer, Trace) else None for answer in answers]


def rated(items: Sequence[Item]) -> Mapping[str, np.ndarray]:
    """The values (A,) of every score and control, higher where the item is expected to be incorrect."""
    columns = {
        RAUQ: [item.score.uncertainty for item in items],
        SURPRISAL: [item.score.mean_surprisal for item in items],
        ENTROPY: [item.score.mean_entropy for item in items],
        LENGTH: [item.score.tokens[1] - item.score.tokens[0] for item in items],
        PLACE: [item.place for item in items],
        REPEATS: [item.repeats for item in items],
    }
    return {name: np.array(values, dtype=float) for name, values in columns.items()} | {WORDS: _by_words(items)}


def _by_words(items: Sequence[Item]) -> np.ndarray:
    """A fit on the words of the items of other questions (A,)."""
    correct = np.array([item.correct for item in items])
    questions, groups = [str(item.question) for item in items], [item.group for item in items]
    folds = question_folds(questions, groups, Sides(correct, ~correct))
    return scores_unseen(words([item.text for item in items]), correct, folds)


def compared(model: str, items: Sequence[Item]) -> Iterator[Compared]:
    """Each score with 95 % intervals by question; the first is RAUQ."""
    values, correct = rated(items), np.array([item.correct for item in items])
    groupings = ["all"] * len(items), [item.group for item in items]
    question = np.array([item.question for item in items])
    drawn = [resampled(np.column_stack([*values.values()]), correct, groups, question) for groups in groupings]
    areas = [intervals(own) for own in drawn]
    leads = [intervals(own[:, :1] - own) for own in drawn]
    for name, area, within, lead, lead_within in zip(values, *areas, *leads, strict=True):
        yield Compared(
            model=model,
            score=name,
            items=len(items),
            incorrect=int((~correct).sum()),
            area=area,
            area_within=within,
            lead=None if name == RAUQ else lead,
            lead_within=None if name == RAUQ else lead_within,
        )


def record_of(found: Sequence[Compared], counts: Mapping[str, Counts]) -> Record:
    """The table, and what it shows and what not."""
    return measured(
        "lists",
        title="Incorrect items of an answer that lists several",
        about="ROC-AUC, incorrect vs correct items, of scores of the line that states the item, in greedy answers to "
        "questions that name five subjects of one relation. 95 % intervals by bootstrap over questions. Within: the "
        "mean over relations.",
        columns=COLUMNS,
        rows=list(map(_row, found)),
        notes=(
            *(f"{model}: {one}." for model, one in counts.items()),
            "Each item is judged by the rule for facts, as an answer to the question about its subject alone.",
            "RAUQ has the paper's settings: by entropy for smollm2, an instruct model, by probability for gemma3-270m.",
            "A worked example precedes each question: without one, these models hardly give a list.",
            "Repeats: an earlier line, or the worked example, states the same of another subject.",
            "Words of the item: TF-IDF and logistic regression, fitted on the items of other questions.",
            "The comparisons with RAUQ are not corrected for their number.",
        ),
        finding=finding(found),
        packages=("torch", "transformers", "numpy", "scikit-learn"),
    )


def _row(one: Compared) -> tuple[Cell, ...]:
    shown = map(_shown, (one.area, one.area_within, one.lead, one.lead_within))
    return (one.model, one.score, one.items, one.incorrect, *shown)


def finding(found: Sequence[Compared]) -> str:
    """What RAUQ of a sentence reaches, which other scores it does not beat, and what that does not show."""
    models = dict.fromkeys(one.model for one in found)
    said = " ".join(_of_model([one for one in found if one.model == model]) for model in models)
    return f"{said} This says nothing of sentences of prose, or of larger models."


def _of_model(found: Sequence[Compared]) -> str:
    rauq, *others = found
    over_all = _unbeaten((one.score, one.area, one.lead) for one in others)
    within = _unbeaten((one.score, one.area_within, one.lead_within) for one in others)
    return (
        f"{rauq.model}: RAUQ of a sentence finds incorrect items with ROC-AUC {_shown(rauq.area)}, within relations "
        f"{_shown(rauq.area_within)}. Over all items it is {over_all}; within relations, {within}."
    )


def _unbeaten(scores: Iterable[tuple[str, Interval, Interval | None]]) -> str:
    """The scores that RAUQ is not significantly better than, with their ROC-AUC."""
    names = [
        f"{score.removeprefix('control: ')} ({number(area.value, places=2)})"
        for score, area, lead in scores
        if lead is None or not lead.low > 0
    ]
    return f"not better than {listed(names)}" if names else "better than all others"


def _shown(found: Interval | None) -> str:
    if found is None:
        return "-"
    value, low, high = (number(part, places=3) for part in found)
    return f"{value} [{low}, {high}]"
