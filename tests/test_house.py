"""The house stands as designed: arrows, libraries in their rooms, small files, nothing unsafe; and each rule bites."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import house

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "sklearn", "pandas", "plotly", "streamlit")


def read(*folders):
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def product():
    sources = read("pages", "analysis", "rauq", "training", "benchmarks")
    if (ROOT / "app.py").exists():
        sources["app.py"] = (ROOT / "app.py").read_text(encoding="utf-8")
    assert "rauq/trace.py" in sources
    return sources


@pytest.mark.parametrize("rule", [house.wrong_arrows, house.misplaced_libraries, house.cycles, house.forbidden])
def test_product_follows(rule, product):
    assert rule(product) == []


def test_no_file_is_long(product):
    assert house.too_long(product | read("tests")) == []


def test_no_component_leaves_a_clean_up_to_streamlit():
    """It would be called for a run that another overtook as well, while the component still stands."""
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.js")]
    drawing = [script.split("export default function")[1] for script in scripts if "export default function" in script]
    assert len(drawing) == 3  # components: none is missed
    for script in drawing:
        assert "\n  return " not in script.split("\n}\n")[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rauq/score.py", "import analysis"),
        ("rauq/score.py", "def f():\n    from pages.ui import cache"),
        ("rauq/score.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import analysis.runs"),
        ("analysis/runs.py", "from pages import inspect"),
        ("pages/inspect.py", "import training.corpus"),
        ("pages/inspect.py", "import app"),
        ("rauq/score.py", "from tests import house"),
        ("benchmarks/capture.py", "from training import corpus"),
        ("app.py", "import benchmarks"),
    ],
)
def test_wrong_arrow_is_found(path, source):
    assert len(house.wrong_arrows({path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app.py", "from pages import ui\nimport analysis, rauq"),
        ("analysis/runs.py", "import rauq"),
        ("training/train.py", "from analysis import metrics\nfrom training import corpus"),
    ],
)
def test_right_arrow_passes(path, source):
    assert house.wrong_arrows({path: source}) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rauq/score.py", "import pandas as pd"),
        ("rauq/score.py", "def f():\n    import torch"),
        ("rauq/trace.py", "from safetensors.torch import save"),
        ("rauq/models.py", "import streamlit"),
        ("rauq/models.py", "from plotly import graph_objects"),
        ("analysis/metrics.py", "import streamlit"),
        ("analysis/metrics.py", "import torch.nn"),
        ("analysis/metrics.py", "import plotly.graph_objects as go"),
        ("pages/inspect.py", "import transformers"),
        ("rauq/grid.py", "from sklearn import metrics"),
    ],
)
def test_misplaced_library_is_found(path, source):
    assert len(house.misplaced_libraries({path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rauq/capture/tap.py", "import torch"),
        ("analysis/figures/strip.py", "import plotly"),
        ("rauq/trace.py", "from safetensors.numpy import save"),
        ("rauq/__init__.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
    ],
)
def test_library_in_its_place_passes(path, source):
    assert house.misplaced_libraries({path: source}) == []


@pytest.mark.parametrize(
    "sources",
    [
        {"rauq/a.py": "import rauq.b", "rauq/b.py": "from rauq import a"},
        {
            "rauq/a.py": "from rauq.b import x",
            "rauq/b.py": "def f():\n    from rauq.c import y",
            "rauq/c.py": "import rauq.a",
        },
        {"rauq/__init__.py": "from rauq.a import x", "rauq/a.py": "import rauq"},
    ],
)
def test_cycle_is_found(sources):
    assert len(house.cycles(sources)) == 1


def test_chain_and_typing_import_are_no_cycle():
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import rauq.a"
    assert house.cycles({"rauq/a.py": "import rauq.b", "rauq/b.py": typed}) == []


@pytest.mark.parametrize(
    "source",
    [
        "st.markdown(text, unsafe_allow_html=True)",
        "load(name, trust_remote_code=True)",
        "load(name, trust_remote_code=flag)",
        "np.load(path, allow_pickle=True)",
        "import pickle",
        "from joblib import dump",
        "torch.load(path, weights_only=True)",
    ],
)
def test_forbidden_construct_is_found(source):
    assert len(house.forbidden({"rauq/models.py": source})) == 1


def test_converter_alone_may_read_pickled_weights():
    assert house.forbidden({"analysis/convert.py": "torch.load(path, weights_only=True)"}) == []


def test_long_file_is_found():
    assert house.too_long({"rauq/score.py": "x = 1\n" * 300}) == []
    assert len(house.too_long({"rauq/score.py": "x = 1\n" * 301})) == 1


def loaded_after(statement):
    """Which heavy packages a fresh interpreter holds after the statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def test_loaded_after_sees_a_heavy_import():
    assert loaded_after("import pandas") == ["pandas"]


@pytest.mark.parametrize("statement", ["import rauq", "from rauq import Trace, score", "import rauq.__main__"])
def test_scoring_loads_nothing_heavy(statement):
    assert loaded_after(statement) == []
