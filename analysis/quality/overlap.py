"""How far an answer has the words of a reference: exact match, token F1 and ROUGE-L, each from 0 to 1."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable

from rauq.errors import InvalidInput

_ARTICLES = frozenset({"a", "an", "the"})
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff"  # Japanese and Chinese: letter by letter, since no spaces part their words
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def exact_match(answer: str, reference: str) -> float:
    """1 where both are the same words, else 0 (SQuAD: case, punctuation, English articles and spaces do not matter)."""
    return float(bool(words(answer)) and words(answer) == words(reference))


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of the shares of the answer's and of the reference's words that both have (SQuAD)."""
    said, wanted = words(answer), words(reference)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


def load_rouge_l() -> Callable[[str, str], float]:
    """ROUGE-L F1 with Porter stemming of an answer and a reference, by the package rouge-score.

    The package reads a to z and 0 to 9 alone: nan where the reference has none of them.

    Raises:
        InvalidInput: the package is missing.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenizers import DefaultTokenizer
    except ImportError as error:
        message = "ROUGE-L needs rouge-score: pip install -r requirements-extra.txt"
        raise InvalidInput(message) from error
    tokenizer = DefaultTokenizer(use_stemmer=True)
    scorer = RougeScorer(["rougeL"], tokenizer=tokenizer)

    def rouge_l(answer: str, reference: str) -> float:
        if not tokenizer.tokenize(reference):
            return math.nan
        return float(scorer.score(reference, answer)["rougeL"].fmeasure)

    return rouge_l


def words(text: str) -> list[str]:
    """The words of a text that count; where nothing would be left, all of them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(letter for letter in folded if unicodedata.category(letter)[0] not in "PS")
    return [word for word in _WORD.findall(bare) if word not in _ARTICLES] or _WORD.findall(folded)
