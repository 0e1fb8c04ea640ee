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
_BATCH = 2  # both summaries of a document, which is fed once


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A summary of N tokens: `signals` are of each token (N,), `heads` (L, H, N) the shares of the document.

    Row j of the shares is the query that predicts token j, which has not seen it. `mean_share` (N,) is the mean over
    the heads of the window. `details` (D, N) says which tokens are part of each name, and `with_text` (N,) which show
    text.
    """

    summary: Summary
    signals: Mapping[str, np.ndarray]
    heads: np.ndarray
    mean_share: np.ndarray
    details: np.ndarray
    with_text: np.ndarray


def read_summaries(lm: LanguageModel, given: Sequence[Summary]) -> Iterator[Reading]:
    """Read all of them; those of one document stand together."""
    options: dict[str, Any] = {"extras": ("part_shares",), "prompt_parts": ("document",)}
    found = lm.read_batch([(one.prompt, one.text) for one in given], batch_size=_BATCH, **options)
    for summary, trace in zip(given, found, strict=True):
        if isinstance(trace, Trace):
            yield _reading(summary, trace)


def _reading(summary: Summary, trace: Trace) -> Reading:
    shares = part_shares(trace)
    texts = trace.answer_tokens
    begins = [text.strip()[:1] for text in texts]
    by_entropy, by_probability = (score(trace, Settings(signal=signal)) for signal in ("entropy", "probability"))
    details = np.array([tokens_in(texts, [span]) for span in summary.details])
    document = summary.prompt.partition("<document>")[2]
    absent = np.zeros(len(texts))
    for tokens, (start, end) in zip(details, summary.details, strict=True):
        absent[tokens] = summary.text[start:end] not in document
    return Reading(
        summary=summary,
        signals={
            LOGPROB: -trace.logprobs.astype(np.float64),
            ENTROPY: trace.entropies.astype(np.float64),
            COLLAPSE: by_entropy.collapse,
            COLLAPSE_BY_PROBABILITY: by_probability.collapse,
            POSITION: np.arange(len(texts), dtype=float),
            CAPITAL: np.array([float(letter.isupper() or letter.isdigit()) for letter in begins]),
            LENGTH: np.array([float(len(text.strip())) for text in texts]),
            ABSENT: absent,
        },
        heads=shares.of_part("document"),
        mean_share=shares.mean()[:, shares.names.index("document")],
        details=details,
        with_text=shows_text(trace),
    )
