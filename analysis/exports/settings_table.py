"""How an answer was scored, beside the paper's choice."""

from typing import NamedTuple

from rauq.score import Score
from rauq.settings import Settings, resolve
from rauq.trace import Trace

_NAMES = (
    ("signal", "signal"),
    ("alpha", "alpha"),
    ("layers", "layers"),
    ("alignment", "alignment"),
    ("heads", "heads"),
    ("update", "update rule"),
    ("token_aggregation", "over tokens"),
    ("layer_aggregation", "over layers"),
    ("part", "part of the answer"),
)


class SettingRow(NamedTuple):
    """One setting in words: what was used, what the paper uses with this signal, and whether they differ."""

    name: str
    value: str
    paper: str
    changed: bool


def settings_table(trace: Trace, score: Score) -> tuple[SettingRow, ...]:
    """Every setting of a score; the paper has a number for alpha with either signal."""
    paper = resolve(Settings(signal=score.settings.signal), trace.kind)
    rows = ((words, getattr(score.settings, name), getattr(paper, name)) for name, words in _NAMES)
    return tuple(SettingRow(words, _in_words(used), _in_words(papers), used != papers) for words, used, papers in rows)


def _in_words(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join("layer {} head {}".format(*item) if isinstance(item, tuple) else str(item) for item in value)
