"""Text that Plotly draws as it is."""

import html


def plotly_text(text: str) -> str:
    """Plotly reads tags and entities in labels, and dollar signs as mathematics: write them so that it does not."""
    return html.escape(text, quote=False).replace("$", "&#36;")
