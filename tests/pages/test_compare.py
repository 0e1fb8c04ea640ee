"""Compare: two answers on one grid, how B is made, and what is said where they cannot be compared."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import rauq
from pages.ui import answers, cache, jobs
from pages.ui.compare import making
from rauq import Settings
from rauq.atlas import recorded
from rauq.atlas.recorded import load_recorded
from rauq.errors import InvalidInput
from rauq.trace import Alternative
from tests.answers import random_trace
from tests.traces import make_trace

ROOT = Path(__file__).parents[2]
FIRST, BESIDE = "example:unknown-place", "example:known-place"
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y] [a](http://evil.example)"
JOB = "_compare_job"


@pytest.fixture(autouse=True)
def no_answers_of_other_tests():
    cache.answers().traces.clear()


@pytest.fixture
def no_model(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr(cache, "model", refuse)


@pytest.fixture
def nothing_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")


def open_compare(**query):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page.switch_page("pages/compare.py")
    for name, value in query.items():
        page.query_params[name] = value
    return page.run()


def kept(trace):
    """The reference of an answer that somebody else's link leads to."""
    name = "k" * 8 + str(len(cache.answers().traces))
    cache.answers().traces[name] = trace
    return f"kept:{name}"


def of(name):
    return next(one for one in load_recorded() if one.id == name.removeprefix("example:")).trace()


def strips(page):
    (component,) = page.get("bidi_component")
    return json.loads(component.proto.json)


def charts(page):
    return {chart.proto.id.rpartition("-")[2]: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}


def interpreted(page):
    """Everything on the page that Streamlit reads as Markdown."""
    kinds = (page.markdown, page.caption, page.title, page.header, page.error, page.info, page.toast, page.warning)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def choose(page, key, value):
    return next(group for group in page.get("button_group") if group.key == key).set_value(value).run()


def ended(page):
    """The page once its job is done; the polling is the browser's part."""
    if JOB in page.session_state:  # else it ended before the click's own run did
        assert page.session_state[JOB].done.wait(120)
    return page.run()


def shown(page, side):
    return answers.find(page.query_params[side].removeprefix("kept:"))


@pytest.mark.usefixtures("no_model")
def test_the_page_opens_on_an_invented_answer_and_the_right_one_beside_it():
    page = open_compare()
    assert not page.exception
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == [FIRST, BESIDE]
    a, b = (rauq.score(of(name)).uncertainty for name in (FIRST, BESIDE))
    assert a > b
    assert strips(page)["headline"] == f"A is less sure than B: uncertainty {a:.2f} against {b:.2f}"
    assert [len(side["cells"]) for side in strips(page)["sides"]] == [len(of(n).pieces) for n in (FIRST, BESIDE)]
    assert set(charts(page)) == {"overlay", "difference_map"}
    assert page.query_params == {}


def test_the_grid_has_each_collapse_and_the_level_of_each_token():
    page = open_compare(a=FIRST, b=BESIDE)
    for side, name in zip(strips(page)["sides"], (FIRST, BESIDE), strict=True):
        collapse = rauq.score(of(name)).collapse
        assert [cell["collapse"] for cell in side["cells"]].index(True) == collapse.argmax()
        levels = [cell["level"] for cell in side["cells"]]
        np.testing.assert_allclose(levels, 1 - np.exp(-np.maximum(collapse, 0)), rtol=1e-9)


@pytest.mark.usefixtures("no_model")
def test_a_link_restores_answers_token_and_settings():
    page = open_compare(a="example:myth", b="example:known-words", token="7", alpha="0.55")
    assert strips(page)["selected"] == 7
    a, b = (rauq.score(of(name), Settings(alpha=0.55)).uncertainty for name in ("myth", "known-words"))
    assert [side["uncertainty"] for side in strips(page)["sides"]] == [f"{a:.2f}", f"{b:.2f}"]
    frame = charts(page)["overlay"]["layout"]["shapes"][-1]
    column = [own for own, _ in strips(page)["columns"]].index(7)
    assert frame["x0"] == column - 0.5


