"""The view Heads: first tab, its head in the URL, the way to the answers of a head, and RAUQ + heads."""

import re
from ast import literal_eval

import pytest

from analysis.answer_sets.separation import TOP
from rauq import Settings
from tests.pages.reading import open_page
from tests.pages.sets import clicked, drawn, make, open_sets, said, seeded, undefined

pytestmark = pytest.mark.usefixtures("runs")
CHARTS = {"heads", "head_answers", "added_heads", "added_heads_labels"}
ONE = ("one",)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root, question="question {}")
    return root


def subtitles(page):
    return [text.value.strip("*") for text in page.markdown if text.value.startswith("**")]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("query", [{}, {"view": "heads"}, {"view": "separation"}])
def test_the_page_and_older_links_open_on_heads(query):
    page = open_sets(run="small", **query)
    assert not page.exception
    assert not page.toast
    assert drawn(page) == CHARTS
    views = next(group for group in page.get("button_group") if group.key == "answers_view")
    assert views.value == "heads"
    assert views.options == ["Heads", "Selected heads", "Wrong tokens"]


@pytest.mark.usefixtures("small")
def test_the_headline_says_which_way_it_went():
    page = open_sets(run="small")
    assert re.match(r"(Not one|\d+) of 24 heads (is shown to )?attends? differently", page.header[0].value)
    words = said(page)
    assert "the best of 24 stays within" in words
    assert "ROC-AUC of the heads that RAUQ selects, mean over its layers: 0." in words
    assert "over fact tokens alone" in words
    assert "Ours, not the paper's." in words
    assert "RAUQ + 5 heads" in words


@pytest.mark.usefixtures("small")
def test_the_table_has_each_control_and_marks_the_head_shown():
    page = open_sets(run="small")
    table = page.dataframe[0].value
    columns = ["Shown", "Layer", "Head", "ROC-AUC", "Held-out", "Same length", "Words alone", "Residual", "Selected"]
    assert list(table.columns) == columns
    assert TOP <= len(table) <= 2 * TOP
    shown = table[table["Shown"] != ""].iloc[0]
    assert subtitles(page)[0] == f"Layer {shown['Layer']}, head {shown['Head']}"
    chosen = table["Held-out"] != "–"
    assert chosen.sum() == TOP
    assert table["Held-out"][chosen].str.fullmatch(r"0\.\d\d").all()
    known = chosen & table["Layer"].isin([2, 3, 4])  # the layers that the run stores per token
    assert (table["Words alone"][~known] == "–").all()
    assert table["Words alone"][known].str.fullmatch(r"0\.\d\d").all()  # of half of 45 answers: no interval


@pytest.mark.usefixtures("small")
def test_a_link_chooses_the_head_and_an_unknown_one_is_reported():
    page = open_sets(run="small", layer="3", head="2")
    assert subtitles(page)[0] == "Layer 3, head 2"
    wrong = open_sets(run="small", head="4")
    assert "head" in wrong.toast[0].value
    assert wrong.query_params == {"run": "small"}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("key", ["best_answer", "worst_answer"])
def test_the_best_and_the_worst_answer_open_with_that_head(key):
    page = open_sets(run="small", layer="3", head="2")
    page.button(key=key).click().run()
    assert not page.exception
    number = int(page.query_params.pop("number"))
    assert (number % 3 > 0) is (key == "best_answer")  # that is which answers are correct
    assert page.query_params == {"run": "small", "layer": "3", "head": "2", "from": "answer_sets"}


@pytest.mark.usefixtures("small")
def test_a_point_opens_its_answer_with_the_head_and_other_views_with_none():
    page = seeded({"run": "small", "layer": "3", "head": "2"}, "answers_head_answers", clicked(7))
    assert page.query_params == {"run": "small", "layer": "3", "head": "2", "number": "7", "from": "answer_sets"}
    query = {"run": "small", "view": "bins", "layer": "3"}
    page = seeded(query | {"head": "2"}, "answers_quality_by_attention", clicked(7))
    assert page.query_params == query | {"number": "7", "from": "answer_sets"}


@pytest.mark.usefixtures("small")
def test_a_layer_that_inspect_does_not_have_is_said():
    assert "Inspect shows only layers 2 to 4" in said(open_sets(run="small", layer="5", head="1"))
    assert "Inspect shows only layers" not in said(open_sets(run="small", layer="3", head="1"))


@pytest.mark.usefixtures("small")
def test_the_number_of_added_heads_is_chosen():
    page = open_sets(run="small", added="2")
    assert "RAUQ + 2 heads" in said(page)
    next(group for group in page.get("button_group") if group.key == "answers_added").set_value(10).run()
    assert page.query_params == {"run": "small", "added": "10"}
    assert "RAUQ + 10 heads" in said(page)


@pytest.mark.usefixtures("small")
def test_words_are_compared_over_whole_answers_only():
    page = open_sets(run="small", tokens="fact")
    assert not page.exception
    assert (page.dataframe[0].value["Words alone"] == "–").all()
    assert "over fact tokens alone" not in said(page)
    assert "Words alone: known only for the whole answer" in said(page)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quality": (1.0,) * 12}, "no incorrect answer has attention"),
        ({"quality": (0.0,)}, "no correct answer has attention"),
        ({"quality": undefined(12)}, "no correct and no incorrect answer has attention"),
        ({"quality": (1.0, 0.0) * 6}, "none of 2 groups has both correct and incorrect answers"),
        ({"quality": (1.0, 0.0) * 6, "lengths": [1] * 12}, "no correct and no incorrect answer has attention"),
    ],
)
def test_what_cannot_be_compared_is_said(runs, changes, reason):
    make(runs, **changes)
    page = open_sets(run="small")
    assert not page.exception
    assert not page.error
    assert page.header[0].value == f"Nothing to compare: {reason}"
    assert drawn(page) == {"heads"}


@pytest.mark.parametrize("quality", [(1.0, 0.0, 0.0) * 15, (1.0, 0.0)])
def test_one_group_has_a_map_but_no_heads_to_add(runs, quality):
    make(runs, groups=ONE, quality=quality)
    page = open_sets(run="small")
    assert not page.exception
    assert "answers in one group." in said(page)
    assert any("RAUQ + heads is undefined: only one group" in text.value for text in page.markdown)
    assert drawn(page) == {"heads", "head_answers", "added_heads"}


@pytest.mark.usefixtures("small")
def test_the_best_head_of_each_layer_is_given_as_python():
    assert not open_sets(run="small").code
    code, reading = open_page("answer_sets", {"heads_python": True}, run="small").code
    heads = literal_eval(code.value.partition("heads=")[2].removesuffix("))"))
    assert [layer for layer, _ in heads] == [2, 3, 4]
    assert Settings(heads=heads).heads == heads
    compile(reading.value, "read a detector", "exec")
    assert 'Path("rauq-5-heads.json")' in reading.value
