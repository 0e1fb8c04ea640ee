"""The modules of the components, imported by a browser as they lie in their folders."""

from pathlib import Path

import numpy as np
import pytest

import rauq
from pages.ui.inspect.linked_views.encoding import as_base64
from pages.ui.shared.assets import script

ROOT = Path(__file__).parents[2]
MODULES = sorted(f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "pages").rglob("*.js"))
ENTRIES = [name for name in MODULES if "\nexport default " in (ROOT / name[1:]).read_text("utf-8")]
SITE = "http://127.0.0.1:8501"  # nothing is asked of it: every request is answered here
ARRAYS = (
    "means probability entropy signal collapse contribution shares confidence sure pickedAttention headNumbers".split()
)
ARRIVED = {
    "arrays": dict.fromkeys(ARRAYS, "") | {"means": as_base64(np.array([0.25, np.nan]), "<f4")},
    "weights": as_base64(np.array([0, 65534, 32767, 65535]), "<u2"),
    "picked": [{"row": 0}],
    "numHeads": 2,
    "tokens": [{"label": "abcdefghijkl"}],
    "sentences": [{"tokens": [0, 1]}],
}
NAMES = """async (modules) => {
  const found = {};
  for (const module of modules) found[module] = Object.keys(await import(module));
  return found;
}"""
GLOBALS = "(names) => names.filter((name) => name in window)"
CASES = "async (arrived) => (await import('/tests/browser/script_modules.js')).cases(arrived)"
MAIN = "async (entry) => typeof (await import(`/joined${entry}`)).default"
RECURRENCE = """async ([signal, attention, alpha]) => {
  const { recurrence } = await import("/pages/ui/shared/js/recurrence.js");
  return recurrence(signal, (gap) => attention[gap], alpha);
}"""


def answer(route):
    """Give the page a file of the repository, or a component as Streamlit gets it."""
    path = route.request.url.removeprefix(SITE)
    if path == "/":
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
        return
    entry = path.removeprefix("/joined")
    text = (ROOT / path[1:]).read_text("utf-8") if entry == path else script(ROOT / entry[1:])
    route.fulfill(body=text, content_type="text/javascript")


@pytest.fixture(scope="module")
def modules(tab):
    """A page without content that can import every module of the pages."""
    tab.route(f"{SITE}/**", answer)
    tab.goto(SITE)
    yield tab
    tab.unroute(f"{SITE}/**", answer)
    tab.goto("about:blank")


def test_every_module_can_be_imported_alone(modules):
    names = modules.evaluate(NAMES, MODULES)
    assert len(names) > 30
    assert [module for module, exported in names.items() if not exported] == []
    # Were a name of the window exported, nothing would notice that its import was forgotten.
    assert modules.evaluate(GLOBALS, sorted({name for exported in names.values() for name in exported})) == []


def test_functions_of_the_modules_return_what_they_must(modules):
    cases = modules.evaluate(CASES, ARRIVED)
    assert len(cases) > 50
    assert {name: found for name, (found, must) in cases.items() if found != pytest.approx(must, nan_ok=True)} == {}


def test_the_recurrence_is_that_of_algorithm_1(modules):
    rng = np.random.default_rng(0)
    probability, attention = rng.uniform(0.01, 1, 30), rng.uniform(0, 1, 29)
    settings = rauq.Settings(alpha=0.3, signal="probability", layers="all")
    score = rauq.score_arrays(attention[None, None], np.log(probability), settings)
    drawn = modules.evaluate(RECURRENCE, [probability.tolist(), attention.tolist(), 0.3])
    assert drawn == pytest.approx(score.confidence[0].tolist(), rel=1e-6)


def test_a_joined_component_is_a_module_with_one_function(modules):
    assert len(ENTRIES) == 7
    assert [modules.evaluate(MAIN, entry) for entry in ENTRIES] == ["function"] * 7
