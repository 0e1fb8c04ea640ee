import os
import tracemalloc

import gguf
import numpy as np
import pytest

from rauq.checkpoints.checkpoint import FILE_TYPES, facts_of
from rauq.checkpoints.gguf.header import STORAGE_TYPES, Strings, read_header
from rauq.errors import ModelNotFound, RauqError, UnsupportedModel
from tests.gguf_files import BYTE_TOKENS, save_gguf, write_gguf
from tests.real_models import SMOLLM2

MUTATIONS = 10_000
MOST_BYTES = 2 * 2**20  # of memory for any file of 30 kB


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A whole file of a model, as small as one can be."""
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    tokens = {"tokenizer.ggml.tokens": BYTE_TOKENS[:12], "tokenizer.ggml.token_type": [3] * 4 + [1] * 8}
    sizes = {"vocab_size": 12, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": True}
    save_gguf(path, entries=tokens, **sizes, **heads)
    return path


def values(**entries):
    return {f"test.{key}": value for key, value in entries.items()}


def test_a_header_says_what_was_written(tmp_path):
    entries = values(whole=7, fraction=1e-5, flag=True, text="Äpfel\n", big=np.uint64(2**63), negative=np.int32(-3))
    entries |= values(numbers=[1, -2, 3], reals=[0.5, 2.0], flags=[True, False], texts=["a", "", "日本"])
    entries |= {"test.exact": np.float64(0.1)}
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(5, np.float16)}
    write_gguf(tmp_path / "m.gguf", "llama", entries, tensors)
    header = read_header(tmp_path / "m.gguf")
    plain = {"whole": 7, "fraction": 1e-5, "flag": True, "text": "Äpfel\n", "big": 2**63, "negative": -3, "exact": 0.1}
    assert {key: header.metadata[f"test.{key}"] for key in plain} == plain
    assert header.metadata["test.numbers"].tolist() == [1, -2, 3]
    assert header.metadata["test.reals"].tolist() == [0.5, 2.0]
    assert header.metadata["test.flags"].tolist() == [True, False]
    assert header.texts("test.texts") == ["a", "", "日本"]
    assert (header.architecture, header.version) == ("llama", 3)
    data = (tmp_path / "m.gguf").read_bytes()
    for tensor, written in zip(header.tensors, tensors.values(), strict=True):
        stored = data[tensor.start : tensor.start + tensor.num_bytes]
        assert tensor.shape == written.shape
        assert np.array_equal(np.frombuffer(stored, written.dtype).reshape(written.shape), written)


def test_a_header_equals_what_gguf_s_own_reader_finds(small):
    header, reader = read_header(small), gguf.GGUFReader(small)
    assert len(header.tensors) == len(reader.tensors)
    for ours, theirs in zip(header.tensors, reader.tensors, strict=True):
        assert (ours.name, ours.shape) == (theirs.name, tuple(int(size) for size in theirs.shape[::-1]))
        assert (ours.start, ours.num_bytes) == (theirs.data_offset, theirs.n_bytes)
        assert (ours.type_id, ours.storage.name) == (theirs.tensor_type, theirs.tensor_type.name)
    assert header.data_start == reader.data_offset
    assert set(header.metadata) == set(reader.fields) - {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count"}
    for key, ours in header.metadata.items():
        theirs = reader.fields[key].contents()
        if isinstance(theirs, list):
            assert theirs == (ours.decode() if isinstance(ours, Strings) else ours.tolist())
        else:
            assert ours == pytest.approx(theirs, rel=1e-7) if isinstance(theirs, float) else ours == theirs


def test_the_header_of_smollm2_is_read_whole():
    header = read_header(SMOLLM2)
    assert (len(header.tensors), len(header.metadata), header.data_start) == (272, 33, 1_785_664)  # by gguf's reader
    assert sum(tensor.num_bytes for tensor in header.tensors) == header.file_size - header.data_start
    tokens = header.texts("tokenizer.ggml.tokens")
    assert (len(tokens), tokens[:3], tokens[28]) == (49_152, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ",")
    assert header.texts("tokenizer.ggml.merges")[:2] == ["Ġ t", "Ġ a"]


def test_the_table_of_types_is_gguf_s():
    for number, storage in STORAGE_TYPES.items():
        kind = gguf.GGMLQuantizationType(number)
        assert (storage.name, (storage.elements, storage.size)) == (kind.name, gguf.GGML_QUANT_SIZES[kind])
    for number, name in FILE_TYPES.items():
        stated = gguf.LlamaFileType(number).name
        assert stated.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE") == name
    assert {kind.name for kind in gguf.LlamaFileType if kind.value not in FILE_TYPES} == {"MOSTLY_Q1_0", "GUESSED"}


@pytest.mark.parametrize("key", ["whole", "text", "numbers", "texts"])
def test_a_value_of_another_type_is_refused(tmp_path, key):
    write_gguf(tmp_path / "m.gguf", "llama", values(whole=True, text=1, numbers="1", texts=[1]), {})
    header = read_header(tmp_path / "m.gguf")
    with pytest.raises(ModelNotFound, match=f"test.{key}"):
        header.texts("test.texts") if key == "texts" else header.get(
            f"test.{key}", {"whole": int, "text": str, "numbers": np.ndarray}[key]
        )


def test_a_gguf_file_may_have_any_name(small, tmp_path):
    blob = tmp_path / "sha256-0123"  # as Ollama calls its files
    blob.write_bytes(small.read_bytes())
    assert read_header(blob).architecture == "llama"


@pytest.mark.parametrize("name", ["", "none.gguf", "pipe.gguf", "text.gguf", "empty.gguf", "\0"])
def test_other_than_a_gguf_file_raises_our_error(tmp_path, name):
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "empty.gguf").write_bytes(b"")
    with pytest.raises(ModelNotFound):
        read_header(tmp_path / name)


def whole_number(value, size):
    return int(value).to_bytes(size, "little")


def string(text):
    return whole_number(len(text), 8) + text


def entry(key, kind, value):
    return string(key) + whole_number(kind, 4) + value


def array(kind, count, content=b""):
    return whole_number(kind, 4) + whole_number(count, 8) + content


def tensor(name, sizes, *, kind=0, offset=0):
    shape = b"".join(whole_number(size, 8) for size in sizes)
    return string(name) + whole_number(len(sizes), 4) + shape + whole_number(kind, 4) + whole_number(offset, 8)


def a_file(*, version=3, tensors=(), entries=(), counts=(None, None), data=b"\0" * 512):
    num_tensors = len(tensors) if counts[0] is None else counts[0]
    num_entries = len(entries) if counts[1] is None else counts[1]
    head = b"GGUF" + whole_number(version, 4) + whole_number(num_tensors, 8) + whole_number(num_entries, 8)
    head += b"".join(entries) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + data


HOSTILE = {
    "another magic": (b"GGML" + a_file()[4:], ModelNotFound, "does not begin with"),
    "version 1": (a_file(version=1), UnsupportedModel, "version 1"),
    "a future version": (a_file(version=4), UnsupportedModel, "version 4"),
    "big-endian": (a_file(version=3 << 24), UnsupportedModel, "big-endian"),
    "only the magic": (b"GGUF", ModelNotFound, "ends within"),
    "absurdly many tensors": (a_file(counts=(2**63, 0)), ModelNotFound, "tensors"),
    "absurdly many entries": (a_file(counts=(0, 2**64 - 1)), ModelNotFound, "entries"),
    "a text past the end": (a_file(entries=[entry(b"k", 8, whole_number(2**62, 8))]), ModelNotFound, "past the end"),
    "a name past the end": (a_file(entries=[whole_number(2**40, 8)]), ModelNotFound, "past the end"),
    "a list past the end": (a_file(entries=[entry(b"k", 9, array(4, 2**61))]), ModelNotFound, "past the end"),
    "texts past the end": (a_file(entries=[entry(b"k", 9, array(8, 2**40))]), ModelNotFound, "past the end"),
    "a text in a list past the end": (
        *(a_file(entries=[entry(b"k", 9, array(8, 2, whole_number(2**63, 8)))]), ModelNotFound, "past the end"),
    ),
    "a list of lists": (a_file(entries=[entry(b"k", 9, array(9, 1, array(4, 0)))]), ModelNotFound, "list of lists"),
    "an unknown type of value": (a_file(entries=[entry(b"k", 13, b"")]), ModelNotFound, "unknown type 13"),
    "an unknown type in a list": (a_file(entries=[entry(b"k", 9, array(77, 1))]), ModelNotFound, "unknown type 77"),
    "text that is not UTF-8": (a_file(entries=[entry(b"k", 8, string(b"\xff\xfe"))]), ModelNotFound, "not UTF-8"),
    "an entry twice": (a_file(entries=[entry(b"k", 4, whole_number(1, 4))] * 2), ModelNotFound, "twice"),
    "part of a split model": (
        *(a_file(entries=[entry(b"split.count", 2, whole_number(3, 2))]), UnsupportedModel, "llama-gguf-split --merge"),
    ),
    "alignment of zero": (
        *(a_file(entries=[entry(b"general.alignment", 4, whole_number(0, 4))]), ModelNotFound, "power of two"),
    ),
    "alignment that is text": (
        *(a_file(entries=[entry(b"general.alignment", 8, string(b"32"))]), ModelNotFound, "power of two"),
    ),
    "no dimensions": (a_file(tensors=[tensor(b"t", [])]), ModelNotFound, "0 dimensions"),
    "many dimensions": (a_file(tensors=[tensor(b"t", [1] * 5)]), ModelNotFound, "5 dimensions"),
    "absurd dimensions": (*(a_file(tensors=[string(b"t") + whole_number(2**32 - 1, 4)]), ModelNotFound, "dimensions"),),
    "an empty tensor": (a_file(tensors=[tensor(b"t", [0])]), ModelNotFound, "shape"),
    "a huge tensor": (a_file(tensors=[tensor(b"t", [2**40, 2**40])]), ModelNotFound, "shape"),
    "half a block": (a_file(tensors=[tensor(b"t", [33], kind=2)]), ModelNotFound, "shape"),
    "an unknown type of tensor": (a_file(tensors=[tensor(b"t", [4], kind=99)]), UnsupportedModel, "type 99"),
    "integers": (a_file(tensors=[tensor(b"t", [4], kind=26)]), UnsupportedModel, "type 26"),
    "a tensor past the end": (a_file(tensors=[tensor(b"t", [129])]), ModelNotFound, "lies outside the file"),
    "an offset past the end": (a_file(tensors=[tensor(b"t", [1], offset=2**63)]), ModelNotFound, "lies outside"),
    "an offset between": (a_file(tensors=[tensor(b"t", [1], offset=4)]), ModelNotFound, "lies outside"),
    "tensors that overlap": (
        *(a_file(tensors=[tensor(b"t", [16]), tensor(b"u", [1], offset=32)]), ModelNotFound, "overlap"),
    ),
    "two of one name": (
        *(a_file(tensors=[tensor(b"t", [1]), tensor(b"t", [1], offset=32)]), ModelNotFound, "same name"),
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_header_raises_our_error(tmp_path, case):
    content, error, said = HOSTILE[case]
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(error, match=said):
        read_header(tmp_path / "m.gguf")


def test_a_whole_file_made_by_hand_is_read(tmp_path):
    entries = [entry(b"general.alignment", 4, whole_number(64, 4))]
    content = a_file(entries=entries, tensors=[tensor(b"t", [16, 2]), tensor(b"u", [1], offset=128)])
    (tmp_path / "m.gguf").write_bytes(content)
    header = read_header(tmp_path / "m.gguf")
    assert header.data_start % 64 == 0
    assert [(one.name, one.shape, one.start - header.data_start) for one in header.tensors] == [
        ("t", (2, 16), 0),
        ("u", (1,), 128),
    ]


def test_a_part_is_known_by_its_name(small, tmp_path):
    part = tmp_path / "model-00001-of-00003.gguf"
    part.write_bytes(small.read_bytes())
    with pytest.raises(UnsupportedModel, match="part of a split model"):
        read_header(part)
    part.rename(tmp_path / "model-00001-of-00001.gguf")
    assert read_header(tmp_path / "model-00001-of-00001.gguf").architecture == "llama"


def test_a_long_list_in_a_large_empty_file_takes_no_memory(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(a_file(entries=[entry(b"k", 9, array(0, 2**38))]))
    os.truncate(path, 2**39)  # a file full of holes
    tracemalloc.start()
    with pytest.raises(ModelNotFound, match="longer than"):
        read_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_a_header_that_needs_a_second_read_is_read_whole(tmp_path):
    texts = [f"{place:0999d}" for place in range(9_000)]
    write_gguf(tmp_path / "m.gguf", "llama", values(texts=texts, last=5), {"t": np.ones(3, np.float32)})
    header = read_header(tmp_path / "m.gguf")
    assert header.data_start > 8 * 2**20
    assert header.texts("test.texts") == texts
    assert (header.metadata["test.last"], header.tensors[0].name) == (5, "t")


def mutated(content, length, random):
    """The file with one thing wrong in its first `length` bytes."""
    changed = bytearray(content)
    place, kind = int(random.integers(length)), int(random.integers(6))
    if kind == 0:
        return bytes(changed[:place])
    if kind == 1:
        del changed[place : place + int(random.integers(1, 9))]
    elif kind == 2:
        changed[place:place] = random.bytes(int(random.integers(1, 9)))
    elif kind == 3:  # a length, a count or an offset of any size
        changed[place : place + 8] = whole_number(2 ** int(random.integers(64)) - int(random.integers(2)), 8)
    else:
        for _ in range(int(random.integers(1, 5))):
            changed[int(random.integers(length))] = int(random.integers(256))
    return bytes(changed)


def outcome(path):
    """The words of the error of ours that a file ends in, "" where it is read."""
    try:
        facts_of(read_header(path))
    except RauqError as error:
        return str(error)
    return ""


def test_mutated_headers_are_read_or_refused(small, tmp_path):
    random, content = np.random.default_rng(0), small.read_bytes()
    length, path, outcomes, peak = read_header(small).data_start, tmp_path / "m.gguf", [], 0
    with path.open("wb", buffering=0) as file:
        for number in range(MUTATIONS):
            file.seek(0)
            file.truncate(file.write(mutated(content, length, random)))
            if number % 20:
                outcomes.append(outcome(path))
                continue
            tracemalloc.start()  # which takes most of the time
            outcomes.append(outcome(path))
            peak = max(peak, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peak < MOST_BYTES
    assert all(map(str.isprintable, outcomes))
    assert MUTATIONS / 2 < sum(map(bool, outcomes)) < 0.99 * MUTATIONS  # some change a text that says nothing
