"""A trace file may come from anyone: it is read as it was written, or refused in one sentence, without side effects."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from rauq import Settings, Trace, score
from rauq.errors import RauqError, TraceFileError
from rauq.trace import file
from rauq.trace.trace import Alternative
from tests.traces import make_trace

KEY = "rauq_trace"


def header_of(content):
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(header, data, *, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def changed(*, arrays=None, **metadata):
    """The content of a trace's file with some of its parts replaced."""
    content = make_trace().to_bytes()
    fields = json.loads(header_of(content)[0]["__metadata__"][KEY]) | metadata
    return save(load(content) | (arrays or {}), {KEY: json.dumps(fields)})


def test_what_is_uploaded_is_what_was_downloaded(tmp_path):
    trace = make_trace(wrong=(0, 2))
    content = trace.to_bytes()
    trace.save(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == content
    again = Trace.from_bytes(content)
    assert again.to_bytes() == content
    np.testing.assert_array_equal(again.attention, trace.attention)
    assert (again.wrong, again.pieces, again.alternatives) == (trace.wrong, trace.pieces, trace.alternatives)


def test_a_file_from_before_there_were_marks_has_none():
    content = make_trace().to_bytes()
    fields = json.loads(header_of(content)[0]["__metadata__"][KEY])
    del fields["wrong"]
    assert Trace.from_bytes(save(load(content), {KEY: json.dumps(fields)})).wrong == ()


def test_the_error_names_the_upload():
    with pytest.raises(TraceFileError, match=r"^mine\.safetensors is not a trace, or it is truncated"):
        Trace.from_bytes(b"GIF89a", name="mine.safetensors")


def tensor(dtype, shape, size):
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}


