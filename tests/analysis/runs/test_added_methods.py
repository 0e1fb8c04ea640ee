"""Methods that are added to a finished run: whole or not at all, as if they had been asked for at the beginning."""

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.runs.answering import add_methods
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.create import prepare
from analysis.runs.files.tables import ADDED
from analysis.runs.job import only_job
from analysis.runs.manifest import added_path, answers_path, is_of_run, read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.timings import costs
from analysis.runs.work import work
from rauq.errors import InvalidInput, RunError
from rauq.methods.method import Uncertainty
from rauq.methods.pair_scorers.judges import Judges
from tests.analysis.runs.test_evaluating import LOAD_ONCE

EXACT_LATER = ("perplexity", "mean_token_entropy")


@pytest.fixture(scope="module")
def kept_folder(data, request_tiny, tmp_path_factory):
    """A finished run with few methods, which kept what others need."""
    folder = tmp_path_factory.mktemp("runs") / "kept"
    prepare(folder, data, replace(request_tiny, methods=("rauq", "msp"), keep=("diagonal", "max_attention")))
    assert work(folder).state == "finished"
    return folder


@pytest.fixture
def folder(kept_folder, tmp_path):
    return shutil.copytree(kept_folder, tmp_path / "kept")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


def moved(folder, root):
    with export_zip(folder) as file:
        return import_zip(file, root, "moved")


def test_what_is_added_is_what_would_have_been_there(folder, run):
    before = contents(folder)
    added = add_methods(folder, [*EXACT_LATER, "attention_score", "simple_focus"])
    assert added.methods == ("rauq", "msp", *EXACT_LATER, "attention_score", "simple_focus")
    for method in EXACT_LATER:
        np.testing.assert_allclose(added.uncertainty(method), run.uncertainty(method), rtol=1e-6)
    np.testing.assert_allclose(added.uncertainty("attention_score"), run.uncertainty("attention_score"), rtol=5e-3)
    assert added.reasons.notna().all(axis=None)
    changed = {name for name, content in contents(folder).items() if before.get(name) != content}
    assert changed == {"manifest.json", *(added_path(folder, method).name for method in added.methods[2:])}
    assert {cost.method for cost in costs(added) if cost.seconds > 0} == set(added.methods)


def test_a_run_with_added_methods_is_the_same_run(folder, data, tmp_path):
    add_methods(folder, ["perplexity"])
    manifest = read_manifest(folder)
    assert (manifest.request.methods, manifest.added_methods) == (("rauq", "msp"), ("perplexity",))
    assert prepare(folder, data, manifest.request) == manifest
    added = contents(folder)
    answers_path(folder, 1).unlink()
    assert work(folder).state == "finished"
    assert contents(folder) == added
    again = open_run(moved(folder, tmp_path / "runs"))
    np.testing.assert_array_equal(again.uncertainty("perplexity"), open_run(folder).uncertainty("perplexity"))
    assert again.methods == ("rauq", "msp", "perplexity")


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (["msp"], "MSP cannot be added to kept: the run has it already"),
        (["eigen_score"], "it compares samples, which runs do not store"),
        (["focus"], "it needs focus, which the run did not keep. Score the data set again with --keep focus"),
        (["ccp"], "it needs a model for natural-language inference. Add --nli"),
        (["luck"], "Unknown method 'luck'"),
        (["mine:own"], "A method of your own, such as mine:own, is not added later"),
        (["perplexity", "perplexity"], "each once"),
        ([], "name at least one"),
    ],
)
def test_what_the_run_did_not_keep_is_refused_and_nothing_is_written(methods, said, folder):
    before = contents(folder)
    with pytest.raises(InvalidInput, match=said):
        add_methods(folder, [*methods, *(["mean_token_entropy"] if methods else [])])
    assert contents(folder) == before


def test_the_model_reads_the_answers_again_for_what_was_not_kept(folder, run, request_tiny):
    methods = ("head_entropy", "lookback_ratio", "attention_score")
    added = add_methods(folder, methods, lm=LOAD_ONCE(request_tiny))
    assert added.methods == ("rauq", "msp", *methods)
    np.testing.assert_allclose(added.uncertainty("attention_score"), run.uncertainty("attention_score"), rtol=1e-4)
    assert (added.reasons[["head_entropy", "lookback_ratio"]] == "").all(axis=None)
    assert {cost.method for cost in costs(added) if cost.seconds > 0} == {"rauq", "msp"}


