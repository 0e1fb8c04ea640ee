"""Supervised methods: tables that a command made from a run, with a text classifier, RAUQ and MSP beside them."""

import math
import shlex
from pathlib import Path

import streamlit as st

from analysis.answer_sets.sentences import joined
from analysis.detectors.evaluation.results import Evaluation, SplitTable, about_changes, read_evaluation
from analysis.detectors.evaluation.tables import (
    about_evaluation,
    dropped_note,
    figure_caption,
    leak_caption,
    leak_table,
    paper_table,
    row_names,
    split_details,
    split_headline,
    table_caption,
    undefined_sentence,
)
from analysis.detectors.figures import supervised_chart
from analysis.evidence.record import find_record
from analysis.exports.tables import Table
from analysis.methods.comparison import RAUQ
from analysis.runs.files.shards import bytes_per_answer
from analysis.runs.manifest import Request
from analysis.runs.opened import Run
from analysis.runs.timings import generation_seconds
from pages.ui.host import hosting, models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.session_runs import duration
from pages.ui.methods.choices import Chosen
from pages.ui.shared.errors import message_text
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.run_views.page import chart, headline
from pages.ui.shared.run_views.tables import Column, ranked, show_frame, show_table, take_along
from rauq.checkpoints.named import find_named
from rauq.labels import size
from rauq.layout import ANALYSIS_COMMAND

_WHAT = (
    "Supervised methods (LookBackLens, SAPLMA, MIND, Sheeps, SATRMD, TAD, Factoscope, Head Entropy) are fitted on "
    "labelled answers and judged on others, beside a classifier that sees the text alone."
)
_HOSTED = "There are no such tables for this run. Fitting takes minutes, so it is not available on this host."
_MAKE = "There are no such tables for this run yet. Fitting takes minutes; this command does it:"
_SCORE = (
    "This run kept no hidden states and only near attention. Score the data set again, then fit, which takes minutes:"
)
_WHY = "The app does not start this: fitting is no job that it could stop or resume."
_TIME = "Answering took about {} in this run. "
_SPACE = "What the methods read takes about {} on disk. "
_OFFSETS = 10
_KEEP = "lookback,hidden_mean,hidden_layers,logit_lens,attention_entropy"


def supervised(chosen: Chosen) -> None:
    """Draw the tables of all splits, or say which command makes them."""
    evaluation = read_evaluation(chosen.run.folder)
    if evaluation is None:
        _how_to_make_it(chosen)
        return
    tables = evaluation.of_metric(chosen.asked.metric)
    _overview(chosen, evaluation, tables)
    for table in tables:
        _split(table)


def _how_to_make_it(chosen: Chosen) -> None:
    headline("No tables of supervised methods for this run", chosen)
    st.write(_WHAT)
    if hosting.is_hosted():
        st.write(_HOSTED)
        return
    request = chosen.run.manifest.request
    st.write(_MAKE if request.keep else _SCORE)
    st.code("\n".join(_commands(request, chosen.run.folder)), language="bash")
    st.caption(f"{_WHY} {'' if request.keep else _scoring_again(chosen.run)}{_fitting()}")


def _scoring_again(run: Run) -> str:
    """Return how long the answers took, and how much disk space they need with all that the methods read, if known."""
    seconds = generation_seconds(run.folder)
    time = "" if math.isnan(seconds) else _TIME.format(duration(seconds * len(run.answers)))
    hidden_size = _hidden_size(run.manifest.request.model)
    if not hidden_size or not run.answers["num_tokens"].any():
        return time
    each = bytes_per_answer(
        math.ceil(run.answers["num_tokens"].mean()),
        num_layers=run.answerer.num_layers,
        num_heads=run.answerer.num_heads,
        stored_layers="all",
        offsets=_OFFSETS,
        keep=_KEEP.split(","),
        hidden_size=hidden_size,
    )
    return time + _SPACE.format(size(each * len(run.answers)))


def _hidden_size(model: str) -> int:
    """Return the width of a model's hidden states; 0 where it is not on this machine."""
    named = find_named(model)
    return models.inspect_model(ModelChoice(name=model)).hidden_size if named is not None and named.is_here else 0


def _fitting() -> str:
    """Return how long fitting takes, by the kept measurement."""
    record = find_record("fitting")
    return "" if record is None else f"{record.finding} Each split fits them again."


def _commands(request: Request, folder: Path) -> tuple[str, ...]:
    """Return what makes the tables; first a run that keeps what the methods read, if this one did not."""
    if request.keep:
        return (f"{ANALYSIS_COMMAND} supervised {shlex.quote(str(folder))} --out supervised",)
    asked = f"--model {shlex.quote(request.model)} --data {shlex.quote(request.data)}"
    return (
        f"{ANALYSIS_COMMAND} score {asked} --layers all --offsets {_OFFSETS} --keep {_KEEP} --out runs/kept",
        f"{ANALYSIS_COMMAND} supervised runs/kept --out supervised",
    )


def _overview(chosen: Chosen, evaluation: Evaluation, tables: tuple[SplitTable, ...]) -> None:
    """Draw the figure of all splits."""
    headline("Supervised methods on answers that they were not fitted on", chosen)
    st.text(message_text(about_evaluation(evaluation)))
    if changed := about_changes(evaluation, chosen.run):
        st.warning(f"{changed} Make them again with {ANALYSIS_COMMAND} supervised.", icon="⚠️")
    if len(chosen.rows) < len(chosen.run.answers):
        st.caption("The filters do not change these tables.")
    if not tables:
        st.write(f"These tables are empty: make them again with {ANALYSIS_COMMAND} supervised.")
        return
    chart(supervised_chart(tables, dark=is_dark()), "supervised", "How well each supervised method ranks answers")
    st.caption(figure_caption(chosen.asked.metric))


def _split(table: SplitTable) -> None:
    """Draw the result of a split in a sentence, its table, and the control of text leaks."""
    heading = split_headline(table)
    st.header(heading, anchor=False)
    st.text(message_text(joined(split_details(table), undefined_sentence(table), dropped_note(table))))
    if not table.rows:
        return
    methods, name = [row.id for row in table.rows], f"supervised_{table.split}"
    last = len(table.columns) - 1  # the mean comes first here, since many columns need scrolling
    columns = [
        ranked(table.columns[place], [row.estimates[place] for row in table.rows]) for place in (last, *range(last))
    ]
    names = Column(title="method", values=row_names(table))
    ours = methods.index(RAUQ) if RAUQ in methods else None
    show_table([names, *columns], alt=heading, ours=ours)
    caption = table_caption(table)
    st.caption(f"① best, ② second of a column. {caption}")
    take_along(Table(name, heading, caption, paper_table(table)))
    if table.detectors:
        leaks = Table(f"{name}_leaks", "Control of text leaks", leak_caption(table.metric), leak_table(table))
        show_frame(leaks.frame, alt="Detectors beside the text classifier and shuffled labels")
        st.caption(leaks.caption)
        take_along(leaks)
