"""How answers are judged where the user chooses no measure: by the length of the references alone."""

from collections.abc import Iterable

from analysis.datasets.example import Example
from analysis.plain_words import num_words

LONGEST_NAME = 5  # words: answers repeat a short reference, and paraphrase a longer one
_SHARE = 0.9  # of the rows: a few long titles among names change nothing


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
    return "token_f1", f"Only {rows}, so the words that answer and reference share are counted."
