"""Settings in a URL are restored exactly, and no URL breaks the page or gives settings that do not fit the trace."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

import rauq
from pages.ui.shared.url_state import fitted, read_settings, written_settings
from rauq import Settings
from rauq.scoring.settings import HeadRule, LayerAggregation, Signal, TokenAggregation, Update, resolve
from rauq.trace.trace import Alignment, Kind, Part
from tests.answers import random_trace

KINDS = get_args(Kind)
NAMES = ("signal", "alpha", "part", "alignment", "layers", "heads", "update", "token_aggregation", "layer_aggregation")
MEMBERS = {
    "signal": get_args(Signal),
    "alpha": (0.0, 0.0001, 0.05, 0.2, 0.5, 0.6, 0.9, 0.9999, 1.0),
    "alignment": get_args(Alignment),
    "layers": ("middle", "middle_five", "all", (0,), (3, 7, 11), (5, 2), tuple(range(256)), (9999,)),
    "heads": (*get_args(HeadRule), ((0, 0),), ((2, 31), (5, 0)), tuple((layer, 9999 - layer) for layer in range(256))),
    "update": get_args(Update),
    "token_aggregation": get_args(TokenAggregation),
    "layer_aggregation": get_args(LayerAggregation),
    "part": get_args(Part),
}
LAYERS = {"dense": tuple(range(6)), "hybrid": (3, 7, 11), "one": (4,)}
ABSURD = (
    *(
        "",
        " ",
        "\n",
        "0x1",
        "-0",
        "-1",
        "+1",
        "nan",
        "inf",
        "1e309",
        "1e-3",
        "1_0",
        "\u0661",
        "0.\u0663",
        "1.00001",
        "2.",
        "None",
    ),
    *("0.2\n", " 0.2", "max ", "MAX", "1..2", "1.", ".1", "1,2", "0-", "-0-1", "0-1-2", "0-1.0-2", "3.3", "99999"),
    *("<b>", "\x00", "\ud800", "\u202emiddle", "9" * 5000, "a" * 10**6, "rauq2", "true", "[0]", "{}", "0-1.3"),
)


def random_settings(rng):
    def pick(name, *, absent=0.3):
        members = MEMBERS[name]
        return {} if rng.random() < absent else {name: members[rng.integers(len(members))]}

    drawn = {}
    for name in NAMES:
        drawn |= pick(name)
    return Settings(**drawn)


def read_back(settings, kind):
    written = written_settings(settings, kind)
    assert tuple(written) == NAMES
    return read_settings({name: text for name, text in written.items() if text is not None})


ONE_BY_ONE = [Settings(**{name: value}) for name, values in MEMBERS.items() for value in values]
IN_PAIRS = [Settings(signal=signal, alpha=alpha) for signal, alpha in product(MEMBERS["signal"], MEMBERS["alpha"])]


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_comes_back(kind):
    rng = np.random.default_rng(0)
    for settings in (Settings(), *ONE_BY_ONE, *IN_PAIRS, *(random_settings(rng) for _ in range(500))):
        found, wrong = read_back(settings, kind)
        assert not wrong, settings
        assert resolve(found, kind) == resolve(settings, kind), settings


def test_the_four_decimals_of_an_alpha_come_back():
    for steps in range(0, 10_001, 3):
        alpha = steps / 10_000
        assert resolve(read_back(Settings(alpha=alpha), "base").asked, "base").alpha == alpha


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_values_are_not_written(kind):
    usual, other = sorted(MEMBERS["signal"], key=lambda signal: signal != resolve(Settings(), kind).signal)
    paper = Settings(signal=usual, alpha=resolve(Settings(signal=usual), kind).alpha)
    assert not any(written_settings(paper, kind).values())
    alone = Settings(signal=other, alpha=resolve(Settings(signal=other), kind).alpha)
    assert {name: text for name, text in written_settings(alone, kind).items() if text} == {"signal": other}
    for settings in ONE_BY_ONE:
        papers = resolve(Settings(signal=settings.signal), kind)
        differs = {name for name in NAMES[1:] if getattr(resolve(settings, kind), name) != getattr(papers, name)}
        written = {name for name, text in written_settings(settings, kind).items() if text is not None}
        assert written - {"signal"} == differs, settings


@pytest.mark.parametrize("name", NAMES)
def test_unusable_settings_are_named_and_the_others_are_kept(name):
    beside = {"update": "product"} if name != "update" else {"alignment": "own"}
    rest = read_settings(beside).asked
    for text in ABSURD:
        assert read_settings({name: text} | beside) == (rest, (name,)), (name, text[:20])


@pytest.mark.parametrize("alpha", ["2", "1.5", "1.0001", "0.12345", "00", "01", "0.2.0"])
def test_an_alpha_outside_its_range_is_named(alpha):
    assert read_settings({"alpha": alpha}) == (Settings(), ("alpha",))


def test_a_million_layers_or_heads_are_refused():
    layers = ".".join(map(str, range(10**6)))
    heads = ".".join(f"{layer}-0" for layer in range(10**6))
    assert read_settings({"layers": layers, "heads": heads}) == (Settings(), ("layers", "heads"))


def test_random_texts_are_read_exactly_or_named():
    rng = np.random.default_rng(1)
    letters = [*"0123456789.-eE+ \n<>maxlidentropy_", "\u0661", "\u0663", "\ud800", "\x00", "\U0001f99c"]
    read = 0
    for _ in range(1500):
        texts = {name: "".join(rng.choice(letters, rng.integers(1, 9))) for name in NAMES}
        found, wrong = read_settings(texts)
        for name in NAMES:
            if name in wrong:
                assert getattr(found, name) == getattr(Settings(), name)
            else:
                read += 1
                assert name in {"alpha", "layers", "heads"}
                assert texts[name].isascii()
        kept = {name: text for name, text in texts.items() if name not in wrong}
        assert read_settings(kept) == (found, ())
    assert read > 50  # else the test would be empty


def test_unknown_names_are_not_settings():
    assert read_settings({"__class__": "1", "layer": "2", "alpha ": "0.3", "": ""}) == (Settings(), ())


def random_for(trace_layers, rng, *, num_heads):
    """Settings whose layers and heads may be those of the trace, or others."""
    settings = random_settings(rng)
    layers = tuple(rng.permutation(12)[: rng.integers(1, 6)].tolist())
    heads = tuple((layer, int(rng.integers(num_heads + 1))) for layer in (*trace_layers, *range(20, 22)))
    changes = {"layers": layers} if rng.random() < 0.5 else {}
    changes |= {"heads": heads[: rng.integers(1, len(heads) + 1)]} if rng.random() < 0.5 else {}
    return Settings(**(vars(settings) | changes))


@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("num_tokens", [1, 2, 5])
def test_fitted_settings_can_be_scored(layers, num_tokens):
    rng = np.random.default_rng(num_tokens)
    changed = 0
    for seed in range(150):
        num_layers = 12 if layers == LAYERS["hybrid"] else 6
        trace = random_trace(num_tokens, seed=seed, layers=layers, num_layers=num_layers, kind=KINDS[seed % 2])
        settings = random_for(layers, rng, num_heads=trace.num_heads)
        found, wrong = fitted(settings, trace)
        rauq.score(trace, found)
        for name in NAMES:
            assert (getattr(found, name) != getattr(settings, name)) == (name in wrong), (name, settings)
        assert set(wrong) <= {"layers", "heads"}
        assert fitted(found, trace) == (found, ())
        changed += bool(wrong)
    assert 0 < changed < 150


@pytest.mark.parametrize(
    ("layers", "fits", "wrong"),
    [
        ((3, 7, 11), (3, 7, 11), ()),
        ((11, 3), (11, 3), ()),
        ((3, 4, 11), (3, 11), ("layers",)),
        ((4,), "middle", ("layers",)),
        ("all", "all", ()),
    ],
)
def test_layers_without_attention_are_left_out(layers, fits, wrong):
    hybrid = random_trace(4, layers=(3, 7, 11), num_layers=12)
    found = fitted(Settings(layers=layers), hybrid)
    assert found == (Settings(layers=fits), wrong)


@pytest.mark.parametrize(
    ("heads", "fit"),
    [
        (((7, 3),), True),
        (((3, 0), (7, 0), (11, 3)), True),
        (((7, 4),), False),
        (((3, 0), (11, 0)), False),
        (((7, 0), (2, 4)), False),
    ],
)
def test_fixed_heads_need_one_for_each_layer_of_the_window(heads, fit):
    hybrid = random_trace(4, layers=(3, 7, 11), num_layers=12)
    found = fitted(Settings(heads=heads), hybrid)
    assert found == ((Settings(heads=heads), ()) if fit else (Settings(), ("heads",)))


def test_fixed_heads_are_dropped_where_no_middle_layer_has_attention():
    ends = random_trace(4, layers=(0, 11), num_layers=12)
    assert fitted(Settings(heads=((0, 1), (11, 1))), ends) == (Settings(), ("heads",))
    both = Settings(layers="all", heads=((0, 1), (11, 1)))
    assert fitted(both, ends) == (both, ())
