"""Extras and further offsets that a run keeps, from the request to traces that are read back."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, load_file, save, save_file

from analysis.runs.archive import export_zip, import_zip
from analysis.runs.create import prepare, request_for
from analysis.runs.files.shards import bytes_per_answer, write_shard
from analysis.runs.files.tables import Answered
from analysis.runs.library import bundled_folder
from analysis.runs.manifest import MANIFEST, extras_path, is_of_run, read_manifest, traces_path, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.traces import trace, traces_of
from analysis.runs.work import load_for, work
from rauq.errors import InvalidInput, RunError, UnsupportedModel
from rauq.methods.method import Uncertainty
from rauq.trace.extras import BY_LAYER
from rauq.trace.file import faults
from tests.traces import make_trace

HALF = 1e-3  # half precision has three digits
OFFSETS = 10


@pytest.fixture(scope="module")
def lm(request_tiny):
    return load_for(request_tiny)


@pytest.fixture(scope="module")
def names(lm):
    return tuple(name for name in lm.extras if name != "focus")  # which asks for document frequencies


@pytest.fixture(scope="module")
def kept_folder(data, request_tiny, names, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "kept"
    prepare(folder, data, replace(request_tiny, methods=("rauq", "eigen_score"), keep=names, offsets=OFFSETS))
    assert work(folder).state == "finished"
    return folder


@pytest.fixture
def folder(kept_folder, tmp_path):
    """A finished run of its own."""
    return shutil.copytree(kept_folder, tmp_path / "kept")


def moved(folder, root):
    """The run as it comes in from an archive."""
    with export_zip(folder) as file:
        return import_zip(file, root, "moved")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


def test_traces_of_a_run_are_those_that_the_model_gives(kept_folder, lm, names):
    run = open_run(kept_folder)
    assert run.faults == ()
    rows = [place for place, layer in enumerate(lm.layers) if layer in run.stored_layers]
    assert 0 < len(rows) < len(lm.layers)
    for found, prompt in zip(traces_of(run), run.answers["prompt"], strict=True):
        read = lm.read(prompt, found.answer_ids, extras=names, offsets=OFFSETS)
        assert list(faults(vars(found))) == []
        assert (found.attention.shape[3], set(found.extras)) == (OFFSETS, set(names))
        np.testing.assert_allclose(found.attention, read.attention[rows], atol=HALF)
        for name in names:
            expected = read.extras[name][rows] if name in BY_LAYER else read.extras[name]
            size = max(1, np.nanmax(np.abs(expected)))
            if name != "logit_lens":  # a rank differs by a whole number where two scores are nearly equal
                np.testing.assert_allclose(found.extras[name], expected, atol=HALF * size, err_msg=name)
            assert (found.extras[name].dtype, found.extras[name].shape) == (np.float32, expected.shape)


def test_rows_are_read_in_the_order_asked_for_and_alone_as_together(kept_folder):
    run = open_run(kept_folder)
    every = list(traces_of(run))
    assert len(every) == len(run.answers)
    asked = [11, 0, 1, 7, 7, 2]
    for row, found in zip(asked, traces_of(run, asked), strict=True):
        for other in (every[row], trace(run, row)):
            np.testing.assert_array_equal(found.answer_ids, other.answer_ids)
            np.testing.assert_array_equal(found.attention, other.attention)
            assert all(np.array_equal(found.extras[name], other.extras[name], equal_nan=True) for name in found.extras)
    assert list(traces_of(run, ())) == []
    for row in (-1, 12):
        with pytest.raises(InvalidInput, match="There is no answer"):
            list(traces_of(run, [row]))


def test_only_what_is_read_is_opened(folder):
    run = open_run(folder)
    extras_path(folder, 2).unlink()
    found = traces_of(run)
    assert [len(next(found).extras) > 0 for _ in range(7)] == [True] * 7  # a failed example is among the first eight
    with pytest.raises(RunError, match="Shard 2 of kept can no longer be read"):
        next(found)


@pytest.mark.parametrize("spoil", ["missing", "flipped", "of another table", "empty"])
def test_a_shard_is_whole_only_with_its_extras_and_resumes_to_equal_bytes(spoil, folder):
    before, path = contents(folder), extras_path(folder, 1)
    content = bytearray(path.read_bytes())
    if spoil == "missing":
        path.unlink()
    elif spoil == "flipped":
        content[len(content) // 2] ^= 1  # of a value: no shape changes
        path.write_bytes(content)
    elif spoil == "of another table":
        path.write_bytes(extras_path(folder, 0).read_bytes())
    else:
        path.write_bytes(save({}))
    [fault] = open_run(folder).faults
    assert "Shard 1 of kept is broken" in fault
    assert work(folder).state == "finished"
    assert contents(folder) == before


def test_a_run_comes_in_with_its_extras_and_not_with_those_of_another(folder, finished, tmp_path):
    again = moved(folder, tmp_path / "runs")
    assert contents(again) == contents(folder)
    (finished / "extras-00000.safetensors").write_bytes(save({"hidden": np.zeros(3, np.float16)}))
    with pytest.raises(RunError, match=r"it holds extras-00000\.safetensors, and its manifest keeps no extras"):
        moved(finished, tmp_path / "others")


def _grown(arrays):
    arrays["hidden.shapes"] = arrays["hidden.shapes"] * 2


def _negative(arrays):
    arrays["hidden_layers.shapes"] = arrays["hidden_layers.shapes"] * np.array([-1, -1, 1], np.int32)


def _vast(arrays):
    arrays["lookback.shapes"] = np.full_like(arrays["lookback.shapes"], 2**31 - 1)


def _powerful(arrays):
    arrays["hidden.exponents"] = arrays["hidden.exponents"] + np.int16(30_000)


def _wide(arrays):
    arrays["hidden"] = arrays["hidden"].astype(np.float32)


def _fewer(arrays):
    arrays["hidden.exponents"] = arrays["hidden.exponents"][1:]


def _more(arrays):
    arrays["other"] = arrays["hidden"]


def _lacking(arrays):
    del arrays["hidden.shapes"]


def _flat(arrays):
    arrays["hidden.shapes"] = arrays["hidden.shapes"].ravel()


def _deep(arrays):
    arrays["hidden.shapes"] = np.ones((len(arrays["hidden.shapes"]), 9), np.int32)


HOSTILE = (_deep, _grown, _negative, _vast, _powerful, _wide, _fewer, _more, _lacking, _flat)


@pytest.mark.parametrize("change", HOSTILE)
def test_extras_that_do_not_fit_break_their_shard(change, folder, tmp_path):
    arrays = load_file(extras_path(folder, 0))
    change(arrays)
    save_file(arrays, extras_path(folder, 0))  # without checksums, as anyone may write it
    [fault] = open_run(folder).faults
    assert "Shard 0 of kept is broken (its extra" in fault
    with pytest.raises(RunError, match="shard 0 is broken"):
        moved(folder, tmp_path / "runs")


def test_extras_of_another_shape_than_the_answer_are_refused(folder, tmp_path):
    arrays = load_file(extras_path(folder, 0))
    arrays["lookback.shapes"] = np.ascontiguousarray(arrays["lookback.shapes"][:, [1, 0, 2, 3]])
    save_file(arrays, extras_path(folder, 0))
    with pytest.raises(RunError, match="the extra lookback has shape"):
        moved(folder, tmp_path / "runs")


def test_a_long_header_of_extras_is_not_parsed(folder, tmp_path):
    path = extras_path(folder, 0)
    path.write_bytes(save(load(path.read_bytes()), {"text": "x" * 100_000}))
    with pytest.raises(RunError, match=r"extras-00000.safetensors has a header of more than"):
        moved(folder, tmp_path / "runs")


def shard_of(folder, traces, *, keep, data, request):
    """A run whose first shard holds these traces."""
    prepare(folder, data, replace(request, methods=("rauq",), keep=keep, shard_size=len(traces)))
    layers, heads = traces[0].layers, traces[0].num_heads
    answerer = replace(
        read_manifest(bundled_folder()).answerer, layers=layers, num_layers=len(layers), num_heads=heads, vocab_size=100
    )
    write_manifest(folder, replace(read_manifest(folder), answerer=answerer))
    rows = [
        Answered(
            number=number,
            trace=own,
            fact=np.zeros(len(own.answer_ids), dtype=bool),
            quality=0.0,
            quality_reason="",
            uncertainties=(Uncertainty(0.5),),
        )
        for number, own in enumerate(traces)
    ]
    write_shard(folder, 0, rows, stored=open_run(folder).stored_layers, keep=keep)
    return open_run(folder)


@pytest.mark.parametrize("largest", [1.0, 65_504.0, 65_505.0, 1e6, 3e38])
def test_values_beyond_half_precision_keep_eleven_bits(largest, data, request_tiny, tmp_path):
    random = np.random.default_rng(0)
    states = (largest * random.uniform(0.1, 1, (2, 8))).astype(np.float32)
    states[:, 0] = largest
    states[1] *= 1e-3
    states[1, 1:3] = np.nan, np.inf
    traces = [make_trace(extras={"hidden": own}) for own in states]
    run = shard_of(tmp_path / "run", traces, keep=("hidden",), data=data, request=request_tiny)
    for own, found in zip(states, traces_of(run), strict=True):
        np.testing.assert_allclose(found.extras["hidden"], own, rtol=2**-11)


def test_what_fits_into_half_precision_is_not_scaled(data, request_tiny, tmp_path):
    exact = np.arange(-2048, 2049, dtype=np.float32)
    run = shard_of(
        tmp_path / "run", [make_trace(extras={"hidden": exact})], keep=("hidden",), data=data, request=request_tiny
    )
    np.testing.assert_array_equal(trace(run, 0).extras["hidden"], exact)
    np.testing.assert_array_equal(load_file(extras_path(run.folder, 0))["hidden"], exact.astype(np.float16))


def test_a_run_from_before_keeps_nothing(run, kept_folder, tmp_path):
    manifest = json.loads((bundled_folder() / MANIFEST).read_text())
    del manifest["request"]["keep"], manifest["request"]["offsets"]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    request = read_manifest(tmp_path).request
    assert (request.keep, request.offsets) == ((), 2)
    assert not list(run.folder.glob("extras-*"))
    first = trace(run, 0)
    assert (first.extras, first.attention.shape[3]) == ({}, 8)
    np.testing.assert_array_equal(np.isnan(first.attention).all(axis=(0, 1, 2)), [False] * 2 + [True] * 6)
    assert open_run(kept_folder).answers["rauq"].to_numpy() == pytest.approx(run.answers["rauq"].to_numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"keep": ("lookback", "luck")}, "Got lookback, luck to keep; give some of max_attention"),
        ({"keep": ("hidden", "hidden")}, "each once"),
        ({"keep": ("focus",)}, "The extra focus needs document frequencies"),
        ({"offsets": 1}, "Got 1 offsets; a run may store 2 to 64"),
        ({"offsets": 65}, "Got 65 offsets"),
    ],
)
def test_what_no_run_can_keep_is_refused(change, said, data):
    with pytest.raises(InvalidInput, match=said):
        request_for(data, model="other", **change)


def test_the_embedded_model_weighs_focus_by_its_own_frequencies(data):
    assert request_for(data, model="atlas", keep=("focus",), methods=("msp",)).idf == "atlas"


@pytest.mark.parametrize(
    ("there", "instead"),
    [('"offsets": 10', '"offsets": 1'), ('"offsets": 10', '"offsets": 65'), ('"lookback"', '"hidden"')],
)
def test_a_manifest_that_keeps_what_no_run_can_is_refused(there, instead, folder):
    text = (folder / MANIFEST).read_text()
    assert there in text
    (folder / MANIFEST).write_text(text.replace(there, instead))
    with pytest.raises(RunError, match="is damaged"):
        read_manifest(folder)


def test_a_model_that_cannot_give_an_extra_is_refused_before_the_run_is_its_own(data, request_tiny, tmp_path):
    request = replace(request_tiny, keep=("hidden_layers",))
    prepare(tmp_path / "run", data, request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rauq.capture.tap._list_of_blocks", lambda _model: None)
        with pytest.raises(UnsupportedModel, match="'hidden_layers' cannot be captured"):
            work(tmp_path / "run")
    assert read_manifest(tmp_path / "run").answerer is None
    assert prepare(tmp_path / "run", data, replace(request, keep=())).request.keep == ()


def test_the_size_is_told_before_the_run_starts(kept_folder, lm, names):
    run = open_run(kept_folder)
    told = sum(
        bytes_per_answer(
            length,
            num_layers=lm.num_layers,
            num_heads=lm.num_heads,
            stored_layers="middle",
            offsets=OFFSETS,
            keep=names,
            hidden_size=32,
            prompt_tokens=len(found.prompt_ids),
        )
        - 160 * length  # the table
        for length, found in zip(run.lengths, traces_of(run), strict=True)
    )
    files = [path_of(kept_folder, shard.number) for shard in run.shards for path_of in (extras_path, traces_path)]
    overhead = 4_000 * len(run.shards)  # headers, shapes, exponents, and facts that no answer states
    assert sum(path.stat().st_size for path in files) == pytest.approx(told, abs=overhead)
