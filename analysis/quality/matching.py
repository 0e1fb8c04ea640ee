"""How far an answer agrees with its references by their words: overlap, naming the reference, letters and numbers."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from analysis.datasets.example import Example
from analysis.normalisation import plain_text, plain_words
from analysis.quality.judgement import Judgement, fact_spans, unclear, undefined
from analysis.quality.wording import SHORT_YEAR, is_short_year, wording
from rauq.errors import InvalidInput
from rauq.layout import EXTRAS_COMMAND

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
        message = f"ROUGE-L needs rouge-score: {EXTRAS_COMMAND}"
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


_ARTICLE = re.compile(r"^\W*(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_SYMBOL = re.compile(r"[A-Z]\.?[A-Za-z]?\.?")
_NOT_A_SYMBOL = frozenset({"No"})  # far more often the answer no than nobelium
_ALSO_WORDS = frozenset({"A", "Am", "As", "At", "Be", "He", "I", "In", "My", "So", "Us", "We"})
_BEGINS = re.compile(r"(?:^|[.!?:;\n])\W*$")


def names_reference(answer: str, reference: str) -> float:
    """1 where the answer has the words of the reference, side by side, else 0; nan where the reference has no word.

    Case, accents, punctuation, a leading article, and the spelling of numbers and initials do not matter; the ends of
    words do, except in scripts without spaces. One or two Latin letters that begin with a capital are compared by case
    (Au, He, US), and not taken for the words He, I, In and the like at the beginning of a sentence. Plurals and
    synonyms are other words. A negation ("it is not Paris"), or a list of guesses, is not noticed: `judge_contains`
    does.
    """
    wanted = _ARTICLE.sub("", plain_text(reference), count=1).strip()
    if not plain_words(wanted):
        return math.nan
    if _SYMBOL.fullmatch(wanted) and wanted not in _NOT_A_SYMBOL:
        return float(_has_symbol(plain_text(answer), wanted.replace(".", "")))
    return float(any(_has(plain_words(answer, joined=one), plain_words(wanted, joined=one)) for one in (False, True)))


def judge_contains(example: Example, answer: str) -> Judgement:
    """Quality is 1 where the answer names a reference, and 0 where it names none; nan where no reference has a word.

    It is unclear where the words around the reference leave open that it is the answer.
    """
    references = [text for text in example.references if plain_words(text)]
    if not references:
        return undefined("no reference has a word to look for")
    named = [text for text in references if names_reference(answer, text) == 1]
    if not named and is_short_year(answer, references):
        return unclear(SHORT_YEAR)
    if not named:
        forms = [text for text in references if names_reference(answer, f"{text}s") == 1]
        return unclear(f"it names {forms[0]!r} in the plural") if forms else Judgement(0.0)
    spans = [
        span for text in named for span in fact_spans(plain_letters(answer), [_ARTICLE.sub("", plain_letters(text))])
    ]
    reason = wording(answer, question=example.question, names=references).doubt(spans) if spans else ""
    return unclear(reason) if reason else Judgement(1.0)


def plain_letters(text: str) -> str:
    """The text without accents, letter by letter, so that places in it stay those of the text."""
    return "".join(unicodedata.normalize("NFD", letter)[0] for letter in text)


def _has(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def _has_symbol(text: str, symbol: str) -> bool:
    """Whether a symbol of one or two letters occurs in the text by itself, with points between letters or not."""
    letters = r"\.?".join(symbol)
    pattern = re.compile(rf"(?<![\w']){letters}(?!\w|'(?!s\b))")
    return any(not is_english_word(text, *found.span()) for found in pattern.finditer(text))


def is_english_word(text: str, start: int, end: int) -> bool:
    """Whether what looks like a symbol is the English word: another one follows, and a sentence begins."""
    symbol = text[start:end]
    if symbol == "No":
        return text[end : end + 1] in {",", ":"}
    if symbol not in _ALSO_WORDS or re.match(r"'|\s+\w", text[end : end + 20]) is None:
        return False
    return symbol == "I" or _BEGINS.search(text[max(0, start - 20) : start]) is not None


_CHOICE = re.compile(r"\W*([A-Ja-j])\W*")
_MARKED_CHOICE = re.compile(r"(?i:answer|choice|option)(?i:\s+is)?\s*:?\s*\(?([A-J])(?![\w'+-])")
# A letter that begins the answer, unless it is an article or a pronoun, or one of several letters.
_FIRST_CHOICE = re.compile(r"\W*([A-J])(?:(?<![AI])|(?![ \t]+\w))(?![\w'+-])(?!\W*\s(?:or|and)\s)")

# Currency, bold marks, spaces and text of LaTeX, and the calculations <<3*6=18>> that GSM8k's solutions hold.
_MARKUP = re.compile(r"\\?[$€£¥₹]\s*|(?<!\d)\*\*|\*\*(?!\d)|\\[()\[\],;!]|\\text\w*|<<[^<>]*>>")
_LATEX_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")

_PLAIN = r"(?:(?<![\w)])[-−])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
# A number may continue as a fraction (1/2), as a mixed number (3 1/2), or as a time of day (5:30, read as 5.5).
_NUMBER = re.compile(rf"({_PLAIN})(?:(?: (\d+))?/([1-9]\d*)(?![\d/])|:([0-5]\d)(?!\d))?")

_RESULT = re.compile(r"(?:####|\\boxed|\banswer\s+is\b|\banswer:(?=\s*[-−.\d]))[\s:]*(.*)", re.IGNORECASE)
_UNIT = r"[a-z%]*(?:\s+[a-z]+){0,2}[\s(){}]*"
_OPERATOR = r"(?:[-−+*/×÷·^x]|\\?times|\\cdot|\\div|plus|minus|divided by)"
_EQUALS = r"(?:=|≈|(?:,\s*)?(?:which\s+)?(?:is|equals|makes|gives)\b)"
# From the first number of a calculation up to its result.
_CALCULATION = re.compile(
    rf"(?:{_PLAIN}{_UNIT}(?:{_OPERATOR}|{_EQUALS})[\s(){{}}]*)+{_PLAIN}{_UNIT}{_EQUALS}[\s{{]*(?={_PLAIN})",
    re.IGNORECASE,
)


def accuracy(answer: str, reference: str) -> float:
    r"""1 where the answer is right, else 0.

    A reference of one letter from A to J asks for that choice (MMLU). A number, or a solution with a number behind
    "####" (GSM8k), asks for that number. In the answer it is read behind the first "####", "answer is" or `\boxed`
    whose line has one: the result of an equation that begins there, else the first number. Without such a mark it is
    the last number of the answer. Any other reference asks for its words.
    """
    if re.fullmatch(r"\(?[A-J][).]?", reference.strip()):
        return float(_choice(answer) == _choice(reference))
    wanted = _reference_number(reference)
    if wanted is not None:
        return float(_number(answer) == wanted)
    return exact_match(answer, reference)


def _choice(text: str) -> str:
    found = _CHOICE.fullmatch(text) or _MARKED_CHOICE.search(text) or _FIRST_CHOICE.match(text)
    return found[1].upper() if found else ""


def _reference_number(reference: str) -> Fraction | None:
    bare = _MARKUP.sub("", reference.strip()).rstrip("%.")
    return _number(reference) if "####" in reference or re.fullmatch(_PLAIN, bare) else None


def _number(text: str) -> Fraction | None:
    bare = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_COMMA.sub(",", _MARKUP.sub("", text)))
    for marked in _RESULT.finditer(bare):
        if first := _NUMBER.search(marked[1]):
            calculation = _CALCULATION.match(marked[1], first.start())
            result = _NUMBER.match(marked[1], calculation.end()) if calculation else None
            return _value(result or first)
    numbers = list(_NUMBER.finditer(bare))
    return _value(numbers[-1]) if numbers else None


def _value(found: re.Match[str]) -> Fraction:
    number, over, under, minutes = found.groups()
    whole = Fraction(Decimal(number.replace(",", "").replace("−", "-")))
    sign = -1 if number[0] in "-−" else 1
    if minutes:
        return whole + sign * Fraction(int(minutes), 60)
    if over:
        return whole + sign * Fraction(Decimal(over)) / Fraction(Decimal(under))
    return whole / Fraction(Decimal(under)) if under else whole
