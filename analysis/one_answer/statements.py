"""What is said of one answer besides its score: its writer, its verdict, its rank, and what limits them.

A page collects these sentences once, so that what it shows is also in the report.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Statements:
    """Sentences about one answer, in the order in which they are read; empty where nothing is known.

    `verdict`: whether it is correct, by what, and the correct answer. `standing`: how its uncertainty ranks among the
    answers of a reference, or why it has no rank. `cautions`: what limits the score.
    """

    verdict: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
