"""The report as its reader opens it: from the disk, without a network."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest
from playwright.sync_api import expect

import rauq
from analysis.exports.html_report import html_report
from rauq.recorded.answers import find_recorded
from rauq.scoring.report import selected_heads
from rauq.trace.trace import Alternative
from tests.traces import make_trace

ATTACK = "<img src=x onerror=\"document.title='owned'\"> ![](http://evil.example/a.png) <b>bold</b> $x$ </script>"
FIGURES = ("layer-head-map", "confidence", "token-head-map")


@contextmanager
def opening(chromium, folder):
    """Opens reports from the disk; fails if one asks for anything else, or if the console complains."""
    with chromium.new_context(offline=True, viewport={"width": 1280, "height": 720}) as context:
        page = context.new_page()
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        file = folder / "report.html"

        def show(trace, **options):
            file.write_text(html_report(trace, rauq.score(trace), **options), encoding="utf-8")
            page.goto(file.as_uri())
            return page

        yield show
        assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
        assert complaints == []


@pytest.fixture
def offline(chromium, tmp_path):
    with opening(chromium, tmp_path) as show:
        yield show


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    """One report of a recorded answer, for all tests that only look at it or save from it."""
    with opening(chromium, tmp_path_factory.mktemp("report")) as show:
        yield show(replace(recorded(), wrong=(9, 10)))


def recorded():
    return find_recorded("unknown-place").trace()


def expect_drawn(page):
    for name in FIGURES:
        expect(page.locator(f"#{name}.js-plotly-plot .main-svg").first).to_be_visible()


def test_a_recorded_answer_is_drawn(opened):
    trace, page = recorded(), opened
    expect_drawn(page)
    expect(page).to_have_title("Where the model was unsure")
    expect(page.get_by_role("heading", level=1)).to_contain_text("token 9")
    expect(page.locator(".token")).to_have_count(len(trace.pieces))
    expect(page.locator(".token.collapse")).to_contain_text("▲")
    expect(page.locator(".token.wrong")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_no_figure_is_wider_than_its_column(opened):
    page = opened
    expect_drawn(page)
    for name in FIGURES:
        chart = page.locator(f"#{name}")
        widths = chart.evaluate("node => [node.querySelector('.main-svg').clientWidth, node.clientWidth]")
        assert widths[0] == widths[1]


def test_dark_and_light_figures_stand_on_the_colour_of_the_page_and_a_phone_does_not_scroll_sideways(offline):
    for dark in (True, False):
        page = offline(recorded(), dark=dark)
        expect_drawn(page)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for name in FIGURES:
            expect(page.locator(f"#{name} .main-svg").first).to_have_css("background-color", background)
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    expect_drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(("format_", "start"), [("SVG", b"<svg"), ("PNG", b"\x89PNG")])
def test_a_figure_can_be_saved(opened, format_, start):
    page = opened
    expect_drawn(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name=re.compile(rf"Confidence.* as {format_}$")).click()
    assert saved.value.suggested_filename == f"confidence.{format_.lower()}"
    assert saved.value.path().read_bytes().startswith(start)


def test_a_cell_of_the_map_names_its_layer_and_weight_where_it_is_ringed_too(opened):
    trace, page = recorded(), opened
    expect_drawn(page)
    row = selected_heads(rauq.score(trace))[0]
    page.locator("#layer-head-map .scatterlayer .point").first.hover(force=True)  # the chart listens above it
    hover = page.locator("#layer-head-map .hoverlayer")
    expect(hover).to_contain_text(f"layer {row.layer} · head {row.head}attention {row.mean_attention:.3f}")


def test_plotlys_own_button_saves_a_figure(opened):
    page = opened
    expect_drawn(page)
    page.locator("#layer-head-map").hover()
    expect(page.locator("#layer-head-map .modebar .plotlyjsicon")).to_have_count(0)
    with page.expect_download() as saved:
        page.locator("#layer-head-map .modebar-btn[data-title^=Download]").click()
    assert saved.value.suggested_filename == "layer-head-map.png"


def test_hostile_text_is_text(offline):
    pieces = [ATTACK.encode(), b" $x^2$ <sup>2</sup>", b"</text><script>document.title='owned'</script>"]
    alternatives = ((Alternative(0, ATTACK, -1.0),),) * len(pieces)
    trace = make_trace(
        pieces, probabilities=[0.01, 0.9, 0.9], prompt=ATTACK, model=ATTACK, revision=ATTACK, alternatives=alternatives
    )
    page = offline(trace)
    expect_drawn(page)
    expect(page).to_have_title("How uncertain the model is about this text")
    expect(page.locator(".prompt")).to_have_text(ATTACK)
    expect(page.get_by_role("heading", level=1)).to_contain_text("</text><script>")  # the first repeats the question
    expect(page.locator(".token").first).to_contain_text("<img·src=x·onerror=")
    expect(page.locator("#confidence .xaxislayer-above text").nth(1)).to_have_text("·$x^2$·<sup…")
    expect(page.locator("main :is(img, b, sup, a[href*=evil])")).to_have_count(0)

    bar = page.locator("#confidence .barlayer path").nth(1)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#confidence .hovertext")).to_contain_text("·$x^2$·<sup>2</sup>")
    assert page.evaluate("document.title") == "How uncertain the model is about this text"


def test_the_policy_stops_a_script_that_gets_in(chromium, tmp_path):
    trace = recorded()
    text = html_report(trace, rauq.score(trace))
    injected = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    file = tmp_path / "injected.html"
    file.write_text(text.replace("</main>", f"{injected}</main>"), encoding="utf-8")
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        expect_drawn(page)
        expect(page).to_have_title("Where the model was unsure")
