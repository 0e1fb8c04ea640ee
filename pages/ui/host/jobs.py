"""One generation in the background: it streams into a `Job`, which the page polls and may cancel."""

import atexit
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pages.ui.host import hosting, models
from pages.ui.host.hosting import Busy
from pages.ui.host.looking import MOST_TOGETHER, seconds_until_turn
from pages.ui.host.monitoring import metrics
from pages.ui.host.queueing.pace import MOST_SECONDS, Work, undisturbed
from pages.ui.host.request import Request, check_answer, marks, shares
from pages.ui.host.store import session_name, store, visitor
from rauq.arguments import Sampling
from rauq.errors import Failure, InvalidInput, NonFiniteLogits, RauqError, Stopped
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.capture.check import Check
    from rauq.model.language_model import LanguageModel
    from rauq.scoring.watch import Watch

_log = logging.getLogger(__name__)

_EXIT_SECONDS = 5.0  # seconds that an exiting process waits for a job to stop
_LEAST_PIECES = 5  # tokens from which the speed of a model is measured
_PROGRESS_SECONDS, _PROGRESS_SHARE = 0.03, 0.1  # how often an answer is looked at, and the most that this may slow it
_LEFT = "This page was disconnected while others waited, so its answer was stopped. Ask again."
_MOST_SHARED = 1_000  # characters of a prompt that is answered with others: all are padded to the longest


@dataclass(eq=False)
class Job:
    """A request in progress. The worker writes it, the page reads it; it holds no model.

    It is `waiting` while no token can come: a model is loading, or other jobs are first. While the answer grows,
    `so_far` is its trace of a moment ago, and `pieces` are the texts of all its tokens. `sessions` are those that show
    it, one of them connected at the time `shown`; it is `absent` if all have left since, and `left` if it ended for
    that.
    """

    request: Request
    visitor: str = field(default_factory=visitor)
    sessions: set[str] = field(default_factory=lambda: {session_name()})
    shown: float = field(default_factory=time.monotonic)
    absent: bool = False
    left: bool = False
    is_check: bool = False
    stage: str = "Inspecting the model"
    waiting: bool = True
    pieces: list[str] = field(default_factory=list)
    created: float = field(default_factory=time.monotonic)
    begun: float = field(default_factory=time.monotonic)
    stated: float = math.nan  # seconds until then, as its page said first
    waited: float = math.nan  # seconds until it had its model
    speed: float = math.nan  # tokens a second of the whole answer, once it is there
    cancel: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    so_far: Trace | None = None
    so_far_due: float = 0.0
    trace: Trace | None = None
    check: "Check | None" = None
    dtype: str = ""  # of the checked model
    error: RauqError | None = None

    @property
    def live(self) -> bool:
        """Return whether the worker is still running."""
        return not self.done.is_set()

    @property
    def common(self) -> Request | None:
        """What it shares with jobs that are answered in one batch with it; None: it has the model alone."""
        return None if self.is_check else _common(self.request)

    @property
    def work(self) -> Work:
        """What it asks of the model."""
        request = self.request
        reads = self.is_check or request.answer is not None
        length = len(request.prompt) + len(request.answer or "")
        return Work(self.common, tokens=1 if reads else request.max_new_tokens, characters=length)

    def give_up(self) -> None:
        """Stop because the process exits: a thread interrupted inside torch aborts the process."""
        self.cancel.set()
        self.done.wait(_EXIT_SECONDS)


def begin(job: Job) -> None:
    """Start a job in its own thread, unless it was refused, exceeds the limits, or too many jobs are running.

    Store it in the session before starting it: the next click may interrupt a callback wherever it touches the session,
    and a running job that no session holds cannot be seen or stopped.
    """
    _begin(job, _answer)


def begin_check(job: Job) -> None:
    """Start a check of the captured attention of a job's model in the same way."""
    job.is_check = True
    _begin(job, _compare)


