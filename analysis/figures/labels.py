"""Text that Plotly draws as it is."""

import html

from rauq.labels import running


def plotly_text(text: str) -> str:
    """Plotly reads tags and entities in labels, and dollar signs as mathematics: write them so that it does not.

    Characters that nobody sees are drawn: a picture that holds a control character is no SVG.
    """
    return html.escape(running(text), quote=False).replace("$", "&#36;")
