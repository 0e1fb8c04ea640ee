"""Where sentences end, without a trained model."""

import re

_ENDING = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]*\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|vs|etc|cf|Inc|Ltd|Co|e\.g|i\.e|[A-Z])|\.[a-zA-Z])\.\s+$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order and stripped; none where there is no text.

    A full stop behind an abbreviation or an initial ends nothing, nor does any mark before a small letter.
    """
    sentences, start = [], 0
    for ending in _ENDING.finditer(text):
        following = text[ending.end() : ending.end() + 1]
        if following.islower() or _ABBREVIATION.search(text[start : ending.end()]):
            continue
        sentences.append(text[start : ending.end()].strip())
        start = ending.end()
    return [sentence for sentence in (*sentences, text[start:].strip()) if sentence]
