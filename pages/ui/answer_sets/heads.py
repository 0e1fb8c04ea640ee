"""The view Heads: how each head separates correct from incorrect answers, and what its attention adds to RAUQ.

Also whether heads carry over: two maps of all heads beside each other, of groups of a run or of runs of one model; and
a fitted detector: logistic regression on all heads, beside the same classifier on words, length or group.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from analysis.answer_sets import sentences
from analysis.answer_sets.carry_over import (
    HeadSet,
    carry_over,
    carry_over_caption,
    carry_over_sentence,
    strongest,
)
from analysis.answer_sets.heads import of_selected, selected_heads
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.separation import (
    HeldOut,
    Separation,
    TopHeads,
    area_of,
    areas_with_interval,
    best_of_layers,
    top_heads,
)
from analysis.answer_sets.side_figures import head_answers, head_map, scale_end
from analysis.answer_sets.sides import sides
from analysis.answer_sets.tables import separation_table, top_heads_table
from analysis.answer_sets.word_attention import WordAttention
from analysis.exports.csv_text import csv_table
from analysis.methods.added_heads import (
    SIZES,
    added_heads_caption,
    added_heads_file_caption,
    added_heads_sentence,
    chosen_sentence,
)
from analysis.methods.figures import added_heads_chart, labels_chart
from analysis.quality.unclear import bounds_sentence, unclear_bounds
from analysis.runs.attention import TokenChoice
from analysis.runs.manifest import Answerer
from pages.ui.answer_sets.choices import ANOTHER_RUN, WHOLE, Asked, Chosen
from pages.ui.host import cache, head_cache, runs
from pages.ui.host.head_cache import remember
from pages.ui.shared import state, url_state
from pages.ui.shared.errors import message_text, printable
from pages.ui.shared.figure_export import buttons, is_dark
from pages.ui.shared.run_filters import marks_facts
from pages.ui.shared.run_page import (
    chart,
    choice,
    clickable,
    default_thresholds,
    key_of,
    open_in_inspect,
    put,
    save,
    sentence,
    write,
)
from rauq.detectors.added_heads import AddedHeads
from rauq.errors import InvalidInput, RunError
from rauq.labels import number, running

_MAP, _JSON = "heads", "application/json"
_READ_DETECTOR = """from pathlib import Path
from rauq.detectors import added_heads

detector = added_heads.read(Path("rauq-{size}-heads.json").read_bytes())
detector.rank(detector.score(trace))  # percent of the answers it was fitted on that are less uncertain"""
_HELP = {
    "Held-out": "ROC-AUC on the half of the questions that did not choose the heads",
    "Same length": "On that half too: ROC-AUC among answers of the same group and number of tokens",
    "Words alone": "On that half: ROC-AUC of the attention expected from pairs of tokens in other answers and position",
    "Residual": "On that half: ROC-AUC of attention without what pairs of tokens and their position explain",
    "Selected": "Share of answers in which RAUQ's rule selects this head in its layer",
}


def heads(chosen: Chosen) -> None:
    """Draw the map of all heads, the strongest in detail, the answers of one, and RAUQ with heads added."""
    found, same, half = _separated(chosen, chosen.asked.tokens)
    more = joined(sentences.about_directions(found), sentences.about_held_out(half), sentences.about_length(same))
    about = sentences.about_separation(found, same, chosen.layers)
    sentence(about, chosen, "" if found.best is None else more, _about_unclear(chosen, found))
    layer, head = _shown(chosen, found)
    _map(chosen, found, (layer, head))
    if found.best is None:
        return
    left, right = st.columns([5, 3], gap="medium")
    with left:
        _table(chosen, found, _top(chosen, found, same, half), (layer, head))
        st.caption(_about_controls(chosen, found))
    with right:
        _answers(chosen, layer, head)
    _added(chosen)
    _detectors(chosen)
    _carried(chosen)
    _export(chosen, found)


def _separated(chosen: Chosen, tokens: TokenChoice) -> tuple[Separation, Separation, HeldOut]:
    return head_cache.heads(chosen.run, chosen.rows, chosen.settings.alignment, tokens, chosen.thresholds)


