"""The options that calls of a model share: each is declared once, and has its default where it is used."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from rauq.arguments import Cancel
from rauq.model.templates.prompt_parts import PromptParts
from rauq.trace.messages import TemplateOptions


class PromptOptions(TypedDict, total=False):
    """How a prompt is put to the model.

    chat: Whether to apply the chat template to a text; None: for an instruct model, unless the text begins with what
        its template writes before a message (`Prompt.form` is "templated" then).
    template_options: Variables of the chat template, such as {"enable_thinking": False}.
    prompt_parts: Parts of the prompt, for the extra "part_shares": "roles" for the messages of a chat; names such as
        ("document", "question") for what stands between <document> and </document>; or spans such as
        [("document", 0, 250)] in code points of the prompt or of its last message. None by default.
    """

    chat: bool | None
    template_options: TemplateOptions | None
    prompt_parts: PromptParts | None


class CaptureOptions(TypedDict, total=False):
    """What is captured of an answer.

    extras: Arrays to capture besides the band, by the names in `rauq.trace.extras`; none by default.
    idf: Inverse document frequencies (V,) of the vocabulary's tokens, for the extra "focus".
    offsets: How many keys back from each query attention is captured: `trace.attention` is (L, H, N + 1, offsets).
    """

    extras: Sequence[str]
    idf: ArrayLike | None
    offsets: int


class LimitOptions(TypedDict, total=False):
    """Where an answer ends.

    max_new_tokens: Most tokens of it, by default 128; never more than the context leaves.
    stop: Strings that end the answer and stay in it; None: newline for a base model, none for instruct.
    last_row: Run the last token once more, which alignment "own" needs; by default not.
    cancel: Asked after each token; the partial trace is returned.
    """

    max_new_tokens: int
    stop: str | Sequence[str] | None
    last_row: bool
    cancel: Cancel | None


class DrawOptions(TypedDict, total=False):
    """From what tokens are drawn.

    temperature: Above 0; 1, the default, leaves the distribution as it is.
    top_p: Draw from the most probable tokens that hold this much probability; by default 1.
    top_k: Draw from so many tokens, by default 50; 0: from all.
    """

    temperature: float
    top_p: float
    top_k: int


class ReadOptions(PromptOptions, CaptureOptions, total=False):
    """Options of reading an answer that is there."""


class AnswerOptions(ReadOptions, LimitOptions, total=False):
    """Options of generating an answer."""


class SampleOptions(AnswerOptions, DrawOptions, total=False):
    """Options of drawing an answer."""


def parts(call: str, options: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """The options of a call by kind, in the order of the kinds; those that were not given are left out.

    Raises:
        TypeError: an option that none of the kinds has, as Python raises for an unknown keyword.
    """
    allowed = [name for kind in kinds for name in kind.__annotations__]
    unknown = [name for name in options if name not in allowed]
    if unknown:
        message = f"{call}() got an unexpected keyword argument {unknown[0]!r}; its options are {', '.join(allowed)}"
        raise TypeError(message)
    return [{name: options[name] for name in kind.__annotations__ if name in options} for kind in kinds]
