"""A file with scores that were made elsewhere: which of its columns is judged, and what is left of it."""

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.datasets.own_files import read_table
from analysis.runs.library import BUNDLED
from analysis.survival.answers import number_columns
from tests.pages.reading import interpreted, open_page
from tests.pages.runs_page import HOSTILE
from tests.pages.sets import make

COUNT = 120


pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    make(root := tmp_path_factory.mktemp("shared"))
    return root


@pytest.fixture
def page(small):
    del small
    return open_page("methods", run="small", view="own_scores")


@pytest.fixture(scope="module")
def answers():
    """Answers of which half are incorrect; `risk` knows these, and `noise` nothing."""
    rng = np.random.default_rng(0)
    wrong = rng.integers(0, 2, COUNT)
    return pd.DataFrame(
        {
            "q": [f"Who painted picture {number} of {number * 7}?" for number in range(COUNT)],
            "reply": [f"It was {name}." for name in rng.choice(["Ann", "Bob", "Cem", "Dan"], COUNT)],
            "wrong": wrong,
            "risk": np.round(wrong + rng.normal(0, 0.5, COUNT), 3),
            "noise": np.round(rng.normal(0, 1, COUNT), 3),
            "topic": rng.choice(["oil", "ink"], COUNT),
        }
    )


def upload(page, frame, name="scores.csv"):
    content = frame.to_csv(index=False).encode()
    return page.file_uploader("own_scores_file").upload(name, content).run()


def choose(page, name, value):
    return page.selectbox(f"own_scores_{name}").set_value(value).run()


def columns_chosen(page):
    for name, column in {"prompt": "q", "answer": "reply", "incorrect": "wrong", "group": "topic"}.items():
        page = choose(page, name, column)
    return page


def judged(page):
    page = page.button("own_scores_judge").click().run()
    assert not page.exception
    return page


def headers(page):
    return [header.value for header in page.header]


def test_a_score_that_knows_the_errors_survives_and_noise_does_not(page, answers):
    page = judged(choose(columns_chosen(upload(page, answers)), "signal", "risk"))
    expected = analysis.survive(
        answers,
        "risk",
        columns=analysis.Columns(prompt="q", answer="reply", incorrect="wrong", group="topic"),
    )
    assert expected.survives
    assert headers(page)[1].startswith("Your score tells more than words")
    assert page.dataframe[-1].value["0"].tolist() == [rung.name for rung in expected.rungs]
    page = choose(page, "signal", "noise")
    assert len(headers(page)) == 1  # what was judged is another column
    assert headers(judged(page))[1].startswith("Your score is not shown to tell more than words")


def test_a_file_with_usual_names_needs_no_choice_of_columns(page, answers):
    usual = answers.rename(columns={"q": "question", "reply": "answer", "wrong": "incorrect", "topic": "group"})
    page = judged(upload(page, usual))
    assert page.selectbox("own_scores_signal").value == "risk"
    assert headers(page)[1].startswith("Your score tells more than words")


def test_a_hostile_name_of_a_column_is_drawn_as_text(page, answers):
    page = columns_chosen(upload(page, answers.rename(columns={"risk": HOSTILE})))
    page = judged(choose(page, "signal", HOSTILE))
    assert headers(page)[1].startswith("Your score tells more than words")
    assert "evil.example" not in interpreted(page)


def test_tokens_are_judged_where_the_columns_say_that_each_row_is_one(page):
    rng = np.random.default_rng(1)
    wrong = rng.integers(0, 2, 600)
    tokens = pd.DataFrame(
        {
            "id": np.repeat(np.arange(60), 10),
            "token": rng.choice([" a", " b", " c"], 600),
            "incorrect": wrong,
            "risk": np.round(wrong + rng.normal(0, 1, 600), 3),
        }
    )
    page = choose(upload(page, tokens), "signal", "risk")
    assert "600 tokens" in " ".join(caption.value for caption in judged(page).caption)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"question": ["a", "b"], "answer": ["c", "d"]}), "has no column of numbers that differ"),
        (pd.DataFrame({"question": ["a", "b"], "score": [0.1, 0.2]}), "Which column says which answers are incorrect?"),
    ],
)
def test_a_file_that_cannot_be_judged_says_what_it_lacks(page, frame, said):
    page = upload(page, frame)
    assert not page.exception
    assert said in " ".join(text.value for text in page.text)
    assert not [button for button in page.button if button.key == "own_scores_judge"]


def test_too_few_answers_are_refused_in_words(page, answers):
    page = judged(columns_chosen(upload(page, answers.head(8))))
    assert "20" in " ".join(text.value for text in page.text)


def test_a_file_that_is_no_table_is_refused_and_another_one_begins_anew(page, answers):
    page = page.file_uploader("own_scores_file").upload("scores.csv", b"\x00\xff").run()
    assert page.error
    page = columns_chosen(upload(page, answers))
    page = upload(page, answers.rename(columns={"q": "question"}), "other.csv")
    assert page.selectbox("own_scores_prompt").value == "question"
    assert page.selectbox("own_scores_incorrect").value is None


@pytest.mark.usefixtures("host")
def test_a_host_names_the_command(tmp_path):
    make(tmp_path, "bundled")
    page = open_page("methods", run=BUNDLED, view="own_scores")
    assert "rauq survive" in page.code[0].value
    assert not page.get("file_uploader")


def test_columns_of_numbers_are_those_that_differ(answers):
    frame = answers.assign(same=1, empty=["", *answers["risk"].astype(str)[1:]], text="a")
    table = read_table(frame.to_csv(index=False).encode(), "scores.csv")
    assert number_columns(table) == ("wrong", "risk", "noise", "empty")
