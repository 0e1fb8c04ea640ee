"""The format of questions and answers as text: few-shot pairs in one of a few frames, then the question.

An example, in the first frame of the places::

    Q: What is the capital of France?
    A: The capital of France is Paris.
    Q: Where is Lyon?
    A:
"""

from collections.abc import Sequence

PLACES = ("Q: {}\nA:", "Question: {}\nAnswer:", "{}")
TRANSLATION = ("{language}: {{}}\nEnglish:", "Translate from {language}: {{}}\nEnglish:")
SUMMARIES = ("Text: {}\nSummary:", "Summarise in one sentence: {}\nSummary:")

Pair = tuple[str, str]  # question, answer


def document(frame: str, pairs: Sequence[Pair]) -> str:
    """Return the pairs as text; every answer ends with a newline."""
    return "".join(f"{frame.format(question)} {answer}\n" for question, answer in pairs)


def prompt(frame: str, shots: Sequence[Pair], question: str) -> str:
    """Return the worked pairs and then the question, ready for the model's answer."""
    return document(frame, shots) + frame.format(question)
