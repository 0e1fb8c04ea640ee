"""Labelled tokens of the answers of a run, or of a table with a row for each token, and their signals."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from analysis.methods.attention_permutation import EXCHANGES, collapse_exchanged
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs.attention import batch
from analysis.runs.opened import Run
from analysis.runs.traces import tokens
from analysis.survival.answers import of_run
from analysis.survival.labelled import TOKENS, LabelledUnits, Signal
from analysis.tokens.detection import SIGNALS, TokenSignals, marks_of_run, token_signals
from analysis.tokens.sentences import SIGNAL_NAMES
from rauq.errors import InvalidInput
from rauq.labels import listed
from rauq.scoring.settings import Settings
from rauq.trace.batch import Batch, Blocks

OF_A_RUN = tuple(name for name in SIGNALS if name != "best")  # the best head is chosen by the labels
_COLLAPSE = "collapse"
_WORD = re.compile(r"\w+")
_LONGEST_WORD = 30  # characters: in a script without spaces, words cannot be told apart


@dataclass(frozen=True, eq=False, kw_only=True)
class TokensOfRun:
    """The tokens of a run's judged answers that show text, with their signals."""

    given: LabelledUnits
    found: TokenSignals
    kept: np.ndarray
    answers: Batch | Blocks

    def signal(self, name: str) -> Signal:
        """A signal by its name.

        Raises:
            InvalidInput: there is no such one.
        """
        if name not in OF_A_RUN:
            message = f"There is no signal {name!r} of tokens. A run has {listed(OF_A_RUN)}."
            raise InvalidInput(message)
        place = SIGNALS.index(name)
        values = self.found.signals[self.kept, place]
        return Signal(
            name=SIGNAL_NAMES[SIGNALS[place]], values=values, replaced=self._replaced if name == _COLLAPSE else {}
        )

    @cached_property
    def _replaced(self) -> Mapping[str, np.ndarray]:
        """The collapse (S, U) under the attention of another answer, and under the mean attention of each layer."""
        drawn = collapse_exchanged(self.answers, Settings(alignment=self.answers.alignment))
        pairs = list(zip(self.found.answer[self.kept], self.found.position[self.kept], strict=True))
        return {
            EXCHANGES[name]: np.array([[one[answer][place] for answer, place in pairs] for one in draws])
            for name, draws in drawn.items()
        }


def tokens_of_run(run: Run, rows: np.ndarray | None = None, *, thresholds: Thresholds | None = None) -> TokensOfRun:
    """The tokens of the judged answers of a run, among some of its `rows`; incorrect ones are part of a wrong fact.

    Only tokens that show text and have a previous token in the answer count. An incorrect answer of which no token is
    known to be wrong has no verdict.

    Raises:
        InvalidInput: no answer has a quality.
        RunError: a shard can no longer be read.
    """
    answers, judged = of_run(run, None if rows is None else np.unique(rows), thresholds=thresholds)
    limits = thresholds or measure(run.manifest.request.quality).thresholds
    attention = batch(run)
    found = token_signals(attention, marks_of_run(run, limits))
    marked = np.isin(judged, found.answer[found.wrong])
    kept = np.flatnonzero(np.isin(found.answer, judged[marked | ~answers.incorrect]))
    words = [words_of(one.texts) for one in tokens(run)]
    answer, place = found.answer[kept], found.position[kept]
    of = np.searchsorted(judged, answer)
    given = replace(
        _spread(answers, of),
        incorrect=found.wrong[kept],
        place=place,
        texts=tuple(words[one][at] for one, at in zip(answer, place, strict=True)),
    )
    return TokensOfRun(given=given, found=found, kept=kept, answers=attention)


def _spread(answers: LabelledUnits, of: np.ndarray) -> LabelledUnits:
    """What is known of answers (A,), for tokens of these answers (T,)."""
    return replace(answers.take(of), level=TOKENS, answer=of, references=((),) * len(of))


def words_of(texts: Sequence[str]) -> list[str]:
    """The word that each of the tokens (N,) of an answer is part of, or its own text where it is of none."""
    whole = "".join(texts)
    words = [found.span() for found in _WORD.finditer(whole)]
    starts = [start for start, _ in words]
    found, end = [], 0
    for text in texts:
        begin, end = end + len(text) - len(text.lstrip()), end + len(text)
        start, stop = words[bisect_right(starts, begin) - 1] if starts and starts[0] <= begin else (0, 0)
        is_inside = begin < stop <= start + _LONGEST_WORD
        found.append(whole[start:stop] if is_inside else text.strip())
    return found
