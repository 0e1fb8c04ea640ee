"""A GGUF file is run by the engine that is chosen on the page, which the answer, its copied link and its form keep."""

import pytest

from analysis.exports.python_code import python_code
from pages.ui.shared import state
from pages.ui.shared.url_state import asking, read_asked, written_asked
from rauq.scoring.score import score
from tests.gguf_files import MERGED, save_gguf
from tests.pages.reading import choose, written


@pytest.fixture
def file(tmp_path):
    save_gguf(tmp_path / "tiny.gguf", entries=MERGED)
    return tmp_path / "tiny.gguf"


def other_model(page, file):
    return written(choose(page, state.MODEL, "another"), other_model=str(file)).run()


def answered(page):
    page = written(page, prompt="Where is Oslo?").button(key="run").click().run()
    job = page.session_state[state.JOB]
    assert job.done.wait(60)
    assert job.error is None
    return job.trace


@pytest.mark.parametrize("engine", ["llama.cpp", "transformers"])
def test_an_answer_comes_from_the_chosen_engine_and_its_link_asks_for_it(engine, file, open_app):
    page = choose(other_model(open_app(), file), state.ENGINE, engine)
    trace = answered(page)
    assert trace.engine.startswith(engine)
    asked = read_asked(written_asked(asking(trace)))
    assert asked.engine == engine
    assert f"engine={engine!r}" in python_code(trace, score(trace))
    assert not page.exception


def test_both_engines_are_described_before_anything_is_loaded(file, open_app):
    page = other_model(open_app(), file).button(key="check").click().run()
    said = "\n".join(text.value for text in page.text)
    assert "transformers: 178.0 kB in memory, at most about " in said
    assert "llama.cpp: 184.4 kB in memory" in said
    assert "tokens/s on one core" in said


def test_a_link_with_an_engine_fills_the_form(file, open_app):
    page = open_app(prompt="Where is Oslo?", model=str(file), engine="llama.cpp")
    assert page.session_state[state.ENGINE] == "llama.cpp"
    assert open_app(prompt="Where?", model=str(file), engine="other").session_state[state.ENGINE] == "auto"
