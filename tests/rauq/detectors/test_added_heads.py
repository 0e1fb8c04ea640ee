"""RAUQ + heads in the library: its formula, its file, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rauq
from rauq.detectors import added_heads
from rauq.detectors.added_heads import AddedHeads, Scale, added_heads_score, check_fits
from rauq.errors import InvalidInput, NotCaptured
from rauq.scoring.settings import Settings, resolve
from tests.answers import random_trace
from tests.traces import as_lig

TRACE = random_trace(7, seed=3)
DETECTOR = AddedHeads(
    model=TRACE.model,
    revision=TRACE.revision,
    kind=TRACE.kind,
    num_layers=6,
    num_heads=4,
    heads=((5, 1), (2, 0), (2, 3)),
    settings=resolve(Settings(), TRACE.kind),
    uncertainty=Scale(mean=0.7, std=0.2),
    attention=Scale(mean=0.4, std=0.05),
    reference=(-1.0, 0.0, 0.0, 2.5),
    groups=(("capitals", 3), ("<b>years</b>", 1)),
    data="facts",
)


def changed(**fields):
    return json.dumps(json.loads(DETECTOR.to_json()) | fields)


def by_hand(trace, settings):
    weights = trace.previous_token_attention(settings.alignment)
    attention = np.mean([weights[layer, head].mean(dtype=float) for layer, head in DETECTOR.heads])
    return (rauq.score(trace, settings).uncertainty - 0.7) / 0.2 - (attention - 0.4) / 0.05


@pytest.mark.parametrize("changes", [{}, {"signal": "entropy", "alpha": 0.9}, {"layers": "all", "heads": ((0, 1),)}])
def test_the_score_is_the_formula(changes):
    if "heads" in changes:
        changes = changes | {"heads": tuple((layer, 1) for layer in range(6))}
    settings = resolve(Settings(**changes), TRACE.kind)
    detector = replace(DETECTOR, settings=settings)
    assert added_heads_score(detector, TRACE) == pytest.approx(by_hand(TRACE, settings), abs=1e-9)
    again = added_heads.read(detector.to_json())
    assert again == detector
    assert again.score(TRACE) == detector.score(TRACE)
    assert added_heads.read(detector.to_json().encode()) == detector


def test_more_attention_is_less_uncertain_and_the_order_of_heads_does_not_matter():
    attention = TRACE.attention.copy()
    attention[5, 1] *= 0.5
    assert DETECTOR.score(replace(TRACE, attention=attention)) > DETECTOR.score(TRACE)
    turned = replace(DETECTOR, heads=DETECTOR.heads[::-1])
    assert turned.score(TRACE) == pytest.approx(DETECTOR.score(TRACE), abs=1e-12)


def test_a_rank_is_the_share_below_and_half_of_the_equal_ones():
    assert [DETECTOR.rank(value) for value in (-2.0, -1.0, 0.0, 1.0, 3.0)] == [0, 12.5, 50, 75, 100]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "other"}, "fitted on model other"),
        ({"revision": "9"}, "fitted on revision 9"),
        ({"kind": "instruct" if TRACE.kind == "base" else "base"}, "fitted on kind"),
        ({"num_layers": 7}, "fitted on num layers 7, and the answer is of 6"),
        ({"num_heads": 5}, "fitted on num heads 5"),
    ],
)
def test_another_model_is_refused(changes, said):
    with pytest.raises(InvalidInput, match=said):
        added_heads_score(replace(DETECTOR, **changes), TRACE)


def test_what_the_trace_lacks_is_said():
    few = random_trace(7, seed=3, layers=(2, 3, 4))
    with pytest.raises(NotCaptured, match="no attention of layer 5"):
        check_fits(DETECTOR, few)
    with pytest.raises(NotCaptured, match="weights of the answer are LIG attributions"):
        check_fits(DETECTOR, as_lig(TRACE))
    with pytest.raises(InvalidInput, match="one token has no attention"):
        DETECTOR.score(random_trace(1))
    unknown = replace(TRACE, logprobs=np.full(7, np.nan))
    with pytest.raises(InvalidInput, match=r"is nan\.$"):
        replace(DETECTOR, settings=Settings(signal="probability", alpha=0.2)).score(unknown)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema": 2}, "schema 2; this version reads"),
        ({"format": None}, "of format None"),
        ({"heads": []}, "heads is"),
        ({"heads": [[6, 0]]}, "of 6 layers and 4 heads"),
        ({"heads": [[1, -1]]}, "heads is"),
        ({"heads": [[1, 1], [1, 1]]}, "different pairs"),
        ({"heads": [[1, True]]}, "heads is"),
        ({"heads": [[1]]}, "heads is"),
        ({"heads": 3}, "is damaged"),
        ({"data": [[[[[[[[1]]]]]]]]}, "data is"),
        ({"uncertainty": {"mean": 0, "std": 0}}, "std is 0; give a finite number above 0"),
        ({"uncertainty": {"mean": "0", "std": 1}}, "mean is '0'"),
        ({"attention": {"mean": 10**400, "std": 1}}, "mean is 1000"),
        ({"attention": {"mean": 0}}, "std"),
        ({"reference": []}, "1 to 100,000 finite numbers, ascending"),
        ({"reference": [1, 0]}, "ascending"),
        ({"reference": [float("nan")]}, "reference is"),
        ({"reference": ["1"]}, "reference is"),
        ({"groups": []}, "groups is"),
        ({"groups": [{"name": "a", "answers": 0}]}, "groups is"),
        ({"groups": [{"name": "a"}]}, "missing field 'answers'"),
        ({"kind": "other"}, "base or instruct"),
        ({"model": "m" * 2000}, "at most 1,000 characters"),
        ({"num_layers": 0}, "from 1 to 10,000"),
        ({"settings": {"alpha": 3}}, "alpha is 3"),
        ({"settings": {}}, "a signal and its alpha"),
        ({"settings": {"unknown": 3}}, "unknown"),
        ({"more": 1}, "more"),
    ],
)
def test_damaged_files_are_refused_with_the_reason(fields, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        added_heads.read(changed(**fields), name="own.json")
    assert str(caught.value).startswith("own.json is ")
    assert str(caught.value).endswith("Save the detector again, on the page Answer sets, Heads.")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", "[" * 100_000, "7", "null", '{"schema": 1e999}'])
def test_what_is_no_detector_is_refused(content):
    with pytest.raises(InvalidInput, match=r"JSON|not an object|this version reads"):
        added_heads.read(content)


def test_a_field_that_is_missing_is_named_and_a_large_file_is_not_parsed():
    fields = json.loads(DETECTOR.to_json())
    for name in set(fields) - {"schema", "format"}:
        with pytest.raises(InvalidInput, match=f"(?s)damaged.*{name}"):
            added_heads.read(json.dumps({key: value for key, value in fields.items() if key != name}))
    with pytest.raises(InvalidInput, match="too large: 4,194,305 bytes"):
        added_heads.read(b" " * (added_heads.LARGEST_FILE + 1))
