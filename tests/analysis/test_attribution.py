"""RAUQ (LIG) of a run: its values, its files, what a stopped one keeps, and what is refused."""

import csv
import json
from dataclasses import asdict, replace

import numpy as np
import pytest

import rauq
from analysis.attribution import (
    ANSWERS,
    LigAnswer,
    add_answer,
    agreement,
    attribute_answers,
    begin,
    compare_answers,
    read_answers,
    request_for,
    table_20,
    write_result,
)
from analysis.cli import main
from analysis.cli.attribute import seconds_expected
from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare
from analysis.runs.create import request_for as run_request
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from analysis.runs.work import load_for, work
from analysis.stats import prr, spearman
from rauq.errors import InvalidInput, RunError
from tests.architectures import named, save_tiny, tiny_model

QUALITY = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of six short answers of a tiny model with six layers."""
    place = tmp_path_factory.mktemp("run")
    save_tiny(place / "model")
    tiny_model(named("llama"), num_hidden_layers=6).save_pretrained(place / "model")
    examples = tuple(
        Example(id=f"a{number}", prompt=f"Where is {'Oslo' * (1 + number)}?", answer=" In it", quality=quality)
        for number, quality in enumerate(QUALITY)
    )
    data = DataSet(name="tiny set", examples=examples, quality="given", max_new_tokens=4, stop=())
    prepare(place / "tiny", data, run_request(data, model=str(place / "model"), shard_size=4))
    assert work(place / "tiny").state == "finished"
    return place / "tiny"


@pytest.fixture(scope="module")
def run(folder):
    return open_run(folder)


@pytest.fixture(scope="module")
def lm(run):
    return load_for(run.manifest.request)


@pytest.fixture
def no_model(monkeypatch):
    monkeypatch.setattr("analysis.cli.attribute.load_for", lambda _request: pytest.fail("a model was loaded"))


def asked(run, **changes):
    return request_for(
        run, **({"layers": (2, 4), "steps": 2, "side": "output", "positive": False, "limit": 3} | changes)
    )


def command(folder, out, *more):
    return ["attribute", str(folder), "--steps", "2", "--layers", "2,4", "--limit", "3", "--out", str(out), *more]


def test_values_are_those_of_the_library(run, lm):
    request = asked(run)
    assert request.rows == (0, 2, 5)  # evenly spaced
    for found, row in zip(attribute_answers(lm, run, request, request.rows), request.rows, strict=True):
        own = trace(run, row)
        same = rauq.Settings(layers=(2, 4))
        assert (found.row, found.id, found.quality) == (row, f"a{row}", QUALITY[row])
        assert found.rauq == rauq.score(own).uncertainty == pytest.approx(run.answers["rauq"].iloc[row], abs=1e-3)
        assert found.rauq_same_layers == rauq.score(own, same).uncertainty
        lig = lm.attribute(own, layers=(2, 4), steps=2)
        assert found.rauq_lig == pytest.approx(rauq.score(lig, same).uncertainty, abs=1e-6)
        assert (found.median_error, found.max_error) == pytest.approx(lig.attribution.errors, abs=1e-6)
        assert found.reason == ""
        assert found.seconds > 0


def test_the_command_writes_tables_and_goes_on_where_it_was_stopped(folder, tmp_path, capsys, monkeypatch):
    out = tmp_path / "lig"
    assert main.main(command(folder, out)) == 0
    said = capsys.readouterr()
    assert "Answers to attribute: 3. This takes about" in said.err
    assert "3 of 3: row 5, RAUQ" in said.err
    for words in ("RAUQ, same layers", "RAUQ (LIG)", "Spearman", "Completeness error", "cannot be reproduced"):
        assert words in said.out
    rows = list(csv.DictReader((out / "answers.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["row"] for row in rows] == ["0", "2", "5"]
    assert {"quality", "rauq", "rauq_same_layers", "rauq_lig", "seconds", "median_error", "max_error"} <= set(rows[0])
    result = json.loads((out / "result.json").read_text())
    assert set(result["prr"]) == {"rauq", "rauq_same_layers", "rauq_lig"}
    assert set(result["differences"]) == {"rauq", "rauq_same_layers"}
    assert result["request"]["layers"] == [2, 4]
    assert "cannot be reproduced" in result["note"]

    lines = (out / ANSWERS).read_text().splitlines()
    (out / ANSWERS).write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])  # killed while it wrote
    assert main.main(command(folder, out)) == 0
    assert "Answers to attribute: 1 (2 are there already). " in capsys.readouterr().err
    monkeypatch.setattr("analysis.cli.attribute.load_for", lambda _request: pytest.fail("a model was loaded"))
    assert main.main(command(folder, out)) == 0
    again = list(csv.DictReader((out / "answers.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["rauq_lig"][:7] for row in again] == [row["rauq_lig"][:7] for row in rows]


def test_a_folder_of_another_request_is_refused(run, tmp_path):
    begin(tmp_path, asked(run))
    assert begin(tmp_path, asked(run)) == ()
    for changes in ({"steps": 3}, {"limit": 2}, {"layers": (2,)}, {"positive": True}):
        with pytest.raises(RunError, match="Give another --out"):
            begin(tmp_path, asked(run, **changes))
    (tmp_path / "request.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        begin(tmp_path, asked(run))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layers", "2,x"], "give numbers of layers"),
        (["--layers", "5"], "Layer 5 is the last block"),
        (["--layers", "1"], "does not keep the attention of layer 1"),
        (["--steps", "0"], "Got steps=0"),
        (["--limit", "0"], "at least 1"),
    ],
)
@pytest.mark.usefixtures("no_model")
def test_bad_input_is_one_line_before_a_model_loads(arguments, said, folder, tmp_path, capsys):
    assert main.main(["attribute", str(folder), "--out", str(tmp_path / "out"), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "out").exists()


def test_answers_without_quality_are_not_attributed(run):
    answers = run.answers.assign(quality=[np.nan, 1, np.nan, 0, np.nan, np.nan])
    assert asked(replace(run, answers=answers)).rows == (1, 3)
    with pytest.raises(InvalidInput, match="of 0 answers with a quality"):
        asked(replace(run, answers=run.answers.assign(quality=np.nan)))


def made_up(count=40, seed=0):
    rng = np.random.default_rng(seed)
    quality = (rng.uniform(size=count) > 0.5).astype(float)
    return tuple(
        LigAnswer(
            row=row,
            id=str(row),
            quality=own,
            num_tokens=5,
            rauq=float(rng.normal() - own),
            rauq_same_layers=float(rng.normal() - own),
            rauq_seconds=0.001,
            rauq_lig=float(rng.normal() - 2 * own),
            seconds=2.0,
            median_error=0.001,
            max_error=0.06 if row < 2 else 0.01,
        )
        for row, own in enumerate(quality.tolist())
    )


def larger(run):
    """The run, as if it had sixty answers to different questions."""
    found = replace(run)
    vars(found)["clusters"] = np.arange(60)
    return found


def test_the_result_is_the_prr_of_each_and_the_paired_difference(run):
    answers = made_up()
    found = compare_answers(larger(run), asked(run), answers)
    quality = np.array([one.quality for one in answers])
    own = {name: np.array([getattr(one, name) for one in answers]) for name in found.prr}
    for name, estimate in found.prr.items():
        assert estimate.value == pytest.approx(prr(own[name], quality))
        assert estimate.low < estimate.value < estimate.high
    difference = found.differences["rauq_same_layers"]
    assert difference.value == pytest.approx(found.prr["rauq_lig"].value - found.prr["rauq_same_layers"].value)
    assert difference.low < difference.value < difference.high
    drawn = np.random.default_rng(1).integers(40, size=(300, 40))
    plain = [prr(own["rauq_lig"][i], quality[i]) - prr(own["rauq_same_layers"][i], quality[i]) for i in drawn]
    np.testing.assert_allclose((difference.low, difference.high), np.nanquantile(plain, (0.025, 0.975)), atol=0.15)
    assert found.completeness.above_bound == 2
    assert found.completeness.largest == 0.06
    assert (found.cost.attribution, found.cost.rauq) == (pytest.approx(2.0), pytest.approx(0.001))
    rows = list(csv.reader(table_20(found).splitlines()))
    assert [row[0] for row in rows] == ["method", "RAUQ", "RAUQ, same layers", "RAUQ (LIG)"]
    assert rows[0][1] == "tiny set"
    assert float(rows[3][4]) == pytest.approx(2.0)


def test_attributions_of_two_folders_are_compared_on_the_answers_of_both(run):
    first = made_up(40)
    second = tuple(replace(one, rauq_lig=one.rauq_lig + 0.01 * one.row) for one in made_up(50) if one.row % 2)
    nan = (replace(first[1], rauq_lig=float("nan"), reason="no memory"), *second[1:])
    found = agreement(larger(run), first, nan)
    rows = range(3, 40, 2)
    assert found.answers == len(rows)
    own = [np.array([{one.row: one.rauq_lig for one in side}[row] for row in rows]) for side in (first, second)]
    quality = np.array([first[row].quality for row in rows])
    assert found.largest == pytest.approx(np.abs(own[0] - own[1]).max())
    assert found.median == pytest.approx(np.median(np.abs(own[0] - own[1])))
    assert [one.value for one in found.prr] == pytest.approx([prr(values, quality) for values in own])
    assert found.difference.value == pytest.approx(found.prr[1].value - found.prr[0].value)
    assert found.rank_correlation == pytest.approx(spearman(*own))
    with pytest.raises(InvalidInput, match="no attributed answer in common"):
        agreement(larger(run), first[:1], second)


def test_the_command_compares_with_another_folder_of_the_same_run(folder, run, tmp_path, capsys):
    for name in ("fine", "coarse"):
        begin(tmp_path / name, asked(run))
        for one in made_up(6):
            if one.row in asked(run).rows:
                add_answer(tmp_path / name, one)
    assert main.main(command(folder, tmp_path / "fine", "--compare", str(tmp_path / "coarse"))) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Compared with coarse (layers 2, 4, 2 steps) on 3 shared answers: RAUQ (LIG) differs by 0.0000" in said
    begin(tmp_path / "foreign", replace(asked(run), created="2020-01-01"))
    assert main.main(command(folder, tmp_path / "new", "--compare", str(tmp_path / "foreign"))) != 0
    assert "2020-01-01" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_undefined_answers_are_left_out_and_files_have_no_nan(run, tmp_path):
    answers = (replace(made_up(1)[0], rauq_lig=float("nan"), max_error=float("nan"), reason="no memory"),)
    found = compare_answers(run, asked(run), answers)
    assert "at least 2 are needed" in found.prr["rauq"].reason
    write_result(tmp_path, found, answers)
    assert "NaN" not in (tmp_path / "result.json").read_text()
    assert json.loads((tmp_path / "result.json").read_text())["completeness"]["largest"] is None


def test_answers_are_read_back_as_they_were_written(tmp_path):
    answers = made_up(3)
    for one in reversed(answers):
        add_answer(tmp_path, one)
    assert read_answers(tmp_path) == answers
    nan = replace(answers[0], rauq_lig=float("nan"), reason="no memory")
    add_answer(tmp_path, nan)
    np.testing.assert_equal(asdict(read_answers(tmp_path)[0]), asdict(nan))  # the last one counts


def test_an_estimate_grows_with_steps_layers_and_answers(run, lm):
    few = seconds_expected(lm, run, asked(run), (0,))
    assert 0 < few < 60
    more = [seconds_expected(lm, run, asked(run, steps=64), (0, 2, 5)) for _ in range(2)]
    assert max(more) > few


def test_the_model_of_another_run_is_refused(run, lm):
    request = asked(run)
    with pytest.raises(InvalidInput, match="another model"):
        next(attribute_answers(replace(lm, revision="other"), run, request, request.rows))