def _about_unclear(chosen: Chosen, found: Separation) -> str:
    """Say what the best head's ROC-AUC is with unclear answers on either side; "" where none is unclear."""
    if found.best is None:
        return ""
    best, groups, values = found.best, chosen.column_of("group"), chosen.means(offset=1)
    bounds = unclear_bounds(
        lambda quality: area_of(values, best, sides(quality, chosen.thresholds), groups), chosen.quality, chosen.unclear
    )
    in_words = bounds.of(lambda area: number(area, places=2)) if bounds else None
    return bounds_sentence("ROC-AUC of the best head", in_words)


def _shown(chosen: Chosen, found: Separation) -> tuple[int, int]:
    """Return the layer and the head that are shown: those of the URL, else the strongest, of the layer if given."""
    asked = chosen.asked
    if found.best is None:
        return chosen.layer, asked.head or 0
    row = found.best[0] if asked.layer is None else chosen.column
    strongest = int(np.abs(found.auc[row] - 0.5).argmax())
    return chosen.layers[row], strongest if asked.head is None else asked.head


def _map(chosen: Chosen, found: Separation, shown: tuple[int, int]) -> None:
    used = chosen.run.used_layers
    picked = selected_heads(chosen.picks(), chosen.layers, chosen.run.answerer.num_heads)
    figure = head_map(found, chosen.layers, used=used, selected=picked.of_layers(used), shown=shown, dark=is_dark())
    key = key_of(_MAP)
    st.plotly_chart(
        figure,
        key=key,
        config=buttons("heads"),
        alt="Layer by head map of the area under the ROC curve of mean attention",
        on_select=lambda: _choose_cell(chosen, found, key),
        selection_mode="points",
    )
    st.caption(
        f"{sentences.separation_caption(found)} Click a cell to see its answers.  \n"
        f"{sentences.groups_caption(found.labelled)}"
    )


def _choose_cell(chosen: Chosen, found: Separation, key: str) -> None:
    for point in st.session_state[key]["selection"]["points"]:
        place = point.get("customdata")
        if isinstance(place, int) and 0 <= place < found.auc.size:  # the value comes from the browser
            _choose(chosen, *divmod(place, found.auc.shape[1]))


def _choose(chosen: Chosen, row: int, head: int) -> None:
    url_state.update_url({url_state.LAYER: str(chosen.layers[row]), url_state.HEAD: str(head)})


def _table(chosen: Chosen, found: Separation, top: TopHeads, shown: tuple[int, int]) -> None:
    """Draw the strongest heads with their controls; a ticked row is the head whose answers are shown."""
    key = f"heads_table_{shown[0]}_{shown[1]}"  # another head: nothing is ticked
    st.dataframe(
        _cells(chosen, top, shown),
        key=key,
        hide_index=True,
        height="content",
        on_select=lambda: _choose_row(chosen, top, key),
        selection_mode="single-row",
        column_config={name: st.column_config.Column(help=words) for name, words in _HELP.items()}
        | {"ROC-AUC": st.column_config.NumberColumn(format="%.2f", help="All answers, within groups")},
        alt="The strongest heads with their held-out values and controls",
    )
    with st.container(horizontal=True):
        save("Table as CSV", "heads.csv", lambda: csv_table(top_heads_table(top, chosen.layers)))
        save("All heads as CSV", "all-heads.csv", lambda: csv_table(separation_table(found, chosen.layers)))
    st.caption(sentences.top_heads_caption(_words(chosen)))


def _words(chosen: Chosen) -> WordAttention | None:
    return head_cache.words(chosen.run, chosen.settings.alignment) if chosen.asked.tokens == "all" else None


def _top(chosen: Chosen, found: Separation, same: Separation, half: HeldOut) -> TopHeads:
    means, words = chosen.means(offset=1), _words(chosen)
    expected, residual = np.full((2, *means.shape), np.nan)
    if words is not None:
        places = [chosen.layers.index(layer) for layer in words.layers]
        expected[:, places], residual[:, places] = words.expected[chosen.rows], words.residual[chosen.rows]
    shares = selected_heads(chosen.picks(), chosen.layers, means.shape[2]).shares
    about: Any = {"same_length": same.labelled, "expected": expected, "residual": residual, "shares": shares}
    return top_heads(means.astype(float), found, half, **about)


