"""Methods, several runs: the run of the page and others beside it, in one table at a time."""

import pytest

from tests.analysis.collections.made_cells import make_run
from tests.pages.reading import open_page
from tests.pages.sets import make, said

HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y]"


pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root)  # small
    for model, data in (("one", "SciQ"), ("one", "CoQA"), ("two", "SciQ"), ("Llama-3.1-8B", "SciQ")):
        make_run(root, model, data)
    make_run(root, "meta-llama/Llama-3.1-8B", "CoQA", name="llama")
    make_run(root, "one", "SciQ", name="again")
    make_run(root, HOSTILE, HOSTILE, name="hostile")
    make_run(root, "empty", "SciQ", name="empty", quality=(), failures=2)
    return root


def several(run="one-SciQ", state=(), **query):
    return open_page("methods", state, run=run, view="several", **query)


def table(page):
    return page.dataframe[0].value


def test_one_run_is_the_default_and_more_can_be_chosen():
    page = several()
    assert not page.exception
    assert page.header[0].value == "This needs a second run, of another model or on other data"
    assert "Choose it in *Other runs*" in said(page)
    page.multiselect(key="answers_beside").set_value(["two-SciQ", "one-CoQA"]).run()
    assert page.query_params["beside"] == "two-SciQ,one-CoQA"
    assert not page.exception
    assert any("3 runs of 2 models on 2 data sets" in text.value for text in page.text)
    assert "Highest mean PRR" in page.header[0].value
    assert len(table(page).columns) == 4  # method, QA of each model, their mean


def test_a_table_can_be_chosen_and_is_in_the_url():
    page = several(beside="two-SciQ,llama")
    names = page.selectbox(key="answers_layout").options
    assert len(names) > 15
    for place in range(0, len(names), 4):  # the tables themselves are tested where they are made
        page.selectbox(key="answers_layout").select_index(place).run()
        assert not page.exception
        assert not page.error
        assert len(page.dataframe) == 1
        assert ("layout" in page.query_params) == (place > 0)


def test_intervals_come_on_demand():
    page = several(beside="two-SciQ")
    page.toggle(key="answers_intervals").set_value(True).run()
    assert page.query_params["intervals"] == "yes"
    assert "95 % interval" in said(page)
    page.toggle(key="answers_intervals").set_value(False).run()
    assert "intervals" not in page.query_params
    assert "95 % interval" not in said(page)


def test_published_numbers_stand_beside_and_their_contradictions_are_said():
    page = several("llama", layout="published_llama_detailed")
    assert not page.exception
    assert "The paper contradicts itself" in said(page)
    assert "not run" in table(page).to_string()
    assert "0.265" in set(table(page)["1"])  # RAUQ on CoQA


def test_two_runs_of_one_cell_are_refused_and_can_be_chosen_again():
    page = several(beside="again")
    assert not page.exception
    assert "2 runs are of one on SciQ" in " ".join(text.value for text in page.text)
    page.multiselect(key="answers_beside").set_value([]).run()
    assert not page.error


def test_a_run_that_is_gone_is_taken_out_of_a_link():
    page = several(beside="two-SciQ,gone")
    assert not page.exception
    assert "beside" not in page.query_params
    assert "beside" in page.toast[0].value


@pytest.mark.parametrize("beside", ["hostile", "empty", "hostile,empty,two-SciQ"])
def test_no_run_breaks_the_view(beside):
    page = several(beside=beside)
    assert not page.exception
    assert not page.error
    assert "evil.example" not in said(page)


def test_filters_are_said_not_to_hold():
    page = several(beside="two-SciQ", group="one")
    assert "Filters hold for the other views" in said(page)
