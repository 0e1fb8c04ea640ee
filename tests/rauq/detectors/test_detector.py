"""Detectors in the library: what they read, their scores, their file, and what they refuse."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

import rauq
from rauq.detectors import attention, hidden_states
from rauq.detectors.detector import FITTED, LARGEST_HEADER, Detector
from rauq.detectors.hidden_states import Saplma
from rauq.errors import InvalidInput, NotCaptured
from tests.detectors import HEADS, LAYERS, MADE_UP, WIDTH, answer, made_up_detector, without
from tests.imports import MODELS, imported_after

KEY = "rauq_detector"
METHODS = tuple(MADE_UP)
SHAPES = {
    "lookback": (LAYERS, HEADS, 5, 2),
    "attention_entropy": (LAYERS, HEADS, 5, 2),
    "hidden_mean": (WIDTH,),
    "hidden_layers": (LAYERS + 1, 5, WIDTH),
}


def test_every_method_is_tried_here():
    assert set(MADE_UP) == set(FITTED) - {"factoscope"}  # 33 million numbers: it has tests of its own
    assert imported_after("import rauq; rauq.Detector", MODELS) == []


def test_a_lookback_ratio_is_the_share_of_the_prompt_and_its_mean_counts_the_first_token():
    trace = answer()
    given = trace.extras["lookback"].astype(float)
    expected = []
    for layer in range(LAYERS):
        for head in range(HEADS):
            rows = [given[layer, head, row] for row in range(1, 5)]
            expected.append((1 + sum(prompt / (prompt + own) for prompt, own in rows)) / 5)
    np.testing.assert_allclose(attention.lookback_lens_features(trace), expected, rtol=1e-9)


def test_a_head_that_attends_to_neither_has_no_ratio():
    lookback = answer().extras["lookback"].copy()
    lookback[1, 2, 3] = 0
    lookback[0, 0, 0, 0] = np.nan
    found = attention.lookback_lens_features(answer(extras={"lookback": lookback}))
    assert np.flatnonzero(np.isnan(found)).tolist() == [0, HEADS + 2]


def test_the_regression_gives_the_probability_of_an_incorrect_answer():
    detector, trace = made_up_detector("lookback_lens"), answer()
    log_odds = attention.lookback_lens_features(trace) @ detector.fitted.coefficients + 0.25
    assert detector.score(trace) == pytest.approx(1 - 1 / (1 + np.exp(-log_odds)), abs=1e-12)


def test_an_entropy_is_the_renyi_entropy_of_a_head_averaged_over_tokens():
    trace = answer()
    given = trace.extras["attention_entropy"].astype(float)
    expected = [sum(given[layer, head, :, 1]) / 5 for layer in range(LAYERS) for head in range(HEADS)]
    np.testing.assert_allclose(attention.head_entropy_features(trace), expected, rtol=1e-9)
    log_odds = expected @ made_up_detector("head_entropy_linear").fitted.coefficients + 0.25
    score = made_up_detector("head_entropy_linear").score(trace)
    assert score == pytest.approx(1 - 1 / (1 + np.exp(-log_odds)), abs=1e-12)


def test_states_are_the_middle_mean_and_half_the_mean_and_last_row_of_the_last_layer():
    trace = answer()
    states = trace.extras["hidden_layers"][LAYERS].astype(float)
    assert hidden_states.saplma_features(trace).tolist() == trace.extras["hidden_mean"].astype(float).tolist()
    expected = [(sum(states[:, column]) / 5 + states[4, column]) / 2 for column in range(WIDTH)]
    np.testing.assert_allclose(hidden_states.mind_features(trace), expected, rtol=1e-9)


def in_torch(fitted, features):
    layers = []
    for weight, bias in fitted.layers():
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        layers += [linear, torch.nn.ReLU()]
    with torch.no_grad():
        return torch.nn.Sequential(*layers[:-1])(torch.tensor(features, dtype=torch.float32))


@pytest.mark.parametrize("seed", range(5))
def test_networks_are_those_of_torch(seed):
    trace = answer(seed=seed)
    mind, saplma = (made_up_detector(method, seed=seed) for method in ("mind", "saplma"))
    expected = in_torch(mind.fitted, hidden_states.mind_features(trace)).softmax(dim=0)[1]
    assert mind.score(trace) == pytest.approx(float(expected), abs=1e-5)
    (expected,) = in_torch(saplma.fitted, hidden_states.saplma_features(trace))
    assert saplma.score(trace) == pytest.approx(float(expected), rel=1e-5)
    binary = replace(saplma, fitted=replace(saplma.fitted, output="sigmoid"))
    assert binary.score(trace) == pytest.approx(float(expected.sigmoid()), abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_file_gives_the_detector_back(method, tmp_path):
    detector, path = made_up_detector(method), tmp_path / "own.safetensors"
    detector.save(path)
    again = rauq.Detector.load(path)
    assert [again.score(answer(seed=seed)) for seed in range(3)] == [
        detector.score(answer(seed=seed)) for seed in range(3)
    ]
    same = {name: value for name, value in vars(again).items() if name not in ("fitted", "questions")}
    assert same == {name: value for name, value in vars(detector).items() if name not in ("fitted", "questions")}
    np.testing.assert_array_equal(again.questions, detector.questions)
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == path.read_bytes()
    assert repr(again) == f"Detector({method}, made-up, fitted on 40 answers to capitals, <b>years</b>)"


@pytest.mark.parametrize("method", METHODS)
def test_what_the_trace_lacks_is_said_with_what_to_capture(method):
    detector = made_up_detector(method)
    for name in FITTED[method].extras:
        with pytest.raises(NotCaptured, match=f"extras=\\('{name}',\\)"):
            detector.score(without(answer(), name))
        wrong = answer(extras=dict(answer().extras) | {name: np.ones((2, 3))})
        with pytest.raises(InvalidInput, match=r"has shape \(2, 3\)"):
            detector.score(wrong)
        unknown = {name: np.full(SHAPES[name], np.nan)}
        with pytest.raises(InvalidInput, match="its features hold nan or infinity"):
            detector.score(answer(extras=dict(answer().extras) | unknown))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "other"}, "fitted on model other, and the answer is of made-up"),
        ({"revision": "9"}, "fitted on revision 9"),
        ({"kind": "instruct"}, "fitted on kind instruct"),
        ({"num_layers": 7}, "fitted on num layers 7"),
        ({"num_heads": 5}, "fitted on num heads 5"),
    ],
)
def test_answers_of_another_model_are_refused(changes, said, method):
    with pytest.raises(InvalidInput, match=said):
        made_up_detector(method, **changes).score(answer())


def test_of_a_trace_with_more_layers_those_of_the_detector_are_read():
    layers, trace = (1, 4), answer()
    fitted = replace(made_up_detector("lookback_lens").fitted, coefficients=np.arange(2.0 * HEADS))
    detector = made_up_detector("lookback_lens", layers=layers, fitted=fitted)
    rows = list(layers)
    extras = dict(trace.extras) | {"lookback": trace.extras["lookback"][rows]}
    few = replace(trace, layers=layers, attention=trace.attention[rows], extras=extras)
    assert detector.score(trace) == detector.score(few)
    assert detector.score(trace) != replace(detector, layers=(1, 3)).score(trace)
    with pytest.raises(NotCaptured, match="no attention of layer 3"):
        replace(detector, layers=(1, 3)).score(few)
    other = made_up_detector("mind")
    assert other.score(few) == other.score(trace)  # hidden states do not depend on the layers whose attention is kept


def test_another_number_of_states_is_refused():
    extras = dict(answer().extras) | {"hidden_mean": np.ones(WIDTH + 1)}
    with pytest.raises(
        InvalidInput, match=r"SAPLMA was fitted on features of shape \(8\), and this answer's are \(9,\)"
    ):
        made_up_detector("saplma").score(answer(extras=extras))


def test_of_an_answer_with_thinking_its_answer_part_is_scored():
    trace = answer(thinking=(0, 2))
    with pytest.raises(NotCaptured):  # the mean over the answer so far cannot be split
        made_up_detector("lookback_lens").score(trace)
    with pytest.raises(InvalidInput, match="still thinking"):
        made_up_detector("lookback_lens").score(answer(thinking=(0, 5)))


def test_a_score_that_overflows_is_refused():
    fitted = made_up_detector("saplma").fitted
    large = {f"weight_{number}": np.full_like(getattr(fitted, f"weight_{number}"), 3e38) for number in range(1, 5)}
    arrays = {name: array.astype(np.float64) ** 4 for name, array in large.items()}
    detector = made_up_detector("saplma", fitted=replace(fitted, **arrays))
    with pytest.raises(InvalidInput, match="numbers of the detector are too large"):
        detector.score(answer())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "luck"}, "method is 'luck'; give one of lookback_lens, saplma, mind"),
        ({"method": ["mind"]}, "method is"),
        ({"kind": "other"}, "base or instruct"),
        ({"num_layers": 0}, "from 1 to 10,000"),
        ({"num_heads": True}, "num_heads is True"),
        ({"model": "m" * 2000}, "at most 1,000 characters"),
        ({"model": "\ud800"}, "model is"),
        ({"layers": (1, 0)}, "ascending numbers of layers below 6"),
        ({"layers": (5, 6)}, "ascending numbers of layers below 6"),
        ({"layers": ()}, "ascending numbers of layers below 6"),
        ({"layers": ("a",)}, "ascending numbers"),
        ({"data": ()}, "1 to 1,000 names"),
        ({"data": (3,)}, "data is 3"),
        ({"answers": 0}, "answers is 0"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"threshold": 10**400}, "threshold is"),
        ({"fitted": None}, "give LookbackLens"),
    ],
)
def test_fields_that_are_not_allowed_are_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        replace(made_up_detector("lookback_lens"), **changes)
    with pytest.raises(InvalidInput, match="since it reads no attention"):
        made_up_detector("mind", layers=(1,))


def wrong(fitted, **changes):
    return lambda: replace(fitted, **changes)


SAPLMA, MIND, LENS = (MADE_UP[name](np.random.default_rng(0)) for name in ("saplma", "mind", "lookback_lens"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (wrong(LENS, coefficients=np.ones((2, 2))), r"coefficients is .*give an array \(any\)"),
        (wrong(LENS, coefficients=np.ones(0)), "coefficients is"),
        (wrong(LENS, coefficients=np.array([1, np.inf])), "finite numbers"),
        (wrong(LENS, coefficients=[1.0]), "coefficients is"),
        (wrong(LENS, coefficients=np.array(["a"])), "coefficients is"),
        (wrong(LENS, intercept=float("inf")), "intercept is inf"),
        (wrong(SAPLMA, output="softmax"), "identity or sigmoid"),
        (wrong(SAPLMA, weight_2=np.ones((4, 9))), r"weight_2 is .*\(any, 5\)"),
        (wrong(SAPLMA, bias_3=np.ones(9)), r"bias_3 is .*\(3\)"),
        (wrong(SAPLMA, weight_4=MIND.weight_4, bias_4=MIND.bias_4), r"bias_4 is .*\(1\)"),
        (wrong(MIND, weight_4=SAPLMA.weight_4, bias_4=SAPLMA.bias_4), r"bias_4 is .*\(2\)"),
    ],
)
def test_fitted_numbers_fit_each_other(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("detector") / "mind"
    made_up_detector("mind").save(path)
    return path.read_bytes()


def header_of(content):
    return json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"][KEY]


def changed(content, *, drop=(), arrays=None, **fields):
    metadata = {name: value for name, value in (json.loads(header_of(content)) | fields).items() if name not in drop}
    kept = {name: array for name, array in (load(content) | (arrays or {})).items() if name not in drop}
    return save(kept, {KEY: json.dumps(metadata)})


DAMAGED = {
    "schema": ({"schema": 1}, "has detector schema 1; this version reads schema 2"),
    "schema of another type": ({"schema": True}, "has detector schema True"),
    "method": ({"method": "luck"}, "method is 'luck'"),
    "another method": ({"method": "lookback_lens"}, "there is no 'coefficients'"),
    "an array too few": ({"drop": ("bias_2",)}, "there is no 'bias_2'"),
    "an array too many": ({"arrays": {"bias_5": np.ones(1)}}, "bias_5"),
    "a dtype": ({"arrays": {"bias_1": np.array([True] * 5)}}, "bias_1 is"),
    "a shape": ({"arrays": {"weight_1": np.ones((2, 2, 2))}}, "weight_1 is"),
    "nan": ({"arrays": {"bias_4": np.array([1, np.nan])}}, "bias_4 is"),
    "a scalar for an array": ({"fitted": {"bias_1": 3}, "drop": ("bias_1",)}, "there is no 'bias_1'|not ndarray"),
    "no fields": ({"fitted": 3}, "mapping"),
    "a field too few": ({"drop": ("answers",)}, "answers"),
    "a field too many": ({"more": 1}, "more"),
    "layers": ({"layers": 3}, "not iterable"),
    "data": ({"data": [["a"]]}, "data is"),
    "threshold": ({"threshold": 1e999}, "threshold is"),
    "questions": ({"arrays": {"questions": np.array([2, 1], dtype=np.uint64)}}, "questions is"),
    "questions of another dtype": ({"arrays": {"questions": np.array([1, 2])}}, "questions is"),
    "no questions": ({"drop": ("questions",)}, "there is no 'questions'"),
    "answers": ({"answers": "40"}, "answers is '40'"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_with_the_reason(name, content, tmp_path):
    fields, said = DAMAGED[name]
    path = tmp_path / "own.safetensors"
    path.write_bytes(changed(content, **fields))
    with pytest.raises(InvalidInput, match=said) as caught:
        Detector.load(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith("Train the detector again: python -m analysis train.")
    assert len(str(caught.value)) < 500 + len(str(path))


NO_DETECTOR = {
    "empty": lambda _: b"",
    "a pickle": lambda _: b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94.",
    "truncated": lambda content: content[:-3],
    "cut in the header": lambda content: content[:40],
    "header of 2^64": lambda _: b"\xff" * 8 + b"{}",
    "a huge header": lambda _: (LARGEST_HEADER + 1).to_bytes(8, "little") + b" " * (LARGEST_HEADER + 2),
    "a deep header": lambda _: (50_001).to_bytes(8, "little") + b"[" * 50_001,
    "no metadata": lambda content: save(load(content)),
    "metadata that is no JSON": lambda content: save(load(content), {KEY: "{"}),
    "metadata that is deep": lambda content: save(load(content), {KEY: "[" * 100_000}),
    "metadata that is a list": lambda content: save(load(content), {KEY: "[1]"}),
    "no schema": lambda content: save(load(content), {KEY: "{}"}),
    "a trace": lambda _: answer().to_bytes(),
}


@pytest.mark.parametrize("name", NO_DETECTOR)
def test_what_is_no_detector_is_refused(name, content, tmp_path):
    (tmp_path / "file").write_bytes(NO_DETECTOR[name](content))
    with pytest.raises(
        InvalidInput, match=r"file is not a detector, or it is truncated \(.*python -m analysis train\.$"
    ):
        Detector.load(tmp_path / "file")


def test_a_file_that_cannot_be_read_or_written_is_said(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match=r"There is no file .*nothing"):
        Detector.load(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="There is no file"):
        Detector.load(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be written"):
        made_up_detector("mind").save(tmp_path / "no" / "folder")
    made_up_detector("mind").save(tmp_path / "own")
    monkeypatch.setattr("rauq.detectors.detector.LARGEST_FILE", 100)
    with pytest.raises(InvalidInput, match=r"too large for a detector: .* at most 100 are read"):
        Detector.load(tmp_path / "own")


def test_a_fitted_network_of_another_class_is_refused():
    assert isinstance(SAPLMA, Saplma)
    with pytest.raises(InvalidInput, match="give Mind"):
        made_up_detector("mind", fitted=SAPLMA)
