"""What the page says of the answer shown besides its score, collected for the report."""

from collections.abc import Iterator, Mapping

from analysis.one_answer.statements import Statements
from pages.ui.inspect.loop import NO_LOOP, Loop
from pages.ui.inspect.reference import Reference, judged_payload
from pages.ui.inspect.verdict import Verdict
from rauq.scoring.report import cautions
from rauq.scoring.score import Score
from rauq.trace.trace import Trace

_UNKNOWN = "It is not known whether the answer is correct."


def statements(
    trace: Trace, score: Score, reference: Reference, verdict: Verdict, added_heads: str = "", *, loop: Loop = NO_LOOP
) -> Statements:
    """Return the sentences of the page: the verdict, what the reference says of the score, and what limits it.

    `added_heads`: the rank by RAUQ + heads in words. `loop`: that of the answer, which `trace` may lack.
    """
    judged = judged_payload(trace, score, reference, is_correct=verdict.is_correct)
    standing = (*_sentences(judged["standing"]), judged["worth"], judged["underlineNote"], added_heads)
    return Statements(
        verdict=_verdict(verdict),
        standing=tuple(filter(None, standing)),
        cautions=tuple(dict.fromkeys(filter(None, (*cautions(trace, score), loop.sentence)))),
    )


def _sentences(payload: Mapping[str, object]) -> Iterator[str]:
    return (value for value in payload.values() if isinstance(value, str))


def _verdict(verdict: Verdict) -> tuple[str, ...]:
    said = f"The answer is {verdict.verdict}." if verdict.verdict else _UNKNOWN
    source = f"Verdict: {verdict.source}." if verdict.source else ""
    known = f"Correct answer: {verdict.correct_answer}" if verdict.correct_answer else ""
    return tuple(filter(None, (said, source, verdict.evidence, known)))
