"""Words of the field, each explained in one sentence: the only list, for every page and for Learn.

Pages of Streamlit show the explanations of the words of a text behind its question mark; components mark each word.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pages.ui.shared.assets import joined

_FOLDER = Path(__file__).parent


class Word(NamedTuple):
    """A word or a phrase, as it stands in a text in the singular, and its explanation: one sentence."""

    name: str
    explanation: str


WORDS = (
    Word(
        "uncertainty",
        "RAUQ's score of an answer, the mean of −log c: higher is less certain, only the order of answers has a "
        "meaning, and it is negative where c exceeds 1, as it can with entropy.",
    ),
    Word("token", "The piece of text, a word or a part of one, that a model reads or writes in one step."),
    Word("layer", "One of the stages of the model that every token passes through, one after the other."),
    Word("head", "One of the parallel parts of a layer; it gives each earlier token a weight, its attention."),
    Word("attention", "The weights, from 0 to 1, with which a head reads the earlier tokens; they sum to 1."),
    Word("nat", "A unit of surprise: a token of probability 37 % has 1 nat, one of 14 % has 2, one of 5 % has 3."),
    Word(
        "entropy",
        "How evenly the model spreads its probability over all possible next tokens, in nats: 0 if one is certain.",
    ),
    Word("probability", "The share, from 0 to 1, that the model gives to a token among all possible next ones."),
    Word("signal", "What RAUQ reads off the model's output at each token: the token's probability, or the entropy."),
    Word("confidence", "RAUQ's number c at a token, from the signal there and the attention to the token before."),
    Word(
        "collapse",
        "How far confidence at a token lies below that of a fully confident model, in nats; this project's measure.",
    ),
    Word("alpha", "The weight of the signal in confidence, from 0 to 1; the rest is the weight of attention."),
    Word(
        "u_l",
        "The uncertainty of an answer by one layer and the head selected in it, the mean of −log c; in the paper's "
        "setting the largest of them is the score.",
    ),
    Word(
        "margin of a head",
        "How far the mean attention of a selected head lies above that of the next head of its layer.",
    ),
    Word(
        "ROC-AUC",
        "How often a measure tells a correct from an incorrect answer, drawn at random: 1 is always, 0.5 is guessing.",
    ),
    Word(
        "PRR",
        "Prediction rejection ratio: how much better the remaining answers get when the most uncertain are rejected "
        "first; 1 is the best possible order, 0 a random one.",
    ),
    Word("quality", "How good an answer is by the data set's measure, from 0 to 1; for facts, 1 is correct."),
    Word("rejection", "Leaving out the answers that a method holds for the least certain."),
    Word("95 % interval", "A range that covers the true value in about 95 of 100 repetitions of the measurement."),
    Word("correlation", "How closely two measures go together: 1 is in step, 0 not at all, −1 in opposite directions."),
    Word("greedy", "Taking the most probable token at each step."),
    Word("forward pass", "One calculation of the model over a text."),
    Word("threshold", "The quality from which on an answer counts as correct."),
    Word("held-out", "Judged on answers that had no part in the choice that is judged."),
)
_ANY = re.compile(
    "|".join(rf"\b{re.escape(word.name)}s?\b" for word in sorted(WORDS, key=lambda one: -len(one.name))), re.IGNORECASE
)
_BY_NAME = {word.name.casefold(): word for word in WORDS}

STYLE = joined(_FOLDER, "words.css")
"""The style of marked words, for the style sheet of a component."""


def words_in(text: str) -> tuple[Word, ...]:
    """Return the words of the list that a text has, in its order, each once."""
    found = (match[0].casefold() for match in _ANY.finditer(text))
    return tuple(dict.fromkeys(_BY_NAME.get(name) or _BY_NAME[name.removesuffix("s")] for name in found))


def explained(*texts: str) -> str | None:
    """Return the explanations of the words of some texts, for the question mark beside them; None where they have none.

    Nothing of the texts is in it, so that it is safe as Markdown.
    """
    lines = [f"**{word.name}**: {word.explanation}" for word in words_in(" ".join(texts))]
    return "\n\n".join(lines) or None


def word_list(words: Sequence[Word] = WORDS) -> list[list[str]]:
    """Return the words as a component takes them: names with their explanations."""
    return [list(word) for word in words]
