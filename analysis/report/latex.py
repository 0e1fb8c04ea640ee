"""Tables for a paper: LaTeX with the rules of the package booktabs."""

import math

import pandas as pd

from rauq.labels import number, running

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "−": "$-$",
        "∞": r"$\infty$",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


def latex_table(table: pd.DataFrame, *, caption: str, label: str) -> str:
    """A table environment; floats have three places, and a dash stands for what is undefined. Texts are escaped."""
    texts = [table[name].dtype == object or pd.api.types.is_string_dtype(table[name]) for name in table]
    rows = [[in_cell(value) for value in row] for row in table.itertuples(index=False)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('l' if text else 'r' for text in texts)}}}",
        r"\toprule",
        _line([str(name).replace("_", " ") for name in table]),
        r"\midrule",
        *(_line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Any text as LaTeX that prints it; unseen characters are drawn."""
    return running(text).translate(_SPECIAL)


def in_cell(value: object) -> str:
    """A cell as a reader sees it, in LaTeX and in HTML alike."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return number(value) if isinstance(value, float) else running(str(value))


def _line(cells: list[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"
