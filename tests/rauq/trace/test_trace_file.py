"""A trace is saved and loaded whole or not at all: every other file is refused with a reason."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rauq.errors import InvalidInput, TraceFileError
from rauq.trace.file import SCHEMA
from rauq.trace.trace import NUM_BANDS, Alternative, Trace
from tests.traces import make_trace

ARRAYS = ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention")
SCALARS = ("prompt", "model", "revision", "kind", "chat_applied", "stop_reason", "num_layers", "vocab_size")
LATER = ("dtype", "quantisation")  # older files lack them
LISTS = ("layers", "answer_tokens", "pieces", "alternatives")


def rich_trace():
    attention = make_trace(num_layers=2, num_heads=3).attention.copy()
    attention[:, :, -1] = np.nan
    return make_trace(
        (b"\xf0\x9f", b"\x99\x82 ", b"</s>"),
        prompt='Where "is"\n\x00 \u202e شلوم 🙂?',
        model="some/model",
        revision="abc",
        dtype="bfloat16",
        quantisation="Q4_K_M",
        kind="instruct",
        chat_applied=True,
        stop_reason="stop",
        layers=(3, 7),
        num_layers=9,
        answer_tokens=("", "🙂 ", ""),
        logprobs=np.array([-0.5, -np.inf, -1e-30], np.float32),
        alternatives=((Alternative(1, "é", -0.5), Alternative(2, "", -np.inf)), (), (Alternative(0, "\x00", -2.0),)),
        attention=attention,
        extras={
            "max_attention": np.array([[0, 0, 0], [0.5, 0, 0], [1, np.nan, 0]], np.float16),
            "hidden_layers": np.arange(10 * 3 * 2, dtype=np.float32).reshape(10, 3, 2),
            "hidden_mean": np.array([1e9, -1.0], np.float32),
            "logit_lens": np.linspace(-1, 5, 9 * 3 * 21, dtype=np.float32).reshape(9, 3, 21),
            "from the future": np.arange(3),
            "one number": np.array(2.5),
            "nothing": np.zeros((0, 4)),
        },
    )


def assert_same(first, second):
    for name in (*SCALARS, *LATER, *LISTS):
        assert getattr(first, name) == getattr(second, name), name
    assert first.extras.keys() == second.extras.keys()
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in ARRAYS}
    pairs |= {name: (first.extras[name], second.extras[name]) for name in first.extras}
    for name, (one, other) in pairs.items():
        assert (one.dtype, one.shape) == (other.dtype, other.shape), name
        np.testing.assert_array_equal(one, other, err_msg=name)


def rewritten(path, *, arrays=None, without=(), **metadata):
    """The file with some of its parts replaced."""
    (key, text), *_ = _metadata(path).items()
    kept = {name: array for name, array in (load_file(path) | (arrays or {})).items() if name not in without}
    fields = {name: value for name, value in (json.loads(text) | metadata).items() if name not in without}
    save_file(kept, path, {key: json.dumps(fields)})


def _metadata(path):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length])["__metadata__"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "one.safetensors"
    make_trace().save(path)
    return path


def test_saved_and_loaded_is_the_same_trace(tmp_path):
    trace = rich_trace()
    trace.save(tmp_path / "rich.safetensors")
    assert_same(Trace.load(str(tmp_path / "rich.safetensors")), trace)
    assert names(tmp_path) == ["rich.safetensors"]


def test_non_contiguous_arrays_are_saved_as_they_read(tmp_path):
    trace = make_trace(attention=np.asfortranarray(make_trace().attention), logprobs=np.linspace(-6, -1, 6)[::-2])
    trace.save(tmp_path / "f")
    assert_same(Trace.load(tmp_path / "f"), trace)


def test_saving_again_replaces_the_file(saved):
    other = make_trace((b"a", b"b"), seed=1)
    other.save(saved)
    assert_same(Trace.load(saved), other)


@pytest.mark.parametrize("place", ["missing/x", "file/x", "folder", "n" * 300])
def test_where_nothing_can_be_written_the_error_says_so_and_nothing_is_left(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match=r"cannot be written .*folder that exists"):
        make_trace().save(tmp_path / place)
    assert names(tmp_path) == ["file", "folder"]
    assert not names(tmp_path / "folder")


def test_a_failed_save_keeps_the_file_of_before(saved, monkeypatch):
    before = saved.read_bytes()

    def until_the_disk_is_full(path, content):
        with path.open("wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", until_the_disk_is_full)
    with pytest.raises(InvalidInput, match="No space left"):
        make_trace(seed=1).save(saved)
    assert names(saved.parent) == [saved.name]
    assert saved.read_bytes() == before


def test_the_file_changes_at_the_last_step_alone(saved, monkeypatch):
    before = saved.read_bytes()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(InvalidInput, match="Permission denied"):
        make_trace(seed=1).save(saved)
    assert saved.read_bytes() == before
    assert names(saved.parent) == [saved.name]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.3, 0.7, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TraceFileError, match=r"one\.safetensors is not a trace, or it is truncated .*Save the trace"):
        Trace.load(saved)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", bytes(64), b"\xff" * 64, b"{}" * 100])
def test_bytes_of_another_kind_are_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TraceFileError, match="not a trace"):
        Trace.load(tmp_path / "x")


def test_random_bytes_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(np.random.default_rng(0).bytes(10_000))
    with pytest.raises(TraceFileError, match="not a trace"):
        Trace.load(tmp_path / "x")


@pytest.mark.parametrize("place", ["none.safetensors", "", "a\0b"])
def test_where_there_is_no_file_the_error_names_it(tmp_path, place):
    with pytest.raises(TraceFileError, match="There is no file"):
        Trace.load(tmp_path / place)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_weights_are_no_trace(tmp_path, metadata):
    save_file({"weight": np.ones(3, np.float32)}, tmp_path / "w", metadata)
    with pytest.raises(TraceFileError, match="a safetensors file but not a trace"):
        Trace.load(tmp_path / "w")


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, "1", None])
def test_another_schema_is_refused_by_number(saved, schema):
    rewritten(saved, schema=schema)
    with pytest.raises(TraceFileError, match=f"has trace schema {schema}; this version reads schema {SCHEMA}"):
        Trace.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}", "[" * 100_000])
def test_metadata_that_is_no_record_is_refused(saved, text):
    save_file(load_file(saved), saved, {"rauq_trace": text})
    with pytest.raises(TraceFileError, match="its metadata cannot be read"):
        Trace.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": 3},
        {"prompt": None},
        {"kind": "chat"},
        {"kind": []},
        {"stop_reason": "tired"},
        {"chat_applied": "no"},
        {"chat_applied": 1},
        {"num_layers": "6"},
        {"num_layers": 5.0},
        {"num_layers": True},
        {"num_layers": 3},
        {"vocab_size": None},
        {"layers": "012345"},
        {"layers": [0, 1, 2, 3, 4, 4]},
        {"layers": [5, 4, 3, 2, 1, 0]},
        {"layers": [0, 1, 2, 3, 4, -1]},
        {"layers": [0, 1, 2, 3, 4, "5"]},
        {"layers": [0, 1]},
        {"answer_tokens": "abc"},
        {"answer_tokens": [1, 2, 3]},
        {"answer_tokens": ["a"]},
        {"pieces": "abc"},
        {"pieces": ["a", "b", "\u1234"]},
        {"pieces": ["a", "b"]},
        {"alternative_ids": [[1], [2]]},
        {"alternative_ids": [["x"], [1], [1]]},
        {"alternative_ids": [[1e400], [1], [1]]},
        {"alternative_texts": [["a", "b"], ["c"], ["d"]]},
        {"alternative_logprobs": 3},
    ],
    ids=str,
)
def test_metadata_that_does_not_fit_is_refused(saved, change):
    rewritten(saved, **change)
    with pytest.raises(TraceFileError, match="its parts are inconsistent"):
        Trace.load(saved)


def test_a_file_from_before_weights_were_named_says_nothing_of_them(saved):
    rewritten(saved, without=LATER)
    assert [getattr(Trace.load(saved), name) for name in LATER] == ["", ""]


@pytest.mark.parametrize("offsets", [1, 8, 10, 64])
def test_any_number_of_offsets_is_kept(offsets, tmp_path):
    attention = np.random.default_rng(0).uniform(0, 1, (6, 4, 4, offsets)).astype(np.float32)
    trace = make_trace(attention=attention)
    trace.save(tmp_path / "file")
    np.testing.assert_array_equal(Trace.load(tmp_path / "file").attention, attention)
    np.testing.assert_array_equal(Trace.from_bytes(trace.to_bytes()).attention, attention)


@pytest.mark.parametrize("name", [*ARRAYS, *SCALARS, "layers", "answer_tokens", "pieces", "alternative_texts"])
def test_a_missing_part_is_named(saved, name):
    rewritten(saved, without=(name,))
    with pytest.raises(TraceFileError, match=rf"are inconsistent.*{name}"):
        Trace.load(saved)


@pytest.mark.parametrize(
    "arrays",
    [
        {"attention": np.zeros((6, 4, 3, NUM_BANDS), np.float32)},
        {"attention": np.zeros((5, 4, 4, NUM_BANDS), np.float32)},
        {"attention": np.zeros((6, 4, 4), np.float32)},
        {"attention": np.zeros((6, 0, 4, NUM_BANDS), np.float32)},
        {"attention": np.zeros((6, 4, 4, NUM_BANDS), np.int32)},
        {"logprobs": np.zeros(4)},
        {"logprobs": np.zeros((3, 1))},
        {"entropies": np.zeros(2)},
        {"entropies": np.zeros(3, np.uint8)},
        {"answer_ids": np.zeros(3)},
        {"answer_ids": np.zeros((3, 2), np.int64)},
        {"answer_ids": np.array(3)},
        {"prompt_ids": np.zeros((1, 3), np.int64)},
        {"prompt_ids": np.zeros(0, np.int64)},
    ],
    ids=lambda arrays: "-".join(f"{name}{array.shape}{array.dtype}" for name, array in arrays.items()),
)
def test_arrays_that_do_not_fit_are_refused(saved, arrays):
    rewritten(saved, arrays=arrays)
    with pytest.raises(TraceFileError, match="are inconsistent"):
        Trace.load(saved)
