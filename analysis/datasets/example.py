"""What is asked and what is known of the answer: one row of a data set, and the data set."""

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Example:
    """One prompt, and whatever the data set knows about good answers to it.

    `references`: accepted answers. `source`: the text that a summary or a translation is made from. `question`: what
    is asked, without worked examples; the prompt where that is all there is. `answer`: text to be scored as it is;
    None: the model answers. `quality`: how good that answer is, from the user; higher is better. `group` tells task
    families or languages apart, `stratum` the rows of a group, `error_label` the kind of error. `facts`: texts that
    carry the fact wherever they stand in the answer.
    """

    id: str
    prompt: str
    references: tuple[str, ...] = ()
    source: str = ""
    question: str = ""
    answer: str | None = None
    quality: float | None = None
    group: str = ""
    stratum: str = ""
    error_label: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rejected:
    """A row that could not be used: its number in the file, counted from 1 below the header, and why."""

    row: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Examples in order, the rows that were rejected, and how they are meant to be answered and judged.

    `notes`: sentences on how the rows were read, such as how many were left out. `quality` is the id of a measure of
    `analysis.quality`, and `quality_reason` says why it was chosen. `stop=None`: a newline for a base model, none for
    instruct. `chat`: whether the model's chat template is applied; None: where it has one.
    """

    name: str
    examples: tuple[Example, ...]
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()
    quality: str = "none"
    quality_reason: str = ""
    max_new_tokens: int = 128
    stop: tuple[str, ...] | None = None
    chat: bool | None = None

    @property
    def fingerprint(self) -> str:
        """The sha256 of the examples: equal where the same is asked."""
        rows = json.dumps([asdict(example) for example in self.examples], sort_keys=True)
        return hashlib.sha256(rows.encode(errors="surrogatepass")).hexdigest()
