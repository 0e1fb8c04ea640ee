"""The rules of the architecture that the contracts of import-linter in pyproject.toml cannot express.

Each is a function from `sources`, a mapping from a file's path to its text, to complaints, one line a fault.
"""

import ast
import re
from collections.abc import Mapping

Sources = Mapping[str, str]

CEILING = 500

_OF_APP = {"streamlit", "pages", "analysis", "rauq"}  # app.py is in no package, so that no contract sees it
_CONVERTER = "analysis/quality/convert.py"
_EXPORTS = "analysis/exports/csv_text.py"
_NO_EXPORT = ("training/", "benchmarks/")  # commands of developers
_DRAWN_ERROR = re.compile(r"(?!without_folders)[\w.]+\(str\(error\)\)")
_LAYOUT = "rauq/layout.py"
_LOADERS = {"import_module", "importlib.import_module", "__import__"}

LOADED_BY_NAME = {
    "rauq/__init__.py": "its own modules, at first use",
    "rauq/layout.py": "analysis, which stands on rauq: for `rauq.analysis`, and for figures of a trace or score",
    "rauq/cli/main.py": "the module of a command, which is in analysis for commands of sets of answers",
    "analysis/__init__.py": "its own modules, at first use",
    "analysis/cli/own_methods.py": "the methods that a user names on the command line",
    "analysis/sources/on_ray.py": "Ray, an optional package without types",
    "analysis/report/export.py": "clients of other tools, which are optional packages without types",
    "benchmarks/__main__.py": "a measurement; some are in tests, with whose models and inputs they measure",
    "benchmarks/coverage/__init__.py": "the modules of its own folder that have simulations",
}
_MODULE_NAME = re.compile(r"(?:analysis|pages|serve)(?:\.[A-Za-z_]\w*)+(?<!\.py)")
_TYPED = re.compile(r"python -m (?:rauq|analysis|pages)\b|requirements-extra")
_CSV_WRITERS = {"to_csv", "writer", "DictWriter"}


def forbidden(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {complaint}"
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if (complaint := _complaint(node, path))
    ]


def hidden_torch(sources: Sources) -> list[str]:
    """import-linter takes safetensors.torch for safetensors: a module that imports it has to import torch as well."""
    return [
        f"{path} imports safetensors.torch without torch, so that the contract on torch does not see it"
        for path, text in sources.items()
        if "safetensors.torch" in text and "import torch" not in text
    ]


def unguarded_errors(sources: Sources) -> list[str]:
    """Visitors of a host see no folder of its machine."""
    return [
        f"{path}:{node.lineno}: an error is drawn by message_text, or as without_folders gives it"
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if path.startswith("pages/") and isinstance(node, ast.Call) and _DRAWN_ERROR.fullmatch(ast.unparse(node))
    ]


def loaded_by_name(sources: Sources) -> list[str]:
    """Import-linter sees no import by a string, so each file that has one is named, with what it loads."""
    return [
        f"{path}:{node.lineno}: {ast.unparse(node)}: import it, or state in tests/architecture.py what is loaded"
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _LOADERS and path not in LOADED_BY_NAME
    ]


def named_modules(sources: Sources) -> list[str]:
    """In the wheel, modules of analysis and pages have other names, which no string may hold."""
    return [
        f"{path}:{node.lineno}: {node.value}: use ANALYSIS or HOST of {_LAYOUT}, or __package__"
        for path, text in sources.items()
        if path.startswith(("app.py", "pages/", "serve/", "analysis/", "rauq/")) and path != _LAYOUT
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value)
    ]


def typed_commands(sources: Sources) -> list[str]:
    """With pip, a user types other commands than in the repository: rauq/layout.py alone knows which."""
    return [
        f"{path}:{number}: {found[0]} is named; take the command from {_LAYOUT}"
        for path, text in sources.items()
        if path.startswith(("app.py", "pages/", "serve/", "analysis/", "rauq/")) and path != _LAYOUT
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _TYPED.search(line))
    ]


def too_long(sources: Sources) -> list[str]:
    return [
        f"{path} has {lines} lines: split it, the ceiling is {CEILING}"
        for path, text in sources.items()
        if (lines := len(text.splitlines())) > CEILING
    ]


def _complaint(node: ast.AST, path: str) -> str | None:
    names = _imported(node)
    if isinstance(node, ast.keyword) and node.arg == "unsafe_allow_html":
        return "unsafe_allow_html: text of models and users is never HTML"
    if isinstance(node, ast.keyword) and node.arg in {"trust_remote_code", "allow_pickle"} and not _is_false(node):
        return f"{node.arg}: only our own code runs"
    if path == "app.py" and not {name.partition(".")[0] for name in names} <= _OF_APP:
        return f"app.py imports {names[0]}: it may import {', '.join(sorted(_OF_APP))}"
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load" and path != _CONVERTER:
        return f"torch.load: only {_CONVERTER} reads pickled weights, once"
    if isinstance(node, ast.Attribute) and node.attr in _CSV_WRITERS and not path.startswith((_EXPORTS, *_NO_EXPORT)):
        return f"{node.attr}: only {_EXPORTS} writes CSV, in which no text is a formula"
    return None


def _is_false(node: ast.keyword) -> bool:
    return isinstance(node.value, ast.Constant) and node.value.value is False


def _imported(node: ast.AST) -> list[str]:
    """The dotted names of an import: `from a import b` gives a.b, since b may be a module."""
    module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return [f"{module}{alias.name}" for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
