"""The figures of `analysis`, imported when one is asked for: they need Plotly, which scoring does not."""

from importlib import import_module
from typing import Any

from rauq.errors import MissingPackage
from rauq.layout import ANALYSIS


def plot(answer: object, name: str, **options: Any) -> Any:  # noqa: ANN401 - a figure of Plotly
    """The figure of this name of an answer, as `analysis.plot` draws it.

    Raises:
        MissingPackage: Plotly is not installed.
    """
    try:
        draw = import_module(ANALYSIS).plot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        message = "Figures need plotly, which is not installed: pip install plotly"
        raise MissingPackage(message) from error
    return draw(answer, name, **options)
