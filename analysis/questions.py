"""Which questions are the same: equal and nearly equal ones are one cluster, the unit of intervals, tests and folds.

Questions are joined where they ask in the same words, whatever their case, punctuation and frame. A threshold of
similarity would fail: questions on two facts may differ in one word, while an appended instruction has many words.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.normalisation import plain_text, plain_words

MANY, SHARE = 10, 0.01
"""An instruction stands around at least so many questions, and around this share of all."""

MOST_WORDS, EXCERPT, MOST_SENTENCES = 30, 100, 20
"""What is longer than so many words is a passage, not an instruction, unless it stands around so many questions."""


@dataclass(frozen=True)
class Framed:
    """What a question asks, and the sentences around it that may be an instruction."""

    core: tuple[str, ...]
    frame: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def num_words(self) -> int:
        """Words of the frame."""
        return sum(len(sentence.split()) for part in self.frame for sentence in part)


@dataclass(frozen=True)
class Asked:
    """The sentences of a question in plain words, which of them end with a question mark, and its choices, sorted."""

    sentences: tuple[str, ...]
    interrogative: tuple[bool, ...]
    choices: tuple[str, ...]


def clusters_of(questions: Sequence[str], *, apart: bool = False) -> np.ndarray:
    """A label (A,) for each of A questions, the same for equal and near-duplicate ones, counted from 0 as they come.

    Near-duplicates differ in case, punctuation, accents, articles and contractions (What's), in the order of their
    choices, in labels (Q: A:) and leftovers of a chat template, and in sentences before and after them that many other
    questions have too, which are instructions. The clusters depend neither on the order of the questions nor on how
    often each is there. A question without words is the same as an equal one alone. `apart`: only equal questions are
    one cluster.
    """
    labels: dict[str, int] = {}
    keys = questions if apart else keys_of(questions)
    return np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.int64)


def joined(questions: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The different texts of each cluster that has several, the largest clusters first."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for key, text in zip(keys_of(questions), questions, strict=True):
        found[key][text] = None
    return tuple(sorted((tuple(texts) for texts in found.values() if len(texts) > 1), key=len, reverse=True))


def about_joined(groups: Sequence[Sequence[str]], *, apart: bool) -> str:
    """How many near-duplicate questions count as one, as a sentence; empty where there are none."""
    if not groups:
        return ""
    texts, count = sum(map(len, groups)), len(groups)
    how = "count as different questions" if apart else f"count as {count:,} question{'' if count == 1 else 's'}"
    return f"{texts:,} near-duplicate questions {how}."


def as_first_asked(questions: Sequence[str], *, apart: bool = False) -> tuple[str, ...]:
    """Each of A questions as the first of its cluster is asked: equal texts for near-duplicates, unless `apart`."""
    first: dict[str, str] = {}
    if apart:
        return tuple(questions)
    return tuple(first.setdefault(key, text) for key, text in zip(keys_of(questions), questions, strict=True))


def hashes_of(questions: Sequence[str]) -> np.ndarray:
    """A hash (A,) of each of A questions as uint64, the same for near-duplicates: it stands for them in files."""
    digests = (
        hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest() for key in keys_of(questions)
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def keys_of(questions: Sequence[str]) -> list[str]:
    """What each of A questions asks, in plain words: equal for near-duplicates, as in `clusters_of`."""
    asked = {text: _asked(text) for text in dict.fromkeys(questions)}
    cores = _cores(list(dict.fromkeys(asked.values())))
    keys = {text: "\n".join((" ".join(cores[own]), *own.choices)).strip() for text, own in asked.items()}
    return [keys[text] or text.strip() for text in questions]


_APOSTROPHES = str.maketrans(dict.fromkeys("`\u00b4\u02bc\u2032\u2018\u2019\u201b", "'"))
_TEMPLATE = re.compile(
    r"<\|[^|<>\n]{1,40}\|>(?:\s*(?:system|developer|user|assistant|tool)\b)?"
    r"|<(?:start|end)_of_turn>(?:\s*(?:user|model)\b)?|</?s>|<[be]os>|\[/?INST\]|<</?SYS>>"
)
_NAMES = (
    "question answer problem query instruction input prompt request user human assistant response output frage antwort "
    "pregunta respuesta domanda risposta pergunta resposta reponse вопрос ответ 问题 答案 質問 回答 "
    "سؤال السؤال جواب الجواب"
)
_NAME = f"(?:{'|'.join(_NAMES.split())})"
_LABEL = f"(?:{_NAME}|[qa问答])"
_LABELLED = re.compile(
    rf"[#*\s]*(?:{_LABEL}(?:[ ]\w{{1,12}})?|[^:?!.\n]{{1,60}}\b{_NAME}(?:[ ]\w{{1,12}})?)[*\s]*:[*\s]*", re.IGNORECASE
)
_ENDS_WITH_LABEL = re.compile(rf"(?:^|(?<=[\s*#])){_LABEL}\s*:[*\s]*$", re.IGNORECASE)
_END = re.compile(r"(?<=[.?!\u2026\u061f])[\"'\u201d)\]*]*\s+|(?<=[\u3002\uff01\uff1f])[\u201d\u300d\uff09]*|\n")
_INTERROGATIVE = re.compile(r"[?\u061f\uff1f\u037e][\"'\u201d)\]*\s]*$")
_CHOICE = re.compile(r"(?:(?<=\s)|^)[(\[]?([A-Ja-j])[)\].:]\s+")


def _asked(text: str) -> Asked:
    plain = _TEMPLATE.sub("\n", plain_text(text.translate(_APOSTROPHES)))
    stem, choices = _choices(plain)
    parts = [(part, _words(part)) for part in _sentences(stem)]
    found = [(words, bool(_INTERROGATIVE.search(part))) for part, words in parts if words]
    return Asked(
        tuple(words for words, _ in found),
        tuple(asks for _, asks in found),
        tuple(sorted(_words(choice) for choice in choices)),
    )


def _sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, without labels such as Q: and Answer:."""
    return map(_unlabelled, _END.split(text))


def _unlabelled(sentence: str) -> str:
    sentence = _ENDS_WITH_LABEL.sub("", sentence).strip("* ").lstrip("# ")
    while label := _LABELLED.match(sentence):
        sentence = sentence[label.end() :]
    return sentence


def _choices(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without its choices A, B, ..., and these; none where fewer than two follow each other."""
    marks: list[re.Match[str]] = []
    for mark in _CHOICE.finditer(text):
        if ord(mark[1].upper()) - ord("A") == len(marks):
            marks.append(mark)
    if len(marks) < 2:
        return text, ()
    stops = [mark.start() for mark in marks[1:]]
    last, _, rest = text[marks[-1].end() :].partition("\n")
    choices = [text[mark.end() : stop] for mark, stop in zip(marks, stops, strict=False)]
    return f"{text[: marks[0].start()]}\n{rest}", (*choices, _unlabelled(last))


_CONTRACTED = re.compile(r"(?<=\w)(?:(n)'t|'(re|ve|ll|m))\b|\b((?:what|who|where|when|how)s)\b", re.IGNORECASE)
_MEANT: Mapping[str, str] = {"n": " not", "re": " are", "ve": " have", "ll": " will", "m": " am"}
_OPERATOR = re.compile(r"(?<=[\d)])\s*([-*/\u2013])\s*(?=[\d(])")
_OPERATION: Mapping[str, str] = {"-": " minus ", "\u2013": " minus ", "*": " times ", "/": " over "}
_EMPTY = re.compile(r"(?<!\S)(?:a|an|the|is|please) (?=\S)")  # the last word is a name, as in vitamin A


def _words(text: str) -> str:
    """The words that tell a question from others, one space apart."""
    text = _CONTRACTED.sub(_expanded, text)
    text = _OPERATOR.sub(lambda found: _OPERATION[found[1]], text)
    return _EMPTY.sub("", " ".join(plain_words(text)))


def _expanded(found: re.Match[str]) -> str:
    return found[3][:-1] if found[3] else _MEANT[(found[1] or found[2]).lower()]


def _cores(asked: Sequence[Asked]) -> dict[Asked, tuple[str, ...]]:
    """What each question asks, without the instruction around it."""
    stands_in: defaultdict[str, int] = defaultdict(int)
    for own in asked:
        for sentence in set(own.sentences):
            stands_in[sentence] += 1
    many = max(MANY, SHARE * len(asked))
    framed = {own: list(_framed(own, stands_in, many)) for own in asked}
    around: defaultdict[object, set[object]] = defaultdict(set)
    for own, readings in framed.items():
        for one in readings:
            around[one.frame].add((one.core, own.choices))
    return {
        own: next((reading.core for reading in reversed(readings) if len(around[reading.frame]) >= many), own.sentences)
        for own, readings in framed.items()
    }


def _framed(asked: Asked, stands_in: Mapping[str, int], many: float) -> Iterator[Framed]:
    """A question with more and more of its outer sentences taken for an instruction, the most frequent first.

    What asks is no instruction, nor is the sentence that the fewest other questions have.
    """
    first, last = 0, len(asked.sentences)
    rarest = min((stands_in[sentence] for sentence in asked.sentences), default=0)

    def weight(place: int) -> int:
        count = stands_in[asked.sentences[place]]
        return 0 if asked.interrogative[place] or count == rarest else count

    while last - first > 1 and len(asked.sentences) - (last - first) < MOST_SENTENCES:
        before, after = weight(first), weight(last - 1)
        if max(before, after) < many:
            return
        first, last = (first + 1, last) if before >= after else (first, last - 1)
        framed = Framed(asked.sentences[first:last], (asked.sentences[:first], asked.sentences[last:]))
        if framed.num_words > MOST_WORDS and max(before, after) < EXCERPT:
            return
        yield framed
