"""Does RAUQ rank the answers of real models better than simpler methods do, and does it matter whose attention it uses?

Three runs over the facts: plain questions to smollm2, which is the bundled run, and few-shot prompts to smollm2 and to
gemma3-270m; these are answered here, unless their runs are there already. Each difference is the PRR of RAUQ minus that
of something else, on the same answers: another method; RAUQ with the attention of other answers; and two
rankings that know neither probabilities nor attention, the length of an answer and the mean quality of its family.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.answer_sets.sentences import signed
from analysis.datasets.names import FEW_SHOT, PLAIN, load
from analysis.evidence.figures import BETTER, WORSE
from analysis.evidence.record import Cell, Record
from analysis.intervals import LEAST
from analysis.methods.attention_permutation import GroupControl, control_groups
from analysis.methods.comparison import ALL, WITHIN, Paired, compare, groups_of, name_of, title_of
from analysis.quality.measures import measure as measure_of
from analysis.runs.attention import batch
from analysis.runs.create import prepare, request_for
from analysis.runs.library import bundled_folder, runs_folder
from analysis.runs.methods import DEFAULT
from analysis.runs.opened import Run, open_run
from analysis.runs.work import work
from analysis.stats import Estimate, in_words
from benchmarks.support.recording import measured, tell

PER_FAMILY = 74
METHODS = DEFAULT
LENGTH, FAMILY = "answer length", "mean quality of the family"
SHUFFLED = "RAUQ with shuffled attention"
NAMED = {**{method: f"minus {name_of(method)}" for method in METHODS[1:]}, SHUFFLED: f"minus {SHUFFLED}"}
SIMPLE = {name: f"over {name} alone" for name in (LENGTH, FAMILY)}
OTHERS = NAMED | SIMPLE  # what is compared with RAUQ, and its column
UNDEFINED = "undefined"
PROMPTS = {PLAIN: "plain", FEW_SHOT: "few-shot"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A model that has a short name, asked for the facts in one of their two forms."""

    model: str
    data: str

    @property
    def folder(self) -> Path:
        """Where its run is: among the files of the app, or with the user's runs."""
        return bundled_folder() if self.data == PLAIN else runs_folder() / f"{self.model}-{self.data}".replace("_", "-")


SOURCES = (
    Source(model="smollm2", data=PLAIN),
    Source(model="smollm2", data=FEW_SHOT),
    Source(model="gemma3-270m", data=FEW_SHOT),
)


def measure() -> Record:
    """Each run, answered first where it is not there."""
    rows: list[tuple[Cell, ...]] = []
    for source in SOURCES:
        tell(f"{source.model}, {PROMPTS[source.data]}: {source.folder}")
        rows += _rows(source, _run(source))
    return _record(rows)


def _run(source: Source) -> Run:
    if source.folder != bundled_folder():
        data = load(source.data, kind="instruct", per_group=PER_FAMILY)
        prepare(source.folder, data, request_for(data, model=source.model, methods=METHODS))
        work(source.folder)
    return open_run(source.folder)


def _rows(source: Source, run: Run) -> list[tuple[Cell, ...]]:
    """A row for all answers, one for the mean within families, and one for each family."""
    quality = run.answers["quality"].to_numpy(dtype=float)
    names, thresholds = run.answers["group"].tolist(), measure_of(run.manifest.request.quality).thresholds
    groups = groups_of(names, clusters=run.clusters)
    means = run.answers["quality"].groupby(run.answers["group"]).transform("mean")
    answers = run.answers.assign(**{LENGTH: run.answers["num_tokens"], FAMILY: -means})
    paired = compare(answers, (*METHODS, *SIMPLE), groups, metric="prr", thresholds=thresholds).paired
    controls = control_groups(batch(run), quality, names, groups, metric="prr", thresholds=thresholds)
    rows = {group.name: group.rows for group in groups} | {WITHIN: np.arange(len(names))}
    return [
        (source.model, PROMPTS[source.data], title_of(one.group), *_row(one, paired, quality[rows[one.group]]))
        for one in controls
        if paired is not None
    ]


def _row(control: GroupControl, paired: Paired, quality: np.ndarray) -> tuple[Cell, ...]:
    found = dict(zip(paired.methods, paired.of_group(control.group), strict=True))
    found[SHUFFLED] = control.under("shuffled").difference
    real = UNDEFINED if control.real.reason else in_words(control.real)
    judged = quality[np.isfinite(quality)]
    return (len(judged), round(100 * float(judged.mean())), real, *(_difference(found[name]) for name in OTHERS))


def _difference(found: Estimate) -> str:
    """A difference with its interval, and in a word whether it is beyond noise."""
    if found.reason:
        return UNDEFINED
    if found.no_interval:
        return f"{signed(found.value)}, no interval"
    verdict = BETTER if found.low > 0 else WORSE if found.high < 0 else ""
    return f"{signed(found.value)} [{signed(found.low)}, {signed(found.high)}]{verdict}"


def _record(rows: Sequence[tuple[Cell, ...]]) -> Record:
    return measured(
        "real_models",
        title="RAUQ on answers of real models about facts",
        about="PRR of RAUQ with the paper's settings, and RAUQ minus other rankings of the same answers, with 95 % "
        "intervals: other methods, two rankings that know neither probabilities nor attention, and RAUQ with the "
        "attention of another answer. A difference whose interval does not include 0 is called better or worse.",
        columns=("model", "prompts", "answers of", "answers", "correct, %", "PRR of RAUQ", *OTHERS.values()),
        rows=rows,
        notes=(
            f"At most {PER_FAMILY} questions of each of 11 families; a plain answer has at most 32 tokens.",
            "Unclear answers are not counted.",
            f"{UNDEFINED.capitalize()}: all answers of the family are correct, or all are incorrect.",
            f"{WITHIN.capitalize()}: of families with correct and incorrect answers to at least {LEAST} questions.",
            "Shuffled attention: that of another answer of the family, the mean over 20 derangements.",
        ),
        finding=_finding(rows),
    )


def _finding(rows: Sequence[tuple[Cell, ...]]) -> str:
    """In how many cases RAUQ ranks better, and worse, than each of the methods, and than with other attention."""
    overall = [row[-len(OTHERS) :] for row in rows if row[2] in {title_of(ALL), title_of(WITHIN)}]
    said = []
    for title, cells in zip(NAMED.values(), zip(*overall, strict=True), strict=False):
        better, worse = (sum(str(cell).endswith(verdict) for cell in cells) for verdict in (BETTER, WORSE))
        said.append(f"{title.removeprefix('minus ')} in {better}{f' (worse in {worse})' if worse else ''}")
    return (
        f"In {len(overall)} comparisons ({len(SOURCES)} runs, over all answers and within families), RAUQ ranks "
        f"significantly better than {', '.join(said[:-1])}, and {said[-1]}."
    )
