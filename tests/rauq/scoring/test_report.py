import json
import math
import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from rauq import Settings, score
from rauq.recorded.answers import find_recorded, load_recorded
from rauq.scoring import report
from rauq.scoring.settings import Signal, Update
from rauq.scoring.shown import show_head, shown_layer
from tests.traces import make_trace

CASES = {
    "plain": (make_trace(), Settings()),
    "one token": (make_trace((b"Yes",)), Settings()),
    "one head": (make_trace(num_heads=1), Settings()),
    "impossible token": (make_trace(logprobs=np.array([-math.inf, -0.1, -0.1])), Settings()),
    "unknown probability": (make_trace(logprobs=np.array([-0.1, math.nan, -0.1])), Settings()),
    "unknown entropy": (make_trace(entropies=np.full(3, math.nan)), Settings()),
    "mean over layers": (make_trace(), Settings(layer_aggregation="mean")),
    "median of tokens": (make_trace(), Settings(token_aggregation="median")),
    "no recurrence": (make_trace(), Settings(update="mean_product")),
}


def null_names(value, name=""):
    if isinstance(value, dict):
        return {found for key, inner in value.items() for found in null_names(inner, key)}
    if isinstance(value, list):
        return {found for inner in value for found in null_names(inner, name)}
    return {name} if value is None else set()


@pytest.mark.parametrize("case", CASES)
def test_json_is_finite_and_gives_a_reason_for_every_null(case):
    trace, settings = CASES[case]
    record = report.as_json(trace, score(trace, settings))
    parsed = json.loads(json.dumps(record, allow_nan=False))
    undefined = parsed.pop("undefined")
    assert null_names(parsed) == set(undefined)
    assert all(undefined.values())
    assert list(record) == list(report.as_json(*plain()))


def plain():
    trace, settings = CASES["plain"]
    return trace, score(trace, settings)


def test_json_tells_which_tokens_were_marked_as_wrong():
    trace = make_trace(wrong=(1,))
    assert [token["wrong"] for token in report.as_json(trace, score(trace))["tokens"]] == [False, True, False]


def test_json_holds_the_score():
    trace, result = plain()
    record = report.as_json(trace, result)
    assert record["uncertainty"] == result.uncertainty
    assert record["layer"] == result.layer
    assert record["settings"] == {
        "alpha": 0.2,
        "signal": "probability",
        "layers": "middle",
        "alignment": "predicting",
        "heads": "max",
        "update": "rauq",
        "token_aggregation": "mean_log",
        "layer_aggregation": "max",
        "part": "answer",
    }
    assert [token["collapse"] for token in record["tokens"]] == result.collapse.tolist()
    assert sum(token["contribution"] for token in record["tokens"]) == pytest.approx(result.uncertainty)
    assert record["undefined"] == {}


def test_selected_heads_are_those_that_attend_most():
    trace, result = plain()
    weights = trace.previous_token_attention()
    for row in report.selected_heads(result):
        means = weights[row.layer].mean(axis=-1, dtype=float)
        assert row.head == means.argmax()
        assert row.mean_attention == pytest.approx(means.max())
        assert row.margin == pytest.approx(means.max() - np.sort(means)[-2])
        assert row.layer_score <= result.uncertainty


def test_collapse_is_at_the_improbable_token():
    trace = make_trace((b"a", b"b", b"c", b"d"), probabilities=[0.99, 0.99, 0.001, 0.99])
    result = score(trace)
    found = report.collapse(trace, result)
    assert found.token == 2
    assert found.value == result.collapse.max()
    assert found.value == pytest.approx(found.signal_share + found.attention_share)


def test_no_collapse_where_confidence_is_not_carried_forward():
    trace, _ = CASES["no recurrence"]
    assert report.collapse(trace, score(trace, Settings(update="product"))) is None


