"""Recorded answers to prompts like the examples of the paper, in its five kinds; the questions and texts are ours.

The paper shows misconceptions, myths, summaries of biographies, translations of what is bound to a culture, and
questions about rare names. Every prompt is answered by smollm2, and in a form for base models by gemma3-270m.
"""

from dataclasses import dataclass
from typing import Literal

from rauq.recorded.answers import Verdict
from training.real_answers import Chosen

PaperKind = Literal["misconception", "myth", "biography", "translation", "rare name"]
_MOST = {"smollm2": 48, "gemma3-270m": 32}  # new tokens


@dataclass(frozen=True)
class _Answer:
    """What an answer is worth: its verdict, what to see in it, and its texts that state something incorrect."""

    verdict: Verdict
    what_to_see: str
    invented: tuple[str, ...] = ()


def _both(
    kind: PaperKind, title: str, question: str, correct_answer: str, *, smollm2: _Answer, gemma: _Answer, form: str = ""
) -> tuple[Chosen, Chosen]:
    """The answers of both models; `form` is the prompt of the base model, by default the question as one."""
    base = form or f"Question: {question}\nAnswer:"
    rows = (("smollm2", question, smollm2), ("gemma3-270m", base, gemma))
    name = title.lower().replace(" ", "-")
    return tuple(  # type: ignore[return-value]
        Chosen(
            id=f"{name}-{model}",
            name=f"Paper-like, {kind}: {title}, {model}",
            prompt=prompt,
            verdict=own.verdict,
            correct_answer=correct_answer,
            what_to_see=own.what_to_see,
            invented=own.invented,
            model=model,
            max_new_tokens=_MOST[model],
        )
        for model, prompt, own in rows
    )


_ANNING = (
    "Mary Anning grew up in Lyme Regis, where her father sold fossils to visitors. In 1811 she and her brother Joseph "
    "found the skeleton of an ichthyosaur, and in 1823 she uncovered the first complete plesiosaur. She sold her finds "
    "to collectors and was never admitted to a learned society."
)
_LOVELACE = (
    "Ada Lovelace was taught mathematics at home. In 1843 she translated an article about Charles Babbage's Analytical "
    "Engine and added notes three times as long, with a table of steps that computes Bernoulli numbers. She died in "
    "1852, aged 36."
)

PAPER_LIKE: tuple[Chosen, ...] = (
    *_both(
        "misconception", "Tongue", "Which part of the tongue tastes sweet things?", "all of it",
        smollm2=_Answer(
            "incorrect", "No part of the tongue is named, and the rest is invented.",
            ("leaves of the plant", "the plantain"),
        ),
        gemma=_Answer("partly correct", "No part of the tongue is named, so the question is not answered."),
    ),
    *_both(
        "misconception", "Brain", "How much of their brain do people use?", "all of it",
        smollm2=_Answer(
            "incorrect", "Another percentage than that of the misconception, and as wrong.",
            ("processing a staggering 100 billion neurons", "about 2% of those neurons"),
        ),
        gemma=_Answer("correct", "The misconception, ten percent, is not repeated."),
    ),
    *_both(
        "misconception", "Perihelion", "In which month is the Earth closest to the Sun?", "January",
        smollm2=_Answer("correct", "The month is correct; confidence is lowest in what is added after it."),
        gemma=_Answer("correct", "One correct word."),
    ),
    *_both(
        "myth", "Chewing gum", "What happens if you swallow chewing gum?", "it passes through undigested",
        smollm2=_Answer(
            "incorrect", "Invented dangers: confidence collapses at the first one.",
            ("severe consequences", "a rapid and unpredictable increase in blood pressure, which can be fatal"),
        ),
        gemma=_Answer("correct", "Correct, as far as it goes, and the least confident of this model's answers here."),
    ),
    *_both(
        "myth", "Great Wall", "Can the Great Wall of China be seen from the Moon?", "no, it is far too narrow",
        smollm2=_Answer(
            "incorrect", "The myth is repeated; the number after it is invented.",
            ("is indeed visible from the Moon", "approximately 360.25 degrees"),
        ),
        gemma=_Answer("incorrect", "The myth is repeated in one sentence.", ("Yes, it is possible",)),
    ),
    *_both(
        "myth", "Bull", "What makes a bull attack the red cape in a bullfight?", "its movement, not its colour",
        smollm2=_Answer("incorrect", "The question is not answered; the cape becomes a symbol.", ("the bull's aura",)),
        gemma=_Answer(
            "incorrect", "A loop: the repeated sentence is far more confident than the first.",
            ("The bull’s head is the most important part of the bullfight",),  # noqa: RUF001 - as the model writes it
        ),
    ),
    *_both(
        "biography", "Mary Anning", f"Summarise in one sentence: {_ANNING}",
        "a fossil collector who found an ichthyosaur and the first complete plesiosaur",
        smollm2=_Answer(
            "partly correct", "Hardly a detail of the text is left; the end is not in it.",
            ("the impact it had on the world",),
        ),
        gemma=_Answer("partly correct", "The find is correct; her profession is invented.", ("zoologist",)),
        form=f"Text: {_ANNING}\nSummary in one sentence:",
    ),
    *_both(
        "biography", "Ada Lovelace", f"Summarise in one sentence: {_LOVELACE}",
        "she translated an article on the Analytical Engine and added longer notes of her own",
        smollm2=_Answer("correct", "True, but not a summary: no detail of the text is used."),
        gemma=_Answer("correct", "True, but not a summary: the text does not say this."),
        form=f"Text: {_LOVELACE}\nSummary in one sentence:",
    ),
    *_both(
        "translation", "Froid de canard", "Translate into English: Il fait un froid de canard.", "it is freezing cold",
        smollm2=_Answer("incorrect", "Fluent, and unrelated to the sentence.", ("The liqueur of the sea",)),
        gemma=_Answer(
            "incorrect", "Translated word by word, with goose for duck; the idiom is not recognised.",
            ("a cold goose",),
        ),
        form="French: Il fait un froid de canard.\nEnglish:",
    ),
    *_both(
        "translation", "Nur Bahnhof", "Translate into English: Ich verstehe nur Bahnhof.",
        "I do not understand a thing",
        smollm2=_Answer(
            "incorrect", "The sentence is repeated with high confidence, not translated.",
            ("Ich verstehe nur Bahnhof",),
        ),
        gemma=_Answer("incorrect", "Translated nearly word by word; the idiom is not recognised.", ("only the train",)),
        form="German: Ich verstehe nur Bahnhof.\nEnglish:",
    ),
    *_both(
        "rare name", "Maria Cunitz", "Who was Maria Cunitz?", "a Silesian astronomer, author of Urania propitia (1650)",
        smollm2=_Answer(
            "incorrect", "Profession, place and year are invented.",
            ("artist and activist", "the history of the Holocaust", "1922"),
        ),
        gemma=_Answer("incorrect", "Another invented biography.", ("German-Jewish", "1868")),
    ),
    *_both(
        "rare name", "Jeremiah Horrocks", "For what is Jeremiah Horrocks known?",
        "he predicted and observed the transit of Venus of 1639",
        smollm2=_Answer("incorrect", "He is confused with the prophet Jeremiah.", ("a biblical figure", "Bible")),
        gemma=_Answer("incorrect", "This model also confuses him with the prophet.", ("a Hebrew prophet", "1000 BC")),
    ),
)  # fmt: skip
