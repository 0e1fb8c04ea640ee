"""The marks around the thinking of a model, from what its chat template writes and cuts, and from its tokens."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import nodes

from rauq.model.templates.template import FAILURES, render
from rauq.trace.messages import THINKING_FIELDS, default_template, parsed_template
from rauq.trace.thinking import USUAL_MARKS, Marks, has_marks, marks_in, pairs_in

_QUESTION, _THINKING, _ANSWER = "\ue000", "\ue001", "\ue002"  # texts that no template has
_CHANNEL = Marks(opening=frozenset({"<|channel>"}), closing=frozenset({"<channel|>"}))  # Gemma 4's, beside calls alone
_LENGTHS = range(4, 61)  # characters of a mark
_MOST_TRIED = 300  # texts of a template; anyone may have written it


def marks_of(tokenizer: Any) -> Marks:
    """The thinking marks of a model: those among its tokens, pairs in its template, and those that this acts on.

    A template may begin an answer with a mark, cut off what stands before one in earlier answers, and write thinking
    between two marks.
    """
    source = default_template(tokenizer.chat_template) or ""
    texts, begun = sorted(set(_texts_of(source))), _begun(tokenizer)
    found = USUAL_MARKS | pairs_in("\n".join(texts)) | marks_in("\n".join(tokenizer.get_added_vocab()))
    found |= marks_in(begun) if begun in marks_in(begun).opening else Marks()
    found |= _CHANNEL if _CHANNEL.opening | _CHANNEL.closing <= set(texts) else Marks()
    for name in THINKING_FIELDS:
        found |= _written_around(tokenizer, name) if name in source else Marks()
    if "split" in source or "partition" in source:
        others = [text for text in texts if not any(mark in text for mark in found.opening | found.closing)]
        found |= _cut_at(tokenizer, [text for text in others if len(text) in _LENGTHS][:_MOST_TRIED], begun)
    return found


def _texts_of(source: str) -> Iterator[str]:
    """All texts that a template has in itself, without the white space around them."""
    if (tree := parsed_template(source)) is None:
        return
    texts = [node.data for node in tree.find_all(nodes.TemplateData)]
    texts += [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    yield from filter(None, map(str.strip, texts))


def _begun(tokenizer: Any) -> str:
    """What the template begins an answer with, and does not write before an earlier one; empty where it fails."""
    before, answer, _ = _rendered(tokenizer, {"content": _ANSWER}, asked_again=True).partition(_ANSWER)
    written = _rendered(tokenizer)
    return written.removeprefix(before.rstrip()).strip() if answer and written.startswith(before.rstrip()) else ""


def _cut_at(tokenizer: Any, texts: Sequence[str], begun: str) -> Marks:
    """Those texts up to which the template cuts an earlier answer, if they are marks.

    One is a mark by its form, or since the template begins an answer with its counterpart. Others, such as "Answer:",
    are text: a closing mark alone ends the thinking, and would cut an answer that mentions it.
    """
    named = {text for text in texts if text in marks_in(text).closing}
    has_opening = begun and not has_marks(begun.encode())
    cut = {text for text in (texts if has_opening else named) if _is_cut_at(tokenizer, text)}
    marks = marks_in("\n".join(cut & named))
    return marks | Marks(opening=frozenset({begun}), closing=frozenset(cut - named)) if cut - named else marks


def _is_cut_at(tokenizer: Any, mark: str) -> bool:
    """Whether the template leaves out what stands before this text in an earlier answer."""
    text = _rendered(tokenizer, {"content": f"{_THINKING}{mark}{_ANSWER}"}, asked_again=True)
    return _THINKING not in text and _ANSWER in text


def _written_around(tokenizer: Any, name: str) -> Marks:
    """What the template writes around this field of an answer, and only if there is one."""
    without = _rendered(tokenizer, {"content": _ANSWER})
    before, _, rest = _rendered(tokenizer, {"content": _ANSWER, name: _THINKING}).partition(_THINKING)
    same = next(
        (place for place, (one, two) in enumerate(zip(before, without, strict=False)) if one != two), len(before)
    )
    opening = before[same:].strip()
    closing = rest.partition(_ANSWER)[0].strip()
    if not (opening and closing and _ANSWER in rest):
        return Marks()
    return Marks(opening=frozenset({opening}), closing=frozenset({closing}))


def _rendered(tokenizer: Any, answer: Mapping[str, str] | None = None, *, asked_again: bool = False) -> str:
    """A question, this answer if there is one, and the question once more if asked; empty if the template fails."""
    question = {"role": "user", "content": _QUESTION}
    turns = [question, *([{"role": "assistant", **answer}] if answer else []), *([question] if asked_again else [])]
    try:
        return render(tokenizer, turns, {})
    except FAILURES:
        return ""