def _cells(chosen: Chosen, top: TopHeads, shown: tuple[int, int]) -> pd.DataFrame:
    layers = [chosen.layers[row] for row, _ in top.heads]
    columns = {
        "Held-out": top.held_out,
        "Same length": top.same_length,
        "Words alone": top.words,
        "Residual": top.residual,
    }
    return pd.DataFrame(
        {
            "Shown": [
                "●" if (layer, head) == shown else "" for layer, (_, head) in zip(layers, top.heads, strict=True)
            ],
            "Layer": layers,
            "Head": [head for _, head in top.heads],
            "ROC-AUC": top.auc,
            **{name: [sentences.interval_words(own, at) for at in range(len(layers))] for name, own in columns.items()},
            "Selected": [f"{100 * share:.0f} %" for share in top.shares],
        }
    )


def _choose_row(chosen: Chosen, top: TopHeads, key: str) -> None:
    for row in st.session_state[key]["selection"]["rows"]:
        if 0 <= row < len(top.heads):
            _choose(chosen, *top.heads[row])


def _about_controls(chosen: Chosen, found: Separation) -> str:
    """Say how other values separate: the attention that RAUQ uses, the mean over heads, and the number of tokens."""
    means, places = chosen.means(offset=1), [chosen.layers.index(layer) for layer in chosen.run.used_layers]
    picked = of_selected(means, chosen.picks())[:, places].mean(axis=1) if places else np.full(len(means), np.nan)
    length = chosen.run.lengths[chosen.rows].astype(float)
    values = np.stack([picked, means.mean(axis=(1, 2)), length], axis=1)
    controls = sentences.about_controls(areas_with_interval(values, found.labelled))
    return joined(controls, sentences.about_facts(_separated(chosen, "fact")[0]) if _has_facts(chosen) else "")


def _has_facts(chosen: Chosen) -> bool:
    return chosen.asked.tokens == "all" and marks_facts(chosen.run)


def _answers(chosen: Chosen, layer: int, head: int) -> None:
    """Draw every answer by the attention of one head, and buttons that open its best and its worst answer."""
    values = chosen.means(offset=1)[:, chosen.layers.index(layer), head]
    st.markdown(f"**Layer {layer}, head {head}**")
    clickable(
        head_answers(values, chosen.sides, dark=is_dark()),
        "head_answers",
        f"Attention of layer {layer} head {head} in correct and in incorrect answers",
        chosen,
        head=(layer, head),
    )
    with st.container(horizontal=True):
        for name, mask, place in (
            ("Best answer", chosen.sides.correct, np.nanargmax),
            ("Worst answer", chosen.sides.incorrect, np.nanargmin),
        ):
            own = np.where(mask, values, np.nan)
            known = bool(np.isfinite(own).any())
            if st.button(f"{name} in Inspect", key=name.lower().replace(" ", "_"), disabled=not known):
                open_in_inspect(chosen, int(place(own)), head=(layer, head))
    st.caption(
        "Best: the correct answer with the most attention of this head; worst: the incorrect one with the least. "
        f"{_about_inspect(chosen, layer)}"
    )


def _about_inspect(chosen: Chosen, layer: int) -> str:
    stored = chosen.run.stored_layers
    if layer in stored:
        return "Click a point to open its answer with this head."
    return f"Inspect shows only layers {stored[0]} to {stored[-1]} of this run, so the nearest one instead."


def _added(chosen: Chosen) -> None:
    """Draw what heads chosen in other groups add to RAUQ, with its controls."""
    st.markdown("**RAUQ + heads**: ours, not the paper's")
    choice("Heads added", url_state.ADDED, {size: str(size) for size in SIZES}, chosen.asked.added, usual=Asked().added)
    found = head_cache.added_heads(chosen.run, chosen.rows, chosen.settings, chosen.thresholds, chosen.asked.added)
    st.write(added_heads_sentence(found))
    left, right = st.columns([5, 3], gap="medium")
    with left:
        chart(added_heads_chart(found, dark=is_dark()), "added_heads", "PRR of RAUQ with heads minus RAUQ alone")
    with right:
        if not found.reason:
            chart(labels_chart(found, dark=is_dark()), "added_heads_labels", "Difference by number of labelled answers")
    st.caption(f"{added_heads_caption(found)}  \n{chosen_sentence(found)}")
    _detector(chosen)


