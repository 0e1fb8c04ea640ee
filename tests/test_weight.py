"""The command that counts modules and lines counts code alone."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULE = '''"""A docstring
of two lines."""

# a comment
import os  # counted once

TEXT = """two

lines and a blank one"""


def name(
    first,
):
    """Say what it does."""
    "a string that is no docstring"
    return os.path.join(
        first,
        # a comment in an expression
        TEXT,
    )
'''


@pytest.fixture(scope="module")
def weight():
    spec = importlib.util.spec_from_file_location("weight", ROOT / ".ci" / "weight.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docstrings_comments_and_blank_lines_are_no_code(weight):
    assert weight.lines_of_code(MODULE) == 1 + 2 + 3 + 1 + 4


def test_modules_are_counted_by_folder_and_packages_are_not(weight, tmp_path):
    for path in ("app.py", "rauq/__init__.py", "rauq/trace/deeper/file.py", "analysis/stats.py", "tests/test_it.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("X = 1\n")
    modules, lines = weight.weigh(tmp_path)
    assert modules == {"app.py": 1, "rauq": 0, "rauq/trace": 1, "analysis": 1}
    assert lines == {"app.py": 1, "rauq": 1, "rauq/trace": 1, "analysis": 1}
