"""What the paper's summaries have in common, and its translations."""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, Row, part_of, prompt_of, text_of


def summary_of(row: Row, asking: Asking, form: Form, *, source: str, summary: str) -> Example:
    """A text to be summed up, from the columns `source` and `summary`; the paper judges against the text."""
    document = text_of(row, source)
    prompt = prompt_of(form, asking.kind, document)
    return Example(
        id=asking.id,
        prompt=prompt,
        references=(text_of(row, summary),),
        source=document,
        question=prompt,
    )


def translation_of(row: Row, asking: Asking, form: Form, *, source: str) -> Example:
    """A sentence to be translated into English from the language `source`."""
    pair = part_of(row, "translation")
    sentence = text_of(pair, source)
    prompt = prompt_of(form, asking.kind, sentence)
    return Example(id=asking.id, prompt=prompt, references=(text_of(pair, "en"),), source=sentence, question=prompt)
