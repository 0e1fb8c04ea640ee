"""What a user adds to a run: methods, a function of quality, detectors; what its manifest notes of them; time limits.

A manifest may come from anyone, so nothing that it names is ever imported: whoever resumes the run gives it again. The
file of a detector is data, and is read again if it is still the one that the run was started with.
"""

import hashlib
import inspect
import math
import re
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self, get_args

import numpy as np
from pydantic import Field

from analysis.datasets.example import Example
from analysis.questions import hashes_of
from rauq.detectors.detector import MOST_SETS, Detector
from rauq.errors import InvalidInput, RunError
from rauq.labels import shortened
from rauq.layout import ANALYSIS_COMMAND
from rauq.methods.method import NEEDS, Direction, Method, Need, Uncertainty
from rauq.methods.table import METHODS
from rauq.trace.trace import Extra

MOST_SECONDS = 30.0  # for one answer, unless the user says otherwise

_ID = r"^[a-z][a-z0-9_]{0,63}$"
_NAME = r"^[^\W\d_](?:\w|[ .,()+/=-])*$"  # nothing that a page, a figure or a table could take for markup
_MODULE = r"^(?:[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*)?$"
_SHA256 = r"^(?:[0-9a-f]{64})?$"
_LONGEST = 60  # characters of a name
_LONGEST_TEXT = 200

MethodId = Annotated[str, Field(pattern=_ID)]
_Name = Annotated[str, Field(pattern=_NAME, max_length=_LONGEST)]
_Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]
_Checksum = Annotated[str, Field(pattern=_SHA256)]


@dataclass(frozen=True, kw_only=True)
class OwnMethod:
    """A method of the user's own, as a run notes it; `name`, `source`, `cost` and `needs` are those of `rauq.Method`.

    `module`: "module:attribute", as it was named on the command line; "" for a method that was given in Python.
    `sha256`: of the module's file, or, in Python, of the function's source; "" where there is none.
    """

    id: MethodId
    name: _Name
    source: _Text
    cost: _Text
    needs: tuple[Need, ...] = ()
    module: Annotated[str, Field(pattern=_MODULE, max_length=_LONGEST_TEXT)] = ""
    sha256: _Checksum = ""


@dataclass(frozen=True, kw_only=True)
class OwnQuality:
    """A function of quality of the user's own, as a run notes it: its name, and the sha256 of its source, if any."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=_LONGEST)]
    sha256: _Checksum = ""


@dataclass(frozen=True, kw_only=True)
class DetectorFile:
    """A fitted detector that a run is scored with: its method, the full path of its file, and the file's sha256.

    `data`: the names of the data sets that it was fitted on.
    """

    method: MethodId
    path: Annotated[str, Field(max_length=4_096)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    data: Annotated[tuple[str, ...], Field(max_length=MOST_SETS)]


def detector_files(words: Sequence[str]) -> tuple[DetectorFile, ...]:
    """The detectors that words such as "tad=FILE" name, each read once to see that it is one.

    Raises:
        InvalidInput: a file that is no detector, or one of another method; two files of one method.
    """
    pairs = [word.split("=", 1) for word in words]
    if len({method for method, _ in pairs}) < len(pairs):
        message = f"Got {', '.join(words)}; give one file for each method."
        raise InvalidInput(message)
    return tuple(_detector_file(method, Path(path).expanduser().resolve()) for method, path in pairs)


def _detector_file(method: str, path: Path) -> DetectorFile:
    found = Detector.load(path)
    if found.method != method:
        message = f"{path} is a detector of {found.method}, not of {method}. Name it {found.method}={path}."
        raise InvalidInput(message)
    return DetectorFile(method=method, path=str(path), sha256=_sha256(path.read_bytes()), data=found.data)


def check_unseen(files: Sequence[DetectorFile], questions: Sequence[str]) -> None:
    """Check that no detector was fitted on answers to these questions, or to near-duplicates: it would rank its own.

    Raises:
        InvalidInput: one was.
    """
    asked = hashes_of(questions) if files else np.zeros(0, np.uint64)
    for file in files:
        seen = np.flatnonzero(np.isin(asked, Detector.load(file.path).questions))
        if seen.size:
            message = (
                f"The detector {file.path} was fitted on answers to {seen.size:,} of these {len(asked):,} questions, "
                f"such as {shortened(questions[seen[0]])!r}, so it must not score them. Score other questions, or "
                f"judge the method on answers left out: {ANALYSIS_COMMAND} supervised."
            )
            raise InvalidInput(message)


def load_detectors(files: Sequence[DetectorFile]) -> tuple[Detector, ...]:
    """Read the detectors of a run.

    Raises:
        InvalidInput: a file is missing or damaged.
        RunError: a file has changed since the run was started.
    """
    found = tuple(Detector.load(file.path) for file in files)
    for file in files:
        if _sha256(Path(file.path).read_bytes()) != file.sha256:
            message = (
                f"{file.path} is not the detector that the run was started with. Restore it, or score into a new "
                "folder."
            )
            raise RunError(message)
    return found


class OwnId(str):
    """The id of a method of the user's own, with what its run notes of it: the table of methods has no row for it."""

    __slots__ = ("note",)
    note: OwnMethod

    def __new__(cls, note: OwnMethod) -> Self:
        """Make an id of a note."""
        made = super().__new__(cls, note.id)
        made.note = note
        return made

    def __getnewargs__(self) -> tuple[OwnMethod]:  # type: ignore[override]  # copies are made of the note
        """Return what a copy is made of."""
        return (self.note,)


