"""How large the product is: its modules without `__init__.py`, and its lines without docstrings, comments and blanks.

`weight.py` counts the checkout, folder by folder; `weight.py FOLDER` counts another one.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

PRODUCT = ("rauq", "analysis", "pages", "app.py")
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(text: str) -> int:
    """The lines of a module that hold code."""
    lines = text.splitlines()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in _NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    return sum(1 for line in code - _docstrings(ast.parse(text)) if lines[line - 1].strip())


def _docstrings(tree: ast.Module) -> set[int]:
    documented = (node for node in ast.walk(tree) if isinstance(node, _DOCUMENTED) and ast.get_docstring(node))
    return {line for node in documented for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)}


def weigh(root: Path) -> tuple[Counter[str], Counter[str]]:
    """The modules and the lines of code of each part of the product."""
    modules, lines = Counter(), Counter()
    for part in PRODUCT:
        for path in [root / part] if part.endswith(".py") else root.joinpath(part).rglob("*.py"):
            place = path.relative_to(root).parts
            folder = "/".join(place[:-1][:2]) or part
            modules[folder] += path.name != "__init__.py"
            lines[folder] += lines_of_code(path.read_text(encoding="utf-8"))
    return modules, lines


def main() -> None:
    """Print the table."""
    modules, lines = weigh(Path(*sys.argv[1:2]))
    for folder in sorted(lines):
        print(f"{folder:<24}{modules[folder]:>6}{lines[folder]:>8}")
    print(f"{'all':<24}{modules.total():>6}{lines.total():>8}")


if __name__ == "__main__":
    main()
