"""One entry for every name of a data set."""

import pytest

from analysis.datasets.columns import Columns
from analysis.datasets.facts.tables import FAMILIES
from analysis.datasets.names import EMBEDDED_SETS, FACT_SETS, load
from analysis.datasets.public.twelve import PAPER_SETS
from rauq.errors import DataSetNotFound, InvalidInput
from tests.analysis.datasets.raw_data import copy_of


@pytest.mark.parametrize("name", EMBEDDED_SETS)
def test_embedded_sets_by_name(name):
    data = load(name, kind="base", limit=7)
    assert (data.name, len(data.examples)) == (name, 7)


def test_atlas_per_group():
    assert len(load("atlas", kind="base", per_group=4).examples) == 12


@pytest.mark.parametrize("name", FACT_SETS)
def test_facts_by_name_in_every_family_and_per_group(name):
    data = load(name, kind="instruct", limit=100)
    assert (data.name, len(data.examples)) == (name, 100)
    assert {example.group for example in data.examples} == set(FAMILIES)
    assert len(load(name, kind="base", per_group=3).examples) == 3 * len(FAMILIES)
    assert len(load(name, kind="base", per_group=3, limit=5).examples) == 5


@pytest.mark.parametrize("name", FACT_SETS)
def test_one_family_of_facts_asks_the_questions_of_the_whole_set(name):
    whole = {example.id: example for example in load(name, kind="base").examples}
    data = load(f"{name}=capitals", kind="base")
    assert (data.name, {example.group for example in data.examples}) == (f"{name}: capitals", {"capitals"})
    assert {example.id: example for example in data.examples} == {
        key: example for key, example in whole.items() if example.group == "capitals"
    }
    with pytest.raises(InvalidInput, match=r"no family of facts 'capital'\. Choose one of capitals"):
        load(f"{name}=capital", kind="base")


@pytest.mark.parametrize("name", PAPER_SETS)
def test_copies_of_the_papers_sets_by_name_and_folder(name, tmp_path):
    folder = copy_of(PAPER_SETS[name], tmp_path / "a=b")
    data = load(f"{name}={folder}", kind="instruct", limit=3)
    assert (data.name, len(data.examples)) == (PAPER_SETS[name].title, 3)


def test_a_file_by_path_with_guessed_or_given_columns(tmp_path):
    path = tmp_path / "a=b.csv"
    path.write_text("question,answer,source\n" + "".join(f"Q{n},A{n},It was said in {n}.\n" for n in range(9)))
    guessed = load(str(path), kind="base", limit=4)
    assert [example.references for example in guessed.examples] == [
        (f"A{example.prompt[1:]}",) for example in guessed.examples
    ]
    assert len(guessed.examples) == 4
    given = load(str(path), kind="base", columns=Columns(prompt="source"))
    assert [example.prompt for example in given.examples] == [f"It was said in {n}." for n in range(9)]


@pytest.mark.parametrize("name", ["nothing", "", "atlas2", "a\0b", "x" * 5000, "nothing=/folder", "."])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(DataSetNotFound) as caught:
        load(name, kind="base")
    assert all(known in str(caught.value) for known in (*EMBEDDED_SETS, *FACT_SETS, *PAPER_SETS))


def test_a_file_of_which_no_row_can_be_used_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("prompt,b\n,1\n")
    with pytest.raises(InvalidInput, match=r"No row of a\.csv can be used\. Row 1: 'prompt' is empty"):
        load(str(path), kind="base")
