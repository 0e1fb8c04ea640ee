"""The tables of a run's report."""

import pandas as pd

from analysis import paper
from analysis.answer_sets import tables as answer_set_tables
from analysis.answer_sets.sentences import joined
from analysis.answer_sets.sides import groups_note
from analysis.exports.tables import Table
from analysis.methods import sentences
from analysis.methods import tables as methods_tables
from analysis.methods.comparison import name_of
from analysis.methods.unclear import with_bounds
from analysis.report.results import MethodResults, Results
from analysis.runs.opened import Run
from analysis.stats import METRICS

_MOST_SHOWN = 10
_OF_ANSWERS = [
    *("number", "id", "group", "stratum", "error_label", "prompt", "answer", "quality", "quality_reason"),
    *("unclear", "measured_quality", "corrected"),
    *("num_tokens", "num_fact_tokens", "stop_reason"),
]


def report_tables(results: Results) -> tuple[Table, ...]:
    """All tables of a report that are shown."""
    run, limits = results.run, results.thresholds
    failed = [run.examples[number].group for number in run.failures["number"]]
    summary = Table(
        "summary",
        "Answers",
        f"Correct: quality above {limits.correct:g}; incorrect: below {limits.incorrect:g}. "
        f"{groups_note(run.answers['group'])}".rstrip(),
        answer_set_tables.summary_table(run.answers, failed, limits),
    )
    return summary, *(table for reported in results.reported for table in reported.tables)


def answers_frame(results: Results) -> pd.DataFrame:
    """A row for each answer, with its texts, and with what methods gave that this version does not have."""
    return results.run.answers[[*_OF_ANSWERS, *results.run.reasons]]


_MOST_METHODS = 20


def method_tables(run: Run, results: MethodResults) -> tuple[Table, ...]:
    """All of them; those of hundreds of rows are shown in part."""
    return (*_rankings(results), *_changed(results), *_answers(run, results))


def _rankings(results: MethodResults) -> tuple[Table, ...]:
    return tuple(
        table
        for one, bounds in zip(results.comparisons, results.bounds, strict=True)
        for table in (
            Table(
                f"methods_{one.metric}",
                f"Methods by {METRICS[one.metric]}",
                joined(
                    sentences.intervals_caption(one),
                    sentences.within_note(one),
                    sentences.charges_note(results.costs),
                ),
                with_bounds(methods_tables.methods_table(one, results.costs), bounds),
            ),
            Table(
                f"methods_{one.metric}_intervals",
                f"Methods by {METRICS[one.metric]}, with intervals",
                sentences.intervals_caption(one),
                methods_tables.comparison_table(one),
                rows=_MOST_METHODS,
            ),
            *(
                [
                    Table(
                        f"paired_{one.metric}",
                        f"{name_of(one.paired.base)} minus other methods, {METRICS[one.metric]}",
                        sentences.paired_caption(one.paired),
                        methods_tables.paired_table(one.paired),
                        rows=_MOST_METHODS,
                    )
                ]
                if one.paired is not None
                else []
            ),
        )
    )


def _changed(results: MethodResults) -> tuple[Table, ...]:
    return (
        Table(
            "alpha",
            "RAUQ over alpha",
            "Both signals under both alignments, with real, shuffled, constant and no attention.",
            pd.concat([methods_tables.sweep_table(sweep) for sweep in results.sweeps], ignore_index=True),
            rows=_MOST_METHODS,
        ),
        *(
            Table(
                f"ablation_{one.ablation.id}",
                f"Ablation: {one.ablation.title.lower()}",
                joined(sentences.intervals_caption(one.comparison), sentences.ablation_note(one)),
                methods_tables.ablation_table(one),
            )
            for one in results.ablated
        ),
        *(
            Table(
                f"control_{own[0].tokens}",
                "Does attention matter?" if own[0].tokens == "all" else "Does attention matter on the fact tokens?",
                joined(*sentences.control_sentences(own)),
                methods_tables.control_table(own),
            )
            for own in results.controls
        ),
    )


def _answers(run: Run, results: MethodResults) -> tuple[Table, ...]:
    quality = run.answers["quality"].to_numpy(dtype=float)
    return (
        Table(
            "agreement_of_methods",
            "Agreement of methods",
            sentences.agreement_sentence(results.agreement, base=results.method),
            methods_tables.agreement_table(results.agreement),
            rows=_MOST_METHODS,
        ),
        Table(
            "disagreement",
            f"Where {name_of(results.method)} and {name_of(results.other)} disagree most",
            sentences.disagreement_sentence(results.apart, quality, results.method, results.other),
            methods_tables.disagreement_table(results.apart, run.answers, results.method, results.other),
            rows=_MOST_METHODS,
        ),
        Table(
            "errors",
            "Error analysis",
            joined(
                sentences.errors_sentence(results.errors[results.method], results.method),
                sentences.errors_note(results.errors[results.method]),
            ),
            pd.concat(
                [methods_tables.errors_table(one, method) for method, one in results.errors.items()], ignore_index=True
            ),
        ),
    )


def published_table() -> Table:
    """The paper's methods by task, of each of its models."""
    shown = [table for table in paper.published_tables() if table.topic == "methods by task"]
    frames = [
        paper.published(one.table, one.model)
        .drop(columns="method")
        .rename(columns={"published": "method"})
        .assign(model=one.model, metric=METRICS[one.metric])
        .set_index(["model", "metric"])
        for one in shown
    ]
    return Table(
        "published",
        "Published numbers",
        sentences.published_note(),
        pd.concat(frames).reset_index(),
        rows=_MOST_METHODS,
    )
