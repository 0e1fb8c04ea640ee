"""The names on the app's buttons, fields, views and pages, and its sentences that name one, from the code.

A sentence names one
- in italics, or after words such as press, see and the page: "see More, No stop text";
- as a command, by a verb with which buttons begin: "Check the model to see it" names the button Check model.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from rauq.scoring.declaration import declared
from rauq.scoring.settings import Settings

Sources = Mapping[str, str]

ROOT = Path(__file__).parents[2]
VERBS = (
    *("Add", "Ask", "Branch", "Check", "Clear", "Close", "Delete", "Export", "Fit", "Forget", "Generate", "Get"),
    *("Import", "Judge", "Keep", "Leave", "Load", "Make", "Mark", "Open", "Paste", "Read", "Remove", "Reset"),
    *("Resume", "Score", "Select", "Show", "Start", "Stop", "Swap", "Treat", "Undo"),
)
"""Buttons begin with these, and so do commands of sentences that name one; others, such as choose, need no button."""

_PRODUCT = ("pages", "analysis", "rauq")
_SHOWN = ("app.py", "pages/", "analysis/views/")
_LONGEST = 8  # words of a name
_BUTTONS = {
    *("button", "download_button", "form_submit_button", "page_link"),
    *("popover", "expander", "toggle", "segmented_control", "tabs"),
}
_IN_HTML = re.compile(r"<(?:button|summary|label|h2)\b[^>]*>([^<>]+)<")
_ITALICS = re.compile(r"(?<!\*)\*([A-Z][^*]*)\*(?!\*)")
_SUBTITLE = re.compile(r"^\*[^*\n]+\*$", re.MULTILINE)
_PLACES = "page|view|drawer|button|field|switch"
_AFTER = re.compile(rf"\b(?:[Pp]ress|[Cc]lick|[Ss]ee|[Uu]nder|the (?:{_PLACES})) \*?(?=[A-Z])")
_COMMAND = re.compile(
    rf"(?:^|(?<=[.:;,?!(] )|(?<=\bor )|(?<=\band )|(?<=\bthen ))(?:{'|'.join(VERBS)})\b[^.;:,?!()]*", re.IGNORECASE
)
_FILLING = frozenset("a an the it its this that these those them one of your yours as again now then \0".split())
_OF_SHELL = re.compile(r"--\w|`|\w=|\w\.\w+\(")  # what is typed is no name


def read_product() -> Sources:
    """The product's Python and the HTML of its components, by path."""
    files = [ROOT / "app.py", *(file for folder in _PRODUCT for file in (ROOT / folder).rglob("*"))]
    kept = [file for file in files if file.suffix in {".py", ".html"}]
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in kept}


def complaints(sources: Sources) -> list[str]:
    """One line for each name in a sentence that nothing in the app has."""
    known, pressed = names(sources), buttons(sources)
    return [
        f"{path}:{line}: {name!r} names nothing in the app: {text!r}"
        for path, code in sources.items()
        if path.endswith(".py")
        for line, text in texts(code)
        for name in _unknown(text, known, pressed if path.startswith("pages/") and not _name(text) else None)
    ]


def complaints_of_documents(sources: Sources, documents: Mapping[str, str]) -> list[str]:
    """One line for each name in italics in a document of a page that nothing in the app has."""
    known = names(sources)
    texts_of = {path: _SUBTITLE.sub("", text) for path, text in documents.items()}
    found = ((path, name) for path, text in texts_of.items() for name in _in_italics(text) if name not in known)
    return [f"{path}: {name!r} names nothing in the app" for path, name in found]


def names(sources: Sources) -> frozenset[str]:
    """All short texts of the pages that are no sentence; where one goes on with what is known later, its beginning."""
    in_code = {text for path, code in _of_pages(sources, ".py") for _, text in texts(code)}
    return _names({*in_code, *_in_html(sources), *(one.label for one in declared(Settings).values())})


def buttons(sources: Sources) -> frozenset[str]:
    """The names of what a person presses."""
    found = {text for path, code in _of_pages(sources, ".py") for text in _pressed(code)}
    return _names({*found, *_in_html(sources)})


