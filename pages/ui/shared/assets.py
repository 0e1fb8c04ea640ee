"""The files of a component as Streamlit takes them: one text of each language."""

from pathlib import Path

_SHARED = Path(__file__).parent


def joined(folder: Path, *names: str) -> str:
    """The files of these names in a folder, one after the other."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def script(folder: Path, *names: str) -> str:
    """JavaScript files as one module, after those that all components share; the last of them exports."""
    return f"{joined(_SHARED, 'events.js', 'words/words.js')}\n{joined(folder, *names)}"
