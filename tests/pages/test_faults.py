"""Failures of memory, folders and files are reported, the page stays usable, and typed text is kept."""

import json
import shutil
import threading

import pytest
import torch

from pages.ui.host import jobs, models
from pages.ui.host.hosting import ModelChoice
from pages.ui.inspect import form
from pages.ui.inspect.form import EXAMPLES
from pages.ui.shared import state
from rauq.recorded import answers as recorded
from tests.architectures import save_tiny
from tests.pages.reading import choose, finished, interpreted, shown_trace, views, written
from tests.traces import make_trace

PROMPT = "What was typed & kept?"
MEMORY = "Not enough memory"
UNOPENED = "This trace cannot be opened"


@pytest.fixture
def folder(tmp_path):
    """A small model, saved."""
    folder = tmp_path / "tiny"
    return save_tiny(folder)


def asked(page, folder, prompt=PROMPT):
    """The page with a prompt for a model of a folder."""
    page = choose(choose(page, state.TASK, "generate"), state.MODEL, "another")
    return written(page, prompt=prompt, other_model=str(folder), max_new_tokens=3)


def answered(page):
    return finished(page.button(key="run").click().run())


def said(page):
    return " ".join(text.value for text in page.text)


def expect_fault(page, title, *words):
    """Check that the page shows this error and keeps the typed text."""
    assert not page.exception
    assert [error.value for error in page.error] == [title]
    assert all(word in said(page) for word in words), said(page)
    assert page.text_area(key=state.PROMPT).value == PROMPT
    assert not page.button(key="run").disabled


def fail(_module, _arguments, _keywords, _output):
    message = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"
    raise RuntimeError(message)


def test_a_model_that_does_not_fit_is_refused_with_what_would_fit(open_app, folder, monkeypatch):
    page = asked(open_app(make_trace()), folder)
    with monkeypatch.context() as patched:
        patched.setattr("rauq.checkpoints.loading.free_main_memory", lambda: 10_000)
        page = answered(page)
    expect_fault(page, MEMORY, "does not fit", "are free", "Choose a model of at most")
    assert views(page)["source"].startswith("made-up")
    page = answered(page)
    assert not page.error
    assert shown_trace(page).model == str(folder)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")], ids=["cpu", "gpu"])
def test_running_out_of_memory_while_reading_weights(error, open_app, folder, monkeypatch):
    def end(*_arguments, **_options):
        raise error

    page = asked(open_app(make_trace()), folder)
    with monkeypatch.context() as patched:
        patched.setattr("rauq.checkpoints.loading._with_weights", end)
        page = answered(page)
    expect_fault(page, MEMORY, f"Out of memory while loading {folder}", "bfloat16")
    assert views(page)["source"].startswith("made-up")
    assert models.if_loaded(ModelChoice(name=str(folder))) is None
    assert not answered(page).error


def test_running_out_of_memory_while_generating(open_app, folder):
    page = answered(asked(open_app(), folder))
    first, lm = shown_trace(page), models.if_loaded(ModelChoice(name=str(folder)))
    hook = lm.model.register_forward_hook(fail, with_kwargs=True)
    page = answered(page)
    hook.remove()
    expect_fault(page, MEMORY, "Out of memory while", "shorter prompt")
    assert shown_trace(page) is first
    page = answered(page)
    assert not page.error
    assert shown_trace(page).answer == first.answer


def test_a_folder_that_is_deleted_while_its_model_is_loaded(open_app, folder):
    page = answered(asked(open_app(), folder))
    first = shown_trace(page)
    shutil.rmtree(folder)
    page = answered(page)
    assert not page.error
    assert shown_trace(page) is not first
    assert shown_trace(page).answer == first.answer

    page = answered(choose(page, state.MODEL, "atlas"))
    assert shown_trace(page).model == "atlas"
    page = answered(choose(page, state.MODEL, "another"))
    expect_fault(page, "No model was loaded", f"Folder '{folder}' not found")
    assert page.text_input(key=state.OTHER_MODEL).value == str(folder)
    assert shown_trace(page).model == "atlas"
    assert not answered(choose(page, state.MODEL, "atlas")).error


