"""A trace with LIG weights: which layers it has, what is refused, and that everything after it works unchanged."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import rauq
from rauq import InvalidInput, NotCaptured, Settings, Trace, score, score_arrays
from rauq.errors import Stopped
from tests.architectures import named, tiny_language_model

PROMPT, ANSWER = "Where is it?", "Oslo it is"


@pytest.fixture(scope="module")
def lm():
    return tiny_language_model(named("llama"), num_hidden_layers=6)


@pytest.fixture(scope="module")
def trace(lm):
    return lm.read(PROMPT, ANSWER, extras=("lookback",))


@pytest.fixture(scope="module")
def attributed(lm, trace):
    return lm.attribute(trace, steps=2)


def test_the_middle_layers_alone_have_weights_and_all_else_is_kept(trace, attributed):
    assert attributed.layers == (2, 3, 4)
    assert attributed.attention.shape == (3, 4, len(trace.answer_ids) + 1, 1)
    weights = attributed.previous_token_attention()
    assert np.isfinite(weights).all()
    assert np.isnan(attributed.attention[:, :, [0, -1]]).all()
    assert not np.allclose(weights, trace.previous_token_attention()[2:5])
    assert (trace.attribution, dict(attributed.extras)) == (None, {})
    assert attributed.attribution.method == (2, "output", False)
    assert 0 <= attributed.attribution.median_error <= attributed.attribution.max_error
    np.testing.assert_array_equal(attributed.logprobs, trace.logprobs)
    assert attributed.pieces == trace.pieces


def test_more_steps_are_more_complete(lm, trace, attributed):
    assert lm.attribute(trace, steps=16).attribution.max_error < min(1e-3, attributed.attribution.max_error)


def test_only_the_layers_that_were_asked_for(lm, trace, attributed):
    one = lm.attribute(trace, steps=2, layers=(3,))
    assert one.layers == (3,)
    np.testing.assert_allclose(one.attention[0], attributed.attention[1], atol=1e-6)


def test_it_is_scored_as_any_other_trace(trace, attributed):
    found = score(attributed)
    assert found.layers == (2, 3, 4)
    bare = score_arrays(
        attributed.previous_token_attention(),
        trace.logprobs,
        Settings(signal="probability", alpha=0.2),
        layer_ids=(2, 3, 4),
        num_layers=6,
    )
    assert found.uncertainty == pytest.approx(bare.uncertainty)
    assert found.uncertainty != score(trace).uncertainty
    batch = rauq.batch([attributed, attributed])
    np.testing.assert_allclose(rauq.score_many(batch).uncertainty, found.uncertainty)


def test_attention_and_attributions_are_never_mixed(trace, attributed):
    own_layers = replace(trace, layers=(2, 3, 4), attention=trace.attention[2:5], extras={})
    with pytest.raises(InvalidInput, match="weights were attributed differently"):
        rauq.batch([own_layers, attributed])
    with pytest.raises(InvalidInput, match="LIG, 2 steps, output"):
        rauq.batch([attributed, replace(attributed, attribution=replace(attributed.attribution, steps=3))])
    with pytest.raises(InvalidInput, match="Layers 1 have no captured attention"):
        score(attributed, Settings(layers=(1, 2)))


def test_the_own_query_has_no_attribution(attributed):
    with pytest.raises(NotCaptured, match="Use alignment='predicting'"):
        attributed.previous_token_attention("own")
    with pytest.raises(InvalidInput, match="Offset 2 is not captured"):
        attributed.previous_token_attention(offset=2)


def test_the_table_of_methods_says_which_weights_it_reads(trace, attributed):
    for given, defined, other in ((attributed, "rauq_lig", "rauq"), (trace, "rauq", "rauq_lig")):
        found = rauq.evaluate(given, ["rauq", "rauq_lig", "no_recurrence", "msp"])
        assert found[defined] == pytest.approx(score(given).uncertainty)
        assert np.isnan(found[other])
        assert found["msp"] == pytest.approx(-trace.logprobs.sum())
        assert "lm.attribute(trace)" in found[other].reason or "rauq_lig" in found[other].reason
    assert np.isnan(rauq.evaluate(attributed, ["no_recurrence"])["no_recurrence"])


def test_an_answer_of_one_token_has_no_weights(lm):
    one = lm.attribute(lm.read(PROMPT, "O"), steps=2)
    assert np.isnan(one.attention).all()
    assert np.isnan(one.attribution.max_error)
    assert one.attribution.is_complete
    assert np.isfinite(score(one).uncertainty)


def test_the_file_says_so_too(attributed, tmp_path):
    attributed.save(tmp_path / "lig.safetensors")
    again = Trace.load(tmp_path / "lig.safetensors")
    assert again.attribution == attributed.attribution
    assert score(again).uncertainty == score(attributed).uncertainty
    assert Trace.from_bytes(attributed.to_bytes()).attribution == attributed.attribution


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"layers": (5,)}, "Layer 5 is the last block"),
        ({"layers": (2, 5)}, "Layer 5 is the last block"),
        ({"layers": (6,)}, "Layers 6 have no captured attention"),
        ({"layers": ()}, "name at least one layer"),
        ({"layers": (2, 2)}, "each one once"),
        ({"steps": 0}, "Got steps=0"),
        ({"steps": 2.0}, "Got steps=2.0"),
        ({"steps": 1001}, "from 1 to 1,000"),
        ({"side": "both"}, "Got side='both'"),
        ({"positive": 1}, "positive=1"),
    ],
)
def test_bad_arguments_are_refused(lm, trace, arguments, said):
    with pytest.raises(InvalidInput, match=said):
        lm.attribute(trace, **arguments)


def test_where_only_the_last_block_is_in_the_middle_layers_must_be_named():
    lm = tiny_language_model(named("qwen3-next-hybrid"))
    with pytest.raises(InvalidInput, match="only the last block, layer 3, has attention"):
        lm.attribute(lm.read(PROMPT, ANSWER))


def test_layers_without_attention_have_no_attribution():
    lm = tiny_language_model(named("jamba-hybrid"))
    found = lm.attribute(lm.read(PROMPT, ANSWER), steps=2)
    assert found.layers == (1,)  # attention is in 1 and 3, which is the last block
    assert np.isfinite(score(found).uncertainty)
    with pytest.raises(InvalidInput, match="Layers 2 have no captured attention"):
        lm.attribute(lm.read(PROMPT, ANSWER), layers=(2,))


def test_the_trace_of_another_model_is_refused(lm, trace):
    with pytest.raises(InvalidInput, match="This trace is of another model"):
        lm.attribute(replace(trace, model="other"))
    with pytest.raises(InvalidInput, match="gives other log-probabilities"):
        lm.attribute(replace(trace, logprobs=trace.logprobs - 0.1))


def test_a_cancelled_attribution_gives_nothing(lm, trace):
    cancel, seen = threading.Event(), []

    def after_five(done, total):
        seen.append((done, total))
        if done == 5:
            cancel.set()

    with pytest.raises(Stopped, match="stopped after 6 of 27 passes"):
        lm.attribute(trace, steps=2, on_progress=after_five, cancel=cancel)
    assert seen == [(done, 27) for done in range(6)]
    assert lm.read(PROMPT, ANSWER).attribution is None  # the model works on
