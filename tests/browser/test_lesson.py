"""The teacher's journey: every step by keyboard, alpha moved, the game played to its end."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

import rauq
from analysis.lesson import TAUGHT, puzzle
from pages.ui.lesson.content import WRONG, content, steps
from rauq.labels import amount
from rauq.recorded.answers import find_recorded, load_game
from tests.browser.inspecting import go_to, rested

TOLD = steps(content().lesson)
GAME = len(TOLD)  # the first step is 0
PUZZLES = [puzzle(game_answer) for game_answer in load_game()]
PROJECTOR = {"width": 1280, "height": 720}
KEEP_SCRIPT = """
const create = URL.createObjectURL;
URL.createObjectURL = (blob) => {
  const url = create(blob);
  if (blob.type === "text/javascript") window.script = url;
  return url;
};
"""
OVERTAKE = """async (root) => {
  const { default: run } = await import(window.script);
  const given = { data: root.state.data, parentElement: root.getRootNode(), setStateValue: () => {} };
  const cleanUp = run(given);
  run(given);
  cleanUp?.();
}"""

MEASURES = Path(__file__).with_name("lesson_measures.js").read_text(encoding="utf-8")


def open_step(page, address, step):
    page.goto(f"{address}/learn?step={step}")
    expect_step(page, step)


def expect_step(page, step):
    title = "Which token was invented?" if step == GAME else TOLD[step].title
    expect(page.locator(".lesson .title")).to_have_text(title)
    expect(page.locator(".dot[aria-current=step]")).to_have_text({0: "Why", GAME: "Game"}.get(step, str(step)))


def measured(page, name):
    return page.evaluate(f"() => {{ {MEASURES}; return {name}(); }}")


def expect_fit(page):
    page.evaluate("document.fonts.ready")
    found = measured(page, "fit")
    assert found["scrolls"] <= 0
    assert found["outside"] == []
    assert found["under"] == []
    assert found["overlaps"] == []
    assert found["spilled"] == []
    assert found["text"] >= 28
    assert found["smallest"] >= 18


def confidence(page):
    """What the picture says of the confidence of the tokens."""
    label = page.locator(".hand .picture").get_attribute("aria-label")
    return re.findall(r" ((?:< )?\d\.\d{3})", label)


def expected(alpha):
    score = rauq.score(find_recorded(WRONG).trace(), replace(TAUGHT, alpha=alpha))
    layer = content().lesson.wrong.layer
    return [amount(c, places=3) for c in score.confidence[score.layers.index(layer)]]


def test_the_lesson_from_first_to_last_by_keyboard(page, server):
    page.set_viewport_size(PROJECTOR)
    page.goto(f"{server}/learn")
    for step, key in enumerate(["ArrowRight", " ", "PageDown"] * 3 + [""]):
        expect_step(page, step)
        expect_fit(page)
        if step == GAME:
            break
        expect(page.locator(".lesson [role=status].spoken")).to_contain_text(
            f"Step {step} of {GAME - 1}" if step else "Why"
        )
        expect(page.locator(".lesson .text")).to_have_text(TOLD[step].text)
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"step={step + 1}$"))
    page.keyboard.press("PageUp")
    expect_step(page, GAME - 1)
    page.keyboard.press("ArrowLeft")
    expect_step(page, GAME - 2)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect_step(page, 0)


def test_keys_still_work_when_streamlit_cleans_up_after_an_overtaken_run(chromium, server):
    with chromium.new_context(viewport=PROJECTOR) as context:
        context.add_init_script(KEEP_SCRIPT)
        page = context.new_page()
        open_step(page, server, 2)
        page.locator(".lesson").evaluate(OVERTAKE)
        page.keyboard.press("ArrowRight")
        expect_step(page, 3)


def test_the_browsers_own_back_leads_to_the_step_before(page, server):
    open_step(page, server, 3)
    page.keyboard.press("End")
    expect_step(page, GAME)
    expect(page).to_have_url(re.compile(f"step={GAME}$"))
    page.go_back()
    expect_step(page, 3)
    page.keyboard.press("ArrowRight")
    expect_step(page, 4)
    expect(page).to_have_url(re.compile("step=4$"))


def test_the_lesson_by_mouse_and_a_picture_for_every_step(page, server):
    open_step(page, server, 0)
    wraps_its_first_answer_on_a_phone(page)
    pictures = set()
    for step in range(GAME):
        expect_step(page, step)
        pictures.add(page.locator(".stage .picture").get_attribute("aria-label"))
        page.get_by_role("button", name="Play" if step == GAME - 1 else "Next", exact=True).click()
    expect_step(page, GAME)
    assert len(pictures) == len(TOLD)
    page.get_by_role("button", name="Step 3: Selecting the head").click()
    expect_step(page, 3)
    page.get_by_role("button", name="Back", exact=True).click()
    expect_step(page, 2)


def wraps_its_first_answer_on_a_phone(page):
    before = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")
    said = page.locator(".why .said").bounding_box()
    assert said["x"] + said["width"] <= 390
    page.set_viewport_size(before)


def test_the_reader_moves_alpha_and_the_numbers_are_those_of_the_score(page, server):
    open_step(page, server, 5)
    assert confidence(page) == expected(0.6)
    expect(page.locator(".formula")).to_have_text(re.compile(rf"^c\(L\) = 0.60 × .* = {expected(0.6)[5]}$"))
    slider = page.get_by_role("slider", name="alpha")
    slider.focus()
    for presses, alpha in ((1, 0.65), (3, 0.8)):
        for _ in range(presses):
            slider.press("ArrowRight")
        assert confidence(page) == expected(alpha)
    expect(page.locator(".formula")).to_have_text(re.compile(rf"^c\(L\) = 0.80 × .* = {expected(0.8)[5]}$"))
    slider.press("Home")
    assert confidence(page) == expected(0.0)
    expect_step(page, 5)
    page.get_by_role("button", name="the paper's 0.6 for probability").click()
    assert confidence(page) == expected(0.6)
    page.get_by_role("group", name="Token whose confidence").get_by_role("button", name="capital").focus()
    expect(page.locator(".formula")).to_contain_text(
        f"c(capital) = 0.60 × 0.973 + 0.40 × 0.038 × 0.407 = {expected(0.6)[1]}"
    )
    page.keyboard.press("ArrowRight")
    expect_step(page, 6)
    expect(page.locator(".title")).to_be_focused()


def test_the_game_is_played_to_its_end_by_keyboard_and_mouse(page, server):
    page.set_viewport_size(PROJECTOR)
    open_step(page, server, GAME)
    tally = {"You": 0, "RAUQ": 0, "Probability": 0}
    for number, asked in enumerate(PUZZLES):
        expect(page.locator(".count")).to_have_text(f"Answer {number + 1} of 10")
        expect(page.locator(".prompt")).to_have_text(asked.prompt)
        expect(page.locator(".answer .word")).to_have_text(list(asked.tokens))
        expect_fit(page)
        guess = asked.invented[0] if number % 3 else 0
        choose(page, guess, by_keyboard=number % 2 == 0)
        for name, token in (("You", guess), ("RAUQ", asked.rauq), ("Probability", asked.probability)):
            tally[name] += token in asked.invented
            expect(page.locator(".board")).to_contain_text(f"{name} {tally[name]}")
            expect(page.locator(".verdicts")).to_contain_text(
                f"{name} {'found it' if token in asked.invented else 'chose'}"
            )
        expect(page.locator(".word.invented")).to_have_text([asked.tokens[token] for token in asked.invented])
        expect(page.locator(".reveal")).to_contain_text(asked.reference)
        expect_fit(page)
        expect(page.locator(".next-answer")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(".scores .total")).to_have_text("Found, of 10" + "".join(map(str, tally.values())))
    expect(page.locator(".text")).to_contain_text(verdict(tally))
    expect_fit(page)
    page.get_by_role("button", name="Play again").click()
    expect(page.locator(".count")).to_have_text("Answer 1 of 10")
    expect(page.locator(".board")).to_contain_text("You 0")


def choose(page, token, *, by_keyboard):
    if not by_keyboard:
        page.locator(".answer .word").nth(token).click()
        return
    expect(page.locator(".answer .word").first).to_be_focused()
    for _ in range(token):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".answer .word").nth(token)).to_be_focused()
    page.keyboard.press("Enter")


def verdict(tally):
    if tally["RAUQ"] < tally["Probability"]:
        return "plain probability did better than RAUQ"
    better = "better" if tally["RAUQ"] > tally["Probability"] else "no better"
    return f"RAUQ did {better} than plain probability"


def test_a_game_survives_a_visit_to_another_page(page, server):
    open_step(page, server, GAME)
    page.locator(".answer .word").nth(PUZZLES[0].invented[0]).click()
    expect(page.locator(".board")).to_contain_text("You 1")
    expect(page).to_have_url(re.compile(f"step={GAME}$"))
    go_to(page, "Inspect")
    expect(page.locator(".lesson")).to_have_count(0)
    rested(page)
    go_to(page, "Learn")
    expect_step(page, 0)
    page.keyboard.press("End")
    expect(page.locator(".count")).to_have_text("Answer 2 of 10")
    expect(page.locator(".board")).to_contain_text("You 1")


def test_an_old_link_opens_its_step_on_a_server_that_has_never_run_the_app(page, cold_server):
    page.goto(f"{cold_server}/lesson?step=4")
    expect_step(page, 4)
    expect(page).to_have_url(re.compile(r"/learn\?step=4$"))
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("step=5$"))
    page.reload()
    expect_step(page, 5)


@pytest.mark.parametrize(("asked", "shown"), [("77", GAME), ("nonsense", 0)])
def test_a_link_to_no_step_is_corrected(asked, shown, page, server):
    page.goto(f"{server}/learn?step={asked}")
    expect_step(page, shown)
    expect(page).to_have_url(re.compile(f"step={shown}$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_stand_out_from_the_page(scheme, page, server):
    page.set_viewport_size(PROJECTOR)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    open_step(page, server, 0)
    for step in (0, 1, 3, 4, 6, GAME):
        page.locator(".dot").nth(step).click()
        expect_step(page, step)
        found = measured(page, "contrasts")
        assert len(found) > 10
        assert {text: ratio for text, ratio in found.items() if ratio < 4.5} == {}
