"""The words of the lesson and the recorded generations that it is drawn from."""

from dataclasses import dataclass
from typing import NamedTuple

from analysis.lesson import Lesson, Picked, Puzzle, lesson, puzzle
from rauq.atlas import recorded
from rauq.errors import TraceFileError
from rauq.trace.trace import Trace

LONGEST = 60  # words of a step: it is read from the last row


@dataclass(frozen=True)
class Step:
    """One screen: a title, at most LONGEST words, and the name of the picture under them."""

    title: str
    text: str
    picture: str


def steps(lesson: Lesson) -> tuple[Step, ...]:
    """The steps of the lesson in order; the game comes after them.

    Raises:
        TraceFileError: the wrong answer has no weights to tell of.
    """
    wrong, right, myth = lesson.wrong, lesson.right, lesson.myth
    decided, first, last = deciding(lesson), lesson.picked[0].layer, lesson.picked[-1].layer
    count = f"{len(lesson.head_means)} layers of {len(lesson.head_means[0])}"
    return (
        Step(
            "What a head is",
            f"A small model translates “{_asked(wrong.prompt)}” One token after another, it writes “{wrong.answer}” "
            f"Before each token its heads, {count}, look back, and each head has habits. Here are two. "
            "The thicker the arc, the larger the weight.",
            "heads",
        ),
        Step(
            "Attention to the previous token",
            "RAUQ asks one thing of a head: while a token is written, how much weight goes to the token just before? "
            "That is one number from 0 to 1 for each token. The first has none, because only the prompt stands "
            "before it.",
            "previous",
        ),
        Step(
            "Where it drops",
            f"“{_invented(lesson)}” is invented. Here the weight of head {decided.head} in layer {decided.layer} falls "
            f"from {_weight(lesson, before=1):.2f} to {_weight(lesson):.2f}. In large models, the paper finds such "
            "drops at wrong tokens. In this small one, other heads disagree, and right answers have drops too. "
            "A drop alone proves nothing.",
            "drop",
        ),
        Step(
            "Picking the head",
            "Which head to ask? For every answer anew, RAUQ takes the middle layers, "
            f"{first} to {last} here (shaded), and in each the head with the largest mean weight on the previous token "
            "(ringed). Nothing is trained, nothing is labelled.",
            "picking",
        ),
        Step(
            "The recurrence, by hand",
            "Confidence c mixes two things: signal s, the token's probability, and the confidence before it, "
            "passed on through attention a. Alpha weighs them. Move it. Dashes show a model that is sure of every "
            "token. The gap is what counts.",
            "recurrence",
        ),
        Step(
            "One number from many layers",
            "Every layer of the window has confidences of its own. The mean of −log c over the tokens is the layer's "
            f"uncertainty, and the largest is the score: layer {decided.layer} decides, {wrong.uncertainty:.2f}. "
            "Compare it with scores of other answers. It is not a probability.",
            "layers",
        ),
        Step(
            "A right and a wrong answer",
            "Bars show the collapse: how far confidence lies below the sure model's. It stays near 0 in the right "
            f"answer, which scores {right.uncertainty:.2f}. In the wrong one, {wrong.uncertainty:.2f}, it peaks where "
            "a word is invented. Two answers illustrate. They are no evidence.",
            "answers",
        ),
        Step(
            "What it cannot see",
            f"The truth: “{myth.reference}” Training often said otherwise, so the model is sure of its mistake: it "
            f"scores {myth.uncertainty:.2f}, like a right answer. And attention is not explanation: in this small "
            "model, weights taken from other answers rank nearly as well.",
            "limits",
        ),
    )


def deciding(lesson: Lesson) -> Picked:
    """The picked head of the layer that decided the wrong answer's score."""
    return next(picked for picked in lesson.picked if picked.layer == lesson.wrong.layer)


def _asked(prompt: str) -> str:
    """The sentence to be translated: the line before the last, behind its label."""
    return prompt.splitlines()[-2].partition(": ")[2]


def _invented(lesson: Lesson) -> str:
    return "".join(lesson.wrong.tokens[token] for token in lesson.wrong.invented)


def _weight(lesson: Lesson, *, before: int = 0) -> float:
    """What the deciding layer's head gives the token before the first invented one, or so many tokens earlier.

    Raises:
        TraceFileError: it has no such weight, for the first token has none.
    """
    token = lesson.wrong.invented[0] - before if lesson.wrong.invented else 0
    weight = deciding(lesson).weights[token] if token > 0 else None
    if weight is None:
        message = "The lesson's wrong answer invents nothing after its second token. `python -m training record` again."
        raise TraceFileError(message)
    return weight


WRONG, RIGHT, MYTH = "unknown-word", "known-words", "myth"


class Content(NamedTuple):
    """The numbers of the pictures, the words around them, and the answers of the game."""

    lesson: Lesson
    steps: tuple[Step, ...]
    puzzles: tuple[Puzzle, ...]


def content() -> Content | None:
    """Everything that the page shows; None where no recordings ship.

    Raises:
        RauqError: a recording is damaged, or one is missing.
    """
    if not (recorded.INDEX.exists() and recorded.GAME_INDEX.exists()):
        return None
    drawn = lesson(wrong=_trace(WRONG), right=_trace(RIGHT), myth=_trace(MYTH))
    return Content(drawn, steps(drawn), tuple(map(puzzle, recorded.load_game())))


def _trace(name: str) -> Trace:
    return recorded.find_recorded(name).trace()