def _detector(chosen: Chosen) -> None:
    """Draw a button that saves RAUQ with heads chosen by all answers, for Inspect and for Python."""
    size = chosen.asked.added
    try:
        fitted = head_cache.fitted_added_heads(chosen.run, chosen.rows, chosen.settings, chosen.thresholds, size)
    except InvalidInput as error:
        st.text(message_text(error))
        return
    with st.container(horizontal=True):
        st.download_button(
            "Detector as JSON", fitted.to_json(), f"rauq-{size}-heads.json", _JSON, key="detector_file",
            on_click="ignore",
        )  # fmt: skip
        st.button("Use in Inspect", key="use_detector", on_click=_use, args=(fitted,))
    st.caption(added_heads_file_caption(fitted))


def _use(fitted: AddedHeads) -> None:
    remember(fitted)
    state.notify(f"Answers of {running(fitted.model)} in Inspect are also ranked by RAUQ + {fitted.k} heads.")


def _export(chosen: Chosen, found: Separation) -> None:
    """Show lines of Python: the best head of each layer used by RAUQ, and how a saved detector scores."""
    folded = st.expander(
        "Python: the best head of each layer, and a saved detector", key="heads_python", on_change="rerun"
    )
    if folded.open:
        with folded:
            best = best_of_layers(found, chosen.layers, chosen.run.used_layers)
            st.code(f"score = rauq.score(trace, rauq.Settings(heads={best}))", language="python", wrap_lines=True)
            st.caption("Not the paper's setting. These answers chose the heads, so judge the scores on other answers.")
            st.code(_READ_DETECTOR.format(size=chosen.asked.added), language="python", wrap_lines=True)


def _carried(chosen: Chosen) -> None:
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
    """Return the model without what changes neither its weights nor its heads."""
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


_ASKED = "_detectors"  # the answers and settings that the user asked to fit
_SECONDS = 4e-5  # of all fits, for each answer and head, on one core


def _detectors(chosen: Chosen) -> None:
    """Draw a button, and once it was pressed for these answers and settings the detectors compared."""
    st.markdown("**Fit a detector**: logistic regression on all heads")
    asked = (chosen.name, chosen.rows.tobytes(), chosen.settings, chosen.thresholds)
    if st.session_state.get(_ASKED) != asked:
        st.button("Fit detectors", key="fit_detectors", on_click=_ask, args=(asked,))
        st.caption(
            "Fits on all heads, on words, on length and on the group, each judged on answers left out of the fit. "
            f"Takes about {_seconds(chosen):,.0f} s."
        )
        return
    _comparison(chosen)


def _ask(asked: object) -> None:
    st.session_state[_ASKED] = asked


def _seconds(chosen: Chosen) -> float:
    return 2 + _SECONDS * len(chosen.rows) * len(chosen.layers) * chosen.run.answerer.num_heads


def _comparison(chosen: Chosen) -> None:
    from analysis.detectors.comparison import (
        detectors_caption,
        detectors_cells,
        detectors_sentence,
        detectors_table,
        table_caption,
    )
    from analysis.detectors.figures import detectors_chart

    found = head_cache.detectors(chosen.run, chosen.rows, chosen.settings, chosen.thresholds)
    st.write(detectors_sentence(found))
    chart(detectors_chart(found, dark=is_dark()), "detectors", "PRR of each detector with its interval")
    st.caption(detectors_caption(found))
    st.dataframe(
        detectors_cells(found), key="detectors_table", hide_index=True, height="content", alt="PRR of detectors"
    )
    save("Table as CSV", "detectors.csv", lambda: csv_table(detectors_table(found)))
    st.caption(table_caption(found))
