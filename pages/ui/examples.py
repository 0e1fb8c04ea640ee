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
        "Stated often in training: every token should hold.",
        "Q: What is the capital of France?\nA: The capital of France is Paris.\nQ: What is the capital of Japan?\nA:",
    ),
    Example(
        "An obscure town",
        "Hardly ever stated: does confidence collapse at the country?",
        "Q: In which country is Lyon?\nA: Lyon is in France.\nQ: In which country is Bemidji?\nA:",
    ),
    Example(
        "A common mistake",
        "A myth, held with confidence: no method of this kind sees it.",
        "Q: What is the capital of Italy?\nA: The capital of Italy is Rome.\nQ: What is the capital of Australia?\nA:",
    ),
    Example(
        "A translation",
        "Word by word: which word was guessed?",
        "German: Am Montag kauft der Arzt ein altes Buch.\nEnglish: On Monday, the doctor buys an old book.\n"
        "German: Am Freitag verkauft der Bäcker eine neue Lampe.\nEnglish:",
    ),
    Example(
        "A summary",
        "The text gives no age: is one invented?",
        "Text: A lottery in Norway was drawn on Monday. Mirko Brandsen from Klaiton won 5,200 dinars.\nSummary:",
    ),
)
