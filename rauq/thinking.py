"""Which tokens of an answer are thinking: those between the model's thinking marks.

Marks are looked for in the bytes of the tokens, so one rule covers marks that are special tokens and marks that the
model spells as plain text.
"""

import re
from collections.abc import Sequence

import numpy as np

PROMPT_TOKENS = 16  # as many of the prompt's last tokens can open a thinking part; the longest mark has about five

_THINK = re.compile(rb"(?P<open><think>|\[THINK\])|(?P<close></think>|\[/THINK\])")
# In the harmony format of gpt-oss, what stands before the message of the final channel is not meant for the user.
_HARMONY = re.compile(
    rb"(?P<close><\|channel\|>\s*final\b[^<]*<\|message\|>)|(?P<open><\|channel\|>[^<]*(?:<\|message\|>)?)"
)


def thinking_span(prompt_end: Sequence[bytes], answer: Sequence[bytes]) -> tuple[int, int] | None:
    """The answer tokens that are thinking, marks included, as (start, stop), stop exclusive; None where none are.

    Arguments are the bytes of the tokens. Thinking starts at the first mark, which only white space may precede, or at
    token 0 where the prompt ends with an opening mark. It ends with the last closing mark that has an opening one
    before it, or, where the last opening mark is never closed, with the answer.
    """
    return _between(_THINK, prompt_end, answer) or _between(_HARMONY, prompt_end, answer)


def _between(marks: re.Pattern[bytes], prompt_end: Sequence[bytes], answer: Sequence[bytes]) -> tuple[int, int] | None:
    text = b"".join(answer)
    is_open, start = _is_open_after(marks, b"".join(prompt_end)), 0
    first = marks.match(text, len(text) - len(text.lstrip()))
    if not is_open:
        if first is None:
            return None
        is_open, start = True, first.start()
    stop = len(text)
    for mark in marks.finditer(text):
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
