"""Choose the answers of the game "which token was invented?" by rule, without regard to any uncertainty.

The answers of the bundled run that fit as texts are put in an order drawn by a seeded generator. Their questions are
answered again, with everything recorded, and the first ten answers that fit are used, at most two of a family. An
answer fits if it is short, ended by itself, and:

- it is incorrect, names one thing in reply, and once: that is the invented part, less than half of its tokens;
- the first invented token does not begin a correct answer too, as 1 does for 1901 and 1996: the error begins there;
- outside the invented part it only repeats words of the question, in any inflection, with words such as "the" between
  them: so nothing else in it is incorrect.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from random import Random

import numpy as np

from analysis.datasets.example import Example
from analysis.datasets.names import load
from analysis.normalisation import plain_words
from analysis.quality.facts import judge_fact
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from rauq import Trace
from rauq.model.language_model import LanguageModel
from rauq.recorded.answers import GAME, GAME_INDEX, GameAnswer
from rauq.trace.parts import tokens_in

COUNT, MOST_PER_FAMILY = 10, 2
LENGTHS = range(6, 21)  # tokens, the end token included
ALSO = frozenset("a an the is was in of on by with it that".split())
_STEM = 3  # letters: as many as die and died, or begin and began, share
_TRIED = 8  # prompts at a time

Found = tuple[Example, Trace]


def record_game(model: LanguageModel, *, seed: int = 0) -> tuple[GameAnswer, ...]:
    """Write a trace for each answer of the game, with its invented tokens marked, and their index; nothing else stays.

    Raises:
        RuntimeError: the model gives too few answers that fit.
    """
    found = _choose(model, drawn(Random(seed)))
    shutil.rmtree(GAME, ignore_errors=True)
    GAME.mkdir()
    game_answers = []
    for example, trace in found:
        game_answers.append(GameAnswer(id=example.id, correct_answer=example.references[0]))
        trace.save(game_answers[-1].path)
    rows = [asdict(game_answer) for game_answer in game_answers]
    GAME_INDEX.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return tuple(game_answers)


def drawn(rng: Random) -> list[Example]:
    """The questions whose answers in the bundled run ended and fit as texts, in a drawn order."""
    answers = open_run(bundled_folder()).answers
    ended = answers[(answers["stop_reason"] == "eos") & answers["num_tokens"].isin(LENGTHS)]
    examples = {example.id: example for example in load("facts", kind="instruct").examples}
    rows = zip(ended["id"], ended["answer"], strict=True)
    fitting = [examples[name] for name, answer in rows if invented_part(examples[name], answer)]
    return rng.sample(fitting, len(fitting))


def marked(example: Example, trace: Trace) -> Trace | None:
    """The answer with its invented tokens marked; None if it does not fit the game."""
    span = invented_part(example, trace.answer)
    if span is None or trace.stop_reason != "eos" or len(trace.answer_ids) not in LENGTHS:
        return None
    invented = tuple(np.flatnonzero(tokens_in(trace.answer_tokens, [span])).tolist())
    if 2 * len(invented) >= len(trace.answer_ids) or _begins_correctly(example, trace.answer_tokens[invented[0]]):
        return None
    return replace(trace, wrong=invented)


def invented_part(example: Example, answer: str) -> tuple[int, int] | None:
    """Where an answer states its one incorrect fact, as characters (start, end); None if it does not fit as a text."""
    judgement = judge_fact(example, answer)
    if judgement.quality == 1 or len(judgement.facts) != 1:
        return None
    start, end = judgement.facts[0]
    return (start, end) if _repeats(example.question, f"{answer[:start]} {answer[end:]}") else None


def _begins_correctly(example: Example, token: str) -> bool:
    """Whether an answer that begins with this token can still be correct."""
    return any(text.casefold().startswith(token.strip().casefold()) for text in example.references)


def _repeats(question: str, text: str) -> bool:
    """Whether every word of a text is in the question, in any inflection, or adds nothing."""
    stems = {word[:_STEM] for word in plain_words(question)}
    return all(word in ALSO or word[:_STEM] in stems for word in plain_words(text))


def _choose(model: LanguageModel, examples: list[Example]) -> list[Found]:
    found: list[Found] = []
    for example, trace in _answers(model, examples):
        used = Counter(other.group for other, _ in found)
        fitting = marked(example, trace) if used[example.group] < MOST_PER_FAMILY else None
        if fitting is not None:
            found.append((example, fitting))
        if len(found) == COUNT:
            return found
    message = f"Only {len(found)} answers fit the game, and it needs {COUNT}."
    raise RuntimeError(message)


def _answers(model: LanguageModel, examples: list[Example]) -> Iterator[Found]:
    for first in range(0, len(examples), _TRIED):
        some = examples[first : first + _TRIED]
        prompts = [example.prompt for example in some]
        answers = model.generate_batch(prompts, max_new_tokens=LENGTHS.stop, last_row=True)
        yield from ((example, trace) for example, trace in zip(some, answers, strict=True) if isinstance(trace, Trace))
