"""What a user asks of a model: an answer to generate or to score, or a branch of an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pages.ui.host import hosting
from pages.ui.host.hosting import ModelChoice
from rauq.arguments import Sampling
from rauq.errors import InvalidInput
from rauq.sentences import passages
from rauq.trace.file import LARGEST_UPLOADED_EXTRAS
from rauq.trace.messages import Message, TemplateOptions
from rauq.trace.prompt_parts import DOCUMENT, FIXED, Span, is_document, marked_spans
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

_PARTS = ("system", DOCUMENT, "question")  # markers in a prompt, such as <document> and </document>
_MOST_PASSAGES = 64  # of all documents
_SINGLE = 4  # bytes of a float32


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
    greedy. `stop`: a text that ends the answer; "" for the model's usual one, None for no text at all. `stop_above`:
    the uncertainty so far, in nats, above which it is stopped. `end`: whether the end token is appended to `answer`;
    None: for an instruct model.
    """

    model: ModelChoice
    prompt: str
    answer: str | None = None
    branch: Branch | None = None
    max_new_tokens: int = 128
    context: tuple[Message, ...] = ()
    template_options: TemplateOptions = field(default_factory=dict)
    sampling: Sampling | None = None
    stop: str | None = ""
    stop_above: float | None = None
    end: bool | None = None

    @property
    def conversation(self) -> str | Sequence[Message]:
        """Return the prompt for the library: a text, or messages if there is context.

        Raises:
            InvalidInput: the prompt cannot be a message.
        """
        if self.branch is not None and self.branch.origin.messages:
            return self.branch.origin.messages
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
    hosting.check_text("prompt", "".join([*(message.text for message in request.context), request.prompt]))
    hosting.check_text("template options", "".join(map(str, request.template_options.values())))
    hosting.check_text("stop", request.stop or "")
    for answer in answers:
        hosting.check_text("answer", answer if isinstance(answer, str) else "")
    hosting.check_number("new tokens", request.max_new_tokens, hosting.limits().new_tokens)


def marks(request: Request) -> tuple[str, ...]:
    """Return the names of the parts that a prompt, or a message before it, seems to mark."""
    text = "".join([*(message.text for message in request.context), request.prompt])
    return tuple(name for name in _PARTS if f"<{name}>" in text)


def shares(lm: "LanguageModel", request: Request, num_tokens: int) -> dict[str, Any]:
    """Ask for the shares of attention where the prompt marks its parts, and so many tokens make no file too large.

    A document comes in passages, as many as there is room for.
    """
    if not (names := marks(request)):
        return {}
    most = LARGEST_UPLOADED_EXTRAS // (_SINGLE * len(lm.layers) * lm.num_heads * max(1, num_tokens)) - len(FIXED)
    for parts in (_with_passages(request.prompt, names, most), names):
        try:
            found = lm.encode(request.conversation, template_options=request.template_options, prompt_parts=parts).parts
        except InvalidInput:  # a text that looks like a marker and is none, or a passage without a token of its own
            continue
        if len(found) <= most:
            return {"extras": ("part_shares",), "prompt_parts": parts}
    return {}


def _with_passages(prompt: str, names: Sequence[str], most: int) -> Sequence[str] | Sequence[Span]:
    """Return at most so many parts of a prompt, documents in passages; the names where it does not mark them all."""
    try:
        spans = marked_spans(prompt, names)
    except InvalidInput:
        return names
    others = [span for span in spans if not is_document(span.name)]
    documents = [span for span in spans if is_document(span.name)]
    each = min(_MOST_PASSAGES, most - len(others)) // max(1, len(documents))
    return others + [
        Span(name, start + first, start + end)
        for name, start, stop in documents
        for first, end in passages(prompt[start:stop], most=max(1, each))
    ]
