"""The text of the lesson and the recorded generations that its pictures are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.evidence.worth import worth
from analysis.lesson import Lesson, Picked, Puzzle, Scored, lesson, puzzle
from rauq.checkpoints.named import NAMED_MODELS
from rauq.errors import TraceFileError
from rauq.recorded import answers as recorded


@dataclass(frozen=True)
class Step:
    """One screen: a title, at most 60 words (to be read from the last row), and the name of its picture."""

    title: str
    text: str
    picture: str


def steps(lesson: Lesson) -> tuple[Step, ...]:
    """Why it matters, and the steps of the lesson in order; the game comes after them.

    Raises:
        TraceFileError: the recordings do not show what the texts say of them.
    """
    _check(lesson)
    wrong, right, confident = lesson.wrong, lesson.right, lesson.confident
    head, drop, first, peak = scoring_head(lesson), lesson.drop, wrong.invented[0], max(wrong.collapse)
    from_attention = wrong.attention_shares[first] / peak
    return (
        _why(lesson),
        Step(
            "What a head is",
            f"A small language model, {_title(lesson.model)}, answers “{wrong.prompt}” Token by token, it generates "
            f"“{wrong.answer}” Its {len(lesson.head_means)} layers of {len(lesson.head_means[0])} attention heads give "
            "weight to earlier tokens, and each head has a typical pattern. Here are two. The thicker the arc, the "
            "larger the weight.",
            "heads",
        ),
        Step(
            "Attention to the previous token",
            "RAUQ uses one number of a head for each token: the attention weight, from 0 to 1, on the previous token "
            "while the token is generated. The first token has none, because only the prompt comes before it.",
            "previous",
        ),
        Step(
            "Selecting the head",
            "Which head? It depends on the answer. RAUQ uses the middle layers, "
            f"{lesson.picked[0].layer} to {lesson.picked[-1].layer} here (shaded), and in each selects the head with "
            "the largest mean weight on the previous token (ringed). This needs no training and no labels.",
            "picking",
        ),
        Step(
            "Attention at the incorrect word",
            f"“{_invented(wrong)}” is incorrect; correct: {wrong.reference}. Of the selected heads, layer {drop.layer} "
            f"head {drop.head} has the largest difference in mean weight between correct and incorrect answers (figure "
            "3a; by ROC-AUC, another head). Its weight "
            f"{_move(drop.weights, first + 1)} after “{wrong.tokens[first]}”; after “{drop.correct}” it is "
            f"{drop.corrected:.2f}. The mean of all {len(lesson.picked)} "
            f"{_move(lesson.mean_weights, first + 1)}. One answer is no evidence.",
            "drop",
        ),
        Step(
            "The recurrence, by hand",
            "Confidence c combines the signal s, the token's probability, with attention a (here "
            f"layer {head.layer}, head {head.head}) times the previous confidence. Alpha is the weight of s: move the "
            "slider. Dashes: a fully confident model. Confidence below them is the collapse, this project's measure, "
            "not the paper's.",
            "recurrence",
        ),
        Step(
            "One number from many layers",
            "Each layer has its own confidences. The mean of −log c over the tokens is its uncertainty. The largest is "
            f"the score: {wrong.uncertainty:.2f}, from layer {head.layer}. It is for ranking answers, not a "
            "probability. These are the paper's settings with probability as the signal. For chat models, Inspect "
            "uses entropy by default, so it shows other numbers.",
            "layers",
        ),
        Step(
            "A correct and an incorrect answer",
            "Bars show the collapse: how far confidence lies below that of a fully confident model. It is at most "
            f"{max(right.collapse):.1f} in the correct answer. In the incorrect one it peaks at {peak:.1f}, at the "
            f"first incorrect token: {100 - 100 * from_attention:.0f} % of that comes from probability, "
            f"{100 * from_attention:.0f} % from attention. Two answers are an illustration, not evidence.",
            "answers",
        ),
        Step(
            "What RAUQ cannot detect",
            f"“{_invented(confident)}” is incorrect; correct: {confident.reference}. But the score, "
            f"{confident.uncertainty:.2f}, is below that of the correct answer, {right.uncertainty:.2f}: RAUQ cannot "
            f"detect a confident error. And attention is not an explanation: {_worth()} (page Evidence).",
            "limits",
        ),
    )


def _worth() -> str:
    found = worth()
    return (
        f"of RAUQ's ROC-AUC on facts, {found.roc_auc}, this model's own attention gives {found.attention}; in "
        f"{found.comparisons} comparisons, {found.largest} at most"
    )


def _why(lesson: Lesson) -> Step:
    opening = lesson.opening
    return Step(
        "Fluent, and incorrect",
        f"{_title(lesson.model)}, a small language model, wrote this answer. It reads well, yet "
        f"{opening.num_incorrect} of its {opening.num_tokens} tokens, marked here by hand, state something incorrect. "
        "RAUQ looks inside the model, at its attention heads. Learn how RAUQ looks for such tokens, what it cannot "
        "detect, and then try it yourself.",
        "why",
    )


def scoring_head(lesson: Lesson) -> Picked:
    """Return the selected head of the layer that gives the incorrect answer's score."""
    return next(picked for picked in lesson.picked if picked.layer == lesson.wrong.layer)