def _begin(job: Job, work: Callable[[Job], None]) -> None:
    if not job.live:
        return
    try:
        check_answer(job.request)
        _check_wait(job)
        store().jobs.admit(job, job.visitor)
    except InvalidInput as error:
        job.error = error
        job.done.set()
        _report(job)
        return
    atexit.register(job.give_up)
    try:
        threading.Thread(target=_work, args=(job, work), daemon=True, name="generation").start()
    except RuntimeError:  # no thread can be started
        _end(job, Busy("This machine cannot start another generation now. Try again in a minute."))


def _check_wait(job: Job) -> None:
    """Check that this job will not wait too long on a host.

    Raises:
        Busy: it would, as far as the pace of the model is known.
    """
    if not hosting.is_hosted() or (lm := models.if_loaded(job.request.model)) is None:
        return
    queue = models.queue(lm)
    job.stated = seconds = seconds_until_turn(job, queue, queue.line(job.visitor, job))
    if seconds > MOST_SECONDS:
        message = (
            f"Your answer would begin in about {seconds:.0f} s, and this host lets nobody wait for more than "
            f"{MOST_SECONDS:.0f} s. Try again in a minute."
        )
        raise Busy(message)


def refused(request: Request, error: RauqError) -> Job:
    """Return a job that ended with an error before it started."""
    job = Job(request, error=error)
    job.done.set()
    return job


def _work(job: Job, work: Callable[[Job], None]) -> None:
    error: RauqError | None = None
    try:
        work(job)
    except RauqError as raised:
        error = _alone(raised)
    except Exception as raised:  # noqa: BLE001 - a thread has no caller: unreported, the page would wait forever
        _log.exception("The generation failed")
        what = type(raised).__name__ if hosting.is_hosted() else f"{type(raised).__name__}: {raised}"
        error = RauqError(f"The generation failed unexpectedly ({what}).")
    finally:
        _end(job, error)


def _end(job: Job, error: RauqError | None) -> None:
    """End a job, unless it has ended with its own answer before those of its batch."""
    if not job.live:
        return
    job.error = Stopped(_LEFT) if job.left and isinstance(error, Stopped) else error
    atexit.unregister(job.give_up)
    store().jobs.dismiss(job)
    _report(job)
    job.done.set()
    job.so_far = None  # last, since the page shows it for as long as the job is live


def _report(job: Job) -> None:
    """Count an answer that has ended, and write its line in the log."""
    outcome, request = _outcome(job), job.request
    failed = type(job.error).__name__ if outcome == "failed" else ""
    store().counts.answer(outcome, tokens=len(job.pieces), error=failed)
    metrics.log(
        "answer",
        outcome=outcome,
        model=request.model.name,
        prompt_characters=len(request.prompt),
        tokens=len(job.pieces),
        stated=job.stated,
        waited=job.waited,
        seconds=time.monotonic() - job.created,
        visitor=job.visitor,
        **({"error": failed} if failed else {}),
        **({"prompt": request.prompt} if store().logs_prompts else {}),
    )


def _outcome(job: Job) -> Literal["done", "stopped", "failed", "refused"]:
    if isinstance(job.error, InvalidInput):
        return "refused"
    if isinstance(job.error, Stopped) or job.cancel.is_set():
        return "stopped"
    return "failed" if job.error else "done"


def _answer(job: Job) -> None:
    request = job.request
    with _model(job) as lm:
        if lm is None:
            _raise_if_unanswered(job)
        elif request.answer is not None:
            job.stage = "Reading the answer"
            end = lm.kind == "instruct" if request.end is None else request.end
            options = request.template_options
            extras = shares(lm, request, len(lm.tokens.encode_answer(request.answer)) + 1)  # and an end token
            job.trace = lm.read(request.conversation, request.answer, template_options=options, end=end, **extras)
        elif _can_share(lm, request):
            fits = partial(_can_join, lm, _common(request))
            with models.queue(lm).taking_along(fits, MOST_TOGETHER - 1) as places:
                _generate_together(lm, [job, *(place.work for place in places)]) if places else _generate(lm, job)
        else:
            _generate(lm, job)


