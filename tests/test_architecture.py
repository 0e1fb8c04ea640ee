"""The architecture is as designed: import directions, libraries, file sizes, nothing unsafe; each rule is effective."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as runner
from tests import architecture
from tests.imports import imported_after

ROOT = Path(__file__).parents[1]
FOLDERS = ("pages", "analysis", "serve", "rauq", "training", "benchmarks")
HEAVY = ("torch", "transformers", "scipy", "sklearn", "pandas", "plotly", "pydantic", "streamlit")
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True, no_logo=True))"

# Modules that break the contracts of pyproject.toml, and what import-linter says of each.
WRONG = {
    "rauq/wrong_0.py": ("import analysis", "rauq.wrong_0 -> analysis "),
    "rauq/wrong_1.py": ("def f():\n    from pages.ui.host import cache", "rauq.wrong_1 -> pages.ui.host.cache "),
    "rauq/wrong_2.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import analysis.runs",
        "rauq.wrong_2 -> analysis.runs ",
    ),
    "analysis/wrong_3.py": ("from pages import inspect", "analysis.wrong_3 -> pages.inspect "),
    "pages/wrong_4.py": ("import training.corpus", "pages.wrong_4 -> training.corpus "),
    "pages/wrong_5.py": ("import app", "pages.wrong_5 -> app "),
    "rauq/wrong_6.py": ("from tests import house", "rauq.wrong_6 -> tests "),
    "benchmarks/wrong_7.py": ("from training import corpus", "benchmarks.wrong_7 -> training.corpus "),
    "rauq/wrong_8.py": ("import pandas as pd", "rauq.wrong_8 -> pandas "),
    "rauq/wrong_9.py": ("def f():\n    import torch", "rauq.wrong_9 -> torch "),
    "rauq/wrong_10.py": ("import streamlit", "rauq.wrong_10 -> streamlit "),
    "rauq/wrong_11.py": ("from plotly import graph_objects", "rauq.wrong_11 -> plotly "),
    "analysis/wrong_12.py": ("import streamlit", "analysis.wrong_12 -> streamlit "),
    "analysis/wrong_13.py": ("import torch.nn", "analysis.wrong_13 -> torch "),
    "analysis/wrong_14.py": ("import plotly.graph_objects as go", "analysis.wrong_14 -> plotly "),
    "pages/wrong_15.py": ("import transformers", "pages.wrong_15 -> transformers "),
    "rauq/wrong_16.py": ("from scipy import stats", "rauq.wrong_16 -> scipy "),
    "rauq/wrong_17.py": ("import pickle", "rauq.wrong_17 -> pickle "),
    "analysis/wrong_18.py": ("from joblib import dump", "analysis.wrong_18 -> joblib "),
    "rauq/wrong_19.py": ("import rauq", "rauq.wrong_19 -> rauq "),
    "rauq/capture/wrong_20.py": ("from rauq.model import language_model", ".capture -> .model "),
    "analysis/wrong_21.py": ("import analysis.wrong_22", ".wrong_22 -> .wrong_21 "),
    "analysis/wrong_22.py": ("def f():\n    from analysis import wrong_21", ".wrong_22 -> .wrong_21 "),
    "training/wrong_23.py": ("import training.wrong_24", ".wrong_24 -> .wrong_23 "),
    "training/wrong_24.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import training.wrong_23",
        ".wrong_24 -> .wrong_23 ",
    ),
    "rauq/capture/wrong_25.py": ("from transformers import AutoConfig", "rauq.capture.wrong_25 -> transformers "),
    "pages/wrong_26.py": ("import rauq.transformers_api", "pages.wrong_26 -> rauq.transformers_api "),
}


def read(*folders):
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def product():
    sources = read(*FOLDERS) | {"app.py": (ROOT / "app.py").read_text(encoding="utf-8")}
    assert "rauq/trace/trace.py" in sources
    return sources


@pytest.fixture(scope="module")
def lint(product, tmp_path_factory):
    """Return what import-linter says of the product, and its exit status, once more modules are added to it."""

    def run(added):
        folder = tmp_path_factory.mktemp("copy")
        shutil.copy(ROOT / "pyproject.toml", folder)
        for path, text in (product | added).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        ran = subprocess.run([sys.executable, "-c", LINT], cwd=folder, check=False, capture_output=True, text=True)
        return ran.returncode, ran.stdout

    return run


@pytest.fixture(scope="module")
def said(lint):
    return lint({path: source for path, (source, _) in WRONG.items()})[1]


def test_contracts_are_kept(lint):
    status, said = lint({})
    assert (status, "0 broken" in said) == (0, True), said


@pytest.mark.parametrize("path", WRONG)
def test_wrong_import_is_found(path, said):
    assert WRONG[path][1] in said


RULES = ("forbidden", "hidden_torch", "loaded_by_name", "named_modules", "typed_commands", "unguarded_errors")


@pytest.mark.parametrize("rule", RULES)
def test_the_product_keeps_the_rules(rule, product):
    assert getattr(architecture, rule)(product) == []


def test_what_loads_by_name_is_stated_once_and_is_there(product):
    stated = {path: product[path] for path in architecture.LOADED_BY_NAME}
    assert [path for path, text in stated.items() if not re.search(r"import_module\(|__import__\(", text)] == []


def test_a_measurement_that_is_loaded_by_name_is_a_module():
    files = [ROOT / name.replace(".", "/") for name in runner.MEASUREMENTS.values()]
    assert [file for file in files if not (file.with_suffix(".py").is_file() or (file / "__init__.py").is_file())] == []


def test_no_file_is_long(product):
    assert architecture.too_long(product | read("tests")) == []


def test_no_handler_in_a_component_can_cancel_an_event_by_what_it_returns():
    """A function assigned to `onkeydown` that returned false kept every key out of a field."""
    assigned = re.compile(r"\.on[a-z]+\s*=[^=]|onclick|addEventListener\(\"(?!keydown\")")
    scripts = [path for path in (ROOT / "pages").rglob("*.js") if path.name != "events.js"]
    assert len(scripts) > 20
    assert [
        f"{path}: {found[0]}" for path in scripts for found in assigned.finditer(path.read_text(encoding="utf-8"))
    ] == []


def test_tests_of_the_browser_type_as_persons_do():
    filled = [path.name for path in (ROOT / "tests/browser").glob("*.py") if ".fill(" in path.read_text("utf-8")]
    assert filled == [], "use tests.browser.typing.enter: fill() sets a value that no key could"


def test_no_component_leaves_a_clean_up_to_streamlit():
    """It would be called for a run that another overtook as well, while the component still stands."""
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.js")]
    entries = [
        (script, found[1]) for script in scripts if (found := re.search(r"export default latest\((\w+)\);", script))
    ]
    assert len(entries) == 7  # components: none is missed
    for script, name in entries:
        body = script.split(f"\nfunction {name}(")[1].split("\n}\n")[0]
        assert "\n  return " not in body


@pytest.mark.parametrize(
    "source",
    [
        "st.markdown(text, unsafe_allow_html=True)",
        "load(name, trust_remote_code=True)",
        "load(name, trust_remote_code=flag)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path, weights_only=True)",
        "frame.to_csv(path)",
        "partial(frame.to_csv, index=False)",
        "csv.writer(text).writerows(rows)",
        "csv.DictWriter(text, names)",
    ],
)
def test_forbidden_construct_is_found(source):
    assert len(architecture.forbidden({"rauq/model/loading.py": source})) == 1


@pytest.mark.parametrize("source", ["import training.corpus", "from tests import house", "import torch", "import app"])
def test_wrong_import_of_the_app_is_found(source):
    assert len(architecture.forbidden({"app.py": source})) == 1
    assert (
        architecture.forbidden({"app.py": "import streamlit as st\nfrom pages import ui\nimport analysis, rauq"}) == []
    )


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("from safetensors.torch import save", 1),
        ("def f():\n    import safetensors.torch", 1),
        ("import torch\nfrom safetensors.torch import save", 0),
        ("from safetensors.numpy import save", 0),
    ],
)
def test_torch_behind_safetensors_is_found(source, faults):
    assert len(architecture.hidden_torch({"rauq/trace/trace.py": source})) == faults


def test_converter_alone_may_read_pickled_weights():
    assert architecture.forbidden({"analysis/quality/convert.py": "torch.load(path, weights_only=True)"}) == []


@pytest.mark.parametrize("source", ["st.text(lines(str(error)))", "shortened(running(str(error)))"])
def test_an_error_with_folders_is_found(source):
    assert len(architecture.unguarded_errors({"pages/ui/runs/listing.py": source})) == 1
    assert architecture.unguarded_errors({"analysis/cli/score.py": source}) == []


@pytest.mark.parametrize("source", ["import_module(name)", "importlib.import_module(name)", "__import__('rauq')"])
def test_an_import_by_a_string_is_found(source):
    assert len(architecture.loaded_by_name({"rauq/scoring/score.py": source})) == 1
    assert architecture.loaded_by_name({"rauq/layout.py": source}) == []


def test_the_name_of_a_module_in_a_string_is_found():
    assert len(architecture.named_modules({"pages/ui/host/cache.py": "RUN = 'analysis.runs.opened.Run'"})) == 1
    assert architecture.named_modules({"rauq/layout.py": "'analysis.runs'", "pages/a.py": "'pages/inspect.py'"}) == []


@pytest.mark.parametrize(
    "source", ["'python -m rauq models'", "'python -m analysis score'", "'pip install -r requirements-extra.txt'"]
)
def test_a_command_in_a_message_is_found(source):
    assert len(architecture.typed_commands({"pages/ui/runs/listing.py": source})) == 1
    assert architecture.typed_commands({"rauq/layout.py": source, "training/run.py": source}) == []


def test_exports_alone_write_csv():
    assert architecture.forbidden({"analysis/exports/csv_text.py": "frame.to_csv(path)"}) == []


def test_long_file_is_found():
    assert architecture.too_long({"rauq/score.py": "x = 1\n" * 500}) == []
    assert len(architecture.too_long({"rauq/score.py": "x = 1\n" * 501})) == 1


@pytest.mark.parametrize("package", ["rauq", "analysis"])
def test_import_linter_sees_every_folder_of_a_package(package):
    folders = {path.parent for path in (ROOT / package).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_a_heavy_import_is_seen():
    assert imported_after("import pandas", HEAVY) == ["pandas"]


@pytest.mark.parametrize(
    "statement", ["import rauq", "from rauq import Trace, score", "import rauq.__main__", "import analysis"]
)
def test_scoring_loads_nothing_heavy(statement):
    assert imported_after(statement, HEAVY) == []
