"""Whether this project and lm-polygraph say the same of the same prompts, in the run that times them."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.peers.asking import OURS, PEER, RAUQ_PEERS, ask, with_versions
from benchmarks.peers.material import atlas_folder, atlas_prompts, random_folder, random_prompt
from benchmarks.peers.worker import ALPHA, Answer, Request, ToolName
from benchmarks.support.random_model import NEW_TOKENS
from benchmarks.support.recording import at_most, measured
from rauq import Settings, score_arrays

CONSTANT = 1.0  # the peer's score is 1 minus the mean logarithm, ours is minus the mean logarithm
MOST_ARRAYS, MOST_END_TO_END = 1e-9, 1e-5
SETTINGS = Settings(alpha=ALPHA, signal="probability")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Largest differences over answers of one model, and in how many all ids were the same.

    `in_float64`, `as_it_is`: our score of the peer's arrays against its own. `end_to_end`: each from the prompt, over
    the answers with the same ids. `ends`: whether the model has an end token, which the peer suppresses for two steps.
    """

    model: str
    ends: bool
    answers: int
    same: int
    in_float64: float
    as_it_is: float
    end_to_end: float


def measure() -> Record:
    """The random model, and the embedded one without and with its end token."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        random, prompts = random_folder(folder / "random"), tuple(map(random_prompt, (32, 128, 512)))
        without, whole = atlas_folder(folder / "without", end=False), atlas_folder(folder / "whole", end=True)
        models = [
            _compare("random, no end token", random, prompts, ends=False),
            _compare("embedded, end token removed", without, atlas_prompts(16), ends=False),
            _compare("embedded", whole, atlas_prompts(16), ends=True),
        ]
    return with_versions(_record(models), RAUQ_PEERS)


def _compared(
    model: str, ours: Sequence[Answer], theirs: Sequence[Answer], wide: Sequence[Answer], *, ends: bool
) -> Compared:
    """Differences between answers of both sides; `wide` are the peer's, scored in float64."""
    same = [_ids(mine) == _ids(other) for mine, other in zip(ours, theirs, strict=True)]
    gaps = [
        abs(mine.uncertainty - (other.uncertainty - CONSTANT))
        for mine, other, equal in zip(ours, theirs, same, strict=True)
        if equal
    ]
    return Compared(
        model=model,
        ends=ends,
        answers=len(same),
        same=sum(same),
        in_float64=max(map(_rescored_gap, wide)),
        as_it_is=max(map(_rescored_gap, theirs)),
        end_to_end=max(gaps, default=math.nan),
    )


def _record(models: Sequence[Compared]) -> Record:
    bare = [found for found in models if not found.ends]
    arrays, whole = max(found.in_float64 for found in models), max(found.end_to_end for found in bare)
    same, answers = sum(found.same for found in bare), sum(found.answers for found in bare)
    return measured(
        "peers_agreement",
        title="Agreement with lm-polygraph",
        about=f"RAUQ on probabilities, alpha {ALPHA} on both sides, {NEW_TOKENS} new tokens; the peer's constant of 1 "
        "is taken off. Once our score is given the peer's arrays, once each side starts from the prompt.",
        columns=("model", "compared", "answers", "same ids", "largest difference", "at most"),
        rows=[row for found in models for row in _rows(found)],
        bounds=[
            at_most("Score of the peer's arrays", arrays, MOST_ARRAYS),
            Bound(text=f"Without an end token, the same ids in {same} of {answers} answers", met=same == answers),
            at_most("Without an end token, from the prompt", whole, MOST_END_TO_END),
        ],
        notes=(
            "The peer takes probabilities in float32; for the first bound its log-likelihoods are widened beforehand.",
            "In its first two steps the peer gives an end token the smallest logit. We do not, so there is no bound.",
        ),
        finding=f"From the same prompts, without an end token, both give the same ids in {same} of {answers} answers, "
        f"and there scores that differ by {whole:.0e} at most.",
    )


def _compare(model: str, folder: Path, prompts: tuple[str, ...], *, ends: bool) -> Compared:
    ours, theirs = _answers(OURS, folder, prompts), _answers(PEER, folder, prompts)
    return _compared(model, ours, theirs, _answers(PEER, folder, prompts, wide=True), ends=ends)


def _answers(tool: ToolName, folder: Path, prompts: tuple[str, ...], *, wide: bool = False) -> Sequence[Answer]:
    request = Request(what="answers", tool=tool, folder=str(folder), prompts=prompts, new_tokens=NEW_TOKENS, wide=wide)
    return [
        Answer(**{**found, "weights": np.array(found["weights"]), "logprobs": np.array(found["logprobs"])})
        for found in ask(request)
    ]


def _rescored_gap(answer: Answer) -> float:
    ours = score_arrays(answer.weights, answer.logprobs, SETTINGS)
    return abs(ours.uncertainty - (answer.uncertainty - CONSTANT))


def _ids(answer: Answer) -> tuple[list[int], list[int]]:
    return answer.prompt_ids, answer.answer_ids


def _rows(found: Compared) -> list[tuple[Cell, ...]]:
    allowed = math.nan if found.ends else MOST_END_TO_END
    return [
        (found.model, "our score of the peer's arrays, float64", found.answers, "", found.in_float64, MOST_ARRAYS),
        (found.model, "our score of the peer's arrays, float32", found.answers, "", found.as_it_is, math.nan),
        (found.model, "from the prompt", found.answers, found.same, found.end_to_end, allowed),
    ]