def _generate(lm: "LanguageModel", job: Job) -> None:
    request, watch, drawn = job.request, _watch(job, lm), store().first_pages.spent
    job.stage, job.begun = "Generating", time.monotonic()
    job.trace = lm.generate(
        request.conversation,
        template_options=request.template_options,
        max_new_tokens=request.max_new_tokens,
        stop=_stop(request),
        chat=request.branch.origin.chat_applied if request.branch else None,
        answer_prefix=_prefix(lm, request),
        last_row=True,
        on_token=watch.on_token,
        on_progress=watch.on_progress,
        monitor=watch.monitor,
        cancel=watch.cancel,
        **_sampling(request.sampling),
        **shares(lm, request, request.max_new_tokens),
    )
    seconds = time.monotonic() - job.begun
    _note_speed(job, seconds)
    _note_pace(lm, [job], seconds, drawn)


def _common(request: Request) -> Request | None:
    """Return what a request shares with others that are answered in one batch with it; None: it is answered alone.

    In a batch the numbers of an answer may differ in the last bits, as they do between two machines.
    """
    alone = request.answer is not None or request.branch or request.sampling or request.context or marks(request)
    if alone or not hosting.is_hosted() or len(request.prompt) > _MOST_SHARED:
        return None
    return replace(request, prompt="")


def _can_share(lm: "LanguageModel", request: Request) -> bool:
    """Return whether a request can be answered in a batch: its prompt and the longest answer fit into the context."""
    if _common(request) is None or lm.runs_alone:
        return False
    try:
        prompt = lm.encode(request.prompt, template_options=request.template_options)
    except InvalidInput:
        return False  # its own job says why
    return lm.context_length is None or len(prompt.ids) + request.max_new_tokens <= lm.context_length


def _can_join(lm: "LanguageModel", common: Request | None, other: Job | None) -> bool:
    return common is not None and other is not None and other.common == common and _can_share(lm, other.request)


def _generate_together(lm: "LanguageModel", jobs: Sequence[Job]) -> None:
    """Answer jobs whose requests differ in their prompts alone; each ends when its own answer does."""
    request, drawn = jobs[0].request, store().first_pages.spent
    for job in jobs:
        _note_turn(job)
        job.stage, job.begun = "Generating", time.monotonic()
    try:
        with _awaited_at_exit(jobs):
            outcomes = lm.generate_batch(
                [job.request.prompt for job in jobs],
                batch_size=len(jobs),
                template_options=request.template_options,
                max_new_tokens=request.max_new_tokens,
                stop=_stop(request),
                last_row=True,
                watches=[_watch(job, lm, together=len(jobs)) for job in jobs],
            )
            for job, outcome in zip(jobs, outcomes, strict=True):
                if isinstance(outcome, Failure):
                    _end(job, _alone(outcome.error))
        _note_pace(lm, jobs, time.monotonic() - jobs[0].begun, drawn)
    except RauqError as error:
        for job in jobs:
            _end(job, _alone(error))


@contextmanager
def _awaited_at_exit(jobs: Sequence[Job]) -> Iterator[None]:
    """Let the process wait for the end of a batch when it exits: some of its jobs end before."""
    ended = threading.Event()

    def wait() -> None:
        for job in jobs:
            job.cancel.set()
        ended.wait(_EXIT_SECONDS)

    atexit.register(wait)
    try:
        yield
    finally:
        ended.set()
        atexit.unregister(wait)


def _watch(job: Job, lm: "LanguageModel", *, together: int = 1) -> "Watch":
    """Return what a job notes while its answer grows; it ends with it where several are answered together.

    Nothing changes once it has ended: a batch that does not fit in memory is begun again.
    """
    from rauq.model.monitor import Monitor
    from rauq.scoring.watch import Watch

    def keep(index: int, _id: int, text: str) -> None:
        if job.live:
            job.pieces[index:] = [text]

    def note(so_far: Callable[[], Trace]) -> None:
        if job.live:
            _note_progress(job, so_far, share=_PROGRESS_SHARE / together)

    def end(outcome: Trace | NonFiniteLogits) -> None:
        if job.live and isinstance(outcome, Trace):
            job.trace = outcome
        _end(job, None if isinstance(outcome, Trace) else _alone(outcome))

    limit = job.request.stop_above
    monitor = None if limit is None else Monitor(lm, threshold=limit)
    return Watch(on_token=keep, on_progress=note, on_end=end, cancel=job.cancel, monitor=monitor)


