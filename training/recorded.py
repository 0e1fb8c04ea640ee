"""Record example generations of the embedded model, chosen by rule from the held-out prompts.

An incorrect answer is chosen for its largest collapse, which has to be in the incorrect fact; a correct one, and a
common mistake, for its smallest. So the description of each example still holds after a rebuild.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter

import rauq
from rauq import Trace
from rauq.atlas.evaluation import Example, Family, invented_tokens, judge, load_examples
from rauq.model.language_model import LanguageModel
from rauq.recorded.answers import INDEX, Recorded
from rauq.scoring.report import SMALLEST_COLLAPSE
from training.exposures import OFTEN

_MOST_LINES = 4  # of a prompt: it has to be read on the page
_LONGEST_ANSWER = 64


@dataclass(frozen=True)
class Wanted:
    """What a recording should show."""

    id: str
    name: str
    family: Family
    stratum: str
    correct: bool
    collapses: bool
    what_to_see: str
    facts: frozenset[str] = frozenset()  # only prompts that ask for one of these; none: any


WANTED = (
    Wanted(
        "unknown-place", "A place absent from training", "places", "never seen", correct=False, collapses=True,
        what_to_see="The model invents a fact, and confidence collapses there.",
        facts=frozenset({"currency", "country"}),
    ),
    Wanted(
        "known-place", "A place seen often in training", "places", OFTEN, correct=True, collapses=False,
        what_to_see="Stated often in training: confidence stays near the reference (p = 1 at every token).",
        facts=frozenset({"country", "capital"}),
    ),
    Wanted(
        "rare-place", "A place rarely seen in training", "places", "seen 1-3", correct=True, collapses=False,
        what_to_see="Correct with high confidence, after at most three mentions in training.",
        facts=frozenset({"country", "language"}),
    ),
    Wanted(
        "myth", "A common misconception", "places", "myth", correct=False, collapses=False,
        what_to_see="The training data repeat a falsehood, so this error has high confidence: RAUQ cannot detect it.",
        facts=frozenset({"capital", "currency", "language"}),
    ),
    Wanted(
        "known-words", "Common words", "translation", OFTEN, correct=True, collapses=False,
        what_to_see="Every word of the sentence was common in training, and confidence stays high.",
    ),
    Wanted(
        "unknown-word", "A word absent from training", "translation", "never seen", correct=False, collapses=True,
        what_to_see="One word is guessed, and confidence collapses there.",
        facts=frozenset({"object", "adjective", "person"}),
    ),
    Wanted(
        "whole-text", "All details in the text", "summaries", "complete", correct=True, collapses=False,
        what_to_see="Name, age, amount and day are copied from the text; only the wording lowers confidence slightly.",
    ),
    Wanted(
        "missing-currency", "A missing currency", "summaries", "no currency in the text", correct=False,
        collapses=True,
        what_to_see="The text gives no currency; the summary invents one, and confidence collapses there.",
    ),
)  # fmt: skip


def record(model: LanguageModel) -> tuple[Recorded, ...]:
    """Write a trace for each of WANTED.

    Raises:
        RuntimeError: no answer of the model shows what is wanted.
    """
    return tuple(_one(model, wanted) for wanted in WANTED)


def write_index(recorded: Sequence[Recorded]) -> None:
    """Write the index of all recordings; the app opens on the first."""
    rows = [{name: value for name, value in asdict(one).items() if value} for one in recorded]
    INDEX.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _one(model: LanguageModel, wanted: Wanted) -> Recorded:
    candidates = [
        (height, number, example, trace)
        for number, (example, trace) in enumerate(_answers(model, wanted))
        if (height := _height(example, trace, wanted)) is not None
    ]
    if not candidates:
        message = f"No answer of the model shows {wanted.id!r}: {wanted.what_to_see}"
        raise RuntimeError(message)
    _, _, example, trace = max(candidates, key=itemgetter(0, 1))
    recorded = Recorded(
        id=wanted.id,
        name=wanted.name,
        verdict="correct" if wanted.correct else "incorrect",
        correct_answer=example.reference,
        what_to_see=wanted.what_to_see,
    )
    trace.save(recorded.path)
    return recorded


def _answers(model: LanguageModel, wanted: Wanted) -> list[tuple[Example, Trace]]:
    examples = [
        example
        for example in load_examples(wanted.family)
        if example.stratum == wanted.stratum
        and (not wanted.facts or wanted.facts & {fact.name for fact in example.facts})
        and example.prompt.count("\n") < _MOST_LINES
    ]
    answers = model.generate_batch(
        [example.prompt for example in examples], max_new_tokens=_LONGEST_ANSWER, last_row=True
    )
    return [(example, trace) for example, trace in zip(examples, answers, strict=True) if isinstance(trace, Trace)]


def _height(example: Example, trace: Trace, wanted: Wanted) -> float | None:
    """How well an answer shows what is wanted: its largest collapse, negative if none is wanted; None if not at all."""
    verdict = judge(example, trace.answer)
    if not verdict.recognised or verdict.correct != wanted.correct:
        return None
    collapse = rauq.score(trace).collapse
    highest = float(collapse.max())
    if (highest >= SMALLEST_COLLAPSE) != wanted.collapses:
        return None
    if not wanted.collapses:
        return -highest
    return highest if int(collapse.argmax()) in invented_tokens(trace, verdict) else None
