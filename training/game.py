"""Choose the answers of the game "which token was invented?" by rule, without regard to any uncertainty.

An answer fits if it states exactly one incorrect fact, in a wording that the judge knows, less than half of it is that
fact, and prompt and answer are short enough for a page. Which of those are asked, and in which order, is drawn by a
seeded generator; no two of a family ask about the same word, or come from the same stratum.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from random import Random
from types import MappingProxyType

from rauq import Trace
from rauq.atlas.evaluation import Example, Family, judge, load_examples
from rauq.atlas.game import GAME, GAME_INDEX, GameAnswer, invented_tokens
from rauq.model.language_model import LanguageModel

COUNTS: Mapping[Family, int] = MappingProxyType({"places": 4, "translation": 3, "summaries": 3})
MOST_LINES: Mapping[Family, int] = MappingProxyType({"places": 4, "translation": 4, "summaries": 2})  # of a prompt
LENGTHS: Mapping[Family, range] = MappingProxyType(
    {"places": range(6, 17), "translation": range(6, 17), "summaries": range(6, 25)}  # no summary has fewer than 20
)
_TRIED = 32  # prompts at a time
_LONGEST_ANSWER = 64

Found = tuple[GameAnswer, Trace]


def record_game(model: LanguageModel, *, seed: int = 0) -> tuple[GameAnswer, ...]:
    """Write a trace for each answer of the game, and their index.

    Raises:
        RuntimeError: the model gives too few answers that fit.
    """
    GAME.mkdir(exist_ok=True)
    rng = Random(seed)
    found = [chosen for family, count in COUNTS.items() for chosen in _choose(model, family, count, rng)]
    rng.shuffle(found)
    for game_answer, trace in found:
        trace.save(game_answer.path)
    game_answers = tuple(game_answer for game_answer, _ in found)
    rows = [asdict(game_answer) for game_answer in game_answers]
    GAME_INDEX.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return game_answers


def subjects(family: Family) -> Callable[[str], str]:
    """Return a function from a prompt to its subject: the word of its question that is rarest in the family."""
    counts = Counter(word for example in load_examples(family) for word in set(_question(example.prompt)))
    return lambda prompt: min(_question(prompt), key=lambda word: (counts[word], word))


def game_answer_of(example: Example, trace: Trace) -> GameAnswer | None:
    """The answer as one of the game; None if it does not fit the game."""
    verdict = judge(example, trace.answer)
    wrong = [statement for statement in verdict.statements if not statement.correct]
    invented = invented_tokens(trace, verdict)
    if len(wrong) != 1 or len(trace.pieces) not in LENGTHS[example.family] or 2 * len(invented) >= len(trace.pieces):
        return None
    return GameAnswer(example.id, invented, example.reference)


def _choose(model: LanguageModel, family: Family, count: int, rng: Random) -> list[Found]:
    subject = subjects(family)
    found: list[Found] = []
    used: set[str] = set()
    for example, trace in _answers(model, _drawn(family, rng)):
        game_answer = game_answer_of(example, trace)
        alike = {subject(example.prompt), example.stratum}
        if game_answer is not None and not alike & used:
            used |= alike
            found.append((game_answer, trace))
        if len(found) == count:
            return found
    message = f"Only {len(found)} answers of {family} fit the game, and it needs {count}."
    raise RuntimeError(message)


def _drawn(family: Family, rng: Random) -> list[Example]:
    short = [example for example in load_examples(family) if example.prompt.count("\n") < MOST_LINES[family]]
    return rng.sample(short, len(short))


def _answers(model: LanguageModel, examples: list[Example]) -> Iterator[tuple[Example, Trace]]:
    for first in range(0, len(examples), _TRIED):
        some = examples[first : first + _TRIED]
        prompts = [example.prompt for example in some]
        answers = model.generate_batch(prompts, max_new_tokens=_LONGEST_ANSWER, last_row=True)
        yield from ((example, trace) for example, trace in zip(some, answers, strict=True) if isinstance(trace, Trace))


def _question(prompt: str) -> list[str]:
    """The words of the text that an answer is about: the line before the last."""
    return [word.strip(".,?!'") for word in prompt.splitlines()[-2].split()]