@pytest.mark.parametrize("text", ["99", "-1", "x", "1e3", "٣"])
def test_a_token_out_of_range_or_nonsense_does_no_harm(text):
    page = open_compare(a=FIRST, token=text)
    assert not page.exception
    assert strips(page)["selected"] in {None, len(of(FIRST).pieces) - 1}


def test_the_link_of_the_inspector_selects_the_token_to_branch_at():
    page = open_compare(a=FIRST, branch="9")
    assert strips(page)["selected"] == 9
    assert "at token 9" in strips(page)["branch"]["title"]
    offered = {entry["rank"] for entry in strips(page)["branch"]["alternatives"]}
    trace = of(FIRST)
    assert offered == {rank for rank, other in enumerate(trace.alternatives[9]) if other.id != trace.answer_ids[9]}


@pytest.mark.parametrize("ref", ["kept:nothing", "example:nothing", "../../etc/passwd", "<b>", ""])
def test_a_link_to_an_answer_that_is_gone_says_so_and_shows_another(ref):
    page = open_compare(a=ref, b=BESIDE)
    assert not page.exception
    assert "no longer in memory" in interpreted(page)
    assert page.selectbox(key="answer_a").value == FIRST
    assert page.query_params == {"b": BESIDE}


def test_choosing_answers_and_swapping_them_lives_in_the_url():
    page = open_compare(token="3")
    page.selectbox(key="answer_b").set_value("example:myth").run()
    assert page.query_params == {"token": "3", "b": "example:myth"}
    page.button(key="swap").click().run()
    assert page.query_params == {"a": "example:myth", "b": FIRST}
    assert [page.selectbox(key=f"answer_{side}").value for side in "ab"] == ["example:myth", FIRST]


def test_recorded_answers_are_compared_without_torch():
    code = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "page = AppTest.from_file('app.py', default_timeout=60)\n"
        "page.switch_page('pages/compare.py')\n"
        "page.run()\n"
        "assert not page.exception and len(page.get('plotly_chart')) == 2\n"
        "print([name for name in ('torch', 'transformers', 'sklearn') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]"


def table(page):
    return page.dataframe[0].value


def test_the_table_scores_both_under_the_same_setting():
    page = open_compare(a=FIRST, b=BESIDE, alpha="0.4")
    (row,) = table(page).to_dict("records")
    a, b = (rauq.score(of(name), Settings(alpha=0.4)) for name in (FIRST, BESIDE))
    assert row["setting"] == "probability, alpha 0.4, predicting"
    assert (row["uncertainty A"], row["uncertainty B"]) == (a.uncertainty, b.uncertainty)
    assert row["A − B"] == a.uncertainty - b.uncertainty
    assert (row["layer A"], row["layer B"]) == (a.layer, b.layer)
    assert row["head A"] == a.heads[a.layers.index(a.layer)]


def test_b_can_have_its_own_settings_and_the_table_has_both():
    page = open_compare(a=FIRST, b=FIRST, alpha="0.4")
    page.toggle(key="b_settings").set_value(True).run()
    assert page.query_params["b_alpha"] == "0.4"
    assert strips(page)["headline"].startswith("A and B are equally sure")
    page = choose(page, "b_signal_field", "entropy")
    assert page.query_params == {"a": FIRST, "b": FIRST, "alpha": "0.4", "b_settings": "own", "b_signal": "entropy"}
    assert strips(page)["headline"].endswith("on different scales")
    assert "not on one scale, for their signals and alphas differ" in interpreted(page)
    assert list(table(page)["setting"]) == ["probability, alpha 0.4, predicting", "entropy, alpha 0.5, predicting"]
    assert (table(page)["A − B"] == 0).all()
    page.button(key="paper").click().run()
    assert page.query_params == {"a": FIRST, "b": FIRST}


