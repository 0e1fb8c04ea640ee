"""A request is written before the first answer, and never overwrites other files."""

from dataclasses import replace

import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from analysis.runs.files.examples import read_examples
from analysis.runs.job import read_status
from analysis.runs.manifest import MANIFEST, read_manifest
from rauq.errors import InvalidInput, RunError


@pytest.fixture
def asked(data):
    return request_for(data, model="atlas")


def test_a_prepared_run_holds_its_request_and_its_examples(data, asked, tmp_path):
    manifest = prepare(tmp_path / "new" / "run", data, asked, name="mine")
    assert read_manifest(tmp_path / "new" / "run") == manifest
    assert (manifest.name, manifest.request, manifest.answerer) == ("mine", asked, None)
    assert read_examples(tmp_path / "new" / "run") == data.examples
    status = read_status(tmp_path / "new" / "run")
    assert (status.state, status.total, status.saved) == ("new", 13, 0)


def test_a_request_follows_the_data_set_unless_it_is_told_otherwise(data):
    plain = request_for(data, model="atlas", quality=None, batch_size=None)
    assert (plain.quality, plain.max_new_tokens, plain.batch_size, plain.count) == ("given", 4, 8, 13)
    told = request_for(data, model="atlas", quality="none", max_new_tokens=3, batch_size=20)
    assert (told.quality, told.max_new_tokens) == ("none", 3)
    raw = request_for(replace(data, stop=("\n",), chat=False), model="atlas")
    assert ((raw.stop, raw.chat), (plain.stop, plain.chat)) == ((("\n",), False), ((), None))


@pytest.mark.parametrize("batch_size", [1, 3, 8, 20, 33, 100])
def test_shards_hold_whole_batches(batch_size, data):
    request = request_for(data, model="atlas", batch_size=batch_size)
    assert request.shard_size % batch_size == 0
    assert request.shard_size >= batch_size


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"methods": ("rauq", "luck")}, "Unknown method 'luck'; choose from default, no-download, rauq, msp"),
        ({"stored_layers": "some"}, "Unknown layers 'some'; choose from middle, all"),
        ({"quality": "taste"}, "'taste'"),
        ({"batch_size": 0}, "0 examples in a batch"),
        ({"batch_size": 10**6}, "1,000,000 examples in a batch"),
        ({"max_new_tokens": 0}, "0 new tokens"),
    ],
)
def test_a_request_that_no_run_can_have_is_refused(change, said, data):
    with pytest.raises(InvalidInput, match=said):
        request_for(data, model="atlas", **change)


def test_no_example_is_no_run():
    with pytest.raises(InvalidInput, match="0 examples"):
        request_for(DataSet(name="empty", examples=()), model="atlas")


def test_another_data_sets_request_is_refused(data, asked, tmp_path):
    with pytest.raises(InvalidInput, match="does not match the given examples"):
        prepare(tmp_path / "run", replace(data, examples=data.examples[:2]), asked)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_files_is_left_alone(data, asked, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"other files, such as thesis.txt"):
        prepare(tmp_path, data, asked)
    with pytest.raises(RunError, match="cannot be used for a run"):
        prepare(tmp_path / "thesis.txt", data, asked)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_same_run_is_found_again_and_another_is_refused(data, request_tiny, finished):
    before = (finished / MANIFEST).read_bytes()
    assert prepare(finished, data, request_tiny) == read_manifest(finished)
    with pytest.raises(RunError, match=r"holds another run .*differ in batch_size"):
        prepare(finished, data, replace(request_tiny, batch_size=1))
    assert (finished / MANIFEST).read_bytes() == before


def test_a_run_that_was_never_begun_may_be_asked_for_anew(data, request_tiny, prepared):
    changed = replace(request_tiny, max_new_tokens=3)
    assert prepare(prepared, data, changed).request == read_manifest(prepared).request == changed


def test_killed_between_its_two_files_it_can_be_prepared_again(data, request_tiny, prepared):
    (prepared / MANIFEST).unlink()
    prepare(prepared, data, request_tiny)
    assert read_manifest(prepared).request == request_tiny


def test_a_text_that_is_no_unicode_is_refused(tmp_path):
    data = DataSet(name="half", examples=(Example(id="1", prompt="\ud800"),))
    with pytest.raises(InvalidInput, match="not valid Unicode"):
        prepare(tmp_path / "run", data, request_for(data, model="atlas"))


def test_a_name_that_is_no_unicode_is_refused(data, asked, tmp_path):
    with pytest.raises(InvalidInput, match=r"not valid Unicode .* Rename"):
        prepare(tmp_path / "run", data, replace(asked, model="\udcff"))


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ('"batch_size": 2', '"batch_size": 1025', r"request\.batch_size is 1025: .* less than or equal to 1024"),
        ('"answerer"', '"model"', "answerer is .*: Field required"),
    ],
)
def test_a_damaged_manifest_says_what_was_got_and_what_is_allowed(there, instead, said, prepared):
    text = (prepared / MANIFEST).read_text()
    assert there in text
    (prepared / MANIFEST).write_text(text.replace(there, instead))
    with pytest.raises(RunError, match=f"{said}.* Restore it from a copy of the run"):
        read_manifest(prepared)


def test_another_schema_and_no_manifest_are_said(prepared):
    text = (prepared / MANIFEST).read_text()
    (prepared / MANIFEST).write_text(text.replace('"schema": 2', '"schema": 99'))
    with pytest.raises(RunError, match="schema 99, but this version reads schema 2"):
        read_manifest(prepared)
    (prepared / MANIFEST).write_text(text[:-9])
    with pytest.raises(RunError, match="cannot be read"):
        read_manifest(prepared)
    (prepared / MANIFEST).unlink()
    with pytest.raises(RunError, match="is not a run"):
        read_manifest(prepared)
