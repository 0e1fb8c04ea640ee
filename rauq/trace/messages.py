"""Messages of a conversation with a chat model, and options of its chat template, with their checks."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeGuard, get_args

from jinja2 import Environment, TemplateError, meta, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from rauq.arguments import check_unicode
from rauq.errors import InvalidInput

Role = Literal["system", "developer", "user", "assistant", "tool"]
TOOL_CALLS = "tool_calls"
THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
ANSWERED = ("user", "tool")  # roles of the message that the assistant answers
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
LONGEST_FIELDS = 2**20  # bytes as JSON, of one message
DEEPEST_FIELDS = 100  # lists and dictionaries in each other; templates and Python itself fail at a few hundred
_OWN_NAMES = frozenset({"role", "content"})
_TEXT_PARTS = ("text", "input_text", "output_text")
_NOTHING: tuple[object, ...] = (None, "", [], {})  # fields with these values say nothing
_TESTS = ("defined", "undefined", "default", "d")
_FUNCTIONS = frozenset({"raise_exception", "strftime_now"})  # which transformers gives to every template
_GENERATION = re.compile(r"{%[-+]?\s*(end)?generation\s*[-+]?%}")  # a tag of transformers; it changes no variable
_FAILURES = (TemplateError, TypeError, ValueError)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a conversation: its role, its text, and what else a chat template may read of it.

    `parts` are the texts of a content that was given in several parts; `content` then has one after the other, with a
    line break between them. `fields` are all others, such as "tool_calls" and "tool_call_id", as data of JSON.

    Raises:
        InvalidInput: an unknown role; content that is empty without tool calls, no text or not valid Unicode; parts
            that do not make the content; fields that are not JSON data, or that are named role or content.
    """

    role: Role
    content: str
    parts: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            message = f"Got a message with the role {_short(self.role)}; give one of {', '.join(get_args(Role))}."
            raise InvalidInput(message)
        object.__setattr__(self, "fields", _checked_fields(self.fields, self.role))
        if not _is_text(self.content):
            message = (
                f"Got a message of role {self.role} whose content is {type(self.content).__name__}; give one text, or "
                "a list of text parts."
            )
            raise InvalidInput(message)
        if not (self.content.strip() or self.fields.get(TOOL_CALLS)):
            message = f"Got an empty message of role {self.role}. Give it some text, or leave it out."
            raise InvalidInput(message)
        check_unicode(self.content)
        if self.parts and "\n".join(self.parts) != self.content:
            message = f"The parts of a message of role {self.role} are not its content. Give the parts alone."
            raise InvalidInput(message)

    @property
    def text(self) -> str:
        """What there is to read of it: its content, then its other fields as JSON, one a line."""
        fields = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in self.fields.items()]
        return "\n".join(filter(None, [self.content, *fields]))

    def as_dict(self) -> dict[str, Any]:
        """The message as a dictionary that `messages_of` takes: role, content and its other fields."""
        content = [{"type": "text", "text": part} for part in self.parts] or self.content
        return {**self.fields, "role": self.role, "content": content}


def is_conversation(prompt: object) -> TypeGuard[Sequence[Message | Mapping[str, Any]]]:
    """Whether a prompt is meant as a list of messages, well formed or not."""
    return isinstance(prompt, list | tuple) and any(isinstance(part, Message | Mapping) for part in prompt)


