"""The rules of the house, as functions from source text to complaints.

Each takes `sources`, a mapping from a file's path to its text, and returns one line a fault. An import under
`if TYPE_CHECKING` loads nothing: it has to follow the arrows, but does not close a cycle or load a library.
"""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import NamedTuple

Sources = Mapping[str, str]

CEILING = 300

ARROWS = {
    "app": {"app", "pages", "analysis", "rauq"},
    "pages": {"pages", "analysis", "rauq"},
    "analysis": {"analysis", "rauq"},
    "rauq": {"rauq"},
    "training": {"training", "analysis", "rauq"},
    "benchmarks": {"benchmarks", "analysis", "rauq"},
}

_WEB = ("app.py", "pages/")
_TABLES = ("app.py", "pages/", "analysis/", "training/", "benchmarks/")
_MODELS = (
    *("rauq/models.py", "rauq/loading.py", "rauq/language_model.py", "rauq/capture/", "rauq/generation.py"),
    "rauq/drawing.py",
    "rauq/checkpoints/",
    "rauq/judges/classifier.py",
    *(
        "analysis/convert.py",
        "analysis/quality/weights.py",
        "analysis/quality/alignscore.py",
        "analysis/quality/comet.py",
    ),
    *("training/", "benchmarks/"),
)
LIBRARIES = {
    "streamlit": _WEB,
    "pandas": _TABLES,
    "sklearn": ("analysis/", "training/", "benchmarks/"),
    "plotly": ("pages/", "analysis/figures/"),
    "torch": _MODELS,
    "transformers": _MODELS,
    "tokenizers": _MODELS,
    "accelerate": _MODELS,
    "safetensors.torch": _MODELS,
}

_UNPICKLERS = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
_CONVERTER = "analysis/convert.py"


class Import(NamedTuple):
    """One imported dotted name, and whether only type checkers follow it."""

    name: str
    typing_only: bool


def wrong_arrows(sources: Sources) -> list[str]:
    return [
        f"{path} imports {found.name}: {_layer(path)} may import {', '.join(sorted(ARROWS[_layer(path)]))}"
        for path, found in _all_imports(sources)
        if (top := found.name.partition(".")[0]) in ARROWS.keys() | {"tests"} and top not in ARROWS[_layer(path)]
    ]


def misplaced_libraries(sources: Sources) -> list[str]:
    return [
        f"{path} imports {found.name}: {library} belongs to {', '.join(places)}"
        for path, found in _all_imports(sources)
        for library, places in LIBRARIES.items()
        if not found.typing_only and _within(found.name, library) and not path.startswith(places)
    ]


def cycles(sources: Sources) -> list[str]:
    modules = {_module(path): path for path in sources}
    graph = {
        module: {
            target
            for found in imports(sources[path])
            if not found.typing_only and (target := _known(found.name, modules)) not in {None, module}
        }
        for module, path in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"import cycle: {' <- '.join(error.args[1])}"]
    return []


def forbidden(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {complaint}"
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if (complaint := _complaint(node, path))
    ]


def too_long(sources: Sources) -> list[str]:
    return [
        f"{path} has {lines} lines: split it, the ceiling is {CEILING}"
        for path, text in sources.items()
        if (lines := len(text.splitlines())) > CEILING
    ]


def imports(text: str) -> list[Import]:
    """Every dotted name that the source imports: `from a import b` counts as a.b, since b may be a module."""
    tree = ast.parse(text)
    typing_only = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test).endswith("TYPE_CHECKING")
        for statement in test.body
        for node in ast.walk(statement)
    }
    return [Import(name, id(node) in typing_only) for node in ast.walk(tree) for name in _names(node)]


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _all_imports(sources: Sources) -> Iterator[tuple[str, Import]]:
    return ((path, found) for path, text in sources.items() for found in imports(text))


def _complaint(node: ast.AST, path: str) -> str | None:
    if isinstance(node, ast.keyword) and node.arg == "unsafe_allow_html":
        return "unsafe_allow_html: text of models and users is never HTML"
    if isinstance(node, ast.keyword) and node.arg in {"trust_remote_code", "allow_pickle"} and not _is_false(node):
        return f"{node.arg}: only our own code runs"
    if any(name.partition(".")[0] in _UNPICKLERS for name in _names(node)):
        return "pickle runs code: use safetensors or JSON"
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load" and path != _CONVERTER:
        return f"torch.load: only {_CONVERTER} reads pickled weights, once"
    return None


def _is_false(node: ast.keyword) -> bool:
    return isinstance(node.value, ast.Constant) and node.value.value is False


def _layer(path: str) -> str:
    return PurePosixPath(path).parts[0].removesuffix(".py")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _known(name: str, modules: Mapping[str, str]) -> str | None:
    """The project's module that importing `name` runs: itself, or the package that holds the name."""
    parent = name.rpartition(".")[0]
    return next((module for module in (name, parent) if module in modules), None)
