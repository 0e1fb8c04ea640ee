"""The inspector's journey, as a person clicks it."""

import re

from playwright.sync_api import expect

from analysis.figures.style import attention_scale
from analysis.figures.token_axis import tick_positions

PROMPT = "Q: In which country is Lyon?\nA: Lyon is in France.\nQ: In which country is Gliwice?\nA:"
HOSTILE = (
    " <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    " ![](http://evil.example/a.png) [link](http://evil.example) <b>bold</b> $x^2$"
)


def ask(page, address, prompt=PROMPT):
    page.goto(address)
    page.get_by_label("Prompt").fill(prompt)
    page.get_by_role("button", name="Generate").click()
    expect(page.locator(".source")).to_contain_text("Gliwice")  # not the recorded answer that the page opens on
    expect(page.locator(".token.collapse")).to_have_count(1)


def settled(page):
    """Wait until the charts stand and the script rests, so that a click does not meet an element about to go."""
    expect(page.locator(".js-plotly-plot .nsewdrag").first).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def chart(page, key, property_):
    """A property of the Plotly figure that the browser holds."""
    return page.evaluate(f"() => document.querySelector('.st-key-{key} .js-plotly-plot').{property_}")


def click_cell(page, layer, head):
    """Click the middle of a cell of the map, once Plotly has seen the pointer there."""
    layers, heads = map(int, chart(page, "layer_head_map", "data[0].z.shape").split(","))
    box = page.locator(".st-key-layer_head_map .nsewdrag").bounding_box()
    x = box["x"] + (head + 0.5) * box["width"] / heads
    y = box["y"] + (layer + 0.5) * box["height"] / layers
    page.mouse.move(x - 2, y)
    page.mouse.move(x, y)
    expect(page.locator(".st-key-layer_head_map .hovertext")).to_contain_text(f"layer {layer} · head {head}")
    page.mouse.click(x, y)


def expect_framed(page, layer, head):
    """Wait until the map's frame is around this head."""
    page.wait_for_function(
        """([layer, head]) => {
            const frame = document.querySelector('.st-key-layer_head_map .js-plotly-plot')?.layout.shapes?.at(-1);
            return frame?.x0 === head - 0.5 && frame?.y0 === layer - 0.5;
        }""",
        arg=[layer, head],
    )


def test_journey_from_a_prompt_to_a_head(page, server):
    ask(page, server)
    settled(page)
    collapse = page.locator(".token.collapse")
    expect(page.locator(".headline")).to_contain_text(f"token {collapse.get_attribute('data-index')},")
    expect(page.get_by_text("Picked heads")).to_be_visible()

    collapse.hover()
    tip = page.locator(".tip")
    for fact in ("probability", "entropy", "attention", "confidence", "Most probable here"):
        expect(tip).to_contain_text(fact)
    expect(tip.locator(".alternative")).to_have_count(10)

    page.locator(".token").nth(2).click()
    expect(page.get_by_text("Previous-token attention at token 2")).to_be_visible()
    expect(page).to_have_url(re.compile("token=2"))
    settled(page)

    click_cell(page, 1, 6)
    expect(page.get_by_text("Heads of layer 1, token by token")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=1&head=6"))
    expect(page.get_by_label("Head", exact=True)).to_have_value("6")

    before = page.locator(".detail").inner_text()
    slider = page.locator("[data-testid=stSidebar] input[type=range]")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_text("not the paper's setting")).to_be_visible()
    expect(page.locator(".detail")).not_to_have_text(before)
    expect(page).to_have_url(re.compile("alpha=0.25"))

    page.locator(".token").nth(2).click()
    expect(page.get_by_text("Previous-token attention", exact=True)).to_be_visible()
    expect(page).not_to_have_url(re.compile("token="))


def test_the_frame_of_the_map_follows_every_way_to_select(page, server):
    ask(page, server)
    settled(page)
    click_cell(page, 0, 3)
    expect(page).to_have_url(re.compile("layer=0&head=3"))
    expect_framed(page, 0, 3)
    settled(page)
    click_cell(page, 0, 3)  # Plotly, which the new figure has made forget, selects it
    click_cell(page, 0, 3)  # and unselects it
    expect_framed(page, 0, 3)
    page.get_by_label("Layer", exact=True).fill("2")
    page.get_by_label("Layer", exact=True).press("Enter")
    expect(page).to_have_url(re.compile("layer=2&head=3"))
    expect_framed(page, 2, 3)


def test_the_strip_works_with_the_keyboard(page, server):
    ask(page, server)
    settled(page)
    page.locator(".token[tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".token:focus")).to_have_attribute("data-index", "1")
    expect(page.locator(".tip")).to_contain_text("token 1")
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("token=1"))
    expect(page.locator(".token").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".token:focus")).to_have_attribute("data-index", "1")


