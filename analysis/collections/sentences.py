"""Captions and notes of a collection's tables: what means are over, what is left out and why."""

from collections import Counter
from collections.abc import Mapping, Sequence

from analysis.answer_sets.sentences import joined
from analysis.collections.collection import Cell, Collection
from analysis.collections.ranking import RankedCollection, Shared
from analysis.datasets.twelve import PAPER_SETS
from analysis.methods.comparison import RAUQ, Ranking, marks, name_of
from analysis.paper import contradictions
from analysis.stats import METRICS, Estimate
from rauq.labels import number

COLLECTION = (
    "All answers of a run are ranked together. Facts, embedded sets and own files are tasks of their own, never part "
    "of QA. A model counts as small or large by the paper, else by its name, such as 135M."
)
MARKED = "Best in bold, second underlined."
DASHES = "Not stated: the paper gives no number. Not run: no run here has it. Not implemented: there is no such method."
HEADS = (
    "The three heads selected most often in each layer, with the percent of answers, Llama-3.1 8B. A dash: no further "
    "head was selected."
)
_LEAST = 2  # consecutive numbers that are no span yet
_MOST_NAMED = 4  # runs


def overview(found: Collection) -> str:
    """What is there: models, data sets and runs, and what is missing of the answers."""
    models, columns, cells = len(found.models), len(found.columns), len(found.cells)
    answers = sum(len(cell.quality) for cell in found.cells)
    empty = models * columns - cells
    return joined(
        f"{_count(cells, 'run')} of {_count(models, 'model')} on {_count(columns, 'data set')}, {answers:,} answers.",
        f"{_count(empty, 'pair')} of model and data set {'have' if empty > 1 else 'has'} no run." if empty else "",
        unfinished_note(found.cells),
        examples_note(found.cells),
    )


def unfinished_note(cells: Sequence[Cell]) -> str:
    """Which runs lack answers; "" where none does."""
    words = [f"{cell.run} ({_lacking(cell)} of {cell.asked:,})" for cell in cells if cell.missing or cell.failed]
    more = f" and {_count(len(words) - _MOST_NAMED, 'more run')}" if len(words) > _MOST_NAMED else ""
    return f"Not complete, used as far as answered: {', '.join(words[:_MOST_NAMED])}{more}." if words else ""


def examples_note(cells: Sequence[Cell]) -> str:
    """The data sets of which models of one kind were asked other examples or prompts; "" where there are none."""
    asked: dict[tuple[str, str], set[str]] = {}
    for cell in cells:
        asked.setdefault((cell.column, cell.answerer.kind), set()).add(cell.data_sha256)
    names = dict.fromkeys(name for (name, _), prints in asked.items() if len(prints) > 1)
    return f"Not the same examples or prompts for every model: {', '.join(names)}." if names else ""


def _lacking(cell: Cell) -> str:
    parts = [f"{cell.missing:,} missing"] if cell.missing else []
    return " and ".join([*parts, *([f"{cell.failed:,} failed"] if cell.failed else [])])


def headline(methods: Sequence[str], means: Mapping[str, Sequence[Estimate]], metric: str) -> str:
    """The best method by the mean over models and tasks, and RAUQ; `means`: the estimates (M,) of each table."""
    words = [
        f"{_best(methods, estimates)}{f' ({table})' if len(means) > 1 else ''}" for table, estimates in means.items()
    ]
    return f"Highest mean {METRICS[metric]}: {'; '.join(words)}"


def _best(methods: Sequence[str], estimates: Sequence[Estimate]) -> str:
    placed = marks(estimates)
    best = [name_of(method) for method, mark in zip(methods, placed, strict=True) if mark == 1]
    if not best:
        return "undefined"
    values = {method: one.value for method, one in zip(methods, estimates, strict=True) if not one.reason}
    leader = f"{' and '.join(best)} {number(max(values.values()))}"
    if RAUQ not in values or name_of(RAUQ) in best:
        return leader
    return f"{leader}, RAUQ {number(values[RAUQ])}"


def layout_caption(ranked: RankedCollection) -> str:
    """How to read a table."""
    return joined(
        f"{METRICS[ranked.metric]} of each method, higher ranks better.",
        "A task is the mean over its data sets.",
        "Brackets: 95 % bootstrap interval." if ranked.resamples else "",
        "Compare methods within a column: models and data differ between columns.",
    )


def mean_notes(over: Shared, models: Sequence[str]) -> tuple[str, ...]:
    """The data sets that means are over, and those that are left out."""
    sets = "; ".join(f"{task} ({', '.join(names)})" for task, names in over.sets.items())
    left = "; ".join(f"{name} ({reason})" for name, reason in over.left_out)
    partial = [task for task in over.sets if task not in over.tasks]
    shared_by = "that all these models share" if len(models) > 1 else "of this model"
    return (
        f"Means over the data sets {shared_by}: {sets}." if sets else f"There is no data set {shared_by}.",
        *([f"Left out of every mean: {left}."] if left else []),
        *([f"Left out of the last mean, since not every model has it: {', '.join(partial)}."] if partial else []),
    )


def undefined_notes(methods: Sequence[str], columns: Sequence[Mapping[str, Ranking]]) -> tuple[str, ...]:
    """In how many columns each method is undefined, and why in the first of them."""
    notes = []
    for method in methods:
        reasons = [found[method].estimate.reason for found in columns if found[method].estimate.reason]
        if reasons:
            notes.append(f"{name_of(method)}: undefined in {len(reasons)} of {len(columns)} columns ({reasons[0]}).")
    return tuple(notes)


def contradictions_caption() -> str:
    """Where the paper contradicts itself about RAUQ with Llama-3.1 8B."""
    words = [f"{name} {_different(contradictions(name))}" for name in ("Mean", "CNN", "MedQUAD")]
    return f"The paper contradicts itself on RAUQ with Llama-3.1 8B (its tables in brackets): {'; '.join(words)}."


def _different(found: Sequence[tuple[float, tuple[int, ...]]]) -> str:
    return ", ".join(f"{_short(value)} ({', '.join(_spans(tables))})" for value, tables in found)


def _short(value: float) -> str:
    """As the paper writes it, without the leading zero."""
    return number(value).replace("0.", ".", 1)


def _spans(tables: Sequence[int]) -> list[str]:
    """Numbers in ascending order, consecutive ones as a span."""
    spans: list[list[int]] = []
    for one in tables:
        if spans and one == spans[-1][-1] + 1:
            spans[-1].append(one)
        else:
            spans.append([one])
    return [f"{span[0]}–{span[-1]}" if len(span) > _LEAST else ", ".join(map(str, span)) for span in spans]


def fewer_sets_note(over: Shared) -> str:
    """The tasks whose mean here is over fewer data sets than the paper has; "" where there are none."""
    whole = Counter[str](one.task for one in PAPER_SETS.values())
    words = [
        f"{task} over {len(names)} of {whole[task]}" for task, names in over.sets.items() if len(names) < whole[task]
    ]
    return f"Here over fewer of the paper's data sets: {', '.join(words)}." if words else ""


def beside_caption(models: Sequence[str], *, is_whole: bool) -> str:
    """What stands beside the paper's numbers, and how far the two can be compared."""
    return joined(
        f"Published, measured here and here minus published of {', '.join(models)}: ▲ higher here, ▼ lower, = equal to "
        "three places. Prompts and samples differ."
        if models
        else "",
        "" if is_whole else "The means are of different models or data sets: compare the order of methods, not values.",
    )


def _count(value: int, name: str) -> str:
    return f"{value:,} {name}{'' if value == 1 else 's'}"
