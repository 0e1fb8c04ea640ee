"""A data set, its rows, each a prompt and what is known about correct answers, and fewer of them, chosen by a seed."""

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from analysis.normalisation import num_words
from rauq.errors import InvalidInput

Span = tuple[int, int]  # characters of an answer, the last exclusive
_LATER = frozenset(
    {"wrong", "conversation", "wrong_spans", "unclear_spans"}
)  # fields that examples have had since fingerprints exist

LONGEST_NAME = 5  # words: answers repeat a short reference, and paraphrase a longer one
_SHARE = 0.9  # of the rows: a few long titles among names change nothing


@dataclass(frozen=True, kw_only=True)
class Example:
    """One prompt, and what the data set states about correct answers to it.

    `references`: accepted answers. `source`: the text that a summary or a translation is made from. `question`: what
    is asked, without worked examples; the prompt where that is all there is. `conversation`: the messages that end with
    the prompt, as a list in JSON; "" where the prompt is all there is. `answer`: text to be scored as it is;
    None: the model answers. `quality`: how good that answer is, from the user; higher is better. `group` tells task
    families or languages apart, `stratum` the rows of a group, `error_label` the kind of error. `facts`: texts that
    carry the fact wherever they stand in the answer. `wrong`: texts in the given answer that are incorrect, and
    `wrong_spans` their code points (first, last exclusive), where these are known; `unclear_spans` are neither correct
    nor incorrect.
    """

    id: str
    prompt: str
    conversation: str = ""
    references: tuple[str, ...] = ()
    source: str = ""
    question: str = ""
    answer: str | None = None
    quality: float | None = None
    group: str = ""
    stratum: str = ""
    error_label: str = ""
    facts: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    wrong_spans: tuple[Span, ...] = ()
    unclear_spans: tuple[Span, ...] = ()

    @property
    def asked(self) -> str:
        """The question without worked examples, or the prompt where that is all there is."""
        return self.question or self.prompt

    @property
    def given(self) -> str | list[dict[str, Any]]:
        """What the model is given: the messages of the conversation, or the prompt."""
        return json.loads(self.conversation) if self.conversation else self.prompt


@dataclass(frozen=True)
class Rejected:
    """A row that could not be used: its number in the file, counted from 1 below the header, and why."""

    row: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Examples in order, the rows that were rejected, and how they are meant to be answered and judged.

    `understood`: what the columns of a file were taken for, in one line. `notes`: sentences on how the rows were read,
    such as how many were left out. `quality` is the id of a measure of `analysis.quality`, and `quality_reason` says
    why it was chosen. `stop=None`: a newline for a base model, none for instruct. `chat`: whether the model's chat
    template is applied; None: where it has one.
    """

    name: str
    examples: tuple[Example, ...]
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()
    understood: str = ""
    quality: str = "none"
    quality_reason: str = ""
    max_new_tokens: int = 128
    stop: tuple[str, ...] | None = None
    chat: bool | None = None

    @property
    def is_written(self) -> bool:
        """Whether all of its answers are given."""
        return all(example.answer is not None for example in self.examples)

    @property
    def fingerprint(self) -> str:
        """That of its examples: equal for the same prompts."""
        return fingerprint(self.examples)


def fingerprint(examples: Iterable[Example]) -> str:
    """The sha256 of examples as one list in JSON, without the later fields that are empty."""
    digest, before = hashlib.sha256(b"["), ""
    for example in examples:
        row = json.dumps(_fields(example), sort_keys=True)
        digest.update((before + row).encode(errors="surrogatepass"))
        before = ", "
    digest.update(b"]")
    return digest.hexdigest()


def _fields(example: Example) -> dict[str, object]:
    return {name: value for name, value in asdict(example).items() if name not in _LATER or value}


def not_empty(data: DataSet) -> DataSet:
    """The data set itself.

    Raises:
        InvalidInput: none of its rows can be used; the message says why the first one cannot.
    """
    if not data.examples:
        first = data.rejected[0]
        message = f"No row of {data.name} can be used. Row {first.row}: {first.reason}"
        raise InvalidInput(message)
    return data


def default_quality(examples: Iterable[Example]) -> tuple[str, str]:
    """The id of a measure, and the reason as a sentence; "none" without a reference.

    Where nearly all references are a name or a number, an answer is correct if it names the reference, in a sentence or
    alone: "contains". An answer cannot repeat long references word for word, so its overlap counts: "token_f1".
    """
    lengths = [min(map(num_words, example.references)) for example in examples if example.references]
    if not lengths:
        return "none", ""
    short = sum(length <= LONGEST_NAME for length in lengths)
    rows = f"{short:,} of {len(lengths):,} rows have a reference of at most {LONGEST_NAME} words"
    if short >= _SHARE * len(lengths):
        return "contains", f"{rows}, so an answer is correct if it names its reference, alone or in a sentence."
    return "token_f1", f"Only {rows}, so word overlap between answer and reference is used."


Item = TypeVar("Item")


def spread(examples: Sequence[Example], count: int | None, *, seed: int) -> tuple[Example, ...]:
    """`count` examples in their order, every stratum of every group in proportion; all where that is None."""
    _check_count(count)
    strata = defaultdict(list)
    for place, example in enumerate(examples):
        strata[example.group, example.stratum].append(place)
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, no secret
    ranked = []
    for places in strata.values():
        draw.shuffle(places)
        ranked += [((rank + draw.random()) / len(places), place) for rank, place in enumerate(places)]
    return tuple(examples[place] for place in sorted(place for _, place in sorted(ranked)[:count]))


def sample(items: Sequence[Item], count: int | None, *, seed: int) -> list[Item]:
    """`count` items in their order, each as likely as any other; all where that is None."""
    _check_count(count)
    places = list(range(len(items)))
    random.Random(seed).shuffle(places)  # noqa: S311
    return [items[place] for place in sorted(places[:count])]


def _check_count(count: int | None) -> None:
    if count is not None and count < 1:
        message = f"Got a limit of {count}; it must be at least 1."
        raise InvalidInput(message)
