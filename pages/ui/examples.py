"""Prompts to start from, one of each kind that the embedded model was made for."""

from typing import NamedTuple


class Example(NamedTuple):
    """A prompt with a short name, and what to see in its answer."""

    name: str
    what_to_see: str
    prompt: str


EXAMPLES = (
    Example(
        "A known capital",
        "Stated often in training: confidence holds from the first token to the last.",
        "Q: What is the capital of Germany?\nA:",
    ),
    Example(
        "A town it never met",
        "Sodo lies in Ethiopia, which training never said: confidence collapses at the country that is made up.",
        "Q: Where is Sodo?\nA:",
    ),
    Example(
        "False friends",
        "It means that the boss is given a poison. The mistake is held with confidence: no score of this kind sees it.",
        "German: Der Chef bekommt ein Gift.\nEnglish:",
    ),
    Example(
        "A rare word",
        "The hunter finds a weasel: at which word does the model guess?",
        "German: Der Jäger findet ein Wiesel.\nEnglish:",
    ),
    Example(
        "Two missing details",
        "The text gives neither an age nor a currency, and both are invented. Which one does the score see?",
        "Text: A lottery in Japan was drawn on Friday. Maria Keller from Lyon won 2,500.\nSummary:",
    ),
)
