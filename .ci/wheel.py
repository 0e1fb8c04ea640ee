"""The build hook of the wheel: `analysis`, `serve`, the pages and the app become parts of the package `rauq`.

So nothing but `rauq` is added to what a user can import. `app.py` is in a folder of its own, since Streamlit puts the
folder of its script on Python's path, where `rauq/trace` would hide the module `trace` of Python.
"""

import ast
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What is copied, and where to in the wheel.
PLACES = {
    "rauq": "rauq",
    "analysis": "rauq/analysis",
    "serve": "rauq/serve",
    "app.py": "rauq/web/app.py",
    "pages": "rauq/web/pages",
    ".streamlit": "rauq/web/.streamlit",
    "docs": "rauq/web/docs",
}
MOVED = {"analysis": "rauq.analysis", "serve": "rauq.serve", "pages": "rauq.web.pages"}


class WheelHook(BuildHookInterface):
    """Adds a rewritten copy of the sources to the wheel; an editable install uses the repository as it is."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Write the copy, and name it to the builder."""
        if version == "editable":
            return
        self.copy = Path(tempfile.mkdtemp())
        for source, place in PLACES.items():
            _copy(Path(self.root, source), self.copy / place)
        build_data["force_include"][str(self.copy / "rauq")] = "rauq"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:  # noqa: ARG002 - the plugin's names
        """Remove the copy."""
        if version != "editable":
            shutil.rmtree(self.copy)


def _copy(source: Path, place: Path) -> None:
    files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
    for path in files:
        if "__pycache__" not in path.parts:
            to = place / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                to.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
            else:
                shutil.copyfile(path, to)


def rewritten(source: str) -> str:
    """A module with the imports of the wheel.

    Raises:
        ValueError: a package is imported whole, so that its new name would have to be used further down as well.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if whole := [name for name in names if name.partition(".")[0] in MOVED]:
            message = f"Got `import {whole[0]}`; write `from {whole[0]} import ...`, which can be rewritten."
            raise ValueError(message)
        if isinstance(node, ast.ImportFrom) and node.module and (top := node.module.partition(".")[0]) in MOVED:
            start, line = node.col_offset, lines[node.lineno - 1]
            lines[node.lineno - 1] = line[:start] + line[start:].replace(f"from {top}", f"from {MOVED[top]}", 1)
    return "".join(lines)
