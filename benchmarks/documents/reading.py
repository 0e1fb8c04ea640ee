"""Summaries as a model reads them: of each token what it attends to, its probability, and what its words alone say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.documents.summaries import Summary
from rauq.model.language_model import LanguageModel
from rauq.scoring.part_shares import part_shares
from rauq.scoring.score import score
from rauq.scoring.settings import Settings
from rauq.trace.parts import shows_text, tokens_in
from rauq.trace.trace import Trace

LOGPROB, ENTROPY = "-log p", "entropy"
COLLAPSE, COLLAPSE_BY_PROBABILITY = "collapse of RAUQ, entropy", "collapse of RAUQ, probability"
POSITION, CAPITAL, LENGTH = "control: position", "control: capitalised or a digit", "control: characters of the token"
ABSENT = "control: the name is not in the document"
_OPTIONS: Mapping[str, Any] = {"extras": ("part_shares",), "prompt_parts": ("document",)}
_BATCH = 2  # both summaries of a document, which is fed once


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A summary of N tokens: `signals` are of each token (N,), `heads` (L, H, N) the shares of the document.

    Row j of the shares is the query that predicts token j, which has not seen it. `mean_share` (N,) is the mean over
    the heads of the window. `details` (D, N) says which tokens are part of each detail, `wrong` is the place of the one
    to be found, and `counted` (N,) are the tokens that it is compared with, and its own. Summaries of one `document`
    are resampled and held out together; `group` is what was done to them.
    """

    document: int
    group: str
    signals: Mapping[str, np.ndarray]
    heads: np.ndarray
    mean_share: np.ndarray
    details: np.ndarray
    wrong: int
    counted: np.ndarray


def read_summaries(lm: LanguageModel, given: Sequence[Summary]) -> Iterator[Reading]:
    """Read all of them; those of one document stand together."""
    for summary, trace in zip(given, traces(lm, given, batch_size=_BATCH), strict=True):
        if isinstance(trace, Trace):
            yield _reading(summary, trace)


def traces(lm: LanguageModel, given: Sequence[Any], *, batch_size: int) -> Iterator[Any]:
    """Read texts to their prompts, with the shares of the document."""
    return lm.read_batch([(one.prompt, one.text) for one in given], batch_size=batch_size, **_OPTIONS)


def shares_of(trace: Trace) -> Mapping[str, np.ndarray]:
    """The fields of a reading that are shares of the document."""
    shares = part_shares(trace)
    return {"heads": shares.of_part("document"), "mean_share": shares.mean()[:, shares.names.index("document")]}


def signals_of(trace: Trace) -> Mapping[str, np.ndarray]:
    """What a token's probabilities, its scores and its words alone say, each (N,)."""
    texts = trace.answer_tokens
    begins = [text.strip()[:1] for text in texts]
    by_entropy, by_probability = (score(trace, Settings(signal=signal)) for signal in ("entropy", "probability"))
    return {
        LOGPROB: -trace.logprobs.astype(np.float64),
        ENTROPY: trace.entropies.astype(np.float64),
        COLLAPSE: by_entropy.collapse,
        COLLAPSE_BY_PROBABILITY: by_probability.collapse,
        POSITION: np.arange(len(texts), dtype=float),
        CAPITAL: np.array([float(letter.isupper() or letter.isdigit()) for letter in begins]),
        LENGTH: np.array([float(len(text.strip())) for text in texts]),
    }


def _reading(summary: Summary, trace: Trace) -> Reading:
    details = np.array([tokens_in(trace.answer_tokens, [span]) for span in summary.details])
    document = summary.prompt.partition("<document>")[2]
    absent = np.zeros(len(trace.answer_tokens))
    for tokens, (start, end) in zip(details, summary.details, strict=True):
        absent[tokens] = summary.text[start:end] not in document
    return Reading(
        document=summary.document,
        group=summary.replacement,
        signals={**signals_of(trace), ABSENT: absent},
        details=details,
        wrong=summary.replaced,
        counted=shows_text(trace),
        **shares_of(trace),
    )
