"""Prompts to which a chat template was applied already: recognised by their beginning, and left as they are."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rauq.errors import InvalidInput
from rauq.model.templates.template import written_or_empty
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message

_SYSTEM, _USER, _ANSWER = "\ue000", "\ue001", "\ue002"  # texts that no template has
_LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")
_ESCAPED_ENDS = re.compile(r"(?:\\r)?\\n")


@dataclass(frozen=True, kw_only=True)
class Templated:
    """A text with the template in it, as the model is to see it, and whether its line ends were changed for that."""

    text: str
    has_other_ends: bool = False


def as_templated(tokens: Tokens, text: str) -> Templated | None:
    """A prompt with its template in it, with the line ends of the template; None for any other text.

    Line ends are changed in the whole text if those of the template's own lines are others, as in a file of Windows.

    Raises:
        InvalidInput: the line ends of the template are written as a backslash and a letter.
    """
    text = text.lstrip().removeprefix("\ufeff")
    changed = _LINE_ENDS.sub("\n", text)
    if is_templated(tokens, changed):
        has_other_ends = changed != text and _has_own_line(tokens, text, _LINE_ENDS)
        return Templated(text=changed if has_other_ends else text, has_other_ends=has_other_ends)
    if _ESCAPED_ENDS.search(text) and is_templated(tokens, _ESCAPED_ENDS.sub("\n", text)):
        message = (
            "This prompt already contains the chat template, but its line ends are written as a backslash and the "
            "letter n. Write real line ends, or give the question alone, to which the template is then applied."
        )
        raise InvalidInput(message)
    return None


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
    if not tokens.tokenizer.chat_template or not _has_special(tokens, text):
        return False
    begin, (_, closing) = tokens.tokenizer.bos_token or "", _around_question(tokens)
    is_whole = _has_special(tokens, closing) and text.rstrip().endswith(closing.rstrip())
    return any(
        text.lstrip().startswith((opening, begin + opening)) and (is_whole or _names_role(tokens, opening))
        for opening in _openings(tokens)
    )


def end_of_answer(tokens: Tokens, end_ids: Collection[int]) -> int | None:
    """The first of these end tokens that the template writes after an answer; None where it writes none, or fails."""
    conversation = [Message(role="user", content=_USER), Message(role="assistant", content=_ANSWER)]
    after = tokens.encode(written_or_empty(tokens.tokenizer, conversation).rpartition(_ANSWER)[2], special=False)
    return next((token for token in after if token in end_ids), None)


def _has_own_line(tokens: Tokens, text: str, ends: re.Pattern[str]) -> bool:
    """Whether a line that the template itself writes ends otherwise in this text."""
    system, user = Message(role="system", content=_SYSTEM), Message(role="user", content=_USER)
    talk = [user, Message(role="assistant", content=_ANSWER), user]
    written = _USER.join(written_or_empty(tokens.tokenizer, messages) for messages in (talk, [system, *talk]))
    pieces = re.split(f"[{_SYSTEM}{_USER}{_ANSWER}]", written)
    own = {line.rstrip("\n") for piece in pieces for line in piece.splitlines(keepends=True) if line.endswith("\n")}
    return any(re.search(re.escape(line) + f"(?:{ends.pattern})", text) for line in own if line.strip())


def _openings(tokens: Tokens) -> Iterator[str]:
    """How a templated text may begin; first lines alone, since dates may follow."""
    system, user = Message(role="system", content=_SYSTEM), Message(role="user", content=_USER)
    begin = tokens.tokenizer.bos_token or ""
    for messages in ([user], [system, user]):
        before, _, after = written_or_empty(tokens.tokenizer, messages).partition(messages[0].content)
        between = after.partition(_USER)[0] if messages[1:] else ""
        starts = [between.rfind(name) for name in tokens.special_names if name in between]
        for opening in (before, before.removeprefix(begin), *(between[start:] for start in starts)):
            line = "".join(opening.splitlines(keepends=True)[:1])
            if line.removeprefix(begin).strip() and (_has_special(tokens, line) or line == opening == before):
                yield line


def _around_question(tokens: Tokens) -> tuple[str, str]:
    """What the template writes before and after a question of the user; empty where it fails."""
    before, _, after = written_or_empty(tokens.tokenizer, [Message(role="user", content=_USER)]).partition(_USER)
    return before, after


def _names_role(tokens: Tokens, opening: str) -> bool:
    """Whether an opening has a special token and further text."""
    rest = opening
    for name in tokens.special_names:
        rest = rest.replace(name, "")
    return _has_special(tokens, opening) and bool(rest.strip())


def _has_special(tokens: Tokens, text: str) -> bool:
    return any(name in text for name in tokens.special_names)
