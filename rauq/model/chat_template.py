"""The chat template of a tokenizer: apply it to messages, and recognise a text to which it was applied already."""

from collections.abc import Collection, Iterator, Sequence

from jinja2 import TemplateError

from rauq.errors import InvalidInput
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message, TemplateOptions, option_names

_FAILURES = (TemplateError, TypeError, ValueError)
_SYSTEM, _USER, _ANSWER = "RAUQ-PROBE-SYSTEM", "RAUQ-PROBE-USER", "RAUQ-PROBE-ANSWER"


def encode_chat(tokens: Tokens, messages: Sequence[Message], options: TemplateOptions) -> list[int]:
    """Token ids of a conversation, up to where the assistant begins.

    Raises:
        InvalidInput: no chat template, or one that fails, leaves out a message or has no such option.
    """
    _check_template(tokens, options)
    try:
        rendered = _render(tokens, messages, options)
    except _FAILURES as error:
        raise InvalidInput(_refusal(messages, error)) from error
    _check_complete(messages, rendered)
    ids: list[int] = tokens.tokenizer(rendered, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def end_of_answer(tokens: Tokens, end_ids: Collection[int]) -> int | None:
    """The first of these end tokens that the template writes after an answer; None where it writes none, or fails."""
    conversation = [Message(role="user", content=_USER), Message(role="assistant", content=_ANSWER)]
    try:
        rendered = _render(tokens, conversation, {}) if tokens.tokenizer.chat_template else ""
    except _FAILURES:
        return None
    after = tokens.encode(rendered.rpartition(_ANSWER)[2], special=False)
    return next((token for token in after if token in end_ids), None)


def encode_templated(tokens: Tokens, text: str) -> list[int]:
    """Token ids of a text to which the chat template was applied already.

    White space at its start is left out, and a begin token is added only where the template writes one.
    """
    begin, (before, _) = tokens.tokenizer.bos_token, _around_question(tokens)
    return tokens.encode(text.lstrip(), special=bool(begin) and before.startswith(begin))


def is_templated(tokens: Tokens, text: str) -> bool:
    """Whether a text is a prompt to which this tokenizer's chat template was applied already.

    It is one if it begins, apart from white space and the begin token, with what the template writes before a message:
    a special token and the role, as in "<|im_start|>user" and a line break. Where the template has no such pair, the
    text must also end with what the template writes before the assistant's answer. A text that has these marks
    elsewhere only mentions them.
    """
    if not tokens.tokenizer.chat_template or not any(name in text for name in tokens.special_names):
        return False
    begin, (_, closing) = tokens.tokenizer.bos_token or "", _around_question(tokens)
    is_whole = _has_special(tokens, closing) and text.rstrip().endswith(closing.rstrip())
    return any(
        text.lstrip().startswith((opening, begin + opening)) and (is_whole or _names_role(tokens, opening))
        for opening in _openings(tokens)
    )


def _check_template(tokens: Tokens, options: TemplateOptions) -> None:
    template = tokens.tokenizer.chat_template
    if not template:
        message = (
            "This model has no chat template, which messages, a system prompt and chat=True need. Give the prompt as "
            "one text, or choose a chat model."
        )
        raise InvalidInput(message)
    names = option_names(template) if options else ()
    for name in options:
        if name not in names:
            known = f"its options are {', '.join(names)}" if names else "it has no options"
            message = f"The chat template of this tokenizer has no option {name}; {known}. Leave it out."
            raise InvalidInput(message)


def _render(tokens: Tokens, messages: Sequence[Message], options: TemplateOptions) -> str:
    turns = [{"role": message.role, "content": message.content} for message in messages]
    rendered: str = tokens.tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False, **options)
    return rendered


def _refusal(messages: Sequence[Message], error: Exception) -> str:
    if messages[0].role == "system":
        todo = "Leave out the system prompt, or put its text at the start of the first user message."
    elif len(messages) > 1:
        todo = "Most templates need user and assistant messages in turn, the user's first."
    else:
        todo = "Pass chat=False to leave the template out."
    return f"The chat template of this tokenizer fails ({error}). {todo}"


def _check_complete(messages: Sequence[Message], rendered: str) -> None:
    """Earlier answers of the assistant may be shortened, such as by their thinking; nothing else may be lost."""
    for message in messages:
        if len(messages) > 1 and message.role != "assistant" and message.content.strip() not in rendered:
            error = (
                f"The chat template of this tokenizer leaves out or changes a message of role {message.role}, so the "
                "model would not see it. Leave that message out, or put its text into the last user message."
            )
            raise InvalidInput(error)


def _openings(tokens: Tokens) -> Iterator[str]:
    """How a templated text may begin; first lines alone, since dates may follow."""
    system, user = Message(role="system", content=_SYSTEM), Message(role="user", content=_USER)
    begin = tokens.tokenizer.bos_token or ""
    for messages in ([user], [system, user]):
        try:
            rendered = _render(tokens, messages, {})
        except _FAILURES:
            continue
        before, _, after = rendered.partition(messages[0].content)
        between = after.partition(_USER)[0] if messages[1:] else ""
        starts = [between.rfind(name) for name in tokens.special_names if name in between]
        for opening in (before, before.removeprefix(begin), *(between[start:] for start in starts)):
            line = "".join(opening.splitlines(keepends=True)[:1])
            if line.removeprefix(begin).strip() and (_has_special(tokens, line) or line == opening == before):
                yield line


def _around_question(tokens: Tokens) -> tuple[str, str]:
    """What the template writes before and after a question of the user; empty where it fails."""
    try:
        before, _, after = _render(tokens, [Message(role="user", content=_USER)], {}).partition(_USER)
    except _FAILURES:
        return "", ""
    return before, after


def _names_role(tokens: Tokens, opening: str) -> bool:
    """Whether an opening has a special token and further text."""
    rest = opening
    for name in tokens.special_names:
        rest = rest.replace(name, "")
    return _has_special(tokens, opening) and bool(rest.strip())


def _has_special(tokens: Tokens, text: str) -> bool:
    return any(name in text for name in tokens.special_names)
