"""RAUQ over alpha: each value is that of the score at this alpha, with real, exchanged and no attention."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from analysis.methods.attention_permutation import ALPHAS, DERANGEMENTS, REPLACED, control_groups, score_sweep, sweep
from analysis.methods.comparison import WITHIN, groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import prr
from benchmarks.support.paired import cpu_seconds
from rauq.errors import InvalidInput
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings, Signal
from tests.analysis.methods.batches import informative_batch

NAMES = ["a", "b"] * 15 + ["b", "a"] * 15
BATCH, QUALITY = informative_batch(60, strength=0.2)


def swept(batch=BATCH, *, quality=QUALITY, names=NAMES, signal="probability", seed=0):
    how = {"metric": "prr", "thresholds": Thresholds(), "seed": seed}
    return sweep(batch, quality, names, groups_of(names), signal=signal, **how)


def values_of(found, group="all"):
    """The values (4, 11) of one group: of real, shuffled, constant and no attention."""
    others = ([one.estimate.value for one in found.under(name, group)] for name in REPLACED)
    return np.array([[one.value for one in found.of_group(group)], *others])


@pytest.mark.parametrize("signal", ["probability", "entropy"])
@pytest.mark.parametrize("alignment", ["predicting", "own"])
def test_a_value_is_that_of_the_score(signal, alignment):
    batch = replace(BATCH, alignment=alignment)
    found = swept(batch, signal=signal)
    assert (found.alignment, found.signal, found.groups) == (alignment, signal, ("all", WITHIN, "a", "b"))
    for group in groups_of(NAMES):
        for alpha, one in zip(ALPHAS, found.of_group(group.name), strict=True):
            settings = Settings(alpha=alpha, signal=signal, alignment=alignment)
            uncertainty = score_many(batch, settings).uncertainty
            assert one.value == pytest.approx(prr(uncertainty[group.rows], QUALITY[group.rows]))
            assert one.low <= one.high


@pytest.mark.parametrize(
    ("kind", "signal", "alpha"),
    [
        ("base", "probability", 0.2),
        ("base", "entropy", 0.5),
        ("instruct", "probability", 0.6),
        ("instruct", "entropy", 0.9),
    ],
)
def test_the_alpha_of_the_paper(kind, signal, alpha):
    found = swept(replace(BATCH, kind=kind), signal=signal)
    assert found.paper_alpha == alpha


def test_the_best_alpha_has_the_highest_value():
    found = swept()
    values = [one.value for one in found.of_group("all")]
    assert found.best("all") == ALPHAS[int(np.argmax(values))]


def test_a_group_of_one_quality_is_undefined_with_a_reason():
    quality = np.where(np.array(NAMES) == "a", 1.0, QUALITY)
    found = swept(quality=quality)
    assert found.best("a") is None
    assert all(np.isnan(one.value) and one.reason for one in found.of_group("a"))


def test_a_batch_of_no_kind_has_no_alpha_of_the_paper():
    with pytest.raises(InvalidInput, match="kind"):
        swept(replace(BATCH, kind=None))


@pytest.mark.parametrize("signal", ["probability", "entropy"])
def test_at_alpha_1_every_attention_ranks_alike_and_with_probabilities_as_perplexity(signal):
    found = swept(signal=signal)
    for group in groups_of(NAMES):
        at_1 = values_of(found, group.name)[:, -1]
        np.testing.assert_allclose(at_1, at_1[0], atol=1e-12)
        if signal == "probability":
            perplexity = -BATCH.logprobs.mean(axis=1)
            assert at_1[0] == pytest.approx(prr(perplexity[group.rows], QUALITY[group.rows]))
    for name in REPLACED:
        last = found.under(name, "all")[-1].difference
        assert (last.value, last.low) == pytest.approx((0, -last.high), abs=1e-12)


def test_no_attention_is_one_level_at_every_alpha():
    found = swept()
    for group in found.groups:
        level = values_of(found, group)[3]
        np.testing.assert_allclose(level, found.of_group(group)[-1].value)


def test_constant_attention_of_constant_weights_is_the_real_one():
    attention = np.broadcast_to(np.linspace(0.1, 0.4, 4)[:, None], BATCH.attention.shape).astype(np.float32)
    found = swept(replace(BATCH, attention=attention))
    real, shuffled, constant, _ = values_of(found)
    np.testing.assert_allclose(constant, real, atol=1e-9)
    np.testing.assert_allclose(shuffled, real, atol=1e-9)
    for one in found.under("constant", "all"):
        assert (one.difference.value, one.difference.low) == pytest.approx((0, -one.difference.high), abs=1e-9)


@pytest.mark.parametrize("signal", get_args(Signal))
def test_what_is_exchanged_is_what_the_control_exchanges(signal):
    """At every alpha both have the same value with real, constant and shuffled attention, and the same differences."""
    found = swept(signal=signal)
    how = {"metric": "prr", "thresholds": Thresholds()}
    for place, alpha in enumerate(ALPHAS):
        controls = control_groups(
            BATCH, QUALITY, NAMES, groups_of(NAMES), settings=Settings(alpha=alpha, signal=signal), **how
        )
        for control in controls:
            assert found.of_group(control.group)[place] == control.real
            for exchange in ("constant", "shuffled"):
                assert found.under(exchange, control.group)[place] == control.under(exchange)


def test_attention_that_separates_answers_is_better_than_any_other_at_low_alpha():
    found = swept(informative_batch(60, strength=0.4)[0])
    for name in REPLACED:
        for group in ("all", WITHIN):
            assert found.under(name, group)[1].difference.low > 0, (name, group)


def test_the_mean_within_groups_is_the_mean_of_the_groups():
    found = swept()
    np.testing.assert_allclose(values_of(found, WITHIN), (values_of(found, "a") + values_of(found, "b")) / 2)
    for name in REPLACED:
        for mean, first, second in zip(*(found.under(name, group) for group in (WITHIN, "a", "b")), strict=True):
            assert mean.difference.value == pytest.approx((first.difference.value + second.difference.value) / 2)


def test_the_order_of_answers_changes_no_value_but_the_draw_of_the_shuffled():
    order = np.random.default_rng(1).permutation(60)
    names = np.array(NAMES)[order].tolist()
    found, turned = swept(), swept(BATCH.take(order), quality=QUALITY[order], names=names)
    for group in found.groups:
        kept = [0, 2, 3]
        np.testing.assert_allclose(values_of(turned, group)[kept], values_of(found, group)[kept])


def test_a_seed_decides_the_draws():
    one, same, other = (score_sweep(BATCH, NAMES, signal="probability", seed=seed)["shuffled"] for seed in (3, 3, 4))
    assert one.shape == (11, DERANGEMENTS, 60)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len({draw.tobytes() for draw in one[0]}) == DERANGEMENTS


def test_shuffled_weights_stay_within_their_group():
    """A group of one answer has no other to take weights from; without its group it would."""
    names = ["alone", *["many"] * 59]
    found = score_sweep(BATCH, names, signal="probability")["shuffled"]
    assert np.isnan(found[..., 0]).all()
    assert not np.isnan(found[..., 1:]).any()
    assert swept(names=names).under("shuffled", "all")[2].difference.n == 59


def test_four_times_the_answers_take_less_than_four_times_as_long():
    def seconds(count):
        batch, quality = informative_batch(count, strength=0.1, lengths=np.full(count, 26))
        names = [f"group {number % 11}" for number in range(count)]
        how = {"signal": "entropy", "metric": "prr", "thresholds": Thresholds()}
        return cpu_seconds(lambda: sweep(batch, quality, names, groups_of(names), **how))

    assert seconds(408) < 4 * seconds(102)