def test_neither_white_space_nor_the_end_token_is_the_collapse_unless_there_is_nothing_else():
    pieces, texts = (b" Oslo", b" \n", b"", b"</s>"), (" Oslo", " \n", "", "")
    trace = make_trace(pieces, answer_tokens=texts, probabilities=[0.5, 0.01, 0.01, 0.001])
    result = score(trace)
    assert result.collapse.argmax() > 0
    assert report.collapse(trace, result).token == 0
    assert report.collapse(replace(trace, stop_reason="length"), result).token in {0, 3}
    spaces = make_trace((b" ", b"\n"), probabilities=[0.5, 0.001])
    assert report.collapse(spaces, score(spaces)).token == score(spaces).collapse.argmax()


@pytest.mark.parametrize("recorded", load_recorded(), ids=lambda one: one.id)
def test_weak_points_are_apart_and_in_the_order_of_their_collapse(recorded):
    trace = recorded.trace()
    result = score(trace)
    points = report.weak_points(trace, result)
    assert 1 <= len(points) <= 3
    assert points[0] == report.collapse(trace, result).token
    values = result.collapse[list(points)]
    assert (np.diff(values) <= 0).all()
    assert (values[1:] > report.LARGEST_HOLD).all()
    assert all(abs(one - other) > 1 for place, one in enumerate(points) for other in points[:place])
    if len(points) == 3:  # no other that is apart collapses more than the last
        apart = [token for token in range(len(trace.pieces)) if all(abs(token - point) > 1 for point in points)]
        said = [token for token in apart if trace.answer_tokens[token].strip()]
        assert all(result.collapse[token] <= values[-1] for token in said)


def test_an_undefined_collapse_has_no_weak_point():
    trace, _ = CASES["no recurrence"]
    assert report.weak_points(trace, score(trace, Settings(update="product"))) == ()


def test_the_headline_of_a_real_answer_names_a_word():
    trace = find_recorded("canberra").trace()
    assert trace.stop_reason == "eos"
    assert score(trace).collapse.argmax() == len(trace.pieces) - 1
    assert report.collapse(trace, score(trace)).token < len(trace.pieces) - 1


def test_sentence_holds_the_numbers_of_the_score():
    trace = make_trace((b" Oslo", b" is", b" it", b"</s>"), probabilities=[0.9, 0.9, 0.001, 0.99])
    result = score(trace)
    found = report.collapse(trace, result)
    assert report.sentence(trace, result) == (
        f"Confidence dips most at token 2, “·it”: {found.value:.2f} nats below the reference (p = 1 at every token), "
        f"{found.signal_share:.2f} from probability and {found.attention_share:.2f} from attention. "
        "Attention changes it by less than 1 %. "
        f"The score comes from layer {result.layer}, head {result.layer % 4}."
    )


@pytest.mark.parametrize("update", get_args(Update))
@pytest.mark.parametrize("signal", get_args(Signal))
@pytest.mark.parametrize("seed", range(3))
def test_what_a_sentence_says_of_signal_and_attention_follows_from_their_shares(seed, signal, update):
    """At every alpha, for the head that gives the score and for another one that is shown."""
    rng = np.random.default_rng(seed)
    trace = make_trace((b"a", b" b", b" c", b" d", b" e"), seed=seed, probabilities=rng.uniform(0.05, 1, 5))
    for alpha in np.linspace(0, 1, 11):
        found = score(trace, Settings(signal=signal, alpha=alpha, update=update))
        for shown in (found, show_head(trace, found, trace.layers[0], 1)):
            check_shares(trace, shown)


def check_shares(trace, found):
    point, said = report.collapse(trace, found), report.sentence(trace, found)
    shares = {} if point is None else {found.settings.signal: point.signal_share, "attention": point.attention_share}
    for name, share in shares.items():
        part = abs(share) / point.value
        claimed = re.search(rf"{name.capitalize()} changes it by (less than 1|only (\d+)) %\.", said)
        assert (claimed is not None) == (0 <= part <= 0.1 and "has no part in it" not in said)
        if claimed is not None:
            assert 0 < part < 0.01 if claimed[2] is None else abs(float(claimed[2]) - 100 * part) <= 0.5
    assert ("attention has no part in it" in said) == (point is not None and point.token == 0 < point.value)
    assert "adds little" not in said
    assert "only attention counts" not in said
    if report.attention_adds_little(trace, found):  # the page offers settings under which it counts
        assert re.search("Attention changes it by (only|less)|attention has no part in it", said)


