"""The kept records belong to this code: every row is there, within its bound, and can be reproduced."""

import re

import numpy as np
import pytest

import rauq
from analysis.evidence.record import SUBJECTS, command_of, records
from rauq.checkpoints.kinds import PRESETS
from tests import agreement, exactness, golden_rauq
from tests.architectures import ARCHITECTURES, named
from tests.golden_methods import GOLDEN
from tests.golden_rauq import CASES, META, UPDATES


@pytest.fixture(scope="module")
def kept():
    return records()


def test_every_record_has_its_place_on_the_page(kept):
    assert set(kept) <= {subject.id for subject in SUBJECTS}
    assert all(name == record.id for name, record in kept.items())


def test_every_record_names_the_command_that_makes_it(kept):
    assert {name: record.command for name, record in kept.items()} == {name: command_of(name) for name in kept}


_NUMBER = r"([+-]?[\d.,]+(?:e[+-]?\d+)?)"
_BOUND = re.compile(rf"(?:^|: ){_NUMBER}[^\[\]:]*?(?:\[{_NUMBER}, {_NUMBER}\])?, (at most|at least) {_NUMBER}")
_NO_LIMIT = {"dependencies", "fuzz", "properties", "reference", "safety"}


@pytest.mark.parametrize("name", sorted(set(records()) - _NO_LIMIT))
def test_the_verdict_on_a_bound_agrees_with_its_numbers(name):
    bounds = records()[name].bounds
    read = [(bound.verdict, found) for bound in bounds if (found := _BOUND.search(bound.text))]
    assert len(read) == sum("at most" in bound.text or "at least" in bound.text for bound in bounds)
    for verdict, found in read:
        value, low, high, limit = (float((found[part] or found[1]).replace(",", "")) for part in (1, 2, 3, 5))
        beyond = [one > limit if found[4] == "at most" else one < limit for one in (value, low, high)]
        expected = "missed" if all(beyond) else "inconclusive" if beyond[0] else "met"
        assert verdict == expected, found.string


def test_models_are_those_of_the_table_within_the_bound(kept):
    record = kept["models"]
    assert record.columns == exactness.COLUMNS
    assert [row[0] for row in record.rows] == [architecture.name for architecture in ARCHITECTURES]
    assert all(max(row[2:6]) <= row[6] for row in record.rows)
    assert [row[6] for row in record.rows] == [exactness.bound(architecture) for architecture in ARCHITECTURES]
    assert record.met
    papers = [name for row in record.rows for name in row[-1].split(", ") if name]
    assert sorted(papers) == sorted(preset.name for preset in PRESETS)


@pytest.mark.parametrize("name", ["llama", "gemma2-softcap-window"])
def test_a_row_of_the_models_comes_out_again(kept, name):
    """Rounding differs between processors: each difference has to be of the same size, or within float32's last bit."""
    row = next(row for row in kept["models"].rows if row[0] == name)
    again = exactness.row(named(name))
    assert (row[:2], row[-1]) == (again[:2], again[-1])
    sizes, found = (np.log10(np.maximum(one[2:6], 1e-7)) for one in (row, again))
    np.testing.assert_allclose(sizes, found, atol=1)


def test_the_reference_is_compared_in_every_method_that_it_gave_numbers_for(kept):
    record = kept["reference"]
    names = [agreement.called(update) for update in UPDATES] + [rauq.METHODS[method].name for method in GOLDEN]
    assert sorted(row[0] for row in record.rows) == sorted(names)
    assert all(largest <= tolerance for *_, largest, tolerance in record.rows)
    assert record.met


def test_a_row_of_the_reference_comes_out_again(kept):
    rows = {row[0]: row for row in kept["reference"].rows}
    found = agreement.of_pairs("ccp", [agreement.ccp(case) for case in META["ccp_cases"]], agreement.TOKENS)
    assert agreement.row(found)[:3] == rows["CCP"][:3]
    for one in agreement.of_rauq(golden_rauq.arrays(), CASES[:1]):
        assert one.largest <= one.rtol == rows[one.method][-1]
        assert 0 < len(one.ours) < rows[one.method][1]


@pytest.mark.parametrize(
    ("ours", "reference", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.2),
        ([np.nan, np.inf, 0.0], [np.nan, np.inf, 0.0], 0.0),
        ([np.nan], [1.0], np.inf),
        ([np.inf], [-np.inf], np.inf),
        ([1e-16], [0.0], 0.0),
        ([1.0], [np.nan], np.inf),
    ],
)
def test_undefined_on_one_side_only_is_not_an_agreement(ours, reference, largest):
    arrays = {"ours": np.array(ours), "reference": np.array(reference)}
    assert agreement.Agreement(method="m", **arrays, rtol=1e-9, atol=1e-15).largest == pytest.approx(largest)


def test_a_method_out_of_tolerance_is_named_in_the_record():
    off = agreement.Agreement(method="CCP", ours=np.ones(1), reference=np.zeros(1), rtol=1e-9, atol=1e-15)
    record = agreement.record([off])
    assert not record.met
    assert record.finding == "Off the reference: CCP."
