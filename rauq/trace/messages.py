"""Messages of a conversation with a chat model, and options of its chat template, with their checks."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeGuard, get_args

from jinja2 import Environment, TemplateError, meta, nodes

from rauq.arguments import check_unicode
from rauq.errors import InvalidInput

Role = Literal["system", "user", "assistant"]
PromptForm = Literal["text", "templated", "ids", "messages"]  # "templated": text that has its chat template already
TemplateOption = str | int | float | bool
TemplateOptions = Mapping[str, TemplateOption]

# What the library or transformers sets itself when it applies a template.
RESERVED_OPTIONS = frozenset(
    {
        *("messages", "conversation", "tools", "documents", "chat_template", "add_generation_prompt"),
        *("continue_final_message", "tokenize", "sanitize_control_tokens", "padding", "truncation", "max_length"),
        *("return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs"),
        *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    }
)
_TESTS = ("defined", "undefined", "default", "d")
_FUNCTIONS = frozenset({"raise_exception", "strftime_now"})  # which transformers gives to every template
_GENERATION = re.compile(r"{%[-+]?\s*(end)?generation\s*[-+]?%}")  # a tag of transformers; it changes no variable
_FAILURES = (TemplateError, TypeError, ValueError)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a conversation: what the system, the user or the assistant said.

    Raises:
        InvalidInput: an unknown role, or content that is empty, no text or not valid Unicode.
    """

    role: Role
    content: str

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            message = f"Got a message with the role {_short(self.role)}; give one of {', '.join(get_args(Role))}."
            raise InvalidInput(message)
        if not _is_text(self.content):
            message = (
                f"Got a message of role {self.role} whose content is {type(self.content).__name__}; give one text. "
                "Content in parts must be joined into one text first."
            )
            raise InvalidInput(message)
        if not self.content.strip():
            message = f"Got an empty message of role {self.role}. Give it some text, or leave it out."
            raise InvalidInput(message)
        check_unicode(self.content)


def is_conversation(prompt: object) -> TypeGuard[Sequence[Message | Mapping[str, Any]]]:
    """Whether a prompt is meant as a list of messages, well formed or not."""
    return isinstance(prompt, list | tuple) and any(isinstance(part, Message | Mapping) for part in prompt)


def messages_of(given: Sequence[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages of a conversation that the assistant is to answer.

    Raises:
        InvalidInput: a message that cannot be used, a system message that is not the first, or no user message at the
            end.
    """
    messages = tuple(_message(place, part) for place, part in enumerate(given))
    if any(message.role == "system" for message in messages[1:]):
        message = "Only the first message may have the role system. Join the system messages into one, at the start."
        raise InvalidInput(message)
    if not messages or messages[-1].role != "user":
        last = messages[-1].role if messages else "none"
        message = (
            f"The last message must be the user's, since the assistant answers it; got {last}. Leave out the "
            "messages after it; pass the start of an answer as answer_prefix, or a whole answer to lm.read."
        )
        raise InvalidInput(message)
    return messages


def conversation_text(messages: Sequence[Message]) -> str:
    """A conversation as text to read: each message after a line with its role."""
    return "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)


def checked_options(given: object) -> dict[str, TemplateOption]:
    """Options for a chat template: names to text, finite numbers, True or False.

    Raises:
        InvalidInput: not a mapping, an invalid or reserved name, or a value of another type.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        message = f"Got template_options of type {type(given).__name__}; give names and values, as in {{'name': True}}."
        raise InvalidInput(message)
    for name, value in given.items():
        _check_option(name, value)
    return dict(given)


def option_value(text: str) -> TemplateOption:
    """A template option from what was typed: a number, true or false as in JSON, anything else as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) else text


def option_text(value: TemplateOption) -> str:
    """The text to type for a template option."""
    return value if isinstance(value, str) else json.dumps(value)


def _check_option(name: object, value: object) -> None:
    if not (isinstance(name, str) and name.isidentifier()):
        message = f"Got the template option {_short(name)}; a name has letters, digits and underscores."
        raise InvalidInput(message)
    if name in RESERVED_OPTIONS:
        message = f"The template option {name} is reserved, since it is set for every prompt. Leave it out."
        raise InvalidInput(message)
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        message = f"Got {_short(value)} for the template option {name}; give text, a finite number, True or False."
        raise InvalidInput(message)
    if isinstance(value, str):
        check_unicode(value)


def _message(place: int, part: object) -> Message:
    if isinstance(part, Message):
        return part
    if not isinstance(part, Mapping) or set(part) != {"role", "content"}:
        got = f"the keys {_short(sorted(map(str, part)))}" if isinstance(part, Mapping) else type(part).__name__
        message = f"Message {place} (counted from 0) is {got}; give 'role' and 'content', and nothing else."
        raise InvalidInput(message)
    try:
        return Message(role=part["role"], content=part["content"])
    except InvalidInput as error:
        message = f"Message {place} (counted from 0): {error}"
        raise InvalidInput(message) from error


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _short(value: object, longest: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


def option_names(template: str | Mapping[str, str] | None) -> tuple[str, ...]:
    """Variables that a chat template takes as options, in alphabetical order; none where it cannot be parsed.

    Of several named templates, the default one is applied.
    """
    source = template.get("default") if isinstance(template, Mapping) else template
    return _option_names(source) if source else ()


@lru_cache(maxsize=8)
def _option_names(template: str) -> tuple[str, ...]:
    """A variable that the template sets itself counts only if it has a default or is tested for being defined."""
    try:
        environment = Environment(extensions=["jinja2.ext.loopcontrols"])  # noqa: S701 - it renders nothing
        tree = environment.parse(_GENERATION.sub("", template))
        names = meta.find_undeclared_variables(tree) - RESERVED_OPTIONS - _FUNCTIONS - set(environment.globals)
    except _FAILURES:
        return ()
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
    tested = {
        found.node.name
        for found in tree.find_all((nodes.Test, nodes.Filter))
        if found.name in _TESTS and isinstance(found.node, nodes.Name)
    }
    return tuple(sorted(names - (own - tested)))
