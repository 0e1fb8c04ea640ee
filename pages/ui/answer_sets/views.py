"""The page Answer sets: one view of a run, of heads, attention, tokens or scores, below the choices it depends on."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from analysis.answer_sets import sentences
from analysis.answer_sets.best_and_worst import best_and_worst
from analysis.answer_sets.figures import best_and_worst_map, calibration_chart, quality_bins_chart, selected_heads_map
from analysis.answer_sets.gaps import Gaps, head_gaps, with_enough
from analysis.answer_sets.heads import Agreement, SelectedHeads, agreement, pick, selected_heads
from analysis.answer_sets.quality_curves import correlations, quality_bins
from analysis.answer_sets.sentences import (
    agreement_caption,
    best_and_worst_caption,
    bins_caption,
    selected_heads_caption,
)
from analysis.answer_sets.side_figures import (
    difference_words,
    distance_lines,
    gap_distributions,
    gap_grid,
    gap_lines,
    head_map,
)
from analysis.answer_sets.sides import groups_note
from analysis.answer_sets.tables import best_and_worst_table, calibration_table, gap_table, quality_bins_table
from analysis.exports.csv_text import csv_columns, csv_table
from analysis.figures import UNCERTAINTY
from analysis.methods.score_ranking import score_sentence, within_sentence
from analysis.methods.unclear import score_bounds_sentence
from analysis.runs.files.arrays import OFFSETS
from pages.ui.answer_sets import choices
from pages.ui.answer_sets.answers import about_setting, answers, has_scores
from pages.ui.answer_sets.choices import PAGE, Asked, Chosen, View, choose
from pages.ui.answer_sets.heads import heads
from pages.ui.host import cache, head_cache
from pages.ui.shared.errors import printable
from pages.ui.shared.figure_export import buttons, is_dark
from pages.ui.shared.run_views.page import (
    chart,
    clickable,
    default_thresholds,
    draw_view,
    filters,
    key_of,
    open_run,
    run_picker,
    save,
    sentence,
    view_picker,
)
from pages.ui.shared.url_state import GOAL, HEADS_GOAL, LAYER, VIEW, update_url

_NO_FACTS = (
    "Which tokens are wrong is unknown in this run. It is known for the sets of facts, and for a file that names the "
    "wrong texts of its answers in a column."
)


def wrong_tokens(chosen: Chosen) -> None:
    """Draw every signal in three comparisons, their table, and a map of all heads."""
    from analysis.tokens.figures import signals_chart
    from analysis.tokens.sentences import (
        detection_caption,
        detection_cells,
        detection_sentence,
        detection_table,
        heads_caption,
        place_sentence,
        table_caption,
        undefined_reason,
    )

    found = head_cache.wrong_tokens(chosen.run, chosen.rows, chosen.settings, chosen.thresholds)
    sentence(detection_sentence(found), chosen, place_sentence(found))
    if undefined_reason(found):
        st.text(_NO_FACTS)
        return
    chart(signals_chart(found, dark=is_dark()), "token_signals", "ROC-AUC of each signal of tokens with its interval")
    st.caption(detection_caption(found))
    st.dataframe(
        detection_cells(found), key="token_table", hide_index=True, height="content", alt="Signals of tokens compared"
    )
    save("Table as CSV", "tokens.csv", lambda: csv_table(detection_table(found)))
    st.caption(table_caption(found))
    figure = head_map(found.heads, found.layers, used=chosen.run.used_layers, dark=is_dark())
    chart(figure, "token_heads", "ROC-AUC of the attention of each head on wrong tokens")
    st.caption(heads_caption())


_PLACES = ("most frequent", "second", "third")
_HEAD, _ROW, _MOST_ROWS = 38, 35, 12  # pixels, pixels, layers


def picked(chosen: Chosen) -> None:
    """Draw how often each head is selected, the three most frequent of each layer, and agreement between groups."""
    picks = chosen.picks() if _as_scored(chosen) else pick(chosen.means())
    num_heads = chosen.run.answerer.num_heads
    found = selected_heads(picks, chosen.layers, num_heads)
    sentence(sentences.about_selected_heads(found, chosen.layer), chosen)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chart(
            selected_heads_map(found, dark=is_dark()),
            "picked_heads",
            "Share of answers for which each head is selected",
        )
        st.caption(_about_picking(chosen, found))
    with right:
        frequent = _top_three(found)
        st.dataframe(frequent, hide_index=True, height=_height(found), alt="Three most frequent heads of each layer")
        save("Table as CSV", "picked-heads.csv", lambda: csv_columns(frequent))
    groups = [str(name) for name in chosen.column_of("group")]
    if len(set(groups)) > 1:
        together = agreement(picks, groups, chosen.layers, num_heads)
        grouped = _by_group(together, picks, groups)
        st.dataframe(grouped, hide_index=True, alt="Most frequent head of each group and layer")
        save("Table as CSV", "picked-heads-by-group.csv", lambda: csv_columns(grouped))
        st.caption(
            f"{agreement_caption(together)} Cells: the group's most frequent head and its share of answers. "
            f"{groups_note(groups)}"
        )


def _as_scored(chosen: Chosen) -> bool:
    """Return whether the tokens shown are those by which scoring selects heads."""
    return chosen.asked.tokens == "all" and chosen.asked.offset == 1


def _about_picking(chosen: Chosen, found: SelectedHeads) -> str:
    own = "" if _as_scored(chosen) else (
        " Heads are selected here by different attention than in RAUQ, which uses the whole answer and the previous "
        "token."
    )  # fmt: skip
    return f"{selected_heads_caption(found)}{own}"


def _height(found: SelectedHeads) -> int:
    """Return the table's height: all layers, if they fit next to the map and its caption."""
    return _HEAD + _ROW * min(len(found.layers), _MOST_ROWS)