def row_of(method: str) -> Method | OwnMethod | None:
    """What is known of a method by its id in a run: a row of the table, the note of one's own, or None if unknown."""
    return method.note if isinstance(method, OwnId) else METHODS.get(method)


def needs_of(method: str) -> frozenset[Need]:
    """What a method needs besides the answer; nothing is known of an unknown one."""
    row = row_of(method)
    return frozenset(row.needs) if row else frozenset()


def uses_judge(method: str) -> bool:
    """Whether a method reads the facts that answers are judged by, which methods that compete with RAUQ do not."""
    return "facts" in needs_of(method)


QualityFunction = Callable[[Example, str], float]
"""Quality of an answer to an example, higher is better; the answer is without thinking."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Own:
    """What the user gives to a run in this process.

    `notes` are those of `methods`. `seconds`: the most that one of them may take for an answer; None: no limit.
    """

    methods: tuple[Method, ...] = ()
    notes: tuple[OwnMethod, ...] = ()
    quality: QualityFunction | None = None
    seconds: float | None = MOST_SECONDS

    @property
    def quality_note(self) -> OwnQuality | None:
        """What a run notes of the function of quality.

        Raises:
            InvalidInput: a function without a name of its own.
        """
        if self.quality is None:
            return None
        name = getattr(self.quality, "__name__", "")
        if not str(name).isidentifier() or not name.isascii() or len(name) > _LONGEST:
            message = (
                f"Got {name or type(self.quality).__name__} as the function of quality; its name is kept with the run. "
                "Define one: def my_quality(example, answer): ..."
            )
            raise InvalidInput(message)
        return OwnQuality(name=name, sha256=_sha256(_source_of(self.quality)))

    def rows(self, ids: Sequence[str]) -> tuple[Method, ...]:
        """The methods of these ids, one's own among them, in this order."""
        own = {method.id: method for method in self.methods}
        return tuple(own[one] if one in own else METHODS[one] for one in ids)


NOTHING_OWN = Own()


def own_methods(
    methods: Sequence[Method], *, quality: QualityFunction | None = None, seconds: float | None = MOST_SECONDS
) -> Own:
    """What the user gives in Python.

    Raises:
        InvalidInput: something that is no method, one that no run can have, or two of one id or name.
    """
    return collected([(method, note_of(method)) for method in methods], quality=quality, seconds=seconds)


def collected(
    pairs: Sequence[tuple[Method, OwnMethod]],
    *,
    quality: QualityFunction | None = None,
    seconds: float | None = MOST_SECONDS,
) -> Own:
    """Methods with their notes, as one.

    Raises:
        InvalidInput: two methods of one id or name, or a limit that is no positive number of seconds.
    """
    notes = tuple(note for _, note in pairs)
    for what, values in (("id", [note.id for note in notes]), ("name", [note.name for note in notes])):
        if len(set(values)) < len(values):
            message = f"Two of your methods have the same {what}; their {what}s are {', '.join(values)}. Rename one."
            raise InvalidInput(message)
    if seconds is not None and not (0 < seconds < math.inf):
        message = f"Got a limit of {seconds:g} seconds for a method; give a positive number."
        raise InvalidInput(message)
    return Own(methods=tuple(method for method, _ in pairs), notes=notes, quality=quality, seconds=seconds)


def note_of(method: object, *, module: str = "", content: bytes | None = None) -> OwnMethod:
    """What a run notes of a method; `module` is how it was named, and `content` its module's file.

    Raises:
        InvalidInput: no `rauq.Method`, or one that no run can have; the message says why.
    """
    called = module or getattr(method, "__name__", type(method).__name__)
    if not isinstance(method, Method):
        message = (
            f"{called} is a {type(method).__name__}, not a method. Give rauq.Method(id=..., name=..., compute=...), "
            "where compute is your function of the evidence."
        )
        raise InvalidInput(message)
    if faults := _faults(method):
        message = f"The method {module or method.id} cannot be part of a run: {'; '.join(faults)}."
        raise InvalidInput(message)
    return OwnMethod(
        id=method.id,
        name=method.name,
        source=method.source,
        cost=method.cost,
        needs=tuple(need for need in NEEDS if need in method.needs),
        module=module,
        sha256=_sha256(_source_of(method.compute) if content is None else content),
    )


