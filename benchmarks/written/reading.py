"""Answers that a model reads: written pairs and paraphrases, and true and false answers of another model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.datasets.example import Example
from analysis.datasets.names import PLAIN, load
from analysis.datasets.written_pairs import Pair, written_pairs
from analysis.evidence.written import PAIRS
from analysis.quality.facts import judge_fact, stated_facts
from analysis.questions import clusters_of
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from benchmarks.support.recording import tell
from rauq.labels import TRANSFORMERS
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.scoring.empty import as_question
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from rauq.trace.parts import tokens_in
from rauq.trace.trace import Trace

SMOLLM2, GEMMA = "smollm2", "gemma3-270m"
MODELS = (SMOLLM2, GEMMA)
PARAPHRASES = "paraphrased pairs"
BY_A_MODEL = 30  # questions of a family that one model answers and the other reads
ELSEWHERE = 5  # of every so many pairs one is also read after another question
_BATCH = 8
_LONGEST = 32  # tokens of an answer that a model generates


class Item(NamedTuple):
    """An answer to be read: to which question, whether it is correct, and the characters of the name, if known.

    `elsewhere`: another question, after which it is read as well; "" for none.
    """

    group: str
    form: str
    question: str
    text: str
    name: tuple[int, int] | None
    correct: bool
    elsewhere: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """An answer of N tokens as a model reads it, with what all scores need.

    `surprisals`, `entropies` (N,) in nats; `best` (N,): the surprisal of the most probable token at each place;
    `elsewhere` (N,): surprisals after another question, None where it was not read there. `rauq`: the paper's score by
    entropy and by probability; `collapse` (2, N): by both. `name` (N,): the tokens of the name that decides.
    """

    item: Item
    texts: tuple[str, ...]
    surprisals: np.ndarray
    entropies: np.ndarray
    best: np.ndarray
    elsewhere: np.ndarray | None
    rauq: tuple[float, float]
    collapse: np.ndarray
    name: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """Answers of one kind that a model has read."""

    model: str
    name: str
    read: tuple[Reading, ...]

    @property
    def correct(self) -> np.ndarray:
        """Which are correct (A,)."""
        return np.array([one.item.correct for one in self.read])

    @property
    def groups(self) -> tuple[str, ...]:
        """The family of each answer."""
        return tuple(one.item.group for one in self.read)

    @property
    def clusters(self) -> np.ndarray:
        """The question of each answer, as a number (A,)."""
        return clusters_of([one.item.question for one in self.read])

    def of_form(self, form: str) -> "Answers":
        """Those of one form of sentence."""
        return Answers(
            model=self.model,
            name=f"{self.name}, {form}",
            read=tuple(one for one in self.read if one.item.form == form),
        )


def read_answers(model: str, *, per_family: int = 100, by_a_model: int = BY_A_MODEL) -> Iterator[Answers]:
    """Everything that a model reads, one kind of answers after the other."""
    pairs, other = written_pairs(per_family=per_family), next(one for one in MODELS if one != model)
    kinds = {
        PAIRS: _items([pair for pair in pairs if not pair.paraphrased]),
        PARAPHRASES: _items([pair for pair in pairs if pair.paraphrased]),
        f"answers of {other}": answers_of(other, by_a_model),
    }
    lm = load_model(model, engine=TRANSFORMERS)
    for name, items in kinds.items():
        tell(f"{model} reads {len(items)} answers: {name}")
        yield Answers(model=model, name=name, read=tuple(read_items(lm, items)))


def _items(pairs: Sequence[Pair]) -> list[Item]:
    """Both answers of each pair; the other question is that of the pair before."""
    return [
        Item(
            group=pair.group,
            form=pair.form,
            question=pair.question,
            text=written.text,
            name=written.name,
            correct=written is pair.right,
            elsewhere=pairs[place - 1].question if place % ELSEWHERE == 0 else "",
        )
        for place, pair in enumerate(pairs)
        for written in (pair.right, pair.wrong)
    ]


def answers_of(model: str, per_family: int) -> list[Item]:
    """True and false answers of a model to questions of facts, as the judge of facts says."""
    data = load(PLAIN, kind="instruct", per_group=per_family)
    texts = _bundled_answers() if model == SMOLLM2 else _generated(model, data.examples)
    return [
        _item_of(example, texts[example.id])
        for example in data.examples
        if texts.get(example.id, "").strip() and not np.isnan(judge_fact(example, texts[example.id]).quality)
    ]


def _bundled_answers() -> dict[str, str]:
    answers = open_run(bundled_folder()).answers
    return dict(zip(answers["id"], answers["answer"], strict=True))


def _generated(model: str, examples: Sequence[Example]) -> dict[str, str]:
    lm = load_model(model, engine=TRANSFORMERS)
    prompts = [prompt_for(lm, example.question) for example in examples]
    found = lm.generate_batch(prompts, batch_size=_BATCH, max_new_tokens=_LONGEST)
    return {
        example.id: trace.answer.strip()
        for example, trace in zip(examples, found, strict=True)
        if isinstance(trace, Trace)
    }


def _item_of(example: Example, text: str) -> Item:
    stated = stated_facts(example, text)
    name = (stated[0].start, stated[0].end) if stated else None
    correct = judge_fact(example, text).quality == 1
    return Item(example.group, "generated", example.question, text, name, correct)


def prompt_for(lm: LanguageModel, question: str) -> str:
    """A question as this kind of model is asked it."""
    return as_question(question) if lm.kind == "base" else question


def answer_for(lm: LanguageModel, text: str) -> str:
    """An answer as it follows the prompt: after the cue of a base model with a space."""
    return f" {text}" if lm.kind == "base" else text


def read_items(lm: LanguageModel, items: Sequence[Item]) -> Iterator[Reading]:
    """Read every answer once, and some of them after another question too."""
    texts = [answer_for(lm, item.text) for item in items]
    own = lm.read_batch(
        [(prompt_for(lm, item.question), text) for item, text in zip(items, texts, strict=True)], batch_size=_BATCH
    )
    others = lm.read_batch(
        [(prompt_for(lm, item.elsewhere), text) for item, text in zip(items, texts, strict=True) if item.elsewhere],
        batch_size=_BATCH,
    )
    for item, trace in zip(items, own, strict=True):
        elsewhere = next(others) if item.elsewhere else None
        if isinstance(trace, Trace):
            yield _reading(item, trace, elsewhere.logprobs if isinstance(elsewhere, Trace) else None)


def _reading(item: Item, trace: Trace, elsewhere: np.ndarray | None) -> Reading:
    scored = [score(trace, Settings(signal=signal)) for signal in ("entropy", "probability")]
    before = len(trace.answer) - len(trace.answer.lstrip())
    spans = [] if item.name is None else [(item.name[0] + before, item.name[1] + before)]
    return Reading(
        item=item,
        texts=trace.answer_tokens,
        surprisals=-trace.logprobs.astype(np.float64),
        entropies=trace.entropies.astype(np.float64),
        best=np.array([-max(one.logprob for one in row) for row in trace.alternatives]),
        elsewhere=None if elsewhere is None else -elsewhere.astype(np.float64),
        rauq=(scored[0].uncertainty, scored[1].uncertainty),
        collapse=np.array([one.collapse for one in scored]),
        name=tokens_in(trace.answer_tokens, spans),
    )