def _top_three(found: SelectedHeads) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {"layer": list(found.layers)}
    tops = [found.most_frequent(layer) for layer in found.layers]
    for place, name in enumerate(_PLACES):
        columns[name] = [_head(*top[place]) if len(top) > place else "–" for top in tops]
    return columns


def _by_group(together: Agreement, picks: np.ndarray, groups: list[str]) -> dict[str, list[object]]:
    """Return one row per group, one column per layer."""
    columns: dict[str, list[object]] = {"group": [printable(name) for name in together.groups]}
    members = [[group == name for group in groups] for name in together.groups]
    for place, layer in enumerate(together.layers):
        tops = zip(together.group_heads[:, place].tolist(), members, strict=True)
        columns[f"layer {layer}"] = [
            "–" if head < 0 else _head(head, float((picks[own, place] == head).mean())) for head, own in tops
        ]
    return columns


def _head(head: int, share: float) -> str:
    return f"head {head} · {100 * share:.0f} %"


_CLICK = "Click a point to open the answer in Inspect."


def best(chosen: Chosen) -> None:
    """Draw answers x heads, the best answers above the worst (figure 2)."""
    shown = best_and_worst(
        chosen.means()[:, chosen.column], chosen.quality, chosen.picks()[:, chosen.column], k=chosen.asked.k
    )
    sentence(sentences.about_best_and_worst(shown, chosen.layer), chosen)
    texts = chosen.column_of("answer")[shown.rows].tolist()
    figure = best_and_worst_map(shown, texts, dark=is_dark())
    clickable(figure, "best_and_worst", "Heat map: best and worst answers by head of a layer", chosen)
    st.caption(
        f"{best_and_worst_caption(shown, chosen.layer, tokens=chosen.asked.tokens)} Click a row to open the answer in "
        "Inspect. These are the extremes of the run; the view Answers lists all answers."
    )
    own = chosen.run.answers.iloc[chosen.rows]
    save("Figure as CSV", "best-and-worst.csv", lambda: csv_table(best_and_worst_table(shown, own)))


def gap(chosen: Chosen) -> None:
    """Draw correct vs incorrect answers, in one layer and in all layers (figure 3a)."""
    gaps = head_gaps(chosen.means(), chosen.picks(), chosen.sides, clusters=chosen.run.clusters[chosen.rows])
    sentence(
        sentences.about_gap(gaps, chosen.column, chosen.layer), chosen, sentences.paper_effect(gaps, chosen.column)
    )
    left, right = st.columns(2, gap="medium")
    with left:
        figure = gap_distributions(gaps, chosen.column, dark=is_dark())
        clickable(figure, "correct_against_incorrect", "Attention of correct and of incorrect answers", chosen)
        st.caption(
            f"{sentences.gap_caption(gaps, chosen.column, chosen.thresholds, tokens=chosen.asked.tokens)} {_CLICK}"
        )
    with right:
        figure = gap_lines(gaps, chosen.layers, name="layer", shown=chosen.layer, dark=is_dark())
        _choose_layer(chosen, figure)
        st.caption(f"{sentences.layers_caption(chosen.layer)} Click a point to choose its layer.")
    figure = gap_grid(gaps.picked, chosen.layers, dark=is_dark())
    chart(figure, "attention_by_layer", "Attention of correct and of incorrect answers in each layer")
    st.caption(sentences.grid_caption())
    save("Figures as CSV", "by-verdict.csv", lambda: csv_table(gap_table(gaps, chosen.layers, name="layer")))


