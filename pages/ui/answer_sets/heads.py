"""The view Heads: how each head separates correct from incorrect answers.

Below it: what heads add to RAUQ, a detector fitted on all of them, and whether they carry over to other answers.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from analysis.answer_sets import sentences
from analysis.answer_sets.heads import of_selected
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.separation import Separation, TopHeads, areas_with_interval, top_heads
from analysis.answer_sets.side_figures import head_answers
from analysis.answer_sets.tables import separation_table, top_heads_table
from analysis.answer_sets.word_attention import WordAttention
from analysis.exports.csv_text import csv_table
from analysis.views.heads import HEADS, Separated, map_of_heads
from analysis.views.view import Picture
from pages.ui.answer_sets.added_heads import added, in_python
from pages.ui.answer_sets.carry_over import carried
from pages.ui.answer_sets.choices import Chosen
from pages.ui.answer_sets.detectors import detectors
from pages.ui.host import cache
from pages.ui.shared import figure_export, url_state
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.filters import marks_facts
from pages.ui.shared.run_views.page import clickable, key_of, open_in_inspect, save
from pages.ui.shared.run_views.views import say

_HELP = {
    "Held-out": "ROC-AUC on the half of the questions that did not choose the heads",
    "Same length": "On that half too: ROC-AUC among answers of the same group and number of tokens",
    "Words alone": "On that half: ROC-AUC of the attention expected from pairs of tokens in other answers and position",
    "Residual": "On that half: ROC-AUC of attention without what pairs of tokens and their position explain",
    "Selected": "Share of answers in which RAUQ's rule selects this head in its layer",
}


def heads(chosen: Chosen) -> None:
    """Draw the map of all heads, the strongest in detail, the answers of one, and RAUQ with heads added."""
    seen = cache.seen(HEADS, chosen, chosen.choices)
    say(HEADS, seen, chosen)
    found = seen.result.found
    layer, head = _shown(chosen, found)
    _map(chosen, map_of_heads(seen, shown=(layer, head)), found)
    if found.best is None:
        return
    left, right = st.columns([5, 3], gap="medium")
    with left:
        _table(chosen, found, _top(chosen, seen.result), (layer, head))
        st.caption(_about_controls(chosen, found))
    with right:
        _answers(chosen, layer, head)
    added(chosen)
    detectors(chosen)
    carried(chosen)
    in_python(chosen, found)
    if notes := HEADS.notes(seen):
        st.caption(notes)


def _shown(chosen: Chosen, found: Separation) -> tuple[int, int]:
    """Return the layer and the head that are shown: those of the URL, else the strongest, of the layer if given."""
    asked = chosen.asked
    if found.best is None:
        return chosen.layer, asked.head or 0
    row = found.best[0] if asked.layer is None else chosen.column
    strongest = int(np.abs(found.auc[row] - 0.5).argmax())
    return chosen.layers[row], strongest if asked.head is None else asked.head


def _map(chosen: Chosen, picture: Picture, found: Separation) -> None:
    key = key_of(picture.name)
    figure_export.draw(
        picture.draw(dark=is_dark()),
        picture.name,
        key=key,
        alt=picture.alt,
        on_select=lambda: _choose_cell(chosen, found, key),
        selection_mode="points",
    )
    st.caption(f"{picture.caption} Click a cell to see its answers.")


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


def _means(chosen: Chosen) -> np.ndarray:
    """Return mean attention of every head (n, L, H) over the chosen tokens."""
    return chosen.means(tokens=chosen.asked.tokens)


def _words(chosen: Chosen) -> WordAttention | None:
    return cache.words(chosen.run, chosen.alignment) if chosen.asked.tokens == "all" else None


def _top(chosen: Chosen, separated: Separated) -> TopHeads:
    means, words = _means(chosen), _words(chosen)
    expected, residual = np.full((2, *means.shape), np.nan)
    if words is not None:
        places = [chosen.layers.index(layer) for layer in words.layers]
        expected[:, places], residual[:, places] = words.expected[chosen.rows], words.residual[chosen.rows]
    return top_heads(
        means.astype(float),
        separated.found,
        separated.half,
        same_length=separated.same_length.labelled,
        expected=expected,
        residual=residual,
        shares=separated.selected.shares,
    )


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
    means, places = _means(chosen), [chosen.layers.index(layer) for layer in chosen.run.used_layers]
    picked = of_selected(means, chosen.picks())[:, places].mean(axis=1) if places else np.full(len(means), np.nan)
    length = chosen.run.lengths[chosen.rows].astype(float)
    values = np.stack([picked, means.mean(axis=(1, 2)), length], axis=1)
    controls = sentences.about_controls(areas_with_interval(values, found.labelled))
    return joined(controls, sentences.about_facts(_over_facts(chosen)) if _has_facts(chosen) else "")


def _over_facts(chosen: Chosen) -> Separation:
    return cache.seen(HEADS, chosen, replace(chosen.choices, tokens="fact")).result.found


def _has_facts(chosen: Chosen) -> bool:
    return chosen.asked.tokens == "all" and marks_facts(chosen.run)


def _answers(chosen: Chosen, layer: int, head: int) -> None:
    """Draw every answer by the attention of one head, and buttons that open its best and its worst answer."""
    values = _means(chosen)[:, chosen.layers.index(layer), head]
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
