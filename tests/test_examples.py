"""The notebook of examples runs from top to bottom, and is kept without outputs."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "rauq.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def shown(code, names):
    """Run a cell: what its last line gives, which a notebook shows."""
    body = ast.parse(code).body
    exec(compile(ast.Module(body[:-1], []), "cell", "exec"), names)  # noqa: S102 - our own notebook
    last = ast.Expression(body[-1].value)
    value = eval(compile(last, "cell", "eval"), names)  # noqa: S307
    draw = getattr(value, "_repr_html_", None)
    return draw() if draw else repr(value)


def test_every_cell_runs_in_order_and_shows_something(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    said = [shown("".join(cell["source"]), names) for cell in CELLS if cell["cell_type"] == "code"]
    assert len(CELLS) == 12
    assert len(said) == 11
    assert all(said)
    assert "atlas" in said[0]
    assert sum("<bdi" in one for one in said) == 3  # two strips, and that of one's own model
    assert "plotly" in said[3]
    assert names["mine"].generate(names["trace"].prompt).answer == names["trace"].answer


@pytest.mark.parametrize("cell", CELLS)
def test_the_notebook_holds_no_outputs(cell):
    assert not cell.get("outputs")
    assert cell.get("execution_count") is None