CONTENTS = {
    "empty": b"",
    "seven bytes": b"1234567",
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94.",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "header of 2^64": b"\xff" * 8 + b"{}",
    "header beyond the end": with_header({}, b"", length=1000),
    "header is no JSON": with_header(b"{]", b""),
    "header is a list": with_header([], b""),
    "header is deep": with_header(b'{"a":' + b"[" * 100_000, b""),
    "header is deep and whole": with_header(b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", b""),
    "header is not Unicode": with_header(b'{"\xff":1}', b""),
    "shape overflows": with_header({"a": tensor("F32", [2**62, 2**62], 0)}, b""),
    "shape is beyond the data": with_header({"a": tensor("F32", [10**9], 4 * 10**9)}, b""),
    "shape is negative": with_header({"a": tensor("F32", [-1], 4)}, bytes(4)),
    "nothing in vast dimensions": with_header({"a": tensor("F32", [0, 2**40, 2**20], 0)}, b""),
    "type is unknown": with_header({"a": tensor("X9", [1], 4)}, bytes(4)),
    "type without numpy": with_header({"a": tensor("BF16", [2], 4)}, bytes(4)),
    "metadata is no text": with_header({"__metadata__": {KEY: 3}}, b""),
    "metadata is a list": with_header({"__metadata__": []}, b""),
    "metadata is empty": with_header({}, b""),
    "a deep record": save({}, {KEY: '{"schema": 1, "layers": ' + "[" * 100_000}),
    "a long number": save({}, {KEY: '{"schema": ' + "9" * 10_000 + "}"}),
    "schema is true": changed(schema=True),
    "schema is vast": changed(schema="x" * 10**6),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_content_other_than_a_trace_is_refused_in_one_sentence(name):
    with pytest.raises(TraceFileError, match=r"\.$") as refused:
        Trace.from_bytes(CONTENTS[name])
    assert len(str(refused.value)) < 500


ONE, THREE = np.ones(1, np.float32), np.zeros(3, np.float32)


def attention_with(value, dtype=np.float32):
    attention = make_trace().attention.astype(dtype)
    attention[1, 1, 1, 1] = value
    return {"attention": attention}


ARRAYS = {
    "logprob above 0": {"logprobs": THREE + 1},
    "logprob infinite": {"logprobs": np.array([0, np.inf, 0])},
    "logprobs are whole": {"logprobs": np.zeros(3, np.int64)},
    "logprobs are true or false": {"logprobs": np.zeros(3, bool)},
    "entropy below 0": {"entropies": THREE - 1},
    "entropy infinite": {"entropies": THREE + np.inf},
    "weight above 1": attention_with(1.5),
    "weight below 0": attention_with(-0.5),
    "weight infinite": attention_with(np.inf, np.float16),
    "weights are complex": attention_with(0.5, np.complex64),
    "weights are whole": attention_with(1, np.uint8),
    "too many heads": {"attention": np.zeros((6, 20_000, 4, 1), np.float16)},
    "too many bands": {"attention": np.zeros((6, 4, 4, 65), np.float16)},
    "attention is one number": {"attention": np.zeros((), np.float32)},
    "prompt id below 0": {"prompt_ids": np.array([1, -1])},
    "answer id below 0": {"answer_ids": np.array([-1, 1, 2])},
    "prompt id beyond the vocabulary": {"prompt_ids": np.array([1, 100])},
    "answer id beyond the vocabulary": {"answer_ids": np.array([1, 2, 100])},
    "entropy beyond the vocabulary": {"entropies": THREE + np.float32(np.log(100)) + 0.02},
    "answer id overflows": {"answer_ids": np.array([1, 2**64 - 1, 3], np.uint64)},
    "too many prompt tokens": {"prompt_ids": np.zeros(2**22 + 1, np.int8)},
    "an extra of another shape": {"extra.diagonal": THREE},
    "an extra of another answer": {"extra.focus": np.ones((4, 2))},
    "an extra of whole numbers": {"extra.max_attention": np.eye(3, dtype=int)},
    "an extra that is no vector": {"extra.hidden": np.ones((2, 2))},
    "a mean that is no vector": {"extra.hidden_mean": np.ones((2, 2))},
    "states of too few layers": {"extra.hidden_layers": np.ones((6, 3, 5))},
    "states without a width": {"extra.hidden_layers": np.ones((7, 3))},
    "states of one number": {"extra.hidden_layers": np.array(1.0)},
    "a lens of too few numbers": {"extra.logit_lens": np.ones((6, 3, 20))},
    "a lens with a rank beyond the vocabulary": {"extra.logit_lens": np.full((6, 3, 21), 101.0)},
    "a weight of an extra above 1": {"extra.max_attention": np.tril(np.full((3, 3), 1.5), -1)},
    "an entropy of attention beyond all keys": {"extra.attention_entropy": np.full((6, 4, 3, 2), np.log(6) + 0.02)},
    "an entropy of attention below 0": {"extra.attention_entropy": np.full((6, 4, 3, 2), -0.02)},
    "entropies of other heads": {"extra.attention_entropy": np.zeros((6, 3, 3, 2))},
    "shares of parts that it does not have": {"extra.part_shares": np.full((6, 4, 3, 4), 0.25)},
    "a mean log-probability above 0": {"extra.mean_logprob": THREE + 1},
    "too many extras": {f"extra.{number}": ONE for number in range(200)},
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_no_model_makes_are_refused(name):
    with pytest.raises(TraceFileError, match=r"parts are inconsistent .*\.$") as refused:
        Trace.from_bytes(changed(arrays=ARRAYS[name]))
    assert len(str(refused.value)) < 500


METADATA = {
    "vast depth": {"num_layers": 10**12},
    "no layer": {"num_layers": 0},
    "depth overflows": {"num_layers": 10**30},
    "no vocabulary": {"vocab_size": 0},
    "vast vocabulary": {"vocab_size": 10**30},
    "layers overflow": {"layers": [0, 1, 2, 3, 4, 10**30]},
    "many layers": {"layers": list(range(100_000))},
    "wrong is text": {"wrong": "012"},
    "wrong is no number": {"wrong": ["1"]},
    "wrong is true": {"wrong": [True]},
    "wrong falls": {"wrong": [1, 0]},
    "wrong twice": {"wrong": [1, 1]},
    "wrong below 0": {"wrong": [-1]},
    "wrong after the end": {"wrong": [3]},
    "other words than the pieces": {"answer_tokens": [" Rome", " is", " it"]},
    "half of a surrogate": {"prompt": "\ud800"},
    "half of a surrogate in an alternative": {"alternative_texts": [["\udfff"], ["a"], ["a"]]},
    "long name": {"model": "x" * 10_000},
    "alternatives of other lengths": {"alternative_texts": [["a", "b"], ["a"], ["a"]]},
    "alternatives of two tokens": {
        "alternative_ids": [[1], [1]],
        "alternative_texts": [["a"], ["a"]],
        "alternative_logprobs": [[-1.0], [-1.0]],
    },
    "many alternatives": {
        "alternative_ids": [[1] * 1000, [1], [1]],
        "alternative_texts": [["a"] * 1000, ["a"], ["a"]],
        "alternative_logprobs": [[-1.0] * 1000, [-1.0], [-1.0]],
    },
    "alternative id below -1": {"alternative_ids": [[-2], [1], [1]]},
    "alternative id beyond the vocabulary": {"alternative_ids": [[100], [1], [1]]},
    "alternative id overflows": {"alternative_ids": [[10**30], [1], [1]]},
    "alternative id is true": {"alternative_ids": [[True], [1], [1]]},
    "alternative logprob above 0": {"alternative_logprobs": [[1.0], [-1.0], [-1.0]]},
    "alternative logprob infinite": {"alternative_logprobs": [[np.inf], [-1.0], [-1.0]]},
    "alternative logprob undefined": {"alternative_logprobs": [[np.nan], [-1.0], [-1.0]]},
    "a part of the prompt of two numbers": {"prompt_parts": [["a", 1]]},
    "a part of the prompt that is a text": {"prompt_parts": ["abc"]},
    "a part of the prompt without a name": {"prompt_parts": [[None, 1, 2]]},
    "a part beyond the prompt": {"prompt_parts": [["a", 1, 10**30]]},
    "a text of no part": {"part_texts": ["a"]},
    "a part with half of a surrogate": {"prompt_parts": [["\ud800", 1, 2]]},
    "alternative text is a list": {"alternative_texts": [[["a"]], ["a"], ["a"]]},
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_no_model_makes_is_refused(name):
    with pytest.raises(TraceFileError, match=r"parts are inconsistent .*\.$") as refused:
        Trace.from_bytes(changed(**METADATA[name]))
    assert len(str(refused.value)) < 500


def test_an_upload_is_bounded_and_a_file_is_bounded_higher(tmp_path, monkeypatch):
    trace = make_trace()
    size = len(trace.to_bytes())
    trace.save(tmp_path / "file")
    monkeypatch.setattr(file, "LARGEST_UPLOAD", size - 1)
    with pytest.raises(TraceFileError, match=r"too large: .* at most .*by its path, with rauq\.Trace\.load"):
        Trace.from_bytes(trace.to_bytes())
    assert Trace.load(tmp_path / "file").prompt == trace.prompt
    monkeypatch.setattr(file, "LARGEST_FILE", size - 1)
    with pytest.raises(TraceFileError, match=r"file is too large for a trace: .* at most"):
        Trace.load(tmp_path / "file")


def test_the_app_takes_uploads_as_large_as_a_trace_may_be():
    config = tomllib.loads((Path(__file__).parents[3] / ".streamlit/config.toml").read_text())
    assert config["server"]["maxUploadSize"] * 2**20 == file.LARGEST_UPLOAD


def test_the_text_of_an_upload_is_bounded():
    content = changed(prompt="x" * file.LARGEST_UPLOADED_HEADER)
    assert len(content) < file.LARGEST_UPLOAD
    with pytest.raises(TraceFileError, match="may be text"):
        Trace.from_bytes(content)


def test_the_lists_of_an_upload_are_counted_before_they_are_read():
    content = make_trace((b"[",) * 4096, num_layers=1, num_heads=1).to_bytes()
    assert content.count(b"[") > 16_000
    Trace.from_bytes(content)
    with pytest.raises(TraceFileError, match="more than 50,000 lists"):
        Trace.from_bytes(changed(messages=[[]] * 50_001))


ENTRIES = (Alternative(0, "a", -1.0),)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        (make_trace((b"a",) * 4097, num_layers=1, num_heads=1), "4,097 answer tokens, and at most 4,096"),
        (make_trace(prompt_ids=np.zeros(2**17 + 1, np.int32)), "131,073 prompt tokens, and at most 131,072"),
        (make_trace(extras={"another": np.zeros(2**24 + 1, np.int8)}), "16,777,217 bytes of extras, and at most"),
        (make_trace(alternatives=(ENTRIES * 40, ENTRIES * 20, ENTRIES)), "61 alternatives, and at most 60"),
    ],
    ids=["answer", "prompt", "extras", "alternatives"],
)
def test_uploads_are_limited_for_the_page_and_files_are_not(tmp_path, trace, says):
    with pytest.raises(TraceFileError, match=rf"^mine is too large: {says} .*by its path, with rauq\.Trace\.load"):
        Trace.from_bytes(trace.to_bytes(), name="mine")
    trace.save(tmp_path / "file")
    assert len(Trace.load(tmp_path / "file").pieces) == len(trace.pieces)


def test_an_upload_at_the_limit_is_accepted():
    full = make_trace(
        (b"a",) * 4096,
        num_layers=1,
        num_heads=1,
        entropies=np.full(4096, np.log(100), np.float32),
        prompt_ids=np.full(2**17, 99),
        alternatives=(ENTRIES * 40, ()) * 2048,
    )
    assert len(Trace.from_bytes(full.to_bytes()).pieces) == 4096


def test_a_trace_of_a_large_model_is_no_large_upload():
    trace = make_trace((b" word",) * 200, num_layers=32, num_heads=32)
    content = trace.to_bytes()
    assert len(content) < file.LARGEST_UPLOAD / 8
    assert Trace.from_bytes(content).attention.shape == (32, 32, 201, 8)


def mutated(content, rng):
    """The content with a few bytes changed, most of them in the text that says what the rest is."""
    header_end = 8 + int.from_bytes(content[:8], "little")
    changed_content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(len(content) if rng.random() < 0.3 else header_end)
        changed_content[place] = rng.integers(256) if rng.random() < 0.5 else rng.choice(list(b'0123456789"[]{},.-'))
    return bytes(changed_content[: rng.integers(len(content))] if rng.random() < 0.1 else changed_content)


def test_a_damaged_file_is_refused_or_can_be_scored():
    rng = np.random.default_rng(20261121)
    content = replace(make_trace(extras={"diagonal": np.ones((4, 6))}), wrong=(1,)).to_bytes()
    read = 0
    for _ in range(300):
        try:
            trace = Trace.from_bytes(mutated(content, rng))
        except TraceFileError:
            continue
        read += 1
        for settings in (Settings(), Settings(signal="entropy", alignment="own"), Settings(layers="all")):
            try:
                score(trace, settings)
            except RauqError:
                continue
    assert 20 < read < 280


def test_a_signalling_nan_is_scored_as_any_nan_without_a_warning():
    attention = make_trace().attention.copy()
    attention.view(np.uint32)[...] = 0x7F800001  # nan whose first conversion to float64 warns
    found = score(Trace.from_bytes(changed(arrays={"attention": attention})))
    assert np.isnan(found.uncertainty)
    assert found.reasons.uncertainty
