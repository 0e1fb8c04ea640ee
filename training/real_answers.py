"""Record answers of real models, chosen by eye, with their verdicts and the statements that are invented."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import rauq
from rauq import Trace
from rauq.model.language_model import LanguageModel
from rauq.recorded.answers import Recorded, Verdict
from rauq.trace.parts import tokens_in

_SMOLLM2, _GEMMA = "smollm2", "gemma3-270m"


@dataclass(frozen=True)
class Chosen:
    """A question whose answer is recorded. `invented` are texts of the answer that state something incorrect.

    A branch begins with the tokens of the answer `branch_of` before its token `at`, and with `instead` in its place.
    """

    id: str
    name: str
    prompt: str
    verdict: Verdict
    correct_answer: str
    what_to_see: str
    invented: tuple[str, ...] = ()
    model: str = _SMOLLM2
    max_new_tokens: int = 64
    branch_of: str = ""
    at: int = 0
    instead: str = ""


CHOSEN = (
    Chosen(
        "magic-flute", "The Magic Flute", "Who composed The Magic Flute?", "incorrect",
        "Wolfgang Amadeus Mozart, 1791",
        "Chosen because confidence collapses at the invented name.", ("John Williams", "1979"),
    ),
    Chosen(
        "trial", "The Trial", "Who is the author of The Trial?", "incorrect", "Franz Kafka",
        "Confidence collapses at the first name of another author.",
        ("American", "John Grisham", "1992"), max_new_tokens=40,
    ),
    Chosen(
        "canberra", "The capital of Australia", "What is the capital of Australia?", "correct", "Canberra",
        "A short correct answer: confidence stays near the reference (p = 1 at every token).",
    ),
    Chosen(
        "istanbul", "The capital of Turkey", "What is the capital of Turkey?", "incorrect", "Ankara",
        "Incorrect with high confidence: RAUQ gives it nearly the score of a correct answer.", ("Istanbul",),
    ),
    Chosen(
        "first-nobel", "The first woman to win a Nobel Prize", "Who was the first woman to win a Nobel Prize?",
        "incorrect", "Marie Curie, 1903", "A long invention, far more uncertain than the short correct answers.",
        ("Serena Elena Elenkova", "tennis player", "2013"),
    ),
    Chosen(
        "mona-lisa", "The Mona Lisa", "Who painted the Mona Lisa?", "partly correct", "Leonardo da Vinci",
        "The correct name comes first; what follows is invented.",
        ("Artemisia Gentileschi. Artemisia Gentileschi was a French artist who painted the Mona Lisa in 1590",),
        max_new_tokens=80,
    ),
    Chosen(
        "moon", "The first person on the Moon", "Who was the first person to walk on the Moon?", "correct",
        "Neil Armstrong, 20 July 1969", "Correct, although confidence dips at the name.",
    ),
    Chosen(
        "tungsten", "The symbol for tungsten", "What is the chemical symbol for tungsten?", "incorrect", "W",
        "Incorrect with high confidence: the question's own word is repeated.", ("Tungsten",),
    ),
    Chosen(
        "gold", "The symbol for gold", "What is the chemical symbol for gold?", "correct", "Au",
        "The symbol itself has high confidence; the uncertainty comes from what is said about gold afterwards.",
    ),
    Chosen(
        "switzerland", "The capital of Switzerland", "What is the capital of Switzerland?", "incorrect", "Bern",
        "Another place instead of the capital, with a small collapse at its first syllable.", ("Lier",),
    ),
    Chosen(
        "bern", "The capital of Switzerland, with Bern", "What is the capital of Switzerland?", "correct", "Bern",
        "A branch of the incorrect answer: Bern, which was as probable, in place of the incorrect name's first token.",
        branch_of="switzerland", at=5, instead=" Bern",
    ),
    Chosen(
        "brazil", "The capital of Brazil", "What is the capital of Brazil?", "incorrect", "Brasília",
        "A plausible city instead of the capital.",
        ("Sao Paulo", "2.1 million"),
    ),
    Chosen(
        "wellington", "The capital of New Zealand", "What is the capital of New Zealand?", "correct", "Wellington",
        "Correct with high confidence.",
    ),
    Chosen(
        "tolstoy", "Crime and Punishment", "Who wrote Crime and Punishment?", "incorrect", "Fyodor Dostoevsky",
        "An invented author: confidence collapses within his name.",
        ("Count Alfred Count von Söld", "German-born", "1860"),
    ),
    Chosen(
        "baht", "The currency of Thailand", "What is the currency of Thailand?", "incorrect", "the baht",
        "The currency has an invented name, and the explanation mentions the real one.",
        ("Bahamet", "hybrid of the Thai baht and the US dollar"), max_new_tokens=48,
    ),
    Chosen(
        "berlin-wall", "The fall of the Berlin Wall", "In what year did the Berlin Wall fall?", "partly correct",
        "1989", "The year is correct, but the answer says that the wall was built then.",
        ("built by the Iron Curtain", "erected by the Soviet Union"),
    ),
    Chosen(
        "bones", "The bones of an adult", "How many bones does an adult human have?", "partly correct", "206",
        "The first number is incorrect, and a later one is correct.", ("68",), max_new_tokens=80,
    ),
    Chosen(
        "titanic", "The date of the Titanic", "On what date did the Titanic sink?", "incorrect", "15 April 1912",
        "A long answer that drifts into numbers.", ("April 1, 1996",),
        max_new_tokens=120,
    ),
    Chosen(
        "planets", "A list of planets", "List the planets of the solar system.", "incorrect",
        "Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus, Neptune",
        "A list with planets missing and others added.", ("Pluto", "Ceres", "Haumeus"),
    ),
    Chosen(
        "austen", "A list of novels", "List three novels by Jane Austen.", "correct",
        "for example Pride and Prejudice, Emma, Mansfield Park", "A correct list of three.",
    ),
    Chosen(
        "french", "A translation into French", "Translate into French: The cat sleeps on the chair.", "incorrect",
        "Le chat dort sur la chaise.", "Fluent but not a translation, with one of the highest scores here.",
        ("L'amour est toujeur, le ciel est toujeur",),
    ),
    Chosen(
        "curie", "The life of Marie Curie", "Write two sentences about the life of Marie Curie.", "correct",
        "a physicist and chemist, pioneer of radioactivity",
        "Correct but vague. The model is uncertain about the wording, not about a fact.",
    ),
    Chosen(
        "bulgakov", "The Master and Margarita", "Question: Who wrote The Master and Margarita?\nAnswer:", "correct",
        "Mikhail Bulgakov", "Correct, and yet more uncertain than this model's incorrect answer about The Magic Flute.",
        model=_GEMMA,
    ),
    Chosen(
        "bach", "The Magic Flute, base model", "Question: Who composed The Magic Flute?\nAnswer:", "incorrect",
        "Wolfgang Amadeus Mozart, 1791", "Another composer, with a collapse at his first name.",
        ("Johann Sebastian Bach",), model=_GEMMA,
    ),
    Chosen(
        "nile", "The longest river", "Question: What is the longest river in the world?\nAnswer:", "correct",
        "the Nile", "A correct answer of three words.", model=_GEMMA,
    ),
)  # fmt: skip


def record(wanted: Sequence[Chosen]) -> tuple[Recorded, ...]:
    """Write a trace for each.

    Raises:
        ModelNotFound: a model is not on this machine.
        RuntimeError: an answer is not the one that was chosen.
    """
    models = {
        name: rauq.load_model(name, engine="transformers") for name in dict.fromkeys(chosen.model for chosen in wanted)
    }
    return tuple(_one(models[chosen.model], chosen) for chosen in wanted)


def _one(model: LanguageModel, chosen: Chosen) -> Recorded:
    trace = model.generate(
        chosen.prompt, max_new_tokens=chosen.max_new_tokens, answer_prefix=_prefix(model, chosen), last_row=True
    )
    recorded = Recorded(
        id=chosen.id,
        name=chosen.name,
        verdict=chosen.verdict,
        correct_answer=chosen.correct_answer,
        what_to_see=chosen.what_to_see,
        branch_of=chosen.branch_of,
    )
    replace(trace, wrong=_invented_tokens(trace, chosen)).save(recorded.path)
    return recorded


def _prefix(model: LanguageModel, chosen: Chosen) -> list[int] | None:
    """The ids that a branch begins with."""
    if not chosen.branch_of:
        return None
    (origin,) = (one for one in CHOSEN if one.id == chosen.branch_of)
    answer = model.generate(origin.prompt, max_new_tokens=origin.max_new_tokens)
    return [*answer.answer_ids[: chosen.at].tolist(), *model.tokens.encode_answer(chosen.instead)]


def _invented_tokens(trace: Trace, chosen: Chosen) -> tuple[int, ...]:
    """The answer tokens that share a character with the first occurrence of an invented text."""
    if absent := [text for text in chosen.invented if text not in trace.answer]:
        message = f"The answer of {chosen.id!r} does not say {absent}: {trace.answer!r}"
        raise RuntimeError(message)
    spans = [(start := trace.answer.index(text), start + len(text)) for text in chosen.invented]
    return tuple(np.flatnonzero(tokens_in(trace.answer_tokens, spans)).tolist())