def _faults(method: Method) -> list[str]:
    """Why a method cannot be part of a run."""
    computes = method.settings is not None if method.compute is None else callable(method.compute)
    long = [name for name in ("source", "cost") if len(getattr(method, name)) > _LONGEST_TEXT]
    is_id, is_name = re.fullmatch(_ID, str(method.id)), re.fullmatch(_NAME, str(method.name)[: _LONGEST + 1])
    checks = (
        (not is_id, f"its id is {method.id!r}, but must be lower-case letters, digits and underscores"),
        (method.id in METHODS, f"{method.id} is the id of another method: choose another"),
        (
            not is_name or len(method.name) > _LONGEST,
            f"its name is {method.name!r}, but must be words of letters and digits, at most {_LONGEST} characters",
        ),
        (
            method.name in {row.name for row in METHODS.values()},
            f"{method.name} is the name of another method: choose another",
        ),
        (not computes, "it has neither a function to compute nor settings of RAUQ"),
        (
            method.direction not in get_args(Direction),
            f"its direction is {method.direction!r}: return minus the value, so that higher is less certain",
        ),
        *((True, f"its {name} is longer than {_LONGEST_TEXT} characters") for name in long),
    )
    known = (("needs", method.needs, NEEDS), ("extras", (*method.extras, *method.sample_extras), get_args(Extra)))
    unknown = [
        f"its {what} include {min(odd)!r}; choose from {', '.join(there)}"
        for what, given, there in known
        if (odd := set(map(str, given)) - set(there))
    ]
    return [fault for is_wrong, fault in checks if is_wrong] + unknown


def _source_of(function: object) -> bytes:
    """The source of a function; empty where there is none, as in a shell."""
    try:
        return inspect.getsource(inspect.unwrap(function)).encode()  # type: ignore[arg-type]  # what is none raises
    except (OSError, TypeError, ValueError, AttributeError):
        return b""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if content else ""


def check_given(own: Own, notes: Sequence[OwnMethod], quality: OwnQuality | None) -> None:
    """Check that a user gives to a run what it notes, unchanged.

    Raises:
        RunError: something is missing or has changed; the message says how to give it.
        InvalidInput: something that the run does not use, or a time limit that cannot be kept in this thread.
    """
    given = {note.id: note for note in own.notes}
    if missing := [note for note in notes if note.id not in given]:
        message = (
            f"This run uses your own {', '.join(note.id for note in missing)}. {_how_to_give(missing)}, to resume it."
        )
        raise RunError(message)
    for note in notes:
        if given[note.id] != note:
            raise RunError(changed(f"The method {note.id}{f' ({note.module})' if note.module else ''}"))
    if unused := given.keys() - {note.id for note in notes}:
        message = f"This run does not use the method {min(unused)}. Leave it out, or score into a new folder."
        raise InvalidInput(message)
    if own.quality is not None and own.quality_note != quality:
        raise RunError(changed("The function of quality"))
    _check_limit(own)


def _how_to_give(notes: Sequence[OwnMethod]) -> str:
    if all(note.module for note in notes):
        return f"Add --methods {','.join(note.module for note in notes)}, in the folder of the module"
    return "Give them to analysis.score_run, as when it was started"


def changed(what: str) -> str:
    """What to say where `what` is not what a run was started with."""
    return (
        f"{what} is not what the run was started with: its code, name or requirements differ. Restore them, or score "
        "into a new folder."
    )


def _check_limit(own: Own) -> None:
    here = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if own.methods and own.seconds is not None and not here:
        message = (
            "A time limit for methods of your own needs the main thread of a process on Linux or macOS. Score there, "
            "or give no limit: method_seconds=None."
        )
        raise InvalidInput(message)


class _OutOfTimeError(BaseException):
    """An error that methods with their own error handling do not catch."""


def within(seconds: float | None, compute: Callable[[], Uncertainty]) -> Uncertainty:
    """What `compute` gives, or nan with the reason once it has taken `seconds`; None: no limit.

    An alarm interrupts Python code, in the main thread; a single call into C is interrupted after it has returned.
    """
    if seconds is None:
        return compute()
    is_running = True

    def stop(_number: int, _frame: object) -> None:
        if is_running:  # not while the alarm is being taken back
            raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        found = compute()
        is_running = False
    except _OutOfTimeError:
        found = Uncertainty(math.nan, f"it took more than {seconds:g} s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return found