def test_another_alignment_and_alpha_for_both():
    page = choose(open_compare(), "alignment_field", "own")
    page.select_slider(key="alpha_field").set_value("0.75").run()
    assert page.query_params == {"alignment": "own", "alpha": "0.75"}
    a = rauq.score(of(FIRST), Settings(alignment="own", alpha=0.75)).uncertainty
    assert strips(page)["sides"][0]["uncertainty"] == f"{a:.2f}"
    page = choose(page, "signal_field", "entropy")
    assert page.query_params == {"alignment": "own", "signal": "entropy"}


def test_answers_of_another_kind_follow_the_papers_setting_of_their_own():
    page = open_compare(a=FIRST, b=kept(make_trace(kind="instruct", model="other")))
    assert not page.exception
    assert "models, kinds of model, signals and alphas differ" in interpreted(page)
    settings = ["probability, alpha 0.2, predicting", "entropy, alpha 0.9, predicting"]
    assert list(table(page)["setting"]) == settings


def test_settings_that_a_link_cannot_mean_are_told():
    page = open_compare(alpha="7", signal="<b>")
    assert not page.exception
    assert "signal and alpha cannot be used" in interpreted(page)
    assert page.query_params == {}


def test_maps_of_different_models_say_why_there_is_none():
    page = open_compare(a=FIRST, b=kept(make_trace(num_layers=3)))
    assert not page.exception
    assert list(charts(page)) == ["overlay"]
    assert "has no counterpart" in page.info[0].value


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_short_answers_are_compared(num_tokens):
    short = kept(make_trace((b" a",) * num_tokens, num_layers=12, num_heads=8))
    page = open_compare(a=short, b=FIRST)
    assert not page.exception
    assert ("one token" in interpreted(page)) == (num_tokens == 1)


def test_an_alignment_that_was_not_captured_says_so_and_leaves_the_way_back():
    attention = make_trace().attention.copy()
    attention[:, :, -1] = np.nan
    page = open_compare(a=kept(make_trace(attention=attention)), alignment="own")
    assert not page.exception
    assert page.error[0].value == "This was not captured"
    page.button(key="paper").click().run()
    assert not page.error
    assert set(charts(page)) == {"overlay"}


def test_a_score_that_is_undefined_still_has_its_tokens():
    page = open_compare(a=kept(make_trace(logprobs=np.full(3, np.nan))), b=FIRST)
    assert not page.exception
    assert strips(page)["headline"] == "No comparison: the score of A is undefined"
    assert strips(page)["sides"][0]["uncertainty"] == "–"


@pytest.mark.usefixtures("nothing_recorded")
def test_without_any_answer_the_page_offers_to_make_one():
    page = open_compare()
    assert not page.exception
    assert "no answer to compare yet" in interpreted(page)
    page.button(key="make_answer").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert "There is no prompt" in page.text[0].value
    assert JOB not in page.session_state


@pytest.mark.usefixtures("nothing_recorded")
def test_the_first_answer_becomes_a_and_the_next_one_b():
    page = upload(open_compare(), make_trace())
    assert list(page.query_params) == ["a"]
    page = upload(page, make_trace((b" Lima",)))
    assert shown(page, "a").answer == " Oslo is it"
    assert shown(page, "b").answer == " Lima"


def upload(page, trace, name="answer.safetensors"):
    (uploader,) = page.get("file_uploader")
    return uploader.upload(name, trace if isinstance(trace, bytes) else trace.to_bytes()).run()


@pytest.mark.parametrize("content", [b"", b"garbage", make_trace().to_bytes()[:-20]])
def test_a_file_that_is_no_trace_is_refused_and_nothing_is_lost(content):
    page = upload(open_compare(b="example:myth"), content, name=f"{HOSTILE}.safetensors")
    assert not page.exception
    assert page.error
    assert page.query_params == {"b": "example:myth"}
    assert len(charts(page)) == 2
    assert "evil" not in interpreted(page)
    page.selectbox(key="answer_b").set_value(BESIDE).run()
    assert not page.error


