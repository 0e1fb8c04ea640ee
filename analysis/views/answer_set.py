"""Answers of a run that a view is about, with their attention and scores, and what a reader chooses to see of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property

import numpy as np
import pandas as pd

import rauq
from analysis.answer_sets.clusters import folds
from analysis.answer_sets.heads import of_selected
from analysis.answer_sets.sentences import picks_note
from analysis.answer_sets.sides import Sides, sides
from analysis.answer_sets.word_attention import WordAttention, word_attention
from analysis.methods.comparison import Group, groups_of
from analysis.quality.judgement import Thresholds
from analysis.quality.measures import measure
from analysis.runs import attention
from analysis.runs.attention import Picks, TokenChoice
from analysis.runs.opened import Run
from analysis.runs.traces import answer_ids
from rauq.scoring.settings import Settings, is_paper_setting, resolve
from rauq.trace.batch import Blocks
from rauq.trace.trace import Alignment


def _means(run: Run, alignment: Alignment, tokens: TokenChoice, offset: int) -> np.ndarray:
    return attention.means(run, alignment, tokens=tokens, offset=offset)


def _scores(run: Run, settings: Settings) -> np.ndarray:
    return rauq.score_many(attention.batch(run, settings.alignment), settings).uncertainty


def word_attention_of(run: Run, batch: Blocks) -> WordAttention:
    """The attention expected from words alone, of every answer of a run; `batch` is what scoring them needs."""
    side = sides(run.answers["quality"].to_numpy(dtype=float), measure(run.manifest.request.quality).thresholds)
    fold = folds(run.answers["group"].tolist(), side, clusters=run.clusters)
    return word_attention(batch, answer_ids(run), fold)


def _words(run: Run, alignment: Alignment) -> WordAttention:
    return word_attention_of(run, attention.batch(run, alignment))


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How the arrays of a whole run are had: read from its files, unless a caller keeps them.

    `means` (A, L, H), `picks` and `batch` as in `analysis.runs.attention`; `scores` (A,) is RAUQ under settings, and
    `words` the attention that words alone let expect.
    """

    means: Callable[[Run, Alignment, TokenChoice, int], np.ndarray] = _means
    picks: Callable[[Run, Alignment], Picks] = attention.picks
    batch: Callable[[Run, Alignment], Blocks] = attention.batch
    scores: Callable[[Run, Settings], np.ndarray] = _scores
    words: Callable[[Run, Alignment], WordAttention] = _words


def keeping() -> Reader:
    """A reader that keeps all that it has read."""
    reads = Reader()
    return Reader(**{field.name: cache(getattr(reads, field.name)) for field in fields(reads)})


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a reader of views of attention chooses.

    `layer` is absolute, `offset` says which preceding token. `k` answers are shown on each side of figure 2, and
    `added` heads are added to RAUQ. `seed` decides every draw.
    """

    layer: int
    tokens: TokenChoice = "all"
    offset: int = 1
    k: int = 10
    added: int = 5
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerSet:
    """n answers of a run: `rows` (n,) of its table, correct and incorrect by `thresholds`, scored under `settings`."""

    run: Run
    rows: np.ndarray
    thresholds: Thresholds
    settings: Settings = field(default_factory=Settings)
    reader: Reader = field(default_factory=Reader)

    @property
    def layers(self) -> tuple[int, ...]:
        """All layers that have attention, absolute."""
        return self.run.answerer.layers

    @property
    def alignment(self) -> Alignment:
        """The alignment of attention under the settings."""
        return self.settings.alignment

    @property
    def quality(self) -> np.ndarray:
        """Quality (n,), nan where undefined."""
        return self.column_of("quality").astype(float)

    @property
    def sides(self) -> Sides:
        """Which of the answers are correct, and which incorrect."""
        return sides(self.quality, self.thresholds)

    @property
    def unclear(self) -> np.ndarray:
        """Which of the answers (n,) are unclear and not read yet."""
        return self.column_of("unclear").astype(bool)

    @property
    def clusters(self) -> np.ndarray:
        """The question of each answer (n,): those of one question are resampled together."""
        return self.run.clusters[self.rows]

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each answer (n,)."""
        return self.run.lengths[self.rows]

    @property
    def group_names(self) -> list[str]:
        """The group of each answer."""
        return list(self.column_of("group"))

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The rows of the run's table (n,), their index the position in this set."""
        return self.run.answers.iloc[self.rows].reset_index(drop=True)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All of these answers first, then those of each group."""
        return groups_of(self.group_names, clusters=self.clusters)

    def column_of(self, name: str) -> np.ndarray:
        """A column of the run's table for these answers (n,)."""
        return np.asarray(self.run.answers[name])[self.rows]

    def means(self, *, tokens: TokenChoice = "all", offset: int = 1) -> np.ndarray:
        """Mean attention of every head (n, L, H) to the `offset`-th preceding token."""
        return np.asarray(self.reader.means(self.run, self.alignment, tokens, offset)[self.rows])

    def picks(self) -> np.ndarray:
        """The head selected for each answer in each layer (n, L), over the whole answer, as in RAUQ."""
        return np.asarray(self._all_picks().heads[self.rows])

    @property
    def about_picks(self) -> str:
        """How heads were selected, if they were not stored when the answers were scored; else empty."""
        return picks_note(self._all_picks().stored[self.rows])

    @property
    def about_setting(self) -> str:
        """By which settings the answers are scored."""
        kind = self.run.answerer.kind
        settings = resolve(self.settings, kind)
        papers = "the paper's setting" if is_paper_setting(settings, kind) else "not the paper's setting"
        return f"Scored by {settings.signal}, alpha {settings.alpha:g}, {settings.alignment}: {papers}."

    def picked_attention(self, layer: int, *, tokens: TokenChoice = "all", offset: int = 1) -> np.ndarray:
        """Attention (n,) of the head that is selected in a layer."""
        column = self.layers.index(layer)
        return of_selected(self.means(tokens=tokens, offset=offset)[:, column], self.picks()[:, column])

    def batch(self, alignment: Alignment | None = None) -> Blocks:
        """All that scoring the answers needs, by default with the alignment of the settings."""
        return self.reader.batch(self.run, alignment or self.alignment).take(self.rows)

    def scores(self) -> np.ndarray:
        """RAUQ of each answer (n,) under the settings.

        Raises:
            InvalidInput: the settings need layers that the run does not store.
        """
        return np.asarray(self.reader.scores(self.run, self.settings)[self.rows])

    def uncertainties(self, methods: Sequence[str]) -> dict[str, np.ndarray]:
        """The uncertainty (n,) of the answers by each of these methods of the run."""
        return {method: self.run.uncertainty(method)[self.rows] for method in methods}

    def _all_picks(self) -> Picks:
        return self.reader.picks(self.run, self.alignment)
