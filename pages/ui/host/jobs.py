"""One generation in the background: it streams into a `Job`, which the page polls and may cancel."""

import atexit
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pages.ui.host import cache, hosting, metrics
from pages.ui.host.hosting import Busy, ModelChoice
from pages.ui.host.store import store, visitor
from rauq.arguments import Sampling
from rauq.errors import InvalidInput, RauqError, Stopped
from rauq.trace.messages import Message, TemplateOptions
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.capture.check import Check
    from rauq.model.language_model import LanguageModel

_log = logging.getLogger(__name__)

_EXIT_SECONDS = 5.0  # seconds that an exiting process waits for a job to stop
_LEAST_PIECES = 5  # tokens from which the speed of a model is measured
_OFTEN, _SELDOM = 0.2, 0.5  # seconds between two polls of a job that grows, and of one that waits
_WAITING_POLLS = 4.0  # a second, of all that wait
_PROGRESS_SECONDS, _PROGRESS_SHARE = 0.2, 0.1  # how often an answer is looked at, and the most that this may slow it


@dataclass(frozen=True, kw_only=True)
class Branch:
    """Another continuation of an answer from token `token` on, which is replaced by a token id or a text."""

    origin: Trace
    token: int
    instead: int | str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for: an answer to generate, or one to score (`answer`), or one that branches off another.

    `context` are the messages before the prompt, `template_options` variables of the chat template. `sampling=None` is
    greedy. `stop`: a text that ends the answer; "" for the model's usual one. `end`: whether the end token is appended
    to `answer`; None: for an instruct model.
    """

    model: ModelChoice
    prompt: str
    answer: str | None = None
    branch: Branch | None = None
    max_new_tokens: int = 128
    context: tuple[Message, ...] = ()
    template_options: TemplateOptions = field(default_factory=dict)
    sampling: Sampling | None = None
    stop: str = ""
    end: bool | None = None

    @property
    def conversation(self) -> str | Sequence[Message]:
        """Return the prompt for the library: a text, or messages if there is context.

        Raises:
            InvalidInput: the prompt cannot be a message.
        """
        return (*self.context, Message(role="user", content=self.prompt)) if self.context else self.prompt


def branch_request(branch: Branch, model: ModelChoice, max_new_tokens: int) -> Request:
    """Return the request for a branch, with the prompt and the conversation of its origin."""
    origin = branch.origin
    return Request(
        model=model,
        prompt=origin.prompt,
        context=origin.messages[:-1],
        template_options=origin.template_options,
        branch=branch,
        max_new_tokens=max_new_tokens,
    )


def check_answer(request: Request) -> None:
    """Check that a request for one answer keeps the limits.

    Raises:
        InvalidInput: its prompt or an answer is too long, or it asks for too many tokens.
    """
    branch = request.branch
    answers = [request.answer, *([branch.origin.answer, branch.instead] if branch else [])]
    hosting.check_text("prompt", "".join([*(message.content for message in request.context), request.prompt]))
    hosting.check_text("template options", "".join(map(str, request.template_options.values())))
    hosting.check_text("stop", request.stop)
    for answer in answers:
        hosting.check_text("answer", answer if isinstance(answer, str) else "")
    hosting.check_number("new tokens", request.max_new_tokens, hosting.limits().new_tokens)


@dataclass(eq=False)
class Job:
    """A request in progress. The worker writes it, the page reads it; it holds no model.

    It is `waiting` while no token can come: a model is loading, or other jobs are first. While the answer grows,
    `so_far` is its trace of a moment ago, and `pieces` are the texts of all its tokens.
    """

    request: Request
    visitor: str = field(default_factory=visitor)
    stage: str = "Inspecting the model"
    waiting: bool = True
    pieces: list[str] = field(default_factory=list)
    created: float = field(default_factory=time.monotonic)
    begun: float = field(default_factory=time.monotonic)
    waited: float = math.nan  # seconds until it had its model
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

    def give_up(self) -> None:
        """Stop because the process exits: a thread interrupted inside torch aborts the process."""
        self.cancel.set()
        self.done.wait(_EXIT_SECONDS)


def poll_seconds(job: Job) -> float:
    """Return after how many seconds a page looks at a job again; where many wait, each looks less often.

    A poll takes time from the thread that imports torch or generates for others.
    """
    return max(_SELDOM, len(store().jobs.jobs) / _WAITING_POLLS) if job.waiting else _OFTEN


def begin(job: Job) -> None:
    """Start a job in its own thread, unless it was refused, exceeds the limits, or too many jobs are running.

    Store it in the session before starting it: the next click may interrupt a callback wherever it touches the session,
    and a running job that no session holds cannot be seen or stopped.
    """
    _begin(job, _answer)


def begin_check(job: Job) -> None:
    """Start a check of the captured attention of a job's model in the same way."""
    _begin(job, _compare)