def test_text_of_models_and_users_is_never_interpreted():
    pieces = (HOSTILE.encode(), b"*a*", b"\xf0\x9f", b"\n")
    hostile = make_trace(
        pieces, prompt=HOSTILE, model=HOSTILE, alternatives=((Alternative(0, HOSTILE, -1.0),),) * len(pieces)
    )
    page = open_compare(a=kept(hostile), b=kept(hostile), token="1")
    assert not page.exception
    assert "evil" not in interpreted(page)
    assert "evil" in strips(page)["sides"][0]["cells"][0]["spoken"]
    assert strips(page)["sides"][1]["cells"][2]["parts"] == [["⟨F0 9F⟩", True]]
    assert "evil" in strips(page)["branch"]["alternatives"][0]["text"]
    assert "evil" in page.selectbox(key="answer_a").options[-1]  # which the browser draws as text


def test_a_branch_keeps_what_came_before_and_says_the_chosen_token():
    page = open_compare(a=FIRST, b=BESIDE)
    origin = of(FIRST)
    token = int(rauq.score(origin).collapse.argmax())
    assert page.number_input(key="branch_token").value == token
    second = [other.id for other in origin.alternatives[token] if other.id != origin.answer_ids[token]][1]
    page.selectbox(key=f"instead_{FIRST}_{token}").set_value(second)
    page = ended(page.button(key="make_branch").click().run())
    assert not page.exception
    assert not page.error
    branch = shown(page, "b")
    assert branch.prompt == origin.prompt
    np.testing.assert_array_equal(branch.answer_ids[:token], origin.answer_ids[:token])
    np.testing.assert_allclose(branch.logprobs[:token], origin.logprobs[:token], atol=1e-5)
    assert branch.answer_ids[token] == second
    assert branch.logprobs[token] == pytest.approx(origin.alternatives[token][:3][-1].logprob, abs=1e-5)
    assert strips(page)["first"] == token
    assert strips(page)["columns"][token] == [token, token]
    (line,) = charts(page)["overlay"]["layout"]["shapes"]
    assert line["x0"] == token - 0.5
    assert np.isfinite(branch.attention[:, :, -1, 0]).all()  # so that the own alignment can be scored


def test_a_branch_can_go_on_with_a_text():
    page = open_compare(a=FIRST, token="5")
    page.selectbox(key=f"instead_{FIRST}_5").set_value(-1).run()
    page.text_input(key="branch_text").set_value(" Lima is")
    page = ended(page.button(key="make_branch").click().run())
    origin, branch = of(FIRST), shown(page, "b")
    np.testing.assert_array_equal(branch.answer_ids[:5], origin.answer_ids[:5])
    assert "".join(branch.answer_tokens[5:]).startswith(" Lima is")


def test_a_branch_to_nothing_is_refused():
    page = open_compare(a=FIRST, token="5")
    page.selectbox(key=f"instead_{FIRST}_5").set_value(-1).run()
    page.button(key="make_branch").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert JOB not in page.session_state


def test_another_prompt_becomes_b():
    page = open_compare(a=FIRST)
    field = next(field for field in page.text_area if field.label == "Prompt")
    assert field.value == of(FIRST).prompt
    field.set_value("Q: What is the capital of Peru?\nA:")
    page.number_input(key="compare_max_new_tokens").set_value(4)
    page = ended(page.button(key="make_answer").click().run())
    assert shown(page, "b").prompt == "Q: What is the capital of Peru?\nA:"
    assert len(shown(page, "b").pieces) <= 4
    assert page.selectbox(key="answer_a").value == FIRST


def test_a_pasted_answer_is_scored():
    page = choose(open_compare(a=FIRST), "compare_task", "paste")
    page.text_area(key="compare_answer").set_value(" Nowhere.")
    page = ended(page.button(key="make_answer").click().run())
    assert shown(page, "b").answer == " Nowhere."