def test_a_link_works_on_a_server_that_has_never_run_the_app(page, cold_server):
    page.goto(f"{cold_server}/inspect?layer=1&head=3&alpha=0.5")
    empty = page.get_by_role("heading", name="Where did the model stop knowing?")
    expect(empty.or_(page.locator(".headline"))).to_be_visible()
    expect(page).to_have_title("RAUQ")
    expect(page.get_by_text("not the paper's setting")).to_be_visible()
    if empty.is_visible():
        page.get_by_label("Prompt").fill(PROMPT)
        page.get_by_role("button", name="Generate").click()
    expect(page.get_by_text("Heads of layer 1, token by token")).to_be_visible()
    expect(page.get_by_label("Head", exact=True)).to_have_value("3")
    expect(page).to_have_url(re.compile(r"/inspect\?layer=1&head=3&alpha=0.5$"))


def test_stop_works_while_the_model_loads(page, cold_server):
    page.goto(cold_server)
    page.get_by_label("Prompt").fill(PROMPT)
    page.get_by_role("button", name="Generate").click()
    page.get_by_test_id("stSidebar").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped before the first token.")).to_be_visible()
    expect(page.get_by_role("button", name="Generate")).to_be_enabled()
    expect(page.get_by_label("Prompt")).to_have_value(PROMPT)


def test_hostile_input_is_drawn_as_text(page, server):
    page.goto(server)
    page.get_by_text("paste", exact=True).click()
    page.get_by_role("textbox", name="Answer to score").fill(HOSTILE)
    page.get_by_label("Prompt").fill(f"Q:{HOSTILE}\nA:")
    page.get_by_role("button", name="Score it").click()
    expect(page.locator(".source")).to_contain_text("as given")
    settled(page)
    drawn = page.locator(".token .text").all_inner_texts()
    assert "".join(drawn) == HOSTILE.replace(" ", "·")
    ticks = page.locator(".st-key-confidence .xaxislayer-above text").all_text_contents()
    assert ticks == [drawn[i] for i in tick_positions(len(drawn))]
    expect_unharmed(page, "RAUQ")


def test_hostile_tokens_are_drawn_as_text(page, hostile_server):
    page.goto(hostile_server)
    settled(page)
    attack = page.locator(".token.collapse")
    expect(attack.locator(".text")).to_contain_text("<img·src=x·onerror=")
    expect(page.locator(".headline")).to_contain_text("<b>bold</b>")
    expect(page.locator(".source")).to_contain_text("<b>bold</b>")
    attack.hover()
    expect(page.locator(".tip .title")).to_contain_text("<img·src=x")
    expect(page.locator(".tip .alternative .text")).to_contain_text("<b>bold</b>")
    ticks = page.locator(".st-key-confidence .xaxislayer-above text")
    expect(ticks.nth(1)).to_have_text("·$x^2$·<sup…")
    bars = page.locator(".st-key-confidence .barlayer path")
    box = bars.nth(1).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".st-key-confidence .hovertext")).to_contain_text("·$x^2$·<sup>2</sup>")
    expect_unharmed(page, "unharmed")


def expect_unharmed(page, title):
    expect(page).to_have_title(title)
    expect(page.locator("[data-testid=stMain] :is(script, img, b, sup, a[href*=evil])")).to_have_count(0)


def test_two_people_at_once_do_not_mix(page, server):
    with page.context.browser.new_context() as context:
        other = context.new_page()
        for who, country in ((page, "Peru"), (other, "Japan")):
            who.goto(server)
            who.get_by_label("Prompt").fill(f"Q: What is the capital of {country}?\nA:")
        for who in (page, other):
            who.get_by_role("button", name="Generate").click()
        for who, country in ((page, "Peru"), (other, "Japan")):
            expect(who.locator(".token.collapse")).to_have_count(1)
            expect(who.locator(".source")).to_contain_text(f"capital of {country}")


def test_the_map_suits_a_dark_page(chromium, server):
    with chromium.new_context(color_scheme="dark") as context:
        page = context.new_page()
        ask(page, server)
        settled(page)
        assert chart(page, "layer_head_map", "data[0].colorscale[0][1]") == attention_scale(dark=True)[0][1]
