"""The text of the lesson and the recorded generations that its pictures are drawn from."""

from dataclasses import dataclass
from typing import NamedTuple

from analysis.lesson import Lesson, Picked, Puzzle, lesson, puzzle
from rauq.atlas import game
from rauq.errors import TraceFileError
from rauq.recorded import answers as recorded
from rauq.trace.trace import Trace

LONGEST = 60  # words of a step: it must be readable from the last row


@dataclass(frozen=True)
class Step:
    """One screen: a title, at most LONGEST words, and the name of the picture below."""

    title: str
    text: str
    picture: str


def steps(lesson: Lesson) -> tuple[Step, ...]:
    """The steps of the lesson in order; the game comes after them.

    Raises:
        TraceFileError: the incorrect answer has no weights to describe.
    """
    wrong, right, myth = lesson.wrong, lesson.right, lesson.myth
    decided, first, last = scoring_head(lesson), lesson.picked[0].layer, lesson.picked[-1].layer
    count = f"{len(lesson.head_means)} layers of {len(lesson.head_means[0])}"
    return (
        Step(
            "What a head is",
            f"A small model translates “{_asked(wrong.prompt)}” Token by token, it generates “{wrong.answer}” "
            f"Its attention heads, {count}, give weight to earlier tokens, and each head has a typical pattern. Here "
            "are two. The thicker the arc, the larger the weight.",
            "heads",
        ),
        Step(
            "Attention to the previous token",
            "RAUQ uses one number of a head for each token: the attention weight, from 0 to 1, on the previous token "
            "while the token is generated. The first token has none, because only the prompt comes before it.",
            "previous",
        ),
        Step(
            "Where attention drops",
            f"“{_invented(lesson)}” is invented. Here the weight of head {decided.head} in layer {decided.layer} falls "
            f"from {_weight(lesson, before=1):.2f} to {_weight(lesson):.2f}. In large models, the paper finds such "
            "drops at incorrect tokens. In this small model, other heads rise there, and correct answers have drops "
            "too. A drop alone proves nothing.",
            "drop",
        ),
        Step(
            "Selecting the head",
            "Which head? It depends on the answer. RAUQ uses the middle layers, "
            f"{first} to {last} here (shaded), and in each selects the head with the largest mean weight on the "
            "previous token (ringed). This needs no training and no labels.",
            "picking",
        ),
        Step(
            "The recurrence, by hand",
            "Confidence c combines the signal s, the token's probability, with attention a times the previous token's "
            "confidence. Alpha is the weight of s: move the slider. Dashes: a fully confident model. Confidence below "
            "them is the collapse, this project's measure, not the paper's.",
            "recurrence",
        ),
        Step(
            "One number from many layers",
            "Each of these layers has its own confidences. The mean of −log c over the tokens is the layer's "
            f"uncertainty. The largest is the score: {wrong.uncertainty:.2f}, from layer {decided.layer}. "
            "It is for ranking answers of one model, not a probability.",
            "layers",
        ),
        Step(
            "A correct and an incorrect answer",
            "Bars show the collapse: how far confidence lies below that of a fully confident model. It stays near 0 in "
            f"the correct answer, score {right.uncertainty:.2f}. In the incorrect one, score {wrong.uncertainty:.2f}, "
            "it peaks at the invented word. Two answers are an illustration, not evidence.",
            "answers",
        ),
        Step(
            "What RAUQ cannot detect",
            f"Correct: “{myth.reference}” The training data often say otherwise, so this incorrect answer has high "
            f"confidence: score {myth.uncertainty:.2f}, like a correct one. And attention is not an explanation: in "
            "this small model, weights from other answers rank nearly as well.",
            "limits",
        ),
    )


def scoring_head(lesson: Lesson) -> Picked:
    """Return the selected head of the layer that gives the incorrect answer's score."""
    return next(picked for picked in lesson.picked if picked.layer == lesson.wrong.layer)


def _asked(prompt: str) -> str:
    """Return the sentence to translate: the line before the last, after its label."""
    return prompt.splitlines()[-2].partition(": ")[2]


def _invented(lesson: Lesson) -> str:
    return "".join(lesson.wrong.tokens[token] for token in lesson.wrong.invented)


def _weight(lesson: Lesson, *, before: int = 0) -> float:
    """Return that head's weight on the previous token at the first invented token, or `before` tokens earlier.

    Raises:
        TraceFileError: there is no such weight, since the first token has none.
    """
    token = lesson.wrong.invented[0] - before if lesson.wrong.invented else 0
    weight = scoring_head(lesson).weights[token] if token > 0 else None
    if weight is None:
        message = (
            "The lesson's incorrect answer invents nothing after its second token. "
            "Run `python -m training record` again."
        )
        raise TraceFileError(message)
    return weight


WRONG, RIGHT, MYTH = "unknown-word", "known-words", "myth"


class Content(NamedTuple):
    """The numbers of the pictures, the text around them, and the answers of the game."""

    lesson: Lesson
    steps: tuple[Step, ...]
    puzzles: tuple[Puzzle, ...]


def content() -> Content | None:
    """Return everything that the page shows; None if there are no recordings.

    Raises:
        RauqError: a recording is damaged, or one is missing.
    """
    if not (recorded.INDEX.exists() and game.GAME_INDEX.exists()):
        return None
    drawn = lesson(wrong=_trace(WRONG), right=_trace(RIGHT), myth=_trace(MYTH))
    return Content(drawn, steps(drawn), tuple(map(puzzle, game.load_game())))


def _trace(name: str) -> Trace:
    return recorded.find_recorded(name).trace()
