"""Tables of a collection for files: its runs, every number, the paper's selected heads, and any layout as LaTeX."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis import paper
from analysis.answer_sets.sentences import joined
from analysis.collections.collection import Cell, Collection
from analysis.collections.layouts import Layout
from analysis.collections.ranking import RankedCell, RankedCollection
from analysis.collections.sentences import HEADS, MARKED
from analysis.methods.comparison import name_of
from analysis.report.tables import Table, latex_text


def runs_table(found: Collection) -> Table:
    """A row for each run: whose answers they are, how they are judged, and how many there are."""
    caption = "Each run with its own measure of quality; its mean is over the answers that could be judged."
    return Table("runs", "Runs", caption, pd.DataFrame(list(map(_run, found.cells))))


def _run(cell: Cell) -> dict[str, object]:
    judged = np.isfinite(cell.quality)
    return {
        "run": cell.run,
        "model": cell.model,
        "kind": cell.answerer.kind,
        "data set": cell.column,
        "task": cell.task,
        "quality": cell.measure,
        "mean quality": float(cell.quality[judged].mean()) if judged.any() else np.nan,
        "answers": len(cell.quality),
        "judged": int(judged.sum()),
        "asked": cell.asked,
        "failed": cell.failed,
        "corrected": cell.corrected,
        "methods": len(cell.uncertainties),
    }


def cells_table(found: Iterable[RankedCollection]) -> pd.DataFrame:
    """A row for each metric of each method in each run, with its interval if there is one, and why it is undefined."""
    return pd.DataFrame(
        [row for ranked in found for one in ranked.cells for row in _cell(one, ranked.metric, ranked.methods)]
    )


def _cell(one: RankedCell, metric: str, methods: Iterable[str]) -> Iterable[dict[str, object]]:
    for method in methods:
        estimate = one.rankings[method].estimate
        yield {
            "model": one.cell.model,
            "data set": one.cell.column,
            "task": one.cell.task,
            "metric": metric,
            "method": name_of(method),
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "answers": estimate.n,
            "excluded": estimate.excluded,
            "undefined": estimate.reason,
            "run": one.cell.run,
        }


def heads_tables() -> tuple[Table, ...]:
    """The paper's Tables 12 and 13."""
    return tuple(
        Table(
            label,
            f"Published selected heads, {name} (Table {paper.TABLE_NUMBERS[label]})",
            HEADS,
            paper.published_heads(label),
        )
        for label, name in (("llama_wmt_heads", "WMT14"), ("llama_coqa_heads", "CoQA"))
    )


_STYLES = ("", "textbf: --rwrap;", "underline: --rwrap;")  # by the mark of a cell


def latex_layout(layout: Layout) -> str:
    """A table environment with two rows of headings, the best of a column in bold and the second underlined."""
    columns = pd.MultiIndex.from_tuples([("", layout.first), *((one.top, one.title) for one in layout.columns)])
    rows = list(zip(layout.rows, layout.cells, strict=True))
    frame = pd.DataFrame([(name, *(cell.words for cell in cells)) for name, cells in rows], columns=columns)
    styles = pd.DataFrame([("", *(_STYLES[cell.mark] for cell in cells)) for _, cells in rows], columns=columns)
    shown = frame.style.hide(axis="index").format(latex_text).format_index(latex_text, axis="columns")
    return shown.apply(lambda _: styles, axis=None).to_latex(
        column_format="l" + "r" * len(layout.columns),
        position_float="centering",
        hrules=True,
        multicol_align="c",
        caption=latex_text(joined(f"{layout.heading}.", layout.caption, MARKED if layout.is_marked else "")),
        label=f"tab:{layout.name}",
    )
