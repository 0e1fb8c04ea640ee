"""A setting is declared once: a field of the settings, of any kind, is on every surface that shows settings."""

import argparse
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

import pytest
from streamlit.testing.v1 import AppTest

import rauq
from analysis.exports.html_report import settings_table
from analysis.exports.python_code import python_code
from analysis.two_answers.comparison import different_scales, settings_in_words
from pages.ui.shared.url_state import SETTINGS, read_settings, written_settings
from rauq.cli.commands import add_settings, settings_of
from rauq.errors import InvalidInput
from rauq.scoring.declaration import Choice, Share, declared
from rauq.scoring.settings import Settings
from tests.traces import make_trace

Decay = Literal["none", "half", "by_ten"]


@dataclass(frozen=True, kw_only=True)
class Wider(Settings):
    """The settings with three more fields, which no surface knows of."""

    decay: Annotated[Decay, Choice(label="Decay", help="How a memory fades.", unit="tokens")] = "none"
    leak: Annotated[float | None, Share(label="Leak", help="What is lost.", folded=True)] = None
    sharp: Annotated[float, Share(label="Sharp", help="How sharp.")] = 1.0


OTHER = {
    "alpha": 0.35, "signal": "entropy", "layers": (2, 3), "alignment": "own", "heads": ((2, 0), (3, 1), (4, 0)),
    "update": "no_recurrence", "token_aggregation": "sum_log", "layer_aggregation": "median", "part": "all",
    "decay": "half", "leak": 0.25, "sharp": 0.5,
}  # fmt: skip
NEW = ("decay", "leak", "sharp")


def of_wider(name):
    return replace(Wider(), **{name: OTHER[name]})


def test_every_field_is_declared():
    assert set(SETTINGS) == set(declared(Settings)) == set(OTHER) - set(NEW) == set(vars(Settings()))
    assert declared(Wider)["decay"].names == get_args(Decay)
    assert (declared(Wider)["leak"].optional, declared(Wider)["decay"].optional) == (True, False)


@pytest.mark.parametrize("name", OTHER)
def test_a_field_is_in_the_address(name):
    written = {key: text for key, text in written_settings(of_wider(name), "base").items() if text is not None}
    assert list(written) == [name]
    assert read_settings(written, Wider) == (of_wider(name), ())
    assert read_settings({name: "?"}, Wider) == (Wider(), (name,))


@pytest.mark.parametrize("name", OTHER)
def test_a_field_is_an_option_of_the_command_line(name):
    parser = argparse.ArgumentParser()
    add_settings(parser, Wider)
    option = f"--{name.replace('_', '-')}"
    text = declared(Wider)[name].write(OTHER[name])
    assert settings_of(parser.parse_args([option, text]), Wider) == of_wider(name)
    assert settings_of(parser.parse_args([]), Wider) == Wider()
    assert " ".join(declared(Wider)[name].about.split()) in " ".join(parser.format_help().split())
    with pytest.raises(SystemExit):
        parser.parse_args([option, "?"])


@pytest.mark.parametrize("name", OTHER)
def test_a_field_is_in_report_comparison_and_python(name):
    trace = make_trace()
    chosen = Wider() if name in NEW else of_wider(name)
    score = rauq.score(trace, chosen)
    score = replace(score, settings=replace(score.settings, **{name: OTHER[name]}))
    row = next(row for row in settings_table(trace, score) if row.name == declared(Wider)[name].label)
    assert row.changed or name in {"alpha", "signal"}
    assert f"{name}={OTHER[name]!r}" in python_code(trace, score)
    assert str(OTHER[name]) in settings_in_words(score.settings)
    assert different_scales(trace, trace, rauq.score(trace, Wider()), score)


@pytest.mark.parametrize("name", NEW)
def test_an_unusable_value_of_a_field_is_refused(name):
    with pytest.raises(InvalidInput, match=name):
        Wider(**{name: 2})


def test_only_an_optional_number_may_be_none():
    for name, allowed in (("leak", "from 0 to 1, or None for the paper's."), ("sharp", "from 0 to 1.")):
        with pytest.raises(InvalidInput, match=f"{name} is 2; give a number {allowed}$"):
            Wider(**{name: 2})


def form():
    from pages.ui.shared.settings_form import SettingsForm, settings_form
    from tests.pages.shared.test_settings_fields import Wider

    settings_form(SettingsForm(answers=(), read=Wider, write=lambda *_: None))


def test_a_field_is_in_the_form():
    page = AppTest.from_function(form)
    page.session_state["more_settings"] = True
    page.run()
    assert not page.exception
    controls = (*page.get("button_group"), *page.select_slider, *page.selectbox)
    drawn = {control.key.removeprefix("settings_") for control in controls}
    assert drawn == set(OTHER) - {"part"}  # which is for answers with thinking


# What addresses looked like before settings were declared on their fields: all that the app ever wrote stays readable.
@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ({"signal": "entropy", "alpha": "0.35"}, Settings(signal="entropy", alpha=0.35)),
        ({"alignment": "own", "part": "thinking"}, Settings(alignment="own", part="thinking")),
        ({"layers": "middle_five"}, Settings(layers="middle_five")),
        ({"layers": "3.7.11"}, Settings(layers=(3, 7, 11))),
        ({"heads": "2-31.5-0"}, Settings(heads=((2, 31), (5, 0)))),
        ({"heads": "top5", "update": "minus_recent_mean"}, Settings(heads="top5", update="minus_recent_mean")),
        (
            {"token_aggregation": "median", "layer_aggregation": "mean", "alpha": "1"},
            Settings(token_aggregation="median", layer_aggregation="mean", alpha=1.0),
        ),
    ],
)
def test_an_earlier_address_opens(query, settings):
    assert read_settings(query) == (settings, ())
    assert {name: text for name, text in written_settings(settings, "base").items() if text is not None} == query
