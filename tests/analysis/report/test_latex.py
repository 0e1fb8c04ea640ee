"""LaTeX prints what the table says."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from analysis.exports.csv_text import csv_table
from analysis.exports.tables import headings, latex_table, latex_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % & more_", r"50 \% \& more\_"),
        ("a\\b{c}", r"a\textbackslash{}b\{c\}"),
        ("x^2 ~ $y$ #1", r"x\textasciicircum{}2 \textasciitilde{} \$y\$ \#1"),
        ("−1 <b>", r"$-$1 \textless{}b\textgreater{}"),
        ("two\nlines", "two↵lines"),
        ("[3pt] *", "{[}3pt] {*}"),
    ],
)
def test_special_characters_are_printed(text, expected):
    assert latex_text(text) == expected


def test_a_table_by_hand():
    frame = pd.DataFrame(
        {"group": ["a_b", "c"], "prr_low": [-0.12345, np.nan], "top-1 percent": [50.04, 100.0], "head": [3, pd.NA]}
    )
    assert latex_table(frame, caption="50 %", label="t").splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{50 \%}",
        r"\label{tab:t}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"group & PRR low & top-1 percent & head \\",
        r"\midrule",
        r"a\_b & $-$0.123 & 50.0 & 3 \\",
        r"c & – & 100.0 & – \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_headings_are_words_and_names_of_groups_are_left_as_they_are():
    frame = pd.DataFrame(columns=["roc_auc_low", "mean_correct", "percent of my_group\n"])
    assert headings(frame) == ["ROC-AUC low", "mean correct", "percent of my_group↵"]


def test_csv_keeps_numbers_whole_and_texts_harmless():
    frame = pd.DataFrame({"text": ["=1+1", 'a,"b"\n', "é"], "value": [0.1 + 0.2, np.nan, 1.0], "n": [1, 2, 3]})
    assert csv_table(frame).splitlines(keepends=True) == [
        *("text,value,n\r\n", "'=1+1,0.30000000000000004,1\r\n"),
        *('"a,""b""\n', '",,2\r\n', "é,1.0,3\r\n"),
    ]


@pytest.mark.parametrize("text", ["a\rb", "a\nb", "a\r\nb", 'a,"b"'])
def test_a_cell_of_several_lines_stays_one_cell(text):
    written = csv_table(pd.DataFrame({"text": [text], "n": [1]}))
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["text", "n"], [text, "1"]]
