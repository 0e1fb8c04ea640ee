"""Whether an answer is like those of a reference: only then does a share of correct answers there say much of it.

That is not so for other scripts; for copies of the prompt, which are confident whether the prompt is right or not; and
for longer written answers, whose largest surprisal is one of more tokens. A loop is no reason, nor is the length of a
generated answer, up to what was measured: the shares of such answers hold (record `likeness`).
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from rauq.recorded.scores import ReferenceScores
from rauq.trace.parts import answer_text, part_of
from rauq.trace.trace import Trace

COPIED_TOKENS = 8  # in a row, that the prompt has too: fewer are a name, or the words of a question
MOST_COPIED = 0.5  # of an answer's tokens
MOST_MEASURED = 128  # tokens of a generated answer: how long those are whose share was measured (record `likeness`)
_SCRIPTS: Mapping[str, str] = MappingProxyType({"Cjk": "Chinese"})  # of the names in Unicode, those that are no word
_RARE = 0.05  # of a reference's answers: scripts of fewer do not count


def why_unlike(trace: Trace, scores: ReferenceScores) -> str:
    """Why no share of correct answers is given for an answer, as a sentence; empty where it is like the reference's."""
    answer = part_of(trace, "answer")
    if answer is None:
        return ""
    found = (_longer(answer, scores), _written(answer, scores), _copied(answer, trace))
    reason = next(filter(None, found), "")
    return f"No share of correct answers: {reason}." if reason else ""


def script_of(text: str) -> str:
    """The script of most letters of a text, such as Latin, Arabic or Chinese; empty where it has no letter."""
    counts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    name = counts.most_common(1)[0][0].capitalize() if counts else ""
    return _SCRIPTS.get(name, name)


def scripts_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The scripts in which at least one in twenty of these texts is written, in alphabetical order."""
    counts = Counter(filter(None, map(script_of, texts)))
    return tuple(sorted(script for script, count in counts.items() if count >= _RARE * counts.total()))


def copied_share(answer: Sequence[int], prompt: Sequence[int]) -> float:
    """The share of an answer's token ids that stand in the prompt too, in rows of at least COPIED_TOKENS."""
    starts = range(len(prompt) - COPIED_TOKENS + 1)
    rows = {tuple(prompt[start : start + COPIED_TOKENS]) for start in starts}
    copied: set[int] = set()
    for start in range(len(answer) - COPIED_TOKENS + 1):
        if tuple(answer[start : start + COPIED_TOKENS]) in rows:
            copied.update(range(start, start + COPIED_TOKENS))
    return len(copied) / max(1, len(answer))


def _longer(answer: Trace, scores: ReferenceScores) -> str:
    length, longest = len(answer.answer_ids), scores.longest
    if longest is None or length <= (longest if scores.written else max(longest, MOST_MEASURED)):
        return ""
    if scores.written or longest >= MOST_MEASURED:
        return f"this answer is longer ({length} tokens) than all of these (at most {longest})"
    return f"this answer has {length} tokens, and the share was compared with answers of at most {MOST_MEASURED}"


def _written(answer: Trace, scores: ReferenceScores) -> str:
    script = script_of(answer_text(answer))
    if not script or not scores.scripts or script in scores.scripts:
        return ""
    return f"this answer is written in {script} script, and these in {' or '.join(scores.scripts)}"


def _copied(answer: Trace, trace: Trace) -> str:
    share = copied_share(answer.answer_ids.tolist(), trace.prompt_ids.tolist())
    if share < MOST_COPIED:
        return ""
    return f"{100 * share:.0f} % of this answer is copied from the prompt, in rows of {COPIED_TOKENS} tokens or more"