def _choose_layer(chosen: Chosen, figure: go.Figure) -> None:
    """Draw a figure over layers; a click on a point writes its layer to the URL."""
    key = key_of("difference_by_layer")

    def choose_it() -> None:
        for point in st.session_state[key]["selection"]["points"]:
            layer = point.get("customdata")
            if isinstance(layer, int) and layer in chosen.layers:  # the value comes from the browser
                update_url({LAYER: str(layer)})

    st.plotly_chart(
        figure,
        key=key,
        config=buttons("difference_by_layer"),
        alt="Difference between correct and incorrect answers in each layer",
        on_select=choose_it,
        selection_mode="points",
    )


def bins(chosen: Chosen) -> None:
    """Draw quality by attention of the selected head (figure 3b)."""
    attention = chosen.picked_attention()
    clusters = chosen.run.clusters[chosen.rows]
    found = quality_bins(attention, chosen.quality, clusters=clusters)
    correlated = correlations(attention, chosen.quality, clusters=clusters)
    sentence(sentences.about_bins(correlated.spearman, chosen.layer), chosen)
    title = f"mean attention of the selected head, layer {chosen.layer}"
    figure = quality_bins_chart(found, title=title, dark=is_dark())
    clickable(figure, "quality_by_attention", "Quality of each answer by its attention, with bin means", chosen)
    st.caption(f"{bins_caption(found, correlated)} Choose one group to check. {_CLICK}")
    save("Figure as CSV", "by-quality.csv", lambda: csv_table(quality_bins_table(found, of="attention")))


def by_distance(chosen: Chosen) -> None:
    """Draw correct vs incorrect answers by distance of the attended token (figure 3c)."""
    means = np.stack([chosen.means(offset=offset)[:, chosen.column] for offset in OFFSETS], axis=1)  # (n, 6, H)
    picks = np.repeat(chosen.picks()[:, [chosen.column]], len(OFFSETS), axis=1)
    gaps = head_gaps(means, picks, chosen.sides, clusters=chosen.run.clusters[chosen.rows])
    enough = with_enough(gaps, OFFSETS)
    sentence(sentences.about_distances(enough, chosen.layer), chosen)
    figure = distance_lines(enough, dark=is_dark())
    chart(figure, "difference_by_offset", "Difference between correct and incorrect answers by preceding token")
    st.caption(sentences.distances_caption(enough))
    st.dataframe(
        _by_offset(gaps.picked),
        hide_index=True,
        column_config=dict.fromkeys(("mean, correct", "mean, incorrect"), st.column_config.NumberColumn(format="%.3f")),
        alt="Attention of the selected head by preceding token",
    )
    save("Table as CSV", "distances.csv", lambda: csv_table(gap_table(gaps, OFFSETS, name="preceding token")))
    st.caption("Every distance, with its numbers of answers: a short answer has no token at the larger ones.")


def _by_offset(gaps: Gaps) -> dict[str, list[object]]:
    """Return one row per preceding token: counts, means, and the difference with its interval."""
    return {
        "k": list(OFFSETS),
        "correct": gaps.correct.count.tolist(),
        "incorrect": gaps.incorrect.count.tolist(),
        "mean, correct": gaps.correct.mean.tolist(),
        "mean, incorrect": gaps.incorrect.mean.tolist(),
        "difference": [difference_words(gaps.absolute, row) for row in range(len(OFFSETS))],
        "in percent": [difference_words(gaps.percent, row, places=0, unit=" %") for row in range(len(OFFSETS))],
    }


def meaning(chosen: Chosen) -> None:
    """Draw the share of correct answers by score, and the quality of each answer."""
    correct_above = chosen.thresholds.roc
    uncertainty = cache.scores(chosen.run, chosen.settings)[chosen.rows]
    found = cache.calibration(chosen.run, chosen.settings, correct_above, chosen.rows)
    quality = chosen.quality
    ranked = cache.score_ranking(chosen.run, uncertainty, chosen.rows, chosen.thresholds)
    bounds = score_bounds_sentence(cache.score_bounds(chosen.run, uncertainty, chosen.rows, chosen.thresholds))
    ranking = sentences.joined(score_sentence(ranked), within_sentence(ranked))
    sentence(sentences.about_meaning(found, uncertainty), chosen, ranking, bounds)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(calibration_chart(found, dark=is_dark()), "what_a_score_means", "Share of correct answers by uncertainty")
        st.caption(f"{sentences.calibration_caption(found, correct_above)} {about_setting(chosen)}")
    with right:
        tenths = quality_bins(uncertainty, quality, clusters=chosen.run.clusters[chosen.rows])
        figure = quality_bins_chart(tenths, title="uncertainty", colour=UNCERTAINTY, dark=is_dark())
        clickable(figure, "quality_by_score", "Quality of each answer by its uncertainty, with bin means", chosen)
        st.caption(f"{sentences.score_bins_caption()} {_CLICK}")
    with st.container(horizontal=True):
        save("Curve as CSV", "meaning.csv", lambda: csv_table(calibration_table(found)))
        save("Tenths as CSV", "tenths.csv", lambda: csv_table(quality_bins_table(tenths, of="uncertainty")))