def messages_of(given: Sequence[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages of a conversation that the assistant is to answer.

    Raises:
        InvalidInput: a message that cannot be used, a system message that is not the first, or no message of the user
            or of a tool at the end.
    """
    messages = tuple(_message(place, part) for place, part in enumerate(given))
    if any(message.role == "system" for message in messages[1:]):
        message = "Only the first message may have the role system. Join the system messages into one, at the start."
        raise InvalidInput(message)
    if not messages or messages[-1].role not in ANSWERED:
        last = messages[-1].role if messages else "none"
        message = f"The last message must be from the user or a tool; got {last}. Leave out the messages after it."
        raise InvalidInput(message)
    return messages


def conversation_text(messages: Sequence[Message]) -> str:
    """A conversation as text to read: each message after a line with its role."""
    return "\n\n".join(f"{message.role}:\n{message.text}" for message in messages)


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


def packed(message: Message) -> list[Any]:
    """A message as a list of JSON: role and content, then parts and other fields where it has any."""
    more = {"parts": list(message.parts), "fields": dict(message.fields)}
    return [message.role, message.content, *([more] if any(more.values()) else [])]


def unpacked(given: Sequence[Any]) -> Message:
    """The message of such a list.

    Raises:
        ValueError, TypeError: another list.
    """
    role, content, *more = given
    if len(more) > 1 or (more and not (isinstance(more[0], dict) and set(more[0]) <= {"parts", "fields"})):
        message = "a message is a list of role, content and a record of parts and fields"
        raise ValueError(message)
    found = dict(*more)
    return Message(
        role=role, content=content, parts=_text_tuple(found.get("parts", ())), fields=found.get("fields", {})
    )


def _text_tuple(given: Sequence[Any]) -> tuple[str, ...]:
    if not all(isinstance(part, str) for part in given):
        message = "the parts of a message are texts"
        raise TypeError(message)
    return tuple(given)


def _message(place: int, part: object) -> Message:
    if isinstance(part, Message):
        return part
    if not isinstance(part, Mapping) or "role" not in part or not {"content", TOOL_CALLS} & set(part):
        got = f"the keys {_short(sorted(map(str, part)))}" if isinstance(part, Mapping) else type(part).__name__
        message = f"Message {place} (counted from 0) is {got}; give a dictionary with 'role' and 'content'."
        raise InvalidInput(message)
    try:
        content, parts = _content(part.get("content"), has_calls=bool(part.get(TOOL_CALLS)))
        is_own = _OWN_NAMES | ({"type"} if part.get("type") == "message" else set())  # as a response of OpenAI has
        fields = {name: value for name, value in part.items() if name not in is_own}
        return Message(role=part["role"], content=content, parts=parts, fields=fields)
    except InvalidInput as error:
        message = f"Message {place} (counted from 0): {error}"
        raise InvalidInput(message) from error


def _content(given: Any, *, has_calls: bool) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 - from a caller
    """The content as one text, and its parts where there are several; what is neither is refused by `Message`."""
    if given is None and has_calls:
        return "", ()
    if not isinstance(given, list | tuple):
        return given, ()
    parts = tuple(_part_text(part) for part in given)
    return "\n".join(parts), parts if len(parts) > 1 else ()


def _part_text(part: object) -> str:
    """The text of a part of a content, in the form of OpenAI or a plain text."""
    if isinstance(part, str):
        return part
    kind = part.get("type", "text") if isinstance(part, Mapping) else type(part).__name__
    if isinstance(part, Mapping) and kind in _TEXT_PARTS and isinstance(text := part.get("text"), str):
        return text
    message = (
        f"Its content has a part of type {_short(kind)}; only parts of text are read, as in "
        "{'type': 'text', 'text': ...}. The model is shown no image, sound or file: leave that part out."
    )
    raise InvalidInput(message)


def _checked_fields(given: object, role: str) -> dict[str, Any]:
    """A copy of the fields that say something."""
    try:
        fields = json.loads(json.dumps(dict(given) if isinstance(given, Mapping) else given, allow_nan=False))
        size = len(json.dumps(fields, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        message = (
            f"Got a message of role {role} whose fields are not JSON data ({_short(str(error))}). Give texts, "
            "numbers, lists and dictionaries."
        )
        raise InvalidInput(message) from error
    if not isinstance(fields, dict) or size > LONGEST_FIELDS or is_deep(fields):
        message = (
            f"Got a message of role {role} whose fields are not a dictionary, longer than {LONGEST_FIELDS:,} bytes, or "
            f"nested more than {DEEPEST_FIELDS} deep. Give fewer of them."
        )
        raise InvalidInput(message)
    if own := sorted(_OWN_NAMES & set(fields)):
        message = f"Got a message of role {role} with a field named {own[0]}. Give the {own[0]} beside the fields."
        raise InvalidInput(message)
    return {name: value for name, value in fields.items() if value not in _NOTHING}


def is_deep(value: object, *, most: int = DEEPEST_FIELDS) -> bool:
    """Whether data of JSON has more lists and dictionaries in each other than are taken."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, dict | list) and (most <= 1 or is_deep(one, most=most - 1)) for one in inner)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _short(value: object, longest: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


def default_template(template: str | Mapping[str, str] | None) -> str | None:
    """The chat template that is applied: of named ones the default, or the only one; None where there is no such."""
    if not isinstance(template, Mapping):
        return template
    return template.get("default") or (next(iter(template.values())) if len(template) == 1 else None)


def option_names(template: str | Mapping[str, str] | None) -> tuple[str, ...]:
    """Variables that a chat template takes as options, in alphabetical order; none where it cannot be parsed."""
    source = default_template(template)
    return _option_names(source) if source else ()


def parsed_template(source: str) -> nodes.Template | None:
    """The syntax tree of a chat template; None where it cannot be parsed."""
    environment = Environment(extensions=["jinja2.ext.loopcontrols"])  # noqa: S701 - it renders nothing
    try:
        return environment.parse(_GENERATION.sub("", source))
    except _FAILURES:
        return None


@lru_cache(maxsize=8)
def _option_names(template: str) -> tuple[str, ...]:
    """A variable that the template sets itself counts only if it has a default or is tested for being defined."""
    if (tree := parsed_template(template)) is None:
        return ()
    names = meta.find_undeclared_variables(tree) - RESERVED_OPTIONS - _FUNCTIONS - set(DEFAULT_NAMESPACE)
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
    tested = {
        found.node.name
        for found in tree.find_all((nodes.Test, nodes.Filter))
        if found.name in _TESTS and isinstance(found.node, nodes.Name)
    }
    return tuple(sorted(names - (own - tested)))
