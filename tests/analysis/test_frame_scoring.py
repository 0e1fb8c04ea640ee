"""A DataFrame in, the same rows with uncertainties out, by a model in memory."""

import numpy as np
import pandas as pd
import pytest

import rauq
from analysis.scoring import score
from rauq.errors import InvalidInput, ModelNotFound
from rauq.methods.method import Method
from tests.architectures import named, tiny_language_model

PROMPTS = ["Where is it?", "Who?", "When was it?"]


@pytest.fixture(scope="module")
def lm():
    return tiny_language_model(named("llama"))


def test_prompts_are_answered_and_scored_as_one_by_one(lm):
    frame = pd.DataFrame({"prompt": PROMPTS, "note": [1, 2, 3]}, index=[7, 5, 5])
    found = score(frame, model=lm, methods=["rauq", "msp"], max_new_tokens=6, stop=())
    assert list(found.columns) == ["prompt", "note", "answer", "rauq", "msp", "reason"]
    pd.testing.assert_frame_equal(found[["prompt", "note"]], frame)
    traces = [lm.generate(prompt, max_new_tokens=6, stop=()) for prompt in PROMPTS]
    assert found["answer"].tolist() == [trace.answer for trace in traces]
    np.testing.assert_allclose(found["rauq"], [rauq.score(trace).uncertainty for trace in traces], atol=1e-5)
    np.testing.assert_allclose(found["msp"], [-trace.logprobs.sum() for trace in traces], atol=1e-4)
    assert found["reason"].tolist() == ["", "", ""]


def test_given_answers_are_scored_as_they_are(lm):
    frame = pd.DataFrame({"q": PROMPTS, "answer": ["abc", "x", "yz"]})
    found = score(frame, model=lm, prompt="q", answer="answer")
    assert list(found.columns) == ["q", "answer", "rauq", "reason"]
    expected = [
        rauq.score(lm.read(prompt, text)).uncertainty for prompt, text in zip(PROMPTS, frame["answer"], strict=True)
    ]
    np.testing.assert_allclose(found["rauq"], expected, atol=1e-5)


def test_a_row_that_cannot_be_scored_says_why_and_leaves_the_others(lm):
    frame = pd.DataFrame({"prompt": ["Who?", None, "Who?"], "reply": ["abc", "abc", ""]})
    found = score(frame, model=lm, answer="reply")
    assert found["rauq"].isna().tolist() == [False, True, True]
    assert found["reason"][0] == ""
    assert "Give text" in found["reason"][1]
    assert "empty" in found["reason"][2]


def test_an_undefined_method_is_nan_with_its_reason(lm):
    frame = pd.DataFrame({"prompt": ["Who?"], "reply": ["abc"]})
    length = Method(id="length", name="Length", compute=lambda evidence: len(evidence.trace.answer_ids))
    found = score(frame, model=lm, answer="reply", methods=["rauq", "semantic_entropy", length])
    assert np.isnan(found["semantic_entropy"][0])
    assert found["reason"][0].startswith("semantic_entropy: It compares sampled answers, and none were given.")
    assert found["length"][0] == 3


@pytest.mark.parametrize(
    ("frame", "options", "says"),
    [
        (["Who?"], {}, "Got a list; give a pandas DataFrame"),
        (pd.DataFrame({"question": ["Who?"]}), {}, "no column 'prompt'. It has 'question': name those"),
        (pd.DataFrame({"prompt": ["Who?"]}), {"answer": "reply"}, "no column 'reply'. It has 'prompt'"),
        (pd.DataFrame(), {}, "no column 'prompt'. It has no columns"),
        (pd.DataFrame({"prompt": []}), {}, "The frame has no rows"),
        (pd.DataFrame({"prompt": ["a"], "answer": ["b"]}), {}, "a column 'answer' already.*pass answer='answer'"),
        (pd.DataFrame({"prompt": ["a"], "rauq": [1]}), {}, "a column 'rauq' already.*Rename or drop it"),
        (pd.DataFrame({"prompt": ["a"]}), {"methods": ["rauk"]}, "Got methods 'rauk'; give a list of some of rauq"),
        (pd.DataFrame({"prompt": ["a"]}), {"methods": "rauq"}, "Got methods"),
        (pd.DataFrame({"prompt": ["a"]}), {"batch_size": 0}, "Got batch_size=0"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_the_model_runs(lm, frame, options, says):
    with pytest.raises(InvalidInput, match=says):
        score(frame, model=lm, **options)


def test_a_model_is_given_by_name_too():
    with pytest.raises(ModelNotFound):
        score(pd.DataFrame({"prompt": ["Who?"]}), model="models/nope")
