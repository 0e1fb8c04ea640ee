"""The script runs, and finds the same score: from the trace, and from the model."""

import ast
import importlib.util
import math
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rauq
from analysis.exports.python_code import python_code
from rauq.arguments import Sampling
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.scoring.settings import Settings
from rauq.trace.trace import Alternative
from tests.architectures import named, tiny_language_model
from tests.traces import make_trace

ROOT = Path(__file__).parents[3]
DRAWN = Sampling(temperature=0.7, top_p=0.9, top_k=5, seed=2**64 - 1)
DRAWS = f"do_sample=True, temperature=0.7, top_p=0.9, top_k=5, seed={2**64 - 1})"
OF_ATLAS = [recorded for recorded in load_recorded() if recorded.trace().model == "atlas"]  # whose heads are named here
SETTINGS = [
    Settings(),
    Settings(alpha=0.35),
    Settings(signal="entropy"),
    Settings(signal="entropy", alpha=0.2),
    Settings(alignment="own", layers=(2, 5, 7)),
    Settings(layers="all", heads="mean", layer_aggregation="mean"),
    Settings(heads="top5", update="product", token_aggregation="sum_log"),
    Settings(heads=tuple((layer, 3) for layer in range(12)), layer_aggregation="median"),
    Settings(update="mean_sum", heads="mean"),
    Settings(update="minus_mean", token_aggregation="median"),
]
HOSTILE = (
    '"""\nimport os; os._exit(3)\n"""',
    "'''\nraise SystemExit\n'''",
    "a\\",
    "$call ${model} {chat} %s",
    "line\r\nfeed\x0b\x1c\u2028\u2029\x85 and\ttab\0",
    "\u202egnirts a ton si siht\u2066 \ud800 \udfff",
    "",
)


def run(script, folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, script.name]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def written(trace, score, folder, name="answer"):
    script = folder / f"{name}.py"
    script.write_text(python_code(trace, score, trace_file=f"{name}.safetensors"), encoding="utf-8")
    trace.save(folder / f"{name}.safetensors")
    return script


