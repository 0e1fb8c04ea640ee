"""Which heads answers pick, and which heads tell correct from incorrect ones."""

import numpy as np
import streamlit as st

from analysis.answer_sets.captions import agreement_caption, picked_heads_caption, separation_caption
from analysis.answer_sets.figures import picked_heads_map, separation_map
from analysis.answer_sets.heads import Agreement, PickedHeads, agreement, pick, picked_heads, separation
from analysis.answer_sets.sides import groups_note
from pages.ui.answer_sets import sentences
from pages.ui.answer_sets.chosen import Chosen
from pages.ui.camera import is_dark
from pages.ui.errors import printable
from pages.ui.of_run.drawing import chart, sentence

_PLACES = ("most frequent", "second", "third")
_HEAD, _ROW, _MOST_ROWS = 38, 35, 12  # pixels, pixels, layers


def picked(chosen: Chosen) -> None:
    """How often each head is picked, the three most frequent of each layer, and whether groups agree on them."""
    picks = chosen.picks() if _as_scored(chosen) else pick(chosen.means())
    num_heads = chosen.run.answerer.num_heads
    found = picked_heads(picks, chosen.layers, num_heads)
    sentence(sentences.about_picked(found, chosen.layer), chosen)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chart(picked_heads_map(found, dark=is_dark()), "picked_heads", "Share of the answers that pick each head")
        st.caption(_about_picking(chosen, found))
    with right:
        st.dataframe(
            _top_three(found), hide_index=True, height=_height(found), alt="The three most frequent heads of each layer"
        )
    groups = [str(name) for name in chosen.column_of("group")]
    if len(set(groups)) > 1:
        together = agreement(picks, groups, chosen.layers, num_heads)
        st.dataframe(
            _by_group(together, picks, groups), hide_index=True, alt="The most frequent head of each group and layer"
        )
        st.caption(
            f"{agreement_caption(together)} Cells: the head that most answers of the group pick, and how many do. "
            f"{groups_note(groups)}"
        )


def separating(chosen: Chosen) -> None:
    """Layer x head map of the area under the ROC curve."""
    found = separation(chosen.means(), chosen.sides)
    sentence(sentences.about_separation(found, chosen.layers), chosen)
    figure = separation_map(found, chosen.layers, dark=is_dark())
    chart(figure, "which_heads_separate", "Layer by head map of the area under the ROC curve of mean attention")
    st.caption(separation_caption(found, chosen.layers))


def _as_scored(chosen: Chosen) -> bool:
    """Whether the tokens that are looked at are those that scoring picks heads by."""
    return chosen.asked.tokens == "all" and chosen.asked.offset == 1


def _about_picking(chosen: Chosen, found: PickedHeads) -> str:
    own = "" if _as_scored(chosen) else (
        " Picked here by other tokens than RAUQ does: it takes the whole answer, and the token right before."
    )  # fmt: skip
    return (
        f"{picked_heads_caption(found)} RAUQ picks a head for each answer anew; a row with one dark cell is a layer "
        f"where nearly all answers pick the same. That a head is picked does not say that it knows anything.{own}"
    )


def _height(found: PickedHeads) -> int:
    """All layers at once where they fit beside the map and its caption."""
    return _HEAD + _ROW * min(len(found.layers), _MOST_ROWS)


def _top_three(found: PickedHeads) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {"layer": list(found.layers)}
    tops = [found.most_frequent(layer) for layer in found.layers]
    for place, name in enumerate(_PLACES):
        columns[name] = [_head(*top[place]) if len(top) > place else "–" for top in tops]
    return columns


def _by_group(together: Agreement, picks: np.ndarray, groups: list[str]) -> dict[str, list[object]]:
    """One row a group, one column a layer."""
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
