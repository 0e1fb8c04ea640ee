"""Uncertainties of a model's answers to a data set, with their verdicts: what a new score is ranked among."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rauq.errors import TraceFileError
from rauq.trace.trace import Kind, Trace

SCORES = Path(__file__).parent / "scores.json"
WRITTEN = Path(__file__).parent / "written.json"
"""Of written answers, which the models read: half of them correct, scored by the largest surprisal."""


Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ReferenceHeads:
    """What the mean attention of each head (L, H) on the previous token says of the answers (alignment "predicting").

    `layers` are the absolute indices of axis 0: an answer may have others.

    `auc`: area under the ROC curve, correct vs incorrect, within groups of questions; with shuffled labels that of the
    best head is at most `chance` from 0.5 in 95 % of cases. `in_correct`: mean weight in correct answers.
    """

    layers: tuple[int, ...]
    auc: Rows
    in_correct: Rows
    chance: float

    def of(self, layers: tuple[int, ...], num_heads: int) -> "ReferenceHeads | None":
        """The rows of these layers; None where one is missing, or the number of heads is another."""
        if not set(layers) <= set(self.layers) or num_heads != len(self.auc[0]):
            return None
        rows = [self.layers.index(layer) for layer in layers]
        auc, in_correct = (tuple(values[row] for row in rows) for values in (self.auc, self.in_correct))
        return ReferenceHeads(layers=layers, auc=auc, in_correct=in_correct, chance=self.chance)


@dataclass(frozen=True, kw_only=True)
class WeakPointShare:
    """In what share of `count` answers the token of the largest collapse carries the fact, and in what by chance.

    Shares are from 0 to 1. `chance`: that of a token drawn at random among those that show text. `limit`: the share
    that such draws exceed in at most 2.5 of 100 cases. `error`: the standard error of the share. Both count the
    answers to one question as one.
    """

    count: int
    share: float
    chance: float
    limit: float
    error: float


@dataclass(frozen=True, kw_only=True)
class WeakPointWorth:
    """How often the weakest point of incorrect and of correct answers carries the fact; None where there are none.

    `marked`: the run marks the tokens that carry the fact; else those of names and numbers not in the question do.
    """

    incorrect: WeakPointShare | None
    correct: WeakPointShare | None
    marked: bool


@dataclass(frozen=True, kw_only=True)
class ReferenceScores:
    """Uncertainties (A,) of RAUQ, in the table beside this module with the paper's settings, and verdicts (A,).

    `correct`: which of the answers are correct. `clusters` (A,): equal for answers to one question; None: each is its
    own. `model`, `revision` and `kind` are those of the traces; `data` is the
    data set. `longest`: tokens of the longest answer. `token_collapse`: nats that the collapse of four of five tokens
    with text does not exceed. `heads`, and what follows, are known for some.
    `written`: the model did not give the answers, and read them. `unclear`: further answers that a rule could not
    decide and that nobody has read. `scripts`: those in which the answers are written, such as Latin; none: unknown.
    """

    model: str
    revision: str
    kind: Kind
    data: str
    uncertainties: tuple[float, ...]
    correct: tuple[bool, ...]
    heads: ReferenceHeads | None = None
    longest: int | None = None
    token_collapse: float | None = None
    weak_point: WeakPointWorth | None = None
    clusters: tuple[int, ...] | None = None
    written: bool = False
    unclear: int = 0
    scripts: tuple[str, ...] = ()


def load_scores(file: Path | None = None) -> tuple[ReferenceScores, ...]:
    """The reference scores of every model that has some: of its own answers (None), or of WRITTEN ones.

    Raises:
        TraceFileError: their file is damaged.
    """
    file = file or SCORES
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return tuple(map(_read, rows))
    except (OSError, ValueError, TypeError, KeyError) as error:
        command = "written" if file == WRITTEN else "run"
        message = f"{file} is damaged ({error}). `python -m training {command}` writes it again."
        raise TraceFileError(message) from error


def _read(row: dict[str, Any]) -> ReferenceScores:
    heads, worth, clusters = row.get("heads"), row.get("weak_point"), row.get("clusters")
    read = {
        "uncertainties": tuple(row["uncertainties"]),
        "correct": tuple(map(bool, row["correct"])),
        "heads": None if heads is None else _read_heads(heads),
        "weak_point": None if worth is None else _read_worth(worth),
        "clusters": None if clusters is None else tuple(clusters),
        "scripts": tuple(row.get("scripts", ())),
    }
    return ReferenceScores(**row | read)


def _read_heads(row: dict[str, Any]) -> ReferenceHeads:
    auc, in_correct = (tuple(map(tuple, row[name])) for name in ("auc", "in_correct"))
    return ReferenceHeads(layers=tuple(row["layers"]), auc=auc, in_correct=in_correct, chance=row["chance"])


def _read_worth(row: dict[str, Any]) -> WeakPointWorth:
    sides = {name: row[name] and WeakPointShare(**row[name]) for name in ("incorrect", "correct")}
    return WeakPointWorth(**sides, marked=row["marked"])


def scores_of(trace: Trace, file: Path | None = None) -> ReferenceScores | None:
    """The reference scores of the model of an answer, of the same weights and kind; None if there are none.

    None too where the weights of the answer are attributions: the reference is made of attention.

    Raises:
        TraceFileError: their file is damaged.
    """
    if trace.attribution is not None:
        return None
    wanted = (trace.model, trace.revision, trace.kind)
    return next((one for one in load_scores(file) if (one.model, one.revision, one.kind) == wanted), None)


def write_scores(scores: ReferenceScores, file: Path | None = None) -> None:
    """Keep the scores of a model, in the place of its former ones."""
    file = file or SCORES
    others = [one for one in (load_scores(file) if file.exists() else ()) if one.model != scores.model]
    rows = [
        asdict(one) | {"correct": list(map(int, one.correct))}
        for one in sorted([*others, scores], key=lambda one: one.model)
    ]
    file.write_text(json.dumps(rows) + "\n", encoding="utf-8")