def _check(lesson: Lesson) -> None:
    """See that the texts hold for these answers.

    Raises:
        TraceFileError: one of them does not.
    """
    wrong, right, confident = lesson.wrong, lesson.right, lesson.confident
    first = wrong.invented[0] if wrong.invented else 0
    mean, weights = (
        [one[token] or 0.0 for token in (first, first + 1)] for one in (lesson.mean_weights, lesson.drop.weights)
    )
    holds = {
        "the first answer has incorrect tokens": lesson.opening.num_incorrect > 0,
        "the incorrect answer has an incorrect token after its second": first > 1,
        "its collapse peaks there": wrong.collapse[first] == max(wrong.collapse),
        "the mean weight falls after it": mean[1] < mean[0],
        "the head's weight falls after it, and below that after the correct word": weights[1]
        < min(weights[0], lesson.drop.corrected),
        "its score is above that of the correct answer": right.correct and wrong.uncertainty > right.uncertainty,
        "the confident answer is incorrect, with a score below that of the correct one": not confident.correct
        and confident.uncertainty < right.uncertainty,
    }
    if not_so := [statement for statement, is_so in holds.items() if not is_so]:
        message = (
            f"The lesson's recordings do not show that {', and that '.join(not_so)}. "
            "Run `python -m training record` again."
        )
        raise TraceFileError(message)


def _title(model: str) -> str:
    """What a named model is called, without its quantisation."""
    titles = {named.name: named.title.partition(" (")[0] for named in NAMED_MODELS}
    return titles.get(model, model)


def _invented(answer: Scored) -> str:
    return "".join(answer.tokens[token] for token in answer.invented)


def _move(weights: Sequence[float | None], token: int) -> str:
    """Return how a weight changes from the token before to this one."""
    before, there = weights[token - 1] or 0.0, weights[token] or 0.0
    return f"{'falls' if there < before else 'rises'} from {before:.2f} to {there:.2f}"


FLUENT, WRONG, CORRECTED, RIGHT, CONFIDENT = "magic-flute", "switzerland", "bern", "canberra", "istanbul"
LAYER = 19  # of those used by RAUQ, where the selected head's attention differs most in the run smollm2-facts


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
    if not (recorded.INDEX.exists() and recorded.GAME_INDEX.exists()):
        return None
    roles = {"fluent": FLUENT, "wrong": WRONG, "corrected": CORRECTED, "right": RIGHT, "confident": CONFIDENT}
    drawn = lesson(**{role: recorded.find_recorded(name) for role, name in roles.items()}, layer=LAYER)
    return Content(drawn, steps(drawn), tuple(map(puzzle, recorded.load_game())))
