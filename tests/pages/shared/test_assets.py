"""The scripts of the components are modules: what each uses it imports, and Python joins what an entry imports."""

import re
from functools import cache
from pathlib import Path

import pytest

from pages.ui.shared.assets import script

UI = Path(__file__).parents[3] / "pages/ui"
MODULES = {path: path.read_text("utf-8") for path in sorted(UI.rglob("*.js"))}
ENTRIES = [path for path, text in MODULES.items() if "\nexport default " in text]
TOP_LEVEL = re.compile(r"^(?:export )?(?:function|const|let|class) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:function|const) (\w+)", re.MULTILINE)
DECLARED = re.compile(r"\b(?:function|const|let) (\w+)")
IMPORTED = re.compile(r'^import \{([^}]+)\} from "([^"]+)";', re.MULTILINE)
COMMENT = re.compile(r"(?:^|(?<= ))//.*", re.MULTILINE)
START = r"(?:(?<=\.\.\.)|(?<![\w.$]))"
# Called, handed on by name, or a constant.
USED = re.compile(rf"{START}(\w+)\(|(?:\w: |\bmap\()(\w+)[,)\n]|{START}([A-Z][A-Z_]+)\b")


def relative(path):
    return str(path.relative_to(UI))


def imports_of(path):
    """The imported names of a module, each with the module that has it."""
    found = IMPORTED.findall(MODULES[path])
    return {name.strip(): (path.parent / place).resolve() for names, place in found for name in names.split(",")}


def body_of(path):
    return COMMENT.sub("", IMPORTED.sub("", MODULES[path]))


@cache
def reached_from(entry):
    return {entry}.union(*(reached_from(path) for path in imports_of(entry).values()))


def write(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, "utf-8")
    return folder / "entry.js"


def test_modules_are_joined_each_once_before_those_that_import_them(tmp_path):
    entry = write(
        tmp_path,
        entry='import { left } from "./left.js";\nimport {\n  right,\n} from "./right.js";\n\n'
        "export default function () {\n  return left + right;\n}\n",
        left='import { base } from "./base.js";\n\nexport const left = base;\n',
        right='import { base } from "./base.js";\n\nexport function right() {\n  return base;\n}\n',
        base="export const base = 1; // export const\n",
    )
    assert script(entry) == (
        "const base = 1; // export const\n\n\nconst left = base;\n\n\nfunction right() {\n  return base;\n}\n\n\n"
        "export default function () {\n  return left + right;\n}\n"
    )


def test_a_module_of_another_folder_is_imported_by_its_relative_path(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "own").mkdir()
    write(tmp_path / "shared", dom="export const made = 1;\n")
    entry = write(tmp_path / "own", entry='import { made } from "../shared/dom.js";\nexport default made;\n')
    assert script(entry) == "const made = 1;\n\nexport default made;\n"


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            {"entry": 'import { one } from "./other.js";\n', "other": 'import { two } from "./entry.js";\n'},
            "Imports run in a circle: entry.js imports other.js imports entry.js.",
        ),
        (
            {"entry": 'import { one, two } from "./other.js";\n', "other": "export const one = 1;\nconst two = 2;\n"},
            "entry.js imports two, which other.js does not export.",
        ),
        (
            {
                "entry": 'import { one } from "./other.js";\nfunction two() {}\n',
                "other": "export const one = 1;\nconst two = 2;\n",
            },
            "Modules of entry.js declare the same name: two. Rename one of each.",
        ),
        *(
            ({"entry": f"{other}\n", "other": "export const one = 1;\n"}, f"entry.js: got `{other}`; write `import {{")
            for other in (
                'import one from "./other.js";',
                'import * as other from "./other.js";',
                'import "./other.js";',
                'import { one } from "other";',
            )
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(modules, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        script(write(tmp_path, **modules))


def test_every_module_belongs_to_a_component():
    assert len(ENTRIES) == 7
    assert set().union(*map(reached_from, ENTRIES)) == set(MODULES)


@pytest.mark.parametrize("entry", ENTRIES, ids=relative)
def test_a_joined_component_draws_the_latest_and_imports_nothing(entry):
    assert re.findall(r"^(?:import|export)\b[^(]*", script(entry), re.MULTILINE) == ["export default latest"]


def test_all_components_are_declared_in_one_place():
    declaring = [path for path in UI.rglob("*.py") if "components.v2" in path.read_text("utf-8")]
    assert list(map(relative, declaring)) == ["shared/components.py"]


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_imports_what_it_uses_and_uses_what_it_imports(path):
    imported, body = imports_of(path), body_of(path)
    assert [name for name in imported if not re.search(rf"\b{name}\b", body)] == []
    # Joined modules share one namespace: there, a forgotten import would be found in no other way.
    near = {other for entry in ENTRIES if path in (reached := reached_from(entry)) for other in reached}
    elsewhere = {name for other in near for name in TOP_LEVEL.findall(MODULES[other])}
    used = {name for names in USED.findall(body) for name in names if name}
    assert used & elsewhere - set(imported) - set(DECLARED.findall(body)) == set()


def test_every_export_is_imported():
    exported = {(path, name) for path, text in MODULES.items() for name in EXPORTED.findall(text)}
    assert exported == {(path, name) for module in MODULES for name, path in imports_of(module).items()}


def test_a_module_is_named_by_what_it_is_about():
    assert [path.name for path in MODULES if not re.fullmatch(r"[a-z_]+\.js", path.name)] == []
    folders = {path.parent: len(list(path.parent.glob("*.js"))) for path in MODULES}
    assert max(folders.values()) <= 15