def test_a_rounded_zero_has_no_minus():
    result = score(make_trace())
    shares = np.tile((0.3, -0.001), (3, 1))
    said = report.sentence(make_trace(), replace(result, collapse=np.full(3, 0.299), collapse_shares=shares))
    assert "0.30 from probability and 0.00 from attention" in said


def test_the_layer_in_front_gives_the_score_or_was_selected():
    trace = make_trace()
    single, averaged = score(trace), score(trace, Settings(layer_aggregation="mean"))
    first, last = averaged.layers[0], averaged.layers[-1]
    assert shown_layer(single, first) == shown_layer(single, last) == single.layer
    assert [shown_layer(averaged, selected) for selected in (last, 99, None)] == [last, first, first]


def test_the_uncertainty_comes_with_its_purpose():
    result = replace(score(make_trace()), uncertainty=-0.001)
    assert report.uncertainty_sentence(result) == "Uncertainty 0.00 (for ranking, not a probability)."
    assert report.uncertainty_sentence(replace(result, uncertainty=math.nan)) == ""


def test_a_fully_confident_answer_does_not_collapse():
    trace = make_trace(probabilities=[1, 1, 1])
    assert report.sentence(trace, score(trace)).startswith("Confidence holds; its largest dip is at token")


def test_an_improbable_first_token_is_a_collapse():
    trace = make_trace((b" Oslo", b" is"), probabilities=[0.001, 0.9])
    assert report.sentence(trace, score(trace)).startswith("Confidence collapsed at token 0, “·Oslo”: 6.91 nats")


def test_without_a_signal_no_token_is_called_a_collapse():
    trace = make_trace(probabilities=[0.9, 0.001, 0.9])
    said = report.sentence(trace, score(trace, Settings(alpha=0)))
    assert said.startswith("Confidence holds; its largest dip is at token 1")
    assert "0.10 from probability and 0.04 from attention" in said  # the signal of the first token is carried on


def test_an_impossible_token_has_no_made_up_shares():
    trace = make_trace(probabilities=[0.9, 0.5, 0.9])
    logprobs = trace.logprobs.copy()
    logprobs[1] = -np.inf
    trace = replace(trace, logprobs=logprobs)
    sentence = report.sentence(trace, score(trace, Settings(alpha=1)))
    assert "∞ nats below the reference (p = 1 at every token)" in sentence
    assert "nan" not in sentence


def test_a_sentence_names_only_the_layer_and_head_that_give_the_score():
    trace = make_trace()
    assert "comes from layer" not in report.sentence(trace, score(trace, Settings(layer_aggregation="mean")))
    assert ", mean of its heads." in report.sentence(trace, score(trace, Settings(heads="mean")))
    one = make_trace((b"Yes",))
    assert report.sentence(one, score(one)).endswith(f"comes from layer {score(one).layer}.")


@pytest.mark.parametrize("settings", [Settings(), Settings(update="product")])
def test_a_sentence_says_why_something_is_undefined(settings):
    trace = make_trace(logprobs=np.array([-0.1, math.nan, -0.2])) if settings == Settings() else make_trace()
    result = score(trace, settings)
    reason = result.reasons.uncertainty or result.reasons.collapse
    assert report.sentence(trace, result).endswith(f"undefined: {reason}.")


@pytest.mark.parametrize(
    ("value", "shares", "said"),
    [
        (
            0.511,
            (0.515001, -0.004001),
            "0.51 nats below the reference (p = 1 at every token), 0.51 from probability and 0.00 from attention",
        ),
        (
            0.51,
            (0.005, 0.505),
            "0.51 nats below the reference (p = 1 at every token), 0.01 from probability and 0.50 from attention",
        ),
    ],
)
def test_the_shares_that_are_shown_add_up_to_the_value_that_is_shown(value, shares, said):
    trace = make_trace()
    result = replace(score(trace), collapse=np.full(3, value), collapse_shares=np.tile(shares, (3, 1)))
    assert said in report.sentence(trace, result)
