"""Figures as SVG and PNG files."""

from collections.abc import Sequence
from pathlib import Path

from analysis.one_answer.figures import Drawing
from rauq.layout import EXTRAS_COMMAND

_WIDTH = 760  # pixels
_SCALES = {"svg": 1, "png": 3}  # so that a figure in pixels is sharp in print


def write_pictures(drawings: Sequence[Drawing], folder: Path) -> str:
    """Write an SVG and a PNG file for each drawing into `folder`; without the means to, return a line that says why."""
    try:
        import kaleido
        from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError
    except ImportError:
        return f"No SVG and PNG files: kaleido is missing. `{EXTRAS_COMMAND}` adds it."
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        {
            "fig": drawing.figure,
            "path": folder / f"{drawing.name}.{form}",
            "opts": {"format": form, "width": _WIDTH, "height": drawing.figure.layout.height, "scale": scale},
        }
        for drawing in drawings
        for form, scale in _SCALES.items()
    ]
    try:  # without MathJax nothing is loaded from the network
        kaleido.write_fig_from_object_sync(wanted, kopts={"mathjax": False}, cancel_on_error=True)
    except ChromeNotFoundError:
        return (
            "No SVG and PNG files: no Chromium or Chrome was found. Install one, or save each figure from index.html."
        )
    except (BrowserFailedError, BrowserClosedError) as error:
        return f"No SVG and PNG files: the browser did not start ({error}). Save each figure from index.html."
    return ""
