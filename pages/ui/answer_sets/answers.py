"""The view Answers: all of them in a table, the least confident first, or those that are unclear, to be read."""

import numpy as np
import pandas as pd

from analysis.methods.comparison import RAUQ
from analysis.runs.opened import MOST_SAMPLED, Run
from pages.ui.answer_sets.choices import Asked, Chosen
from pages.ui.answer_sets.reading import MOST_LISTED, reading_list
from pages.ui.host import cache
from pages.ui.shared import url_state
from pages.ui.shared.run_views.page import choice, headline, openable
from pages.ui.shared.run_views.verdicts import marks_of
from rauq.scoring.settings import Settings, is_paper_setting, resolve

_SHOWN = (
    *("number", "id", "group", "stratum", "error_label", "quality", "by hand", "uncertainty", "num_tokens", "answer"),
    *("references", "prompt", "quality_reason"),
)
_NAMES = {"num_tokens": "tokens", "quality_reason": "why not judged"}
_HEIGHT = 560  # pixels


def answers(chosen: Chosen) -> None:
    """Draw the answers in a table, the least confident first, or the list of unclear ones."""
    unclear = chosen.unclear
    if chosen.asked.listed == "unclear":
        headline(_to_read(int(unclear.sum())), chosen)
        _which(chosen, unclear)
        reading_list(chosen, unclear)
        return
    table = _table(chosen)
    shown = "" if len(table) == len(chosen.rows) else f", the first {len(table):,} of them"
    headline(f"{len(chosen.rows):,} answers, the least confident first{shown}", chosen)
    _which(chosen, unclear)
    note = f"{chosen.about_setting} Higher is less confident; undefined scores come last."
    openable(table, "answers", chosen, note, height=_HEIGHT)


def _to_read(count: int) -> str:
    if not count:
        return "No unclear answer is left to read"
    return "1 unclear answer to read" if count == 1 else f"{count:,} unclear answers to read"


def _which(chosen: Chosen, unclear: np.ndarray) -> None:
    """Draw the choice between all answers and unclear ones, if there are any."""
    if unclear.any() or chosen.asked.listed == "unclear":
        names = {"all": "All answers", "unclear": f"Unclear ({unclear.sum():,})"}
        options = {"usual": Asked().listed, "label_visibility": "collapsed"}
        choice("Which answers", url_state.LISTED, names, chosen.asked.listed, **options)


def _table(chosen: Chosen) -> pd.DataFrame:
    """Return one row per answer, its index the position among those chosen; empty columns are left out.

    Of a large run only the first rows are returned.
    """
    uncertainty = _uncertainty(chosen)
    ordered = pd.Series(uncertainty).sort_values(ascending=False).index.to_numpy()
    first = np.sort(ordered[: len(ordered) if len(ordered) <= MOST_SAMPLED else MOST_LISTED])
    table = chosen.run.answers.iloc[chosen.rows[first]].set_axis(first)
    table["uncertainty"] = uncertainty[first]
    table["by hand"] = marks_of(table)
    table["references"] = table["references"].map(" | ".join)
    said = [name for name in _SHOWN if table[name].dtype.kind in "if" or (table[name] != "").any()]
    return table[said].rename(columns=_NAMES).sort_values("uncertainty", ascending=False)


def has_scores(run: Run, settings: Settings) -> bool:
    """Return whether a run stores the scores of its answers under these settings."""
    return RAUQ in run.methods and is_paper_setting(resolve(settings, run.answerer.kind), run.answerer.kind)


def _uncertainty(chosen: Chosen) -> np.ndarray:
    """Return the score of each answer (n,): of a large run the one that was stored, else that of the settings."""
    if len(chosen.run.answers) > MOST_SAMPLED:
        return chosen.run.uncertainty(RAUQ)[chosen.rows]
    return cache.scores(chosen.run, chosen.settings)[chosen.rows]