def _begin(job: Job, work: Callable[[Job], None]) -> None:
    if not job.live:
        return
    try:
        check_answer(job.request)
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


def refused(request: Request, error: RauqError) -> Job:
    """Return a job that ended with an error before it started."""
    job = Job(request, error=error)
    job.done.set()
    return job


def _work(job: Job, work: Callable[[Job], None]) -> None:
    try:
        work(job)
    except RauqError as error:
        job.error = _alone(error)
    except Exception as error:  # noqa: BLE001 - a thread has no caller: unreported, the page would wait forever
        _log.exception("The generation failed")
        what = type(error).__name__ if hosting.is_hosted() else f"{type(error).__name__}: {error}"
        job.error = RauqError(f"The generation failed unexpectedly ({what}).")
    finally:
        _end(job, job.error)


def _end(job: Job, error: RauqError | None) -> None:
    job.error = error
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
        if request.answer is not None:
            job.stage = "Reading the answer"
            end = lm.kind == "instruct" if request.end is None else request.end
            options = request.template_options
            job.trace = lm.read(request.conversation, request.answer, template_options=options, end=end)
            return
        job.stage, job.begun = "Generating", time.monotonic()
        job.trace = lm.generate(
            request.conversation,
            template_options=request.template_options,
            max_new_tokens=request.max_new_tokens,
            stop=request.stop or None,
            chat=request.branch.origin.chat_applied if request.branch else None,
            answer_prefix=_prefix(lm, request),
            last_row=True,
            on_token=lambda _index, _id, text: job.pieces.append(text),
            on_progress=partial(_note_progress, job),
            cancel=job.cancel,
            **_sampling(request.sampling),
        )
        _note_speed(job, time.monotonic() - job.begun)


def tokens_per_second(choice: ModelChoice) -> float | None:
    """Return the speed of a model's last answer in this app; None if it has generated none."""
    return store().speeds.get(replace(choice, kind=None))


def _note_speed(job: Job, seconds: float) -> None:
    """Keep how fast an answer was generated, unless it was too short to tell or begins with tokens of another one."""
    if job.request.branch is None and len(job.pieces) >= _LEAST_PIECES and seconds > 0:
        store().speeds[replace(job.request.model, kind=None)] = len(job.pieces) / seconds


def _note_progress(job: Job, so_far: Callable[[], Trace]) -> None:
    """Keep the answer so far, unless that was done a moment ago."""
    if (begun := time.monotonic()) >= job.so_far_due:
        job.so_far = so_far()
        ended = time.monotonic()
        job.so_far_due = ended + max(_PROGRESS_SECONDS, (ended - begun) / _PROGRESS_SHARE)


def _sampling(sampling: Sampling | None) -> dict[str, Any]:
    """Return the arguments of `generate` for sampling; empty for greedy."""
    return {} if sampling is None else {"do_sample": True} | vars(sampling)


def _compare(job: Job) -> None:
    with _model(job) as lm:
        job.stage, job.dtype = "Checking the captured attention", lm.dtype
        job.check = lm.check(job.request.prompt or None)


@contextmanager
def _model(job: Job) -> "Iterator[LanguageModel]":
    """Yield the model of a job, loaded if necessary, while it is this job's turn."""
    with cache.model_in_turn(
        job.request.model, job.cancel, on_stage=partial(setattr, job, "stage"), visitor=job.visitor
    ) as lm:
        job.waiting, job.waited = False, time.monotonic() - job.created
        store().counts.wait(job.waited)
        yield lm


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