@dataclass(frozen=True, kw_only=True)
class _ViewSpec:
    """A view: its name, the function that draws it, and the choices it depends on."""

    name: str
    draw: Callable[[Chosen], None]
    tokens: bool = True
    layer: bool = True
    offset: bool = True
    sides: bool = False
    rows: bool = False
    score: bool = False
    figure: bool = True
    picks: bool = False


_VIEW_SPECS = MappingProxyType[View, _ViewSpec](
    {
        "heads": _ViewSpec(name="Heads", draw=heads, sides=True, layer=False, offset=False, picks=True),
        "meaning": _ViewSpec(
            name="What a score means", draw=meaning, tokens=False, layer=False, offset=False, score=True
        ),
        "tokens": _ViewSpec(
            name="Wrong tokens", draw=wrong_tokens, tokens=False, layer=False, offset=False, sides=True, score=True
        ),
        "best": _ViewSpec(name="Figure 2: best and worst", draw=best, rows=True, picks=True),
        "gap": _ViewSpec(name="Figure 3a: by verdict", draw=gap, sides=True, picks=True),
        "bins": _ViewSpec(name="Figure 3b: by quality", draw=bins, picks=True),
        "further": _ViewSpec(name="Figure 3c: by distance", draw=by_distance, sides=True, offset=False, picks=True),
        "picked": _ViewSpec(name="Selected heads", draw=picked, picks=True),
        "answers": _ViewSpec(
            name="Answers",
            draw=answers,
            tokens=False,
            layer=False,
            offset=False,
            score=True,
            figure=False,
        ),
    }
)


def empty_state() -> None:
    """Show what the page is for and how to get a run."""
    st.title("Do attention heads separate correct from incorrect answers?", anchor=False)
    st.write(
        "This page finds the heads whose attention separates correct from incorrect answers, and draws the paper's "
        "figures, for a run: a scored set of answers. Clicking a point opens its answer. "
        "There is no run here yet."
    )
    _of_my_model("Find the uncertainty heads of my model")
    st.caption("From a model and a labelled file, in one form.")


def _of_my_model(label: str) -> None:
    """Link to the form of a run that is made for the view Heads."""
    st.page_link(
        "pages/runs.py",
        label=label,
        icon=":material/add:",
        help="Find the uncertainty heads of my model: from a model and a labelled file, in one form",
        query_params={VIEW: "new", GOAL: HEADS_GOAL},
    )


def show_run(name: str) -> None:
    """Open a run and show the view in the URL."""
    columns = st.columns([2.5, 4, 1.9, 1.9, 2.4], gap="small", vertical_alignment="bottom")
    with columns[0]:
        run_picker(PAGE, name, of_one_run=choices.OF_ONE_RUN)
    if (run := open_run(name)) is None:
        return
    usual, settings = default_thresholds(run), choices.settings(run)
    asked = choices.asked(run, usual)
    spec = _VIEW_SPECS[asked.view]
    if not (spec.draw is answers and has_scores(run, settings)):
        run = cache.sampled(run)
    chosen = choose(name, run, asked, settings, usual)
    _controls(columns[1:], chosen, spec)
    view_picker({view: one.name for view, one in _VIEW_SPECS.items()}, chosen.asked.view, usual=Asked().view)
    draw_view(lambda: _draw(chosen, spec), chosen, figure=spec.figure)


def _draw(chosen: Chosen, spec: _ViewSpec) -> None:
    spec.draw(chosen)
    if spec.picks and (note := chosen.about_picks):
        st.caption(note)


def _controls(columns: list[st.delta_generator.DeltaGenerator], chosen: Chosen, spec: _ViewSpec) -> None:
    with columns[0]:
        if spec.tokens:
            choices.token_switch(chosen.run, chosen.asked)
    with columns[1]:
        if spec.layer:
            choices.layer_picker(chosen)
        elif spec.draw is heads:
            with st.container(key="heads_of_my_model"):
                _of_my_model("Heads of my model")
    with columns[2]:
        filters(chosen, chosen.asked)
    with columns[3]:
        choices.reading(chosen, offset=spec.offset, sides=spec.sides, rows=spec.rows, score=spec.score)