def test_a_model_that_does_not_exist_is_refused_and_the_page_stays():
    page = choose(open_compare(a=FIRST, b=BESIDE), "compare_model", "another")
    page.text_input(key="compare_model_name").set_value("/no/such/folder")
    page = ended(page.button(key="make_answer").click().run())
    assert page.error[0].value == "No model was loaded"
    assert page.query_params == {"a": FIRST, "b": BESIDE}
    assert len(charts(page)) == 2


class SlowModel:
    """Writes the tokens that are forced, then waits until it is cancelled."""

    def __init__(self):
        self.lock, self.begun, self.calls = threading.RLock(), threading.Event(), 0
        self.kind = "base"

    def encode(self, _prompt, *, chat):
        assert chat is False
        return type("Prompt", (), {"ids": tuple(make_trace().prompt_ids.tolist())})

    def generate(self, prompt, *, on_token, cancel, answer_prefix, **_options):
        self.calls += 1
        for index, token in enumerate(answer_prefix):
            on_token(index, token, f" {token}")
        self.begun.set()
        assert cancel.wait(60)
        return make_trace((b" Oslo", b" was"), prompt=prompt, stop_reason="cancelled")


@pytest.fixture
def slow(monkeypatch):
    model = SlowModel()
    monkeypatch.setattr(cache, "model", lambda _choice: model)
    monkeypatch.setattr(cache, "if_loaded", lambda _choice: model)
    return model


def test_a_growing_branch_stands_under_a_and_stop_keeps_it(slow):
    a = kept(make_trace(alternatives=((Alternative(7, " was", -1.0),),) * 3))
    page = open_compare(a=a, token="1")
    for _ in range(5):
        page = page.button(key="make_branch").click().run()
    assert slow.begun.wait(30)
    page.run()
    assert not page.exception
    assert strips(page)["live"]
    assert [cell["title"] for cell in strips(page)["sides"][1]["cells"]] == ["·0", "·7"]
    assert strips(page)["columns"][1] == [1, 1]
    assert not charts(page)
    page.button(key="stop_making").click().run()
    page = ended(page)
    assert slow.calls == 1
    assert shown(page, "b").stop_reason == "cancelled"
    assert page.query_params["a"] == a


def test_a_branch_survives_a_look_at_another_page(slow):
    a = kept(make_trace(alternatives=((Alternative(7, " was", -1.0),),) * 3))
    page = open_compare(a=a, token="1")
    page.button(key="make_branch").click().run()
    assert slow.begun.wait(30)
    page.switch_page("pages/lesson.py").run()
    job = page.session_state[JOB]
    job.cancel.set()
    assert job.done.wait(30)
    page.query_params.clear()
    page.switch_page("pages/compare.py").run()
    assert page.query_params["a"] == a
    assert shown(page, "b").stop_reason == "cancelled"


def test_a_failed_branch_leaves_the_page_as_it_was(slow, monkeypatch):
    def fail(*_arguments, **_options):
        message = "too long"
        raise InvalidInput(message)

    monkeypatch.setattr(slow, "generate", fail)
    page = open_compare(a=kept(make_trace()), b=FIRST)
    page.selectbox(key=next(box.key for box in page.selectbox if box.key.startswith("instead"))).set_value(-1).run()
    page.text_input(key="branch_text").set_value(" x")
    monkeypatch.setattr(jobs, "_prefix", lambda *_: [1])
    page = ended(page.button(key="make_branch").click().run())
    assert page.text[0].value == "too long"
    assert page.query_params["b"] == FIRST


def test_a_model_taken_for_another_kind_is_asked_for_by_kind(slow):
    slow.kind = "instruct"
    assert making._model_of(make_trace(model="m")).kind == "base"
    slow.kind = "base"
    assert making._model_of(make_trace(model="m")).kind is None


def test_long_answers_of_many_heads_are_drawn():
    page = open_compare(a=kept(random_trace(200, num_layers=32, num_heads=32)), b=kept(random_trace(150, seed=1)))
    assert not page.exception
    assert strips(page)["long"]
