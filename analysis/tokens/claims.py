"""The claims of answers, which a user's file names as spans with their truth: how uncertain each is. Ours."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.intervals import estimate
from analysis.runs.opened import Run
from analysis.runs.traces import traces_of
from analysis.stats import Estimate, roc_auc
from analysis.tokens.claim_files import Claim, read_claims
from rauq.errors import InvalidInput
from rauq.labels import shortened
from rauq.scoring.score import score
from rauq.scoring.sentence_scores import SentenceScore, checked_span, span_scores
from rauq.scoring.settings import Settings
from rauq.sentences import Span
from rauq.trace.parts import answer_text, span_of
from rauq.trace.trace import Trace

SCORES = ("uncertainty", "mean_surprisal", "mean_entropy", "num_tokens")
COLUMNS = ("id", "start", "end", "text", *SCORES, "weakest_token", "correct", "reason")

Answers = Run | Mapping[str, Trace]


def score_claims(answers: Answers, claims: Path | str | pd.DataFrame, settings: Settings | None = None) -> pd.DataFrame:
    """One row a claim of a file or a DataFrame, in its order: its span, its scores as `rauq.SentenceScore`, its truth.

    `answers` are those of a run, whose ids are those of its data set, or traces by any ids. The columns are `COLUMNS`:
    `correct` is missing if it is not given, `weakest_token` counts the tokens of the whole answer, and `reason`
    says why a score is nan.

    Raises:
        InvalidInput: the rows cannot be read, or a claim is not of an answer or its text; the message names the row.
        RunError: a shard of the run can no longer be read.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> columns = {"id": ["kyoto"], "start": [13], "end": [18], "text": ["Japan"], "correct": [True]}
        >>> claims = analysis.score_claims({"kyoto": trace}, pandas.DataFrame(columns))
        >>> claims["uncertainty"].round(3).tolist()
        [1.608]
    """
    found = read_claims(claims)
    own = defaultdict[str, list[int]](list)
    for place, name in enumerate(_ids(answers, found)):
        own[name].append(place)
    rows: dict[int, tuple[object, ...]] = {}
    for name, trace in _traces(answers, own):
        scored = _scored(trace, [found[place] for place in own[name]], settings)
        rows |= {place: _row(name, found[place], one) for place, one in zip(own[name], scored, strict=True)}
    frame = pd.DataFrame([rows[place] for place in range(len(found))], columns=COLUMNS)
    return frame.astype({"weakest_token": "Int64", "correct": "boolean"})


def claims_auc(frame: pd.DataFrame, by: str = "uncertainty") -> Estimate:
    """ROC-AUC of a score of claims, incorrect vs correct, with its 95 % interval by answer; `by` is one of `SCORES`.

    Raises:
        InvalidInput: another score.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> columns = {"id": ["kyoto"], "start": [13], "end": [18], "text": ["Japan"], "correct": [True]}
        >>> claims = analysis.score_claims({"kyoto": trace}, pandas.DataFrame(columns))
        >>> analysis.claims_auc(claims).reason
        '1 claim with both an uncertainty and a quality: at least 2 are needed'
    """
    if by not in SCORES:
        message = f"Got {by!r}; claims can be ranked by {', '.join(SCORES)}."
        raise InvalidInput(message)
    truth = frame["correct"].to_numpy(dtype=float, na_value=np.nan)
    found = estimate(roc_auc, frame[by].to_numpy(dtype=float), truth, clusters=pd.factorize(frame["id"])[0])
    return replace(found, reason=_of_claims(found.reason), no_interval=_of_claims(found.no_interval))


def _of_claims(reason: str) -> str:
    """A reason that speaks of answers to questions, in the words of claims in answers."""
    return reason.replace("answer", "claim").replace("question", "answer").replace(" to ", " in ")


def _ids(answers: Answers, claims: Sequence[Claim]) -> Iterator[str]:
    """The id of the answer of each claim."""
    ids, texts = _ids_and_texts(answers)
    by_id, by_text = {name: [name] for name in ids}, defaultdict[str, list[str]](list)
    for name, text in zip(ids, texts, strict=True):
        by_text[text].append(name)
    for claim in claims:
        named = claim.id or claim.answer
        same = (by_id if claim.id else by_text).get(named, [])
        if not same:
            message = f"{claim.place}: none of {len(ids):,} answers is {shortened(named)!r}. Give its id or exact text."
            raise InvalidInput(message)
        if len(same) > 1:
            message = f"{claim.place}: {len(same)} answers are {shortened(named)!r}. Name them in a column 'id'."
            raise InvalidInput(message)
        yield same[0]


def _ids_and_texts(answers: Answers) -> tuple[list[str], list[str]]:
    if isinstance(answers, Run):
        return answers.answers["id"].tolist(), answers.answers["answer"].tolist()
    return list(answers), list(map(answer_text, answers.values()))


def _traces(answers: Answers, names: Mapping[str, object]) -> Iterator[tuple[str, Trace]]:
    if not isinstance(answers, Run):
        yield from ((name, answers[name]) for name in names)
        return
    ids = answers.answers["id"].tolist()
    rows = [row for row, name in enumerate(ids) if name in names]
    yield from zip((ids[row] for row in rows), traces_of(answers, rows), strict=True)


def _scored(trace: Trace, claims: Sequence[Claim], settings: Settings | None) -> tuple[SentenceScore, ...]:
    """The scores of claims of one answer, whose spans do not count the thinking before it."""
    answer, before = answer_text(trace), _thinking_length(trace)
    spans = [_checked(claim, answer) for claim in claims]
    return span_scores(trace, score(trace, settings), [(start + before, end + before) for start, end in spans])


def _thinking_length(trace: Trace) -> int:
    """Characters before the answer part."""
    start, _ = span_of(trace.thinking, len(trace.answer_ids), "answer")
    return sum(map(len, trace.answer_tokens[:start]))


def _checked(claim: Claim, answer: str) -> Span:
    try:
        start, end = checked_span(answer, (claim.start, claim.end), (0, len(answer)))
    except InvalidInput as error:
        message = f"{claim.place}: {error}"
        raise InvalidInput(message) from error
    if answer[start:end] != claim.text:
        message = (
            f"{claim.place}: the text is {shortened(claim.text)!r}, but the answer has "
            f"{shortened(answer[start:end])!r} from {start} to {end}. Count code points, not bytes or UTF-16 units."
        )
        raise InvalidInput(message)
    return start, end


def _row(name: str, claim: Claim, found: SentenceScore) -> tuple[object, ...]:
    return (
        *(name, claim.start, claim.end, claim.text, found.uncertainty, found.mean_surprisal, found.mean_entropy),
        *(found.tokens[1] - found.tokens[0], found.weakest_token, claim.correct, found.reason),
    )
