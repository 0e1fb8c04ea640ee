"""The tables of a run's report about its methods."""

import pandas as pd

from analysis import paper
from analysis.answer_sets.captions import joined
from analysis.methods import ablation_captions, ablation_tables, captions, tables
from analysis.methods.names import name_of
from analysis.metrics import METRICS
from analysis.report.method_results import MethodResults
from analysis.report.report_tables import Table
from analysis.runs.opened import Run

_MOST_SHOWN = 20


def method_tables(run: Run, found: MethodResults) -> tuple[Table, ...]:
    """All of them; those of hundreds of rows are shown in part."""
    return (*_rankings(found), *_changed(found), *_answers(run, found), _published())


def _rankings(found: MethodResults) -> tuple[Table, ...]:
    return tuple(
        table
        for one in found.comparisons
        for table in (
            Table(
                f"methods_{one.metric}",
                f"Methods by {METRICS[one.metric]}",
                f"{captions.intervals_caption(one)} {captions.charges_note(found.costs)}".rstrip(),
                tables.methods_table(one, found.costs),
            ),
            Table(
                f"methods_{one.metric}_intervals",
                f"Methods by {METRICS[one.metric]}, with intervals",
                captions.intervals_caption(one),
                tables.comparison_table(one),
                rows=_MOST_SHOWN,
            ),
            *(
                [
                    Table(
                        f"paired_{one.metric}",
                        f"{name_of(one.paired.base)} minus other methods, {METRICS[one.metric]}",
                        captions.paired_caption(one.paired),
                        tables.paired_table(one.paired),
                        rows=_MOST_SHOWN,
                    )
                ]
                if one.paired is not None
                else []
            ),
        )
    )


def _changed(found: MethodResults) -> tuple[Table, ...]:
    return (
        Table(
            "alpha",
            "RAUQ over alpha",
            "Both signals under both alignments.",
            pd.concat([ablation_tables.sweep_table(one) for one in found.sweeps], ignore_index=True),
            rows=_MOST_SHOWN,
        ),
        *(
            Table(
                f"ablation_{one.ablation.id}",
                f"Ablation: {one.ablation.title.lower()}",
                joined(captions.intervals_caption(one.comparison), ablation_captions.ablation_note(one)),
                ablation_tables.ablation_table(one),
            )
            for one in found.ablated
        ),
        *(
            Table(
                f"control_{own[0].tokens}",
                "Does attention matter?" if own[0].tokens == "all" else "Does attention matter on the fact's tokens?",
                ablation_captions.control_sentence(own[0]),
                ablation_tables.control_table(own),
            )
            for own in found.controls
        ),
    )


def _answers(run: Run, found: MethodResults) -> tuple[Table, ...]:
    quality = run.answers["quality"].to_numpy(dtype=float)
    return (
        Table(
            "agreement_of_methods",
            "Agreement of methods",
            captions.agreement_sentence(found.agreement, base=found.method),
            tables.agreement_table(found.agreement),
            rows=_MOST_SHOWN,
        ),
        Table(
            "disagreement",
            f"Where {name_of(found.method)} and {name_of(found.other)} disagree most",
            captions.disagreement_sentence(found.apart, quality, found.method, found.other),
            tables.disagreement_table(found.apart, run.answers, found.method, found.other),
            rows=_MOST_SHOWN,
        ),
        Table(
            "errors",
            "Error analysis",
            joined(
                captions.errors_sentence(found.errors[found.method], found.method),
                captions.errors_note(found.errors[found.method]),
            ),
            pd.concat([tables.errors_table(one, method) for method, one in found.errors.items()], ignore_index=True),
        ),
    )


def _published() -> Table:
    """The paper's methods by task, of each of its models."""
    shown = [one for one in paper.published_tables() if one.topic == "methods by task"]
    frames = [
        paper.published(one.table, one.model)
        .drop(columns="method")
        .rename(columns={"published": "method"})
        .assign(model=one.model, metric=METRICS[one.metric])
        .set_index(["model", "metric"])
        for one in shown
    ]
    return Table(
        "published", "Published numbers", captions.published_note(), pd.concat(frames).reset_index(), rows=_MOST_SHOWN
    )