def test_another_model_does_not_read_the_answers(folder, request_tiny):
    lm = replace(LOAD_ONCE(request_tiny), revision="another")
    with pytest.raises(InvalidInput, match="and other weights were given"):
        add_methods(folder, ["head_entropy"], lm=lm)
    assert open_run(folder).methods == ("rauq", "msp")


def test_a_judge_that_is_given_is_asked(folder):
    def contradicts(premises, _hypotheses):
        return np.tile([1.0, 0.0, 0.0], (len(premises), 1))

    added = add_methods(folder, ["ccp"], judges=Judges(nli=contradicts))
    assert np.isfinite(added.uncertainty("ccp")).any()


def test_a_method_that_is_undefined_everywhere_is_refused(folder, monkeypatch):
    undefined = Uncertainty(np.nan, "too few offsets")
    monkeypatch.setattr("analysis.runs.answering.uncertainty_of", lambda *_given: undefined)
    with pytest.raises(InvalidInput, match="undefined for every answer of kept: too few offsets"):
        add_methods(folder, ["perplexity"])
    assert not added_path(folder, "perplexity").exists()


def test_a_process_that_is_killed_before_the_manifest_leaves_the_run_as_it_was(folder, tmp_path, monkeypatch):
    def killed(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("analysis.runs.answering.write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            add_methods(folder, ["perplexity"])
    assert added_path(folder, "perplexity").exists()
    for place in (folder, moved(folder, tmp_path / "runs")):
        assert open_run(place).methods == ("rauq", "msp")
    assert add_methods(folder, ["perplexity"]).methods == ("rauq", "msp", "perplexity")


def test_a_run_that_is_not_finished_or_is_worked_on_is_refused(folder):
    with only_job(folder), pytest.raises(RunError, match="Another job is using"):
        add_methods(folder, ["perplexity"])
    answers_path(folder, 2).unlink()
    with pytest.raises(RunError, match=r"has 3 of 4 shards.*To resume: "):
        add_methods(folder, ["perplexity"])


def rewritten(folder, change):
    path = added_path(folder, "perplexity")
    rows = pq.read_table(path).to_pylist()
    pq.write_table(pa.Table.from_pylist(change(rows), schema=ADDED), path)


def test_what_was_computed_of_another_answer_is_undefined(folder):
    whole = add_methods(folder, ["perplexity"])
    rewritten(
        folder, lambda rows: [{**row, "answer_crc32": row["answer_crc32"] ^ (row["number"] == 2)} for row in rows]
    )
    found = open_run(folder)
    place = found.answers["number"].tolist().index(2)
    assert np.flatnonzero(np.isnan(found.uncertainty("perplexity"))).tolist() == [place]
    assert "another answer" in found.reasons["perplexity"][place]
    assert found.faults == ()
    kept = np.arange(len(found.answers)) != place
    np.testing.assert_array_equal(found.uncertainty("perplexity")[kept], whole.uncertainty("perplexity")[kept])


CHANGES = {
    "twice": lambda rows: [*rows[:-1], rows[0]],
    "null": lambda rows: [{**rows[0], "value": None}, *rows[1:]],
    "no reason": lambda rows: [{**rows[0], "value": float("nan")}, *rows[1:]],
    "a reason": lambda rows: [{**rows[0], "reason": "it is so"}, *rows[1:]],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_damaged_file_is_left_out_and_said_and_no_import(change, folder, tmp_path):
    add_methods(folder, ["perplexity"])
    rewritten(folder, change)
    found = open_run(folder)
    assert found.methods == ("rauq", "msp")
    assert "The method perplexity of kept is left out" in found.faults[0]
    with pytest.raises(RunError, match="the method perplexity cannot be read"):
        moved(folder, tmp_path / "runs")
    assert add_methods(folder, ["perplexity"]).methods == ("rauq", "msp", "perplexity")
    assert read_manifest(folder).added_methods == ("perplexity",)


def test_no_import_of_an_infinite_number_or_of_too_few_rows(folder, tmp_path):
    add_methods(folder, ["perplexity"])
    rewritten(folder, lambda rows: [{**rows[0], "value": float("inf")}, *rows[1:]])
    with pytest.raises(RunError, match="an uncertainty is infinite"):
        moved(folder, tmp_path / "runs")
    rewritten(folder, lambda rows: rows[1:])
    with pytest.raises(RunError, match=r"methods-perplexity.parquet has 12 rows, not 13"):
        moved(folder, tmp_path / "runs")


def test_a_manifest_names_each_method_once(folder):
    write_manifest(folder, replace(read_manifest(folder), added_methods=("msp",)))
    with pytest.raises(RunError, match="each is a column of the answers"):
        open_run(folder)
