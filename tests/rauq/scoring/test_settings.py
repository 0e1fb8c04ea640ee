"""Settings refuse what is unknown, follow the paper's table where they are left open, and name a window of layers."""

import dataclasses

import numpy as np
import pytest

from rauq import InvalidInput, Settings
from rauq.scoring.settings import is_paper_setting, resolve, window


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"signal": "logit"}, "probability, entropy"),
        ({"layers": "first"}, "middle, middle_five, all"),
        ({"alignment": "next"}, "predicting, own"),
        ({"heads": "best"}, "max, mean, top5"),
        ({"update": "no_attn"}, "rauq, no_attention, no_recurrence, previous_probability, product, minus_mean, "),
        ({"token_aggregation": "meanlog"}, "mean_log, sum_log, mean, median"),
        ({"layer_aggregation": "min"}, "max, mean, median"),
    ],
)
def test_an_unknown_name_raises_with_the_valid_ones(changes, named):
    (value,) = changes.values()
    with pytest.raises(InvalidInput, match=named) as raised:
        Settings(**changes)
    assert repr(value) in str(raised.value)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), float("inf"), "0.2", True, 1j])
def test_alpha_is_a_number_from_0_to_1(alpha):
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        Settings(alpha=alpha)


@pytest.mark.parametrize("layers", [(), (1, 1), (-1,), (0.5,), 3, None])
def test_layers_are_distinct_indices(layers):
    with pytest.raises(InvalidInput, match="layers is"):
        Settings(layers=layers)


@pytest.mark.parametrize("heads", [(), ((1, 2), (1, 3)), ((1, 2, 3),), (1, 2), ((0, -1),), (("0", 1),), 5, None])
def test_fixed_heads_are_one_pair_a_layer(heads):
    with pytest.raises(InvalidInput, match=r"heads is .*max, mean, top5 or a tuple of \(layer, head\) pairs"):
        Settings(heads=heads)


def test_equal_choices_are_equal_and_hash_alike():
    written = Settings(alpha=1, layers=[np.int64(2), 1], heads=[[1, 0], [2, 3]])
    assert written == Settings(alpha=1.0, layers=(2, 1), heads=((1, 0), (2, 3)))
    assert len({written, Settings(alpha=1.0, layers=(2, 1), heads=((1, 0), (2, 3)))}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        written.alpha = 0.3


@pytest.mark.parametrize(
    ("kind", "signal", "resolved"),
    [
        ("base", None, ("probability", 0.2)),
        ("base", "probability", ("probability", 0.2)),
        ("base", "entropy", ("entropy", 0.5)),
        ("instruct", None, ("entropy", 0.9)),
        ("instruct", "probability", ("probability", 0.6)),
        ("instruct", "entropy", ("entropy", 0.9)),
    ],
)
def test_open_settings_follow_the_table(kind, signal, resolved):
    settings = resolve(Settings(signal=signal), kind)
    assert (settings.signal, settings.alpha) == resolved
    assert resolve(settings, kind) == settings
    assert is_paper_setting(Settings(signal=signal), kind)


def test_a_chosen_alpha_stays():
    settings = resolve(Settings(alpha=0.0), "instruct")
    assert (settings.signal, settings.alpha) == ("entropy", 0.0)


@pytest.mark.parametrize("settings", [Settings(), Settings(alpha=0.2), Settings(signal="entropy")])
def test_without_a_kind_both_must_be_given(settings):
    with pytest.raises(InvalidInput, match="Give both"):
        resolve(settings, None)
    assert resolve(Settings(alpha=0.3, signal="entropy"), None).alpha == 0.3


def test_an_unknown_kind_raises():
    with pytest.raises(InvalidInput, match="base, instruct"):
        resolve(Settings(), "chat")


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha": 0.5},
        {"alpha": 0.5, "signal": "probability"},
        {"layers": "all"},
        {"layers": "middle_five"},
        {"alignment": "own"},
        {"heads": "top5"},
        {"update": "product"},
        {"token_aggregation": "mean"},
        {"layer_aggregation": "mean"},
    ],
)
def test_any_other_choice_is_not_the_papers(changes):
    assert not is_paper_setting(Settings(**changes), "base")
    assert is_paper_setting(Settings(alpha=0.5, signal="entropy"), "base")


def test_means_of_logarithms_read_single_heads():
    assert resolve(Settings(heads="mean", update="mean_sum"), "base").heads == "max"
    assert resolve(Settings(heads="mean"), "base").heads == "mean"


@pytest.mark.parametrize(
    ("num_layers", "first", "last"),
    [(1, 0, 0), (2, 0, 1), (3, 1, 2), (4, 1, 3), (6, 2, 4), (28, 9, 19), (32, 10, 22), (40, 13, 27), (42, 14, 28)],
)
def test_middle_is_the_second_third_inclusive_and_in_range(num_layers, first, last):
    layers = window(Settings(), captured=range(num_layers), num_layers=num_layers)
    assert layers == tuple(range(first, last + 1))


@pytest.mark.parametrize(
    ("num_layers", "layers"),
    [
        *((1, (0,)), (2, (0, 1)), (4, (0, 1, 2, 3)), (5, (0, 1, 2, 3, 4)), (6, (1, 2, 3, 4, 5))),
        *((7, (1, 2, 3, 4, 5)), (32, (14, 15, 16, 17, 18)), (33, (14, 15, 16, 17, 18))),
    ],
)
def test_five_middle_layers_lie_around_the_centre(num_layers, layers):
    assert window(Settings(layers="middle_five"), captured=range(num_layers), num_layers=num_layers) == layers


def test_five_middle_layers_of_a_hybrid_are_those_with_attention():
    settings = Settings(layers="middle_five")
    assert window(settings, captured=(3, 7, 11), num_layers=12) == (7,)
    with pytest.raises(InvalidInput, match="None of the middle layers 4 to 8 has attention"):
        window(settings, captured=(0, 11), num_layers=12)
    with pytest.raises(InvalidInput, match="layers='middle_five' counts over all layers"):
        window(settings, captured=(0, 11), num_layers=None)


def test_middle_of_a_hybrid_counts_all_layers_and_keeps_those_with_attention():
    assert window(Settings(), captured=(3, 7, 11), num_layers=12) == (7,)
    assert window(Settings(layers="all"), captured=(3, 7, 11), num_layers=12) == (3, 7, 11)
    assert window(Settings(layers=(11, 3)), captured=(3, 7, 11), num_layers=12) == (3, 11)


def test_layers_without_attention_raise():
    with pytest.raises(InvalidInput, match="Layers 4 have no captured attention; choose among 3, 7, 11"):
        window(Settings(layers=(3, 4)), captured=(3, 7, 11), num_layers=12)
    with pytest.raises(InvalidInput, match="None of the middle layers 4 to 8 has attention"):
        window(Settings(), captured=(0, 11), num_layers=12)
    with pytest.raises(InvalidInput, match="give num_layers"):
        window(Settings(), captured=(0, 11), num_layers=None)
