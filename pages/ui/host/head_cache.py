"""What is known of the heads of opened runs, and the detectors RAUQ + heads that a session uses.

All sessions share how heads separate answers, and what is fitted on them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.ui.host import cache
from rauq.detectors.added_heads import AddedHeads as FittedHeads
from rauq.scoring.settings import Settings
from rauq.trace.trace import Alignment

if TYPE_CHECKING:
    from analysis.answer_sets.carry_over import HeadSet
    from analysis.answer_sets.word_attention import WordAttention
    from analysis.detectors.comparison import Detectors
    from analysis.methods.added_heads import Candidates
    from analysis.quality.judgement import Thresholds
    from analysis.runs.opened import Run


@cache.by_verdicts(most=8)
def fitted_added_heads(
    run: "Run", rows: np.ndarray, settings: Settings, thresholds: "Thresholds", k: int
) -> FittedHeads:
    """Fit RAUQ with k heads on the answers `rows` (n,) of a run, for the library to score with.

    Raises:
        InvalidInput: no heads can be chosen, or the settings need layers that the run does not store.
    """
    from analysis.detectors import added_heads as fitting

    about: Any = {"answerer": run.answerer, "settings": settings, "data": run.manifest.request.data}
    return fitting.fitted_added_heads(_candidates(run, rows, settings, thresholds), k=k, **about)


@cache.by_verdicts(most=4)
def detectors(run: "Run", rows: np.ndarray, settings: Settings, thresholds: "Thresholds") -> "Detectors":
    """Compare detectors fitted on heads, words, length and group, on the answers `rows` (n,) of a run.

    Raises:
        InvalidInput: the settings need layers that the run does not store.
    """
    from analysis.answer_sets.sides import sides
    from analysis.detectors import comparison as fitted
    from analysis.questions import as_first_asked

    quality, texts = cache.quality_of(run, rows), run.answers["answer"].iloc[rows]
    questions = [run.questions[row] for row in rows]
    given = fitted.Labelled(
        uncertainty=cache.scores(run, settings)[rows],
        means=cache.means(run, settings.alignment, "all", 1)[rows].reshape(len(rows), -1).astype(float),
        length=run.lengths[rows].astype(float),
        texts=tuple(f"{question}\n{text}" for question, text in zip(questions, texts, strict=True)),
        questions=as_first_asked(questions, apart=run.apart),
        groups=tuple(cache.group_names(run, rows)),
        quality=quality,
        sides=sides(quality, thresholds),
    )
    return fitted.detectors(given, thresholds=thresholds)


@cache.by_verdicts(most=6)
def head_set(run: "Run", rows: np.ndarray, alignment: Alignment, thresholds: "Thresholds") -> "HeadSet":
    """Compare correct and incorrect answers among `rows` (n,) of a run in every head."""
    from analysis.answer_sets.carry_over import HeadSet
    from analysis.answer_sets.separation import separation
    from analysis.answer_sets.sides import sides

    own = cache.means(run, alignment, "all", 1)[rows]
    side = sides(cache.quality_of(run, rows), thresholds)
    return HeadSet(own, separation(own, side, cache.group_names(run, rows), clusters=run.clusters[rows]))


def _candidates(
    run: "Run",
    rows: np.ndarray,
    settings: Settings,
    thresholds: "Thresholds",
    explained: "WordAttention | None" = None,
) -> "Candidates":
    """Return the heads that can be added to RAUQ, with what words explain of them where that is asked for."""
    from analysis.methods.added_heads import candidates

    uncertainty, own = cache.scores(run, settings)[rows], cache.means(run, settings.alignment, "all", 1)[rows]
    about: Any = {"thresholds": thresholds, "words": explained, "clusters": run.clusters}
    return candidates(run, rows, uncertainty=uncertainty, means=own, **about)


_REMEMBERED = "_added_heads"


def remembered() -> Mapping[str, FittedHeads]:
    """Return the detectors of this session by the model they were fitted on, the latest last."""
    found: Mapping[str, FittedHeads] = st.session_state.get(_REMEMBERED, {})
    return found


def remember(detector: FittedHeads) -> None:
    """Use a detector for answers of its model, in place of an earlier one."""
    others = {name: own for name, own in remembered().items() if name != detector.model}
    st.session_state[_REMEMBERED] = {**others, detector.model: detector}


def forget(name: str) -> None:
    """Use no detector any more for answers of that model."""
    st.session_state[_REMEMBERED] = {own: found for own, found in remembered().items() if own != name}
