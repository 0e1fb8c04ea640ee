"""Which tokens of an answer are thinking: those between a model's thinking marks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

PROMPT_TOKENS = 64  # as many of the prompt's last tokens can open a thinking part, a token being one character or more

# A mark names thinking between brackets: <think>, [/THINK], <|END_THINKING|>, <seed:think>, <|end_of_thought|>.
_MARK = re.compile(
    r"[<\[◁](?P<closes>\|?/\|?)?\|?(?:\w+:)?(?:(?P<edge>start|begin|end)_(?:of_)?)?"
    r"(?:think|thinking|thoughts?|reasoning)(?:_(?P<last>start|begin|end))?\|?[>\]▷]",
    re.IGNORECASE,
)
_SIDE = re.compile(r"/|(?:start|begin|end)_(?:of_)?|_(?:start|begin|end)\b", re.IGNORECASE)  # of two marks, which it is
# In the harmony format of gpt-oss, what stands before the message of the final channel is not meant for the user.
_HARMONY = re.compile(
    rb"(?P<close><\|channel\|>\s*final\b[^<]*<\|message\|>)|(?P<open><\|channel\|>[^<]*(?:<\|message\|>)?)"
)


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Texts that begin and texts that end the thinking of a model."""

    opening: frozenset[str] = frozenset()
    closing: frozenset[str] = frozenset()

    def __or__(self, other: "Marks") -> "Marks":
        """Both together."""
        return Marks(opening=self.opening | other.opening, closing=self.closing | other.closing)


USUAL_MARKS = Marks(opening=frozenset({"<think>", "[THINK]"}), closing=frozenset({"</think>", "[/THINK]"}))


def marks_in(text: str) -> Marks:
    """The thinking marks that a text has, by their form, and their counterparts with or without a slash."""
    found = _found(text)
    return found | Marks(
        opening=frozenset(mark.replace("/", "", 1) for mark in found.closing if "/" in mark),
        closing=frozenset(f"{mark[0]}/{mark[1:]}" for mark in found.opening),
    )


def pairs_in(text: str) -> Marks:
    """The thinking marks of which a text has both, the opening and the closing one; prose may have a single one."""
    found = _found(text)
    both = {_SIDE.sub("", mark) for mark in found.opening} & {_SIDE.sub("", mark) for mark in found.closing}
    return Marks(
        opening=frozenset(mark for mark in found.opening if _SIDE.sub("", mark) in both),
        closing=frozenset(mark for mark in found.closing if _SIDE.sub("", mark) in both),
    )


def has_marks(answer: bytes) -> bool:
    """Whether a text has a thinking mark, by its form."""
    marks = marks_in(answer.decode(errors="replace"))
    return bool(marks.opening | marks.closing) or bool(_HARMONY.search(answer))


def thinking_span(
    prompt_end: Sequence[bytes], answer: Sequence[bytes], marks: Marks = USUAL_MARKS
) -> tuple[int, int] | None:
    """The answer tokens that are thinking, marks included, as (start, stop), stop exclusive; None where none are.

    Arguments are the bytes of the tokens, and the marks of the model. Thinking starts at the first mark, which only
    white space may precede, or at token 0 where the prompt ends with an opening mark, or where the first mark in the
    answer is a closing one. It ends with the last closing mark that has an opening one before it, or with the first
    where it has none; where the last opening mark is never closed, it ends with the answer.
    """
    return _between(_pattern(marks), prompt_end, answer) or _between(_HARMONY, prompt_end, answer)


def _found(text: str) -> Marks:
    found = [(mark[0], _closes(mark)) for mark in _MARK.finditer(text)]
    return Marks(
        opening=frozenset(mark for mark, closes in found if not closes),
        closing=frozenset(mark for mark, closes in found if closes),
    )


def _closes(mark: re.Match[str]) -> bool:
    return bool(mark["closes"]) or "end" in {(mark[name] or "").lower() for name in ("edge", "last")}


@lru_cache(maxsize=8)
def _pattern(marks: Marks) -> re.Pattern[bytes]:
    groups = {"open": marks.opening, "close": marks.closing}
    longest_first = {name: sorted(map(str.encode, texts), key=len, reverse=True) for name, texts in groups.items()}
    return re.compile(
        b"|".join(
            b"(?P<%s>%s)" % (name.encode(), b"|".join(map(re.escape, one)) or b"(?!)")
            for name, one in longest_first.items()
        )
    )


def _between(marks: re.Pattern[bytes], prompt_end: Sequence[bytes], answer: Sequence[bytes]) -> tuple[int, int] | None:
    text = b"".join(answer)
    found = list(marks.finditer(text))
    is_open, start = _is_open_after(marks, b"".join(prompt_end)), 0
    if not is_open:
        if not found or (found[0]["open"] and text[: found[0].start()].strip()):
            return None
        is_open, start = True, found[0].start() if found[0]["open"] else 0
    stop = len(text)
    for mark in found:
        if mark["open"]:
            is_open = True
        elif is_open:
            is_open, stop = False, mark.end()
    ends = np.cumsum([len(piece) for piece in answer])
    first_token = int(np.count_nonzero(ends <= start)) if start else 0
    return first_token, _token_after(ends, len(text) if is_open else stop)


def _token_after(ends: np.ndarray, stop: int) -> int:
    """The first token after a text that is `stop` bytes long; a text of everything has all tokens."""
    return len(ends) if stop == ends[-1] else int(np.searchsorted(ends, stop)) + 1


def _is_open_after(marks: re.Pattern[bytes], prompt_end: bytes) -> bool:
    """Whether the prompt ends with an opening mark, but for white space."""
    found = list(marks.finditer(prompt_end))
    return bool(found) and bool(found[-1]["open"]) and not prompt_end[found[-1].end() :].strip()
