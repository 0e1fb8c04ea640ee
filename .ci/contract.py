"""Write `docs/contract.md`, whose tables are the fields of `Trace` and `Score` as their docstrings describe them.

.venv/bin/python .ci/contract.py
"""

import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from rauq import Score, Trace  # noqa: E402 - found in the repository, whatever the current folder

PAGE = ROOT / "docs" / "contract.md"
_FIELD = re.compile(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(<!-- fields of (\w+)[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
_DESCRIBED = {"Trace": Trace, "Score": Score}


def fields_of(described: type) -> dict[str, str]:
    """What the docstring of a dataclass says of each field, under *Attributes*."""
    listed = inspect.cleandoc(described.__doc__ or "").partition("\nAttributes:\n")[2]
    return {name: " ".join(text.split()) for name, text in _FIELD.findall(listed)}


def with_tables(page: str) -> str:
    """The page with the fields of today between its marks."""
    return _TABLE.sub(lambda marks: f"{marks[1]}{_table(_DESCRIBED[marks[2]])}{marks[3]}", page)


def _table(described: type) -> str:
    rows = "".join(f"| `{name}` | {text} |\n" for name, text in fields_of(described).items())
    return f"| | |\n|---|---|\n{rows}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