def loaded(script):
    """The script as a module, so that its function can be called."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def constants(code):
    """The names that the script assigns literals to."""
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    return {node.targets[0].id: node.value for node in assigned}


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_script_reproduces_the_score(settings, tmp_path):
    trace = find_recorded("unknown-place").trace()
    score = rauq.score(trace, settings)
    done = run(written(trace, score, tmp_path), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert math.isclose(float(done.stdout), score.uncertainty, rel_tol=0, abs_tol=1e-6)


@pytest.mark.parametrize("recorded", OF_ATLAS, ids=lambda recorded: recorded.id)
def test_script_names_what_is_not_the_papers(recorded, tmp_path):
    trace = recorded.trace()
    for settings in SETTINGS:
        module = loaded(written(trace, rauq.score(trace, settings), tmp_path))
        again = rauq.score(rauq.Trace.load(tmp_path / module.TRACE), module.SETTINGS)
        assert again.settings == rauq.score(trace, settings).settings
    assert "Settings()" in python_code(trace, rauq.score(trace))


def test_script_fails_where_the_score_is_another(tmp_path):
    trace = find_recorded("unknown-place").trace()
    script = written(trace, rauq.score(trace), tmp_path)
    replace(trace, logprobs=trace.logprobs - np.float32(1e-4)).save(tmp_path / "answer.safetensors")
    assert "AssertionError" in run(script, tmp_path).stderr


@pytest.mark.parametrize("logprob", [-np.inf, np.nan])
def test_scores_that_are_no_finite_number_are_reproduced(logprob, tmp_path):
    trace = make_trace(logprobs=np.array([logprob, -0.5, -0.5]))
    score = rauq.score(trace)
    assert not math.isfinite(score.uncertainty)
    done = run(written(trace, score, tmp_path), tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, str(score.uncertainty))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_leaves_its_literal(text):
    trace = make_trace(prompt=text, model=text, revision=text)
    code = python_code(trace, rauq.score(trace), trace_file=text)
    plain = make_trace(prompt="p", model="m", revision="r")
    like = python_code(plain, rauq.score(plain), trace_file="f")
    assert ast.literal_eval(constants(code)["PROMPT"]) == text
    assert ast.literal_eval(constants(code)["TRACE"]) == text
    assert shape(code) == shape(like)
    assert all(letter.isprintable() or letter == "\n" for letter in code)


def shape(code):
    """The script without its texts."""
    return [type(node) for node in ast.walk(ast.parse(code))]


@pytest.mark.parametrize(
    ("model", "revision", "arguments"),
    [
        ("atlas", "0" * 64, "'atlas', kind='base'"),
        ("folder/of/mine", "local", "'folder/of/mine', kind='base'"),
        ("org/name", "abc", "'org/name', revision='abc', kind='base'"),
    ],
)
def test_model_is_asked_for_as_it_was_loaded(model, revision, arguments):
    trace = make_trace(model=model, revision=revision)
    assert f"load_model({arguments})" in python_code(trace, rauq.score(trace))


def test_only_what_leads_to_the_answer_again_is_generated():
    greedy = ((Alternative(0, "a", -0.1),), (Alternative(1, "b", -0.1),), (Alternative(2, "c", -0.1),))
    for trace, call in (
        (make_trace(alternatives=greedy), "lm.generate"),
        (make_trace(alternatives=greedy, stop_reason="given"), "lm.read"),
        (make_trace(alternatives=greedy, stop_reason="cancelled"), "lm.read"),
        (make_trace(alternatives=greedy[::-1]), "lm.read"),
        (make_trace(alternatives=((),) * 3), "lm.read"),
        (make_trace(sampling=DRAWN), DRAWS),
        (make_trace(alternatives=greedy, sampling=DRAWN), DRAWS),
        (make_trace(alternatives=greedy[::-1], sampling=replace(DRAWN, seed=None)), "lm.read"),
        (make_trace(sampling=DRAWN, stop_reason="cancelled"), "lm.read"),
    ):
        code = python_code(trace, rauq.score(trace))
        assert call in code
        assert code.count("lm.") == 1


def test_a_score_by_surprisal_is_reproduced_without_settings(tmp_path):
    trace = make_trace(stop_reason="given")
    trace.save(tmp_path / "answer.safetensors")
    code = python_code(trace, rauq.score_surprisal(trace), trace_file=str(tmp_path / "answer.safetensors"))
    assert "SETTINGS" not in code
    (tmp_path / "code.py").write_text(code, encoding="utf-8")
    runpy.run_path(str(tmp_path / "code.py"), run_name="__main__")  # it asserts that the score is the same


@pytest.fixture(scope="module")
def atlas():
    return rauq.load_model("atlas")


def test_the_model_gives_the_same_score_again(atlas, tmp_path, monkeypatch):
    monkeypatch.setattr(rauq, "load_model", lambda name, *, kind: {("atlas", "base"): atlas}[name, kind], raising=False)
    prompt = "Q: In which country is Gliwice?\nA:"
    generated = atlas.generate(prompt, last_row=True)
    read = atlas.read(prompt, " Gliwice is in Peru.")
    sampled = atlas.generate(prompt, do_sample=True, temperature=3.0, seed=1, last_row=True)
    for name, trace in (("generated", generated), ("read", read), ("sampled", sampled)):
        for settings in (Settings(), Settings(alignment="own", signal="entropy")):
            score = rauq.score(trace, settings)
            module = loaded(written(trace, score, tmp_path, name))
            again = rauq.score(module.regenerate(trace), module.SETTINGS)
            assert again.uncertainty == pytest.approx(score.uncertainty, abs=1e-6)


def test_attributions_are_made_again(tmp_path, monkeypatch):
    lm = tiny_language_model(named("llama"), num_hidden_layers=6)
    monkeypatch.setattr(rauq, "load_model", lambda *_args, **_options: lm, raising=False)
    lig = lm.attribute(lm.read("Where?", "Oslo"), steps=2, layers=(2, 4), positive=True)
    score = rauq.score(lig)
    module = loaded(written(lig, score, tmp_path))
    again = module.regenerate(lig)
    assert again.attribution.method == lig.attribution.method
    assert rauq.score(again, module.SETTINGS).uncertainty == pytest.approx(score.uncertainty, abs=1e-6)
