"""Tables for a paper: LaTeX with the rules of the package booktabs."""

import pandas as pd

from analysis.report.cells import columns_of_text, headings, rows_of_cells
from rauq.labels import running

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "−": "$-$",
        "∞": r"$\infty$",
        "[": "{[}",  # at the start of a row these two would be read as an option of the line break above
        "*": "{*}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)


def latex_table(table: pd.DataFrame, *, caption: str, label: str) -> str:
    """A table environment; floats have three places, and a dash stands for what is undefined. Texts are escaped."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('l' if text else 'r' for text in columns_of_text(table))}}}",
        r"\toprule",
        _line(headings(table)),
        r"\midrule",
        *map(_line, rows_of_cells(table)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Any text as LaTeX that prints it; unseen characters are drawn."""
    return running(text).translate(_SPECIAL)


def _line(cells: list[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"
