"""The files of a component as Streamlit takes them: one text of each language."""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]+)\} from "(\.[^"]+)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def joined(folder: Path, *names: str) -> str:
    """The files of these names in a folder, one after the other."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def script(entry: Path) -> str:
    """An ES module with all modules that it imports by name, as one: each once, before those that import it.

    Raises:
        ValueError: an import is not by name, what it names is not exported, imports run in a circle, or two modules
            declare the same name, although they share one namespace here.
    """
    modules: dict[Path, str] = {}
    _collect(entry.resolve(), (), modules)
    declared = [name for text in modules.values() for _, name in _DECLARED.findall(text)]
    if twice := sorted({name for name in declared if declared.count(name) > 1}):
        message = f"Modules of {entry.name} declare the same name: {', '.join(twice)}. Rename one of each."
        raise ValueError(message)
    return "\n".join(re.sub(r"^export (?!default )", "", text, flags=re.MULTILINE) for text in modules.values())


def _collect(module: Path, importers: tuple[Path, ...], modules: dict[Path, str]) -> None:
    """Add a module without its imports, after those that it imports and that are not there yet."""
    if module in importers:
        circle = " imports ".join(path.name for path in (*importers[importers.index(module) :], module))
        message = f"Imports run in a circle: {circle}."
        raise ValueError(message)
    if module in modules:
        return
    text = module.read_text(encoding="utf-8")
    for names, place in _IMPORT.findall(text):
        imported = (module.parent / place).resolve()
        _collect(imported, (*importers, module), modules)
        exported = {name for export, name in _DECLARED.findall(modules[imported]) if export}
        if missing := {name.strip() for name in names.split(",")} - {""} - exported:
            message = f"{module.name} imports {', '.join(sorted(missing))}, which {imported.name} does not export."
            raise ValueError(message)
    modules[module] = _IMPORT.sub("", text)
    if other := re.search(r"^import\b.*", modules[module], re.MULTILINE):
        message = f'{module.name}: got `{other[0]}`; write `import {{ name }} from "./file.js";`.'
        raise ValueError(message)
