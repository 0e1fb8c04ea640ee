"""What is said of one answer besides its score: its writer, its verdict, its rank, and what limits them.

A page collects these sentences once, so that what it shows is also in the report and in the files.
"""

from dataclasses import dataclass

from rauq.scoring.report import cautions
from rauq.scoring.score import Score
from rauq.trace.trace import Trace


@dataclass(frozen=True, kw_only=True)
class Statements:
    """Sentences about one answer, in the order in which they are read; empty where nothing is known.

    `verdict`: whether it is correct, by what, and the correct answer. `standing`: how its uncertainty ranks among the
    answers of a reference, or why it has no rank. `cautions`: what limits the score.
    """

    verdict: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def in_columns(self) -> dict[str, str]:
        """The sentences of each kind as one text, by its name: columns of a table."""
        return {name: " ".join(sentences) for name, sentences in vars(self).items()}


def known_from_answer(trace: Trace, score: Score) -> Statements:
    """What follows from the answer alone, without a reference and without a correct answer."""
    return Statements(cautions=cautions(trace, score))
