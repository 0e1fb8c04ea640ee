"""Which methods a run is scored by: from one generation, from samples, or with a judge from elsewhere."""

from typing import Any

import streamlit as st

from analysis.datasets.example import DataSet
from analysis.runs.create import ASKABLE, DEFAULT, at_hand, lacking, without_download
from pages.ui import hosting
from pages.ui.model_form import chosen_model
from rauq.methods.method import Need
from rauq.methods.table import METHODS

METHOD, SAMPLES, JUDGE = "new_run_method_", "new_run_samples", "new_run_judge_"
_USUAL_SAMPLES = 5
_ASKED: dict[Need, tuple[str, str, str]] = {
    "nli": ("nli", "Natural-language inference", "microsoft/deberta-large-mnli, or a folder"),
    "similarity": ("similarity", "Sentence similarity", "cross-encoder/stsb-roberta-large, or a folder"),
    "keywords": ("tagger", "Keywords, by spaCy", "en_core_web_sm, or a folder"),
    "idf": ("idf", "Document frequencies", "A file that python -m analysis idf made"),
}
_FREE = "From one generation: they take no longer than the answers."
_SAMPLED = "From samples: every prompt is answered so many times more."
_JUDGED = "With a judge from elsewhere. What is grey needs one: name it below, as a hub id or a folder."


def method_fields(data: DataSet) -> None:
    """Draw the choice, folded; `asked` reads it."""
    with st.expander("Methods"):
        st.button("All that need no download", key="no_download", on_click=_choose_all, args=(data,))
        there = at_hand(chosen_model().name, data) | _named()
        own = [method for method in ASKABLE if "facts" not in METHODS[method].needs or "facts" in there]
        judged = [method for method in own if METHODS[method].needs & set(_ASKED) - at_hand(chosen_model().name, data)]
        rest = [method for method in own if method not in judged]
        _group(_FREE, [method for method in rest if "samples" not in METHODS[method].needs], there)
        _group(_SAMPLED, [method for method in rest if "samples" in METHODS[method].needs], there)
        st.number_input("Samples", 2, hosting.limits().samples, _USUAL_SAMPLES, key=SAMPLES, persist_state="session")
        if not hosting.is_hosted():
            _judges(judged, there)


def asked(data: DataSet) -> dict[str, Any]:
    """The methods, samples and judges of a request."""
    there = at_hand(chosen_model().name, data) | _named()
    ticked = [method for method in ASKABLE if st.session_state.get(METHOD + method, method in DEFAULT)]
    judges = {name: _judge(need) for need, (name, _, _) in _ASKED.items()}
    methods = tuple(method for method in ticked if METHODS[method].needs <= there)
    return {"methods": methods, "samples": st.session_state.get(SAMPLES, _USUAL_SAMPLES), **judges}


def _judges(judged: list[str], there: frozenset[Need]) -> None:
    _group(_JUDGED, judged, there)
    for need, (_, label, example) in _ASKED.items():
        st.text_input(label, key=JUDGE + need, placeholder=example, persist_state="session")


def _group(caption: str, methods: list[str], there: frozenset[Need]) -> None:
    st.caption(caption)
    for place, column in enumerate(st.columns(2, gap="small")):
        with column:
            for method in methods[place::2]:
                _box(method, there)


def _box(method: str, there: frozenset[Need]) -> None:
    row, words = METHODS[method], lacking(method, there)
    st.checkbox(
        row.name,
        value=method in DEFAULT,
        key=METHOD + method,
        disabled=bool(words),
        help=f"Needs {words}: name it below." if words else f"Forward passes besides the answer: {row.cost}.",
        wrap=True,
        persist_state="session",
    )


def _choose_all(data: DataSet) -> None:
    for method in without_download(chosen_model().name, data):
        st.session_state[METHOD + method] = True


def _named() -> frozenset[Need]:
    return frozenset(need for need in _ASKED if _judge(need))


def _judge(need: Need) -> str:
    return str(st.session_state.get(JUDGE + need) or "").strip()