def with_uploader(page):
    page.session_state["open_trace"] = True
    return page.run()


def upload(page, content, name="mine.safetensors"):
    return page.file_uploader[0].upload(name, content).run()


GOOD = make_trace(prompt="From a file?").to_bytes()
BAD_FILES = {
    "empty": b"",
    "truncated": GOOD[:-7],
    "half a header": GOOD[:100],
    "another schema": GOOD.replace(b'schema\\": 1', b'schema\\": 2'),
    "a pickle": b"\x80\x04\x95\x17\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "no trace": b"GIF89a",
    "a huge header": (2**62).to_bytes(8, "little") + GOOD[8:],
    "huge": bytes(form.MOST_MEGABYTES * 2**20 + 1),
    "hostile words": GOOD.replace(b'kind\\": \\"base', b'kind\\": \\"![]('),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_not_a_trace_is_reported_and_a_valid_one_clears_the_error(content, open_app):
    assert content != GOOD
    shown = make_trace((b" Lima", b"!"))
    page = written(with_uploader(open_app(shown)), prompt=PROMPT).run()
    page = upload(page, content)
    expect_fault(page, UNOPENED, "mine.safetensors")
    assert shown_trace(page) is shown
    assert "![](" not in interpreted(page)
    page = upload(page.run(), GOOD, name="good.safetensors")
    assert not page.exception
    assert not page.error
    assert shown_trace(page).prompt == page.text_area(key=state.PROMPT).value == "From a file?"


def test_another_schema_is_reported_with_both_numbers(open_app):
    page = upload(with_uploader(open_app(make_trace())), BAD_FILES["another schema"])
    assert "trace schema 2; this version reads schema 1" in said(page)


def test_a_recorded_file_that_is_damaged_leaves_the_others(open_app):
    for number in (0, 1):
        make_trace(prompt=f"Number {number}?", model="atlas").save(recorded.FOLDER / f"{number}.safetensors")
    stated = {"what_to_see": "", "verdict": "correct", "correct_answer": ""}
    recorded.INDEX.write_text(json.dumps([{"id": str(n), "name": f"N {n}"} | stated for n in (0, 1)]))
    first = recorded.FOLDER / "0.safetensors"
    first.write_bytes(first.read_bytes()[:-5])
    page = written(open_app(), prompt=PROMPT).run()
    expect_fault(page, UNOPENED, "0.safetensors")
    page.selectbox(key="_example").select_index(1).run()
    assert not page.error
    assert page.text_area(key=state.PROMPT).value == "Number 1?"
    page = choose(page, state.TASK, "generate")
    assert not answered(written(page, prompt=EXAMPLES[0].prompt, max_new_tokens=3)).error


def test_two_sessions_with_two_models_do_not_mix(open_app, folder, monkeypatch):
    together, answer = threading.Barrier(2), jobs._answer

    def answer_together(job):
        together.wait(30)
        return answer(job)

    monkeypatch.setattr(jobs, "_answer", answer_together)
    pages = [asked(open_app(), folder, prompt="First?"), written(open_app(), prompt="Second?", max_new_tokens=3)]
    for _ in range(2):
        pages = [page.button(key="run").click().run() for page in pages]
        pages = [finished(page) for page in pages]
        for page, model, prompt in zip(pages, (str(folder), "atlas"), ("First?", "Second?"), strict=True):
            assert not page.exception
            assert not page.error
            assert (shown_trace(page).model, shown_trace(page).prompt) == (model, prompt)
            assert page.text_area(key=state.PROMPT).value == prompt
            assert model.rpartition("/")[2] in views(page)["source"]
            assert len(shown_trace(page).answer_ids) == 3