def _raise_if_unanswered(job: Job) -> None:
    """Raise if this job has no answer because the one that took it along failed.

    Raises:
        RauqError: there is no answer.
    """
    if job.live:
        message = "The generation failed together with others that were waiting. Try again."
        raise RauqError(message)


def _note_speed(job: Job, seconds: float) -> None:
    """Keep how fast an answer was generated, unless it was too short to tell or begins with tokens of another one."""
    if job.request.branch is None and len(job.pieces) >= _LEAST_PIECES and seconds > 0:
        job.speed = len(job.pieces) / seconds
        store().speeds[replace(job.request.model, kind=None)] = job.speed


def _note_pace(lm: "LanguageModel", jobs: Sequence[Job], seconds: float, drawn: float) -> None:
    """Keep how long a turn takes without the first pages drawn meanwhile, unless one of its jobs was stopped.

    `drawn`: the seconds of all first pages that were drawn before the turn.
    """
    if not any(job.cancel.is_set() for job in jobs):
        queue = models.queue(lm)
        if not queue.is_cold:
            pages = store().first_pages.spent - drawn
            queue.pace = queue.pace.after([job.work for job in jobs], undisturbed(seconds, pages))
        queue.is_cold = False


def _note_progress(job: Job, so_far: Callable[[], Trace], *, share: float) -> None:
    """Keep the answer so far, unless that was done a moment ago; this takes at most so much of the time."""
    if (begun := time.monotonic()) >= job.so_far_due:
        with suppress(NonFiniteLogits):  # the job's own result reports it
            job.so_far = so_far()
        ended = time.monotonic()
        job.so_far_due = ended + max(_PROGRESS_SECONDS, (ended - begun) / share)


def _stop(request: Request) -> str | tuple[()] | None:
    """Return the argument of `generate`: a text, none at all, or None for the model's usual one."""
    return () if request.stop is None else request.stop or None


def _sampling(sampling: Sampling | None) -> dict[str, Any]:
    """Return the arguments of `generate` for sampling; empty for greedy."""
    return {} if sampling is None else {"do_sample": True} | vars(sampling)


def _compare(job: Job) -> None:
    with _model(job) as lm:
        if lm is not None:
            job.stage, job.dtype = "Checking the captured attention", lm.dtype
            job.check = lm.check(job.request.prompt or None)


@contextmanager
def _model(job: Job) -> "Iterator[LanguageModel | None]":
    """Yield the model of a job, loaded if necessary, while it is this job's turn; None: it was answered with others."""
    on_stage = partial(setattr, job, "stage")
    with models.model_in_turn(job.request.model, job.cancel, on_stage=on_stage, visitor=job.visitor, work=job) as lm:
        if lm is not None:
            _note_turn(job)
        yield lm


def _note_turn(job: Job) -> None:
    if job.waiting:
        job.waiting, job.waited = False, time.monotonic() - job.created
        store().counts.wait(job.waited)


def _prefix(lm: "LanguageModel", request: Request) -> list[int] | None:
    """Return the ids of the answer up to the branch and of the text or token that replaces the next one.

    Raises:
        InvalidInput: the model tokenises the prompt differently from the original answer's.
    """
    if (branch := request.branch) is None:
        return None
    origin = branch.origin
    options = request.template_options
    encoded = lm.encode(request.conversation, chat=origin.chat_applied, template_options=options)
    if encoded.ids != tuple(origin.prompt_ids.tolist()):
        message = (
            "This model tokenises the prompt differently from the answer's own model, so the answer cannot be branched."
        )
        raise InvalidInput(message)
    kept = origin.answer_ids[: branch.token].tolist()
    instead = [branch.instead] if isinstance(branch.instead, int) else lm.tokens.encode_answer(branch.instead)
    return [*kept, *instead]


def _alone(error: RauqError) -> RauqError:
    """Return the error without its traceback, which would keep the model in memory as long as the job."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
