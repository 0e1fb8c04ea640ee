"""Whether heads carry over: maps of all heads of two sets of answers, groups of a run or runs of one model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from analysis.answer_sets.carry_over import HeadSet, carry_over, carry_over_caption, carry_over_sentence, strongest
from analysis.answer_sets.side_figures import head_map, scale_end
from analysis.runs.manifest import Answerer
from pages.ui.answer_sets.choices import ANOTHER_RUN, WHOLE, Asked, Chosen
from pages.ui.host import cache, head_cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import chart, default_thresholds, key_of, put, write
from rauq.errors import RunError
from rauq.labels import running


def carried(chosen: Chosen) -> None:
    """Draw the maps of two sets of answers, once the user asks for them."""
    folded = st.expander("Do heads carry over to other answers?", key="heads_carried", on_change="rerun")
    if folded.open:
        with folded:
            _choices_and_maps(chosen)


def _choices_and_maps(chosen: Chosen) -> None:
    groups, others = _groups(chosen), _other_runs(chosen)
    if len(groups) < 2 and not others:
        st.caption(
            "Comparing needs another group with correct and incorrect answers, or another run of the same model."
        )
        return
    first, second = _chosen(chosen.asked, groups, others)
    left, right = st.columns(2, gap="medium")
    with left:
        _picker("Answers on the left", url_state.FIRST, _left(groups, others), first)
    with right:
        _picker("Answers on the right", url_state.SECOND, _right(first, groups, others), second)
    _maps(chosen, _set_of(chosen, first), _other_set(chosen, first, second))


def _groups(chosen: Chosen) -> tuple[str, ...]:
    """Return the groups that have both correct and incorrect answers, those that say most about heads first."""
    counted = _of_rows(chosen, chosen.rows).found.labelled
    order = np.argsort(-counted.weights, kind="stable").tolist() if counted.names else []
    return tuple(counted.names[place] for place in order)


def _other_runs(chosen: Chosen) -> tuple[str, ...]:
    """Return the names of the other runs of the same weights."""
    others = [listed for listed in runs.at_hand() if listed.name != chosen.name and listed.manifest is not None]
    own = _weights(chosen.run.answerer)
    return tuple(
        listed.name
        for listed in others
        if listed.manifest and listed.manifest.answerer and _weights(listed.manifest.answerer) == own
    )


def _weights(answerer: Answerer) -> Answerer:
    """Return what identifies the weights and the heads of the model."""
    return replace(answerer, kind="base", dtype="")


def _left(groups: tuple[str, ...], others: tuple[str, ...]) -> dict[str, str]:
    return {**({WHOLE: "all answers"} if others else {}), **_named(groups)}


def _right(first: str, groups: tuple[str, ...], others: tuple[str, ...]) -> dict[str, str]:
    own = {} if first == WHOLE or len(groups) < 2 else {WHOLE: "all other groups"}
    apart = {} if first == WHOLE else _named(tuple(name for name in groups if name != first))
    return {**own, **apart, **{f"{ANOTHER_RUN}{name}": f"run {name}" for name in others}}


def _named(groups: tuple[str, ...]) -> dict[str, str]:
    return {name: printable(running(name)) for name in groups}


def _chosen(asked: Asked, groups: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, str]:
    """Return what the URL asks for where it is there, else the first of each list."""
    left = _left(groups, others)
    usual = groups[0] if len(groups) > 1 else next(iter(left))
    first = asked.first if asked.first in left else usual
    right = _right(first, groups, others)
    return first, asked.second if asked.second in right else next(iter(right))


def _picker(label: str, name: str, options: Mapping[str, str], value: str) -> None:
    put(name, value)
    st.selectbox(
        label, list(options), key=key_of(name), format_func=options.__getitem__, on_change=write, args=(name, None)
    )


def _set_of(chosen: Chosen, group: str) -> HeadSet:
    return _of_rows(chosen, chosen.rows if group == WHOLE else chosen.rows[chosen.column_of("group") == group])


def _other_set(chosen: Chosen, first: str, second: str) -> HeadSet:
    if second == WHOLE:
        return _of_rows(chosen, chosen.rows[chosen.column_of("group") != first])
    if second in _groups(chosen):
        return _set_of(chosen, second)
    folder = runs.folder(second.removeprefix(ANOTHER_RUN))
    if folder is None:
        message = "The other run was deleted. Choose another one."
        raise RunError(message)
    run = cache.sampled(cache.run(folder))
    return head_cache.head_set(run, np.arange(len(run.answers)), chosen.settings.alignment, default_thresholds(run))


def _of_rows(chosen: Chosen, rows: np.ndarray) -> HeadSet:
    return head_cache.head_set(chosen.run, rows, chosen.settings.alignment, chosen.thresholds)


def _maps(chosen: Chosen, first: HeadSet, second: HeadSet) -> None:
    found = carry_over(first, second)
    st.write(carry_over_sentence(found))
    if found.reason:
        return
    rings = [(chosen.layers[row], head) for row, head in strongest(first.found)]
    options: dict[str, Any] = {"used": chosen.run.used_layers, "selected": rings, "narrow": True, "dark": is_dark()}
    options["end"] = scale_end(first.found, second.found)
    for column, own, side in zip(st.columns(2, gap="medium"), (first, second), ("left", "right"), strict=True):
        with column:
            figure = head_map(own.found, chosen.layers, **options)
            chart(figure, f"heads_{side}", f"Map of the area under the ROC curve of all heads, answers on the {side}")
    st.caption(carry_over_caption(found))