def _of_pages(sources: Sources, kind: str) -> Iterator[tuple[str, str]]:
    """The files with names that the pages show; titles of views stand in their objects."""
    return ((path, text) for path, text in sources.items() if path.startswith(_SHOWN) and path.endswith(kind))


def _in_html(sources: Sources) -> Iterator[str]:
    return (name for _, text in _of_pages(sources, ".html") for name in _IN_HTML.findall(text))


def _names(found: set[str]) -> frozenset[str]:
    return frozenset(filter(None, map(_name, found)))


def _name(text: str) -> str:
    """A text as a name, without the marks of bold type; "" for a sentence."""
    shown = text.partition("\0")[0].strip("* :,(“")
    is_name = bool(shown) and shown[0].isupper() and len(shown.split()) <= _LONGEST and "*" not in shown
    return "" if not is_name or re.search(r"[.?!](?: |$)", shown.removesuffix("?")) else shown


@cache
def texts(code: str) -> tuple[tuple[int, str], ...]:
    """The texts of a module with their lines, without docstrings; what is known later is "\\0" in them."""
    return tuple(_texts(code))


def _texts(code: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(code)
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
            yield node.lineno, _joined(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def _joined(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)


@cache
def _pressed(code: str) -> frozenset[str]:
    """The texts that reach a button of a module: written there, or where a name in it gets its value."""
    return frozenset(_reaching(ast.parse(code)))


def _reaching(tree: ast.Module) -> Iterator[str]:
    meant = _meanings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last(node.func) in _BUTTONS:
            given = [keyword.value for keyword in node.keywords if keyword.arg in {"label", "title"}]
            for label in [*node.args[:1], *given]:
                yield from _given(label, meant, depth=3)


_Meanings = Mapping[str, list[ast.expr]]


def _given(value: ast.expr, meant: _Meanings, *, depth: int) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield _joined(node)
        elif isinstance(node, ast.Name) and depth:
            for one in meant.get(node.id, ()):
                yield from _given(one, meant, depth=depth - 1)


def _meanings(tree: ast.Module) -> _Meanings:
    """What names stand for: what is assigned to them, looped over, returned by them, or passed as parameters."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    nodes = list(ast.walk(tree))
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            calls[_last(node.func)].append(node)
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value):
                _mean(found, _bound(target), [value])
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _mean(found, _bound(target), [value])
            case ast.FunctionDef():
                _mean(
                    found,
                    {node.name},
                    [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value],
                )
                for place, parameter in enumerate(node.args.args):
                    _mean(
                        found,
                        {parameter.arg},
                        [one for call in calls[node.name] for one in call.args[place : place + 1]],
                    )
    return found


def _mean(found: dict[str, list[ast.expr]], names_: set[str], values: list[ast.expr]) -> None:
    for name in names_:
        found[name] += values


def _bound(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _last(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]


def _unknown(text: str, known: frozenset[str], pressed: frozenset[str] | None) -> Iterator[str]:
    if _OF_SHELL.search(text):
        return
    yield from (name for name in _in_italics(text) if name not in known)
    yield from (rest[:40] for found in _AFTER.finditer(text) if not _begins(rest := text[found.end() :], known))
    for found in _COMMAND.finditer(text) if pressed is not None else ():
        if not any(_is_named(found[0], button) for button in pressed):
            yield found[0]


def _in_italics(text: str) -> Iterator[str]:
    """The names in italics, of which "A > B" is two."""
    return (" ".join(name.split()) for found in _ITALICS.findall(text) for name in found.rstrip(".").split(" > "))


def _begins(text: str, known: frozenset[str]) -> bool:
    """Whether a text begins with a name."""
    return any(text.startswith(name) and not text[len(name) :][:1].isalnum() for name in known)


def _is_named(command: str, button: str) -> bool:
    """Whether a command has the button's verb, and the two words after it as far as both go on."""
    said, named = _content(command), _content(button)
    return bool(named) and all(one == other for one, other in zip(said, named, strict=False))


@cache
def _content(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[\w'-]+", text.casefold()) if word not in _FILLING)[:3]
