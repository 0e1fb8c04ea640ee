"""What goes wrong in the process that runs llama.cpp is a clear error, and the next prompt is answered."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rauq.errors import (
    EngineStopped,
    InvalidInput,
    MissingPackage,
    ModelNotFound,
    OutOfMemory,
    Stopped,
    UnsupportedModel,
)
from rauq.llama_cpp import library
from rauq.llama_cpp import process as process_module
from rauq.llama_cpp.process import start
from rauq.model.loading import load_model
from tests.gguf_files import MERGED, save_gguf

PROMPT = [5, 9, 30, 77]
OPTIONS = {"max_new_tokens": 4, "stop": ()}
OPEN = {"threads": 1, "full_window": True, "half_cache": True}


@pytest.fixture(scope="module")
def llama(file_of):
    return load_model(file_of("llama"), engine="llama.cpp")


@pytest.fixture
def process():
    process = start()
    yield process
    process.close()


def test_a_process_that_is_killed_in_an_answer_is_an_error_and_the_next_answer_is_the_same(llama):
    expected = llama.generate(PROMPT, **OPTIONS)

    def kill(*_):
        llama.engine._process.running.kill()
        llama.engine._process.running.wait()

    with pytest.raises(EngineStopped, match=r"exit code -9; this answer is lost, and the next prompt starts another"):
        llama.generate(PROMPT, on_token=kill, **OPTIONS)
    again = llama.generate(PROMPT, **OPTIONS)
    assert again.logprobs.tolist() == expected.logprobs.tolist()


def test_an_answer_that_is_interrupted_leaves_nothing_for_the_next_one(llama, monkeypatch):
    expected = llama.generate(PROMPT, **OPTIONS)
    heard, received = process_module.receive, []

    def interrupted(replies):
        received.append(replies)
        if len(received) == 3:  # the reply is under way
            raise KeyboardInterrupt
        return heard(replies)

    monkeypatch.setattr(process_module, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        llama.generate([9, 9, 9, 9, 9], **OPTIONS)
    again = llama.generate(PROMPT, **OPTIONS)
    assert again.logprobs.tolist() == expected.logprobs.tolist()


def test_a_fault_is_told_with_its_last_lines(process):
    with pytest.raises(EngineStopped, match=r"(?s)exit code 1;.*It wrote last:.*KeyError: 'nothing'"):
        process.ask("nothing")


def test_an_error_of_the_package_leaves_the_process_running(process, file_of):
    with pytest.raises(InvalidInput, match="No model is open yet"):
        process.ask("begin", cells=8, offsets=8)
    opened = process.ask("open", path=str(file_of("llama")), **OPEN).header
    assert opened == {"engine": "xllamacpp 2026.10.11549", "vocab_size": 260}


def test_what_is_left_of_a_file_is_refused_with_llama_cpps_reason(process, file_of, tmp_path):
    whole = file_of("llama").read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelNotFound, match=r"llama.cpp says: .*not within the file bounds"):
        process.ask("open", path=str(cut), **OPEN)
    (tmp_path / "other.gguf").write_bytes(whole.replace(b"llama.", b"lxxma.").replace(b"llama", b"lxxma"))
    with pytest.raises(ModelNotFound, match="unknown model architecture: 'lxxma'"):
        process.ask("open", path=str(tmp_path / "other.gguf"), **OPEN)


def test_a_long_prompt_is_stopped_within_a_second(tmp_path):
    file = tmp_path / "long.gguf"
    save_gguf(file, entries=MERGED, max_position_embeddings=16_384, hidden_size=256, num_hidden_layers=6)
    llama = load_model(file, engine="llama.cpp")
    cancel, told = threading.Event(), []

    def stop():
        time.sleep(0.5)
        told.append(time.perf_counter())
        cancel.set()

    threading.Thread(target=stop).start()
    with pytest.raises(Stopped, match="Stopped before the first token"):
        llama.generate([5] * 16_000, cancel=cancel, **OPTIONS)
    assert time.perf_counter() - told[0] < 1
    assert llama.generate(PROMPT, **OPTIONS).stop_reason == "length"


def test_a_context_that_is_full_is_an_error(process, file_of):
    process.ask("open", path=str(file_of("llama")), **OPEN)
    process.ask("begin", cells=8, offsets=8)
    number = np.arange(300, dtype=np.int32)
    with pytest.raises(OutOfMemory, match="The cache of 256 tokens is full"):
        process.ask("feed", 0 * number + 5, number, 0 * number, number < 0)


def test_without_a_library_one_sentence_says_what_to_install(monkeypatch, file_of):
    monkeypatch.setattr(library, "find_spec", lambda _name: None)
    with pytest.raises(MissingPackage, match="pip install xllamacpp"):
        load_model(file_of("qwen2"), engine="llama.cpp")
    assert not library.is_installed()


def test_another_file_in_place_of_the_library_is_refused(monkeypatch, tmp_path, file_of):
    wrong = tmp_path / "libother.so"
    wrong.write_bytes(b"no library")
    monkeypatch.setenv(library.VARIABLE, str(wrong))
    with pytest.raises(UnsupportedModel, match=r"libother.so is no library of llama.cpp .* Tested is xllamacpp 2026"):
        load_model(file_of("qwen3"), engine="llama.cpp")


@pytest.mark.parametrize("name", ["n_ubatch", "swa_full", "yarn_ext_factor"])
def test_a_struct_of_another_layout_is_refused_before_anything_is_loaded(name, monkeypatch):
    moved = {**library.CONTEXT_FIELDS, name: library.Field(library.CONTEXT_FIELDS[name].offset + 4, library._INT, 12)}
    monkeypatch.setattr(library, "CONTEXT_FIELDS", moved)
    with pytest.raises(UnsupportedModel, match=rf"another layout .*{name} is .*, and 12 was expected"):
        library.load_library(library.find_library())


def test_the_process_needs_no_torch():
    code = "import sys, rauq.llama_cpp.child; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"
