"""The report of a collection: its tables as CSV and LaTeX, and all of them on a page that opens offline."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

from analysis.collections.ablated import ablated, ablation_layouts
from analysis.collections.collection import (
    Cell,
    Collection,
    RankedCollection,
    cell_of,
    collect,
    overview,
    rank_collection,
)
from analysis.collections.layouts import (
    COLLECTION,
    MARKED,
    Layout,
    cells_table,
    headline,
    latex_layout,
    layouts,
    means_of_groups,
    runs_table,
)
from analysis.collections.published import ablations_beside, contradictions_caption, heads_tables, published_beside
from analysis.exports.csv_text import csv_table
from analysis.exports.page import own, policy, template, write_table, write_text, writing_to
from analysis.exports.tables import Table, alignments, headings, rows_of_cells
from analysis.methods.comparison import Metric
from analysis.runs.opened import open_run
from rauq.labels import running

_PAGE = Path(__file__).parent / "index.html"


@dataclass(frozen=True, kw_only=True)
class CollectionSettings:
    """How a collection is evaluated: whether its tables show 95 % intervals, and the seed of random choices."""

    intervals: bool = False
    seed: int = 0


class Part(NamedTuple):
    """A part of the page: tables under one heading, with its id in the page and what is said before them."""

    id: str
    heading: str
    words: str
    layouts: tuple[Layout, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def caption(self) -> str:
        """The caption that all of its layouts have, said once; "" where they differ."""
        captions = {layout.caption for layout in self.layouts}
        return captions.pop() if len(captions) == 1 else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes that all of its layouts have, said once."""
        first, *others = self.layouts or (None,)
        return tuple(note for note in first.notes if all(note in other.notes for other in others)) if first else ()


def write_collection(
    folders: Iterable[Path],
    out: Path,
    settings: CollectionSettings | None = None,
    *,
    on_run: Callable[[Cell], None] = lambda _cell: None,
) -> Path:
    """Write the report of some runs into the folder `out`, over an earlier one; the path of its page.

    `on_run` is told whose attention is read next: only one run's is in memory at a time.

    Raises:
        InvalidInput: two runs of the same model on the same data set.
        RunError: a run cannot be read, or the report cannot be written.
    """
    settings = settings or CollectionSettings()
    found = collect(cell_of(open_run(folder)) for folder in folders)
    ranked = {metric: rank_collection(found, metric, intervals=settings.intervals) for metric in get_args(Metric)}
    ablations = ablation_layouts(ablated(found, seed=settings.seed, on_run=on_run), "prr", intervals=settings.intervals)
    parts = collection_parts(found, ranked, ablations)
    with writing_to(out):
        _write_files(out, found, ranked, parts)
    return out / "index.html"


def collection_parts(
    collection: Collection, ranked: dict[Metric, RankedCollection], ablations: Mapping[str, Layout]
) -> tuple[Part, ...]:
    """All tables of a collection, in the order of the page."""
    by_prr, by_roc = ranked["prr"], ranked["roc_auc"]
    beside = (
        *published_beside(collection, by_prr),
        *published_beside(collection, by_roc),
        *ablations_beside(ablations),
    )
    return (
        Part("prr", "PRR", COLLECTION, layouts(collection, by_prr)),
        Part(
            "roc_auc",
            "ROC-AUC",
            "The threshold of correct answers is that of each run's own measure of quality.",
            layouts(collection, by_roc),
        ),
        Part(
            "ablations",
            "Ablations",
            "Parts of RAUQ changed, averaged over the runs (paper, Tables 5 to 11 and 14; heads of a layer are ours).",
            tuple(ablations.values()),
        ),
        Part("published", "Beside the paper", contradictions_caption(), beside, heads_tables()),
        Part("runs", "Runs", overview(collection), tables=(runs_table(collection),)),
    )


def _write_files(
    out: Path, collection: Collection, ranked: dict[Metric, RankedCollection], parts: Sequence[Part]
) -> None:
    tables = out / "tables"
    write_text(out / "index.html", collection_page(collection, ranked["prr"], parts))
    write_text(tables / "cells.csv", csv_table(cells_table(ranked.values())))
    for part in parts:
        for layout in part.layouts:
            write_text(tables / f"{layout.name}.csv", csv_table(layout.frame))
            write_text(tables / f"{layout.name}.tex", latex_layout(layout))
        for table in part.tables:
            write_table(table, tables)


def collection_page(collection: Collection, ranked: RankedCollection, parts: Sequence[Part]) -> str:
    """The page as HTML, with its styles in it and no script; every text is escaped."""
    return template(_PAGE).render(
        policy=policy(()),
        style=own("report.css"),
        headline=headline(ranked.methods, means_of_groups(collection, ranked), ranked.metric),
        overview=overview(collection),
        parts=parts,
        marked=MARKED,
        headings=headings,
        alignments=alignments,
        rows_of_cells=rows_of_cells,
        running=running,
    )
