"""Figures as SVG files, drawn by kaleido in a Chromium that is already there."""

from collections.abc import Sequence
from pathlib import Path

from analysis.figures.answer import Drawing

_WIDTH = 760  # pixels


def write_pictures(drawings: Sequence[Drawing], folder: Path) -> str:
    """Write one SVG file for each drawing into `folder`; without the means to, one line that says what is missing."""
    try:
        import kaleido
        from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError
    except ImportError:
        return "No SVG files: kaleido is missing. `pip install -r requirements-extra.txt` adds it."
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        {
            "fig": drawing.figure,
            "path": folder / f"{drawing.name}.svg",
            "opts": {"format": "svg", "width": _WIDTH, "height": drawing.figure.layout.height},
        }
        for drawing in drawings
    ]
    try:  # without MathJax nothing is asked of the network
        kaleido.write_fig_from_object_sync(wanted, kopts={"mathjax": False}, cancel_on_error=True)
    except ChromeNotFoundError:
        return "No SVG files: no Chromium or Chrome was found. Install one, or save each figure from index.html."
    except (BrowserFailedError, BrowserClosedError) as error:
        return f"No SVG files: the browser did not start ({error}). Save each figure from index.html."
    return ""
