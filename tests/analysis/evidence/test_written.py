"""Why given answers are scored by their surprisal: the figures of the record, of the model that reads."""

from datetime import date

import pytest

from analysis.evidence import record, written
from analysis.evidence.record import Record, save
from analysis.evidence.written import AREA, CHOSEN, PAIRS, PAPERS, why_surprisal

COLUMNS = ("model", "answers", "measure", "score", "n", "value", "low", "high")


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    written.why_surprisal.cache_clear()
    yield tmp_path
    written.why_surprisal.cache_clear()


def of(model, chosen, papers):
    return [
        (model, PAIRS, AREA, name, 1_234, value, value - 0.02, value + 0.02)
        for name, value in ((CHOSEN, chosen), (PAPERS, papers))
    ]


def keep(rows, folder):
    texts = dict.fromkeys(("title", "about", "command", "machine"), "")
    save(
        Record(id="written", made=date(2026, 1, 1), versions=(), columns=COLUMNS, rows=tuple(rows), **texts),
        folder,
    )


@pytest.mark.parametrize(("model", "said"), [("two", ".81 [.79, .83]"), ("unknown", ".71 [.69, .73]")])
def test_the_figures_are_those_of_the_model_or_else_of_a_measured_one(model, said, kept):
    keep([*of("one", 0.71, 0.55), *of("two", 0.81, 0.52)], kept)
    sentence = why_surprisal(model)
    assert said in sentence.replace("0.", ".")
    assert f"1,234 answers that {'two' if model == 'two' else 'one'} read" in sentence


def test_without_a_record_the_reason_stands_alone():
    assert (
        why_surprisal("one")
        == "Entropy does not depend on the token that was given, so the score is the largest surprisal."
    )
