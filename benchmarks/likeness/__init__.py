"""Whether the share of correct answers near a score holds for answers that are unlike those of the reference.

A packaged model answers questions about facts below a text of three sentences, one of which answers the question,
rightly or wrongly; without a text, at greater length; and in languages with other scripts. What the reference states of
the scores of these answers is compared with how many are correct; so is what it states of its own answers that end in a
loop, and what the written reference states of written answers that are longer than its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from analysis.calibration import Calibration, calibrate, share_at
from analysis.datasets.example import Example
from analysis.datasets.names import PLAIN, load
from analysis.datasets.written_pairs import Pair, written_pairs
from analysis.evidence.record import Cell, Record
from analysis.one_answer.likeness import MOST_COPIED, MOST_MEASURED, copied_share, script_of
from analysis.quality.facts import judge_fact
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import traces_of
from benchmarks.likeness import scripts
from benchmarks.support.recording import measured, tell
from benchmarks.written.marks import share_with_interval
from benchmarks.written.reading import SMOLLM2
from rauq.labels import number
from rauq.model.language_model import LanguageModel
from rauq.model.loading import load_model
from rauq.recorded.scores import WRITTEN, ReferenceScores, load_scores
from rauq.scoring.score import score
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.loops import loop_start
from rauq.trace.trace import Trace

QUESTIONS, OTHERS = 40, 2  # questions, and other sentences in their text
MORE_WRITTEN = 3  # other sentences in a written answer
ALONE, IN_OTHERS = 150, 200  # questions without a text: at greater length, and in languages with other scripts
SHORT, LONG = 24, MOST_MEASURED  # tokens of an answer, below a text and without
COLUMNS = ("answers", "n", "stated", "correct", "low", "high")
LONGER, LOOPS = "longer than all of the reference", "ends in a loop, in the reference"
AROUND = "Good question. Let me think about it. {} I am quite sure of that. You can look it up in any encyclopedia."
WORDY, AMONG = "longer written answer, more words around it", "longer written answer, among other sentences"
OTHER_SCRIPT = "in another script than the reference, own words"
_ASKED = "Here is a text.\n\n{text}\n\nAnswer the question with one sentence, copied from the text. {question}"
_BATCH = 8


class Judged(NamedTuple):
    """One answer: what kind it is, the share of correct answers stated at its score, and whether it is correct."""

    kind: str
    stated: float
    correct: float


def measure() -> Record:
    """Answer below a text that holds the correct sentence, and below one that holds an incorrect one."""
    lm, curve = load_model(SMOLLM2), _reference()
    examples = {one.id: one for one in load(PLAIN, kind="instruct").examples}
    pairs = [one for one in written_pairs(per_family=12) if _is_sentence(one) and one.id in examples]
    asked = Random(0).sample(pairs, QUESTIONS)
    return record_of(
        [
            *_below_texts(lm, asked, examples, curve),
            *_longer(lm, list(examples.values()), curve),
            *_in_other_scripts(lm, curve),
            *_loops(curve),
            *_longer_written(lm, pairs),
        ]
    )


def record_of(answers: Sequence[Judged]) -> Record:
    """The table, a row for each kind of answers, and what it shows."""
    kinds = {kind: [one for one in answers if one.kind == kind] for kind in dict.fromkeys(one.kind for one in answers)}
    rows = [row_of(kind, own) for kind, own in kinds.items()]
    return measured(
        "likeness",
        title="Answers unlike those of the reference",
        about="The mean share of correct answers that the reference states at the scores of answers, beside the share "
        "of them that are correct, with 95 % intervals. Questions about facts.",
        columns=COLUMNS,
        rows=rows,
        notes=(
            f"{QUESTIONS} questions, below a text with the correct sentence and below one with an incorrect sentence.",
            f"Copies: at least {100 * MOST_COPIED:.0f} % of the tokens stand in the prompt, in rows.",
            f"Longer: {ALONE} questions, with up to {LONG} tokens; the reference has at most {_longest()}.",
            f"Another script: {IN_OTHERS} questions, of capitals and of countries, in {', '.join(scripts.NAMES)}.",
            f"These have up to {_longest()} tokens and are no copies; a name counts in the language or in English.",
            "Loops are answers of the reference itself, no longer than its others.",
            "Written answers: a right and a wrong one to each question, scored by the largest surprisal.",
        ),
        finding=finding(rows),
    )


def row_of(kind: str, answers: Sequence[Judged]) -> tuple[Cell, ...]:
    """How many there are, the share stated, and the share correct with its interval."""
    stated = float(np.mean([one.stated for one in answers]))
    shares = share_with_interval(np.array([one.correct for one in answers]))
    return (kind, len(answers), *(max(0.0, round(float(value), 3)) for value in (stated, *shares)))


def finding(rows: Sequence[tuple[Cell, ...]]) -> str:
    """For which kinds the stated share lies outside the interval of the true one."""
    outside = [row for row in rows if not float(row[4]) <= float(row[2]) <= float(row[5])]
    said = [
        f"{kind}, {_percent(stated)} stated, {_percent(correct)} [{_percent(low)}, {_percent(high)}] correct, n = {n:,}"
        for kind, n, stated, correct, low, high in outside
    ]
    return f"The stated share is wrong for: {'; '.join(said)}." if said else "The stated share holds for all kinds."


def _percent(share: Cell) -> str:
    return f"{number(100 * float(share), places=0)} %"


def _below_texts(
    lm: LanguageModel, pairs: Sequence[Pair], examples: Mapping[str, Example], curve: Calibration
) -> Iterator[Judged]:
    for side in ("correct", "incorrect"):
        tell(f"{QUESTIONS} answers below a text with the {side} sentence")
        prompts = [prompt_of(pair, pairs, is_correct=side == "correct") for pair in pairs]
        found = lm.generate_batch(prompts, batch_size=_BATCH, max_new_tokens=SHORT)
        for pair, trace in zip(pairs, found, strict=True):
            if isinstance(trace, Trace):
                what = "copy of" if _is_copy(trace) else "own words below"
                yield from _judged(f"{what} the {side} sentence", trace, examples[pair.id], curve)


def _longer(lm: LanguageModel, examples: Sequence[Example], curve: Calibration) -> Iterator[Judged]:
    """Answers of more tokens than any of the reference."""
    tell(f"{ALONE} answers of up to {LONG} tokens")
    asked = Random(0).sample(examples, ALONE)
    found = lm.generate_batch([example.prompt for example in asked], batch_size=_BATCH, max_new_tokens=LONG)
    for example, trace in zip(asked, found, strict=True):
        if isinstance(trace, Trace) and len(trace.answer_ids) > _longest():
            yield from _judged(LONGER, trace, example, curve)


def _in_other_scripts(lm: LanguageModel, curve: Calibration) -> Iterator[Judged]:
    """Answers that no other rule leaves out, to questions in languages with other scripts."""
    tell(f"{IN_OTHERS} answers in other languages")
    asked = scripts.questions(IN_OTHERS)
    found = lm.generate_batch([one.question for one in asked], batch_size=_BATCH, max_new_tokens=_longest())
    for one, trace in zip(asked, found, strict=True):
        if isinstance(trace, Trace) and script_of(trace.answer) not in {"", *_scores().scripts} and not _is_copy(trace):
            yield Judged(OTHER_SCRIPT, _stated(trace, curve), float(scripts.is_correct(one, trace.answer)))


def _is_sentence(pair: Pair) -> bool:
    return not pair.paraphrased and pair.form in {"name first", "name last", "name inside"}


def prompt_of(pair: Pair, pairs: Sequence[Pair], *, is_correct: bool) -> str:
    """The question below a text: one sentence of its own, and others about other families of facts."""
    rng = Random(pair.id)
    others = _of_others(pair, pairs, OTHERS, rng)
    sentences = [(pair.right if is_correct else pair.wrong).text, *(one.right.text for one in others)]
    rng.shuffle(sentences)
    return _ASKED.format(text=" ".join(sentences), question=pair.question)


def _of_others(pair: Pair, pairs: Sequence[Pair], count: int, rng: Random) -> list[Pair]:
    """So many pairs of other families of facts."""
    return rng.sample([one for one in pairs if one.group != pair.group], count)


def _is_copy(trace: Trace) -> bool:
    return copied_share(trace.answer_ids.tolist(), trace.prompt_ids.tolist()) >= MOST_COPIED


def _judged(kind: str, trace: Trace, example: Example, curve: Calibration) -> Iterator[Judged]:
    """The answer, where the rule decides whether it is correct."""
    correct = judge_fact(example, trace.answer.strip()).quality
    if not np.isnan(correct):
        yield Judged(kind, _stated(trace, curve), correct)


def _stated(trace: Trace, curve: Calibration) -> float:
    return share_at(curve, score(trace).uncertainty).value


def written_answers(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, str, bool]]:
    """Longer written answers: kind, question, text, and whether it is right, as half of each kind are."""
    for pair in pairs:
        others = [one.right.text for one in _of_others(pair, pairs, MORE_WRITTEN, Random(pair.id))]
        for written in (pair.right, pair.wrong):
            yield WORDY, pair.question, AROUND.format(written.text), written is pair.right
            yield AMONG, pair.question, " ".join((*others[1:], written.text, *others[:1])), written is pair.right


def _longer_written(lm: LanguageModel, pairs: Sequence[Pair]) -> Iterator[Judged]:
    """Written answers of more tokens than any of the written reference."""
    scores, answers = _scores(WRITTEN), list(written_answers(pairs))
    curve = _curve(scores)
    tell(f"{len(answers)} longer written answers")
    read = lm.read_batch([(question, text) for _, question, text, _ in answers], batch_size=_BATCH)
    for (kind, _, _, is_right), trace in zip(answers, read, strict=True):
        if isinstance(trace, Trace) and len(trace.answer_ids) > (scores.longest or 0):
            yield Judged(kind, share_at(curve, score_surprisal(trace).uncertainty).value, float(is_right))


def _loops(curve: Calibration) -> Iterator[Judged]:
    """The answers of the reference that end in a loop."""
    run = open_run(bundled_folder())
    rows = zip(traces_of(run), run.uncertainty("rauq").tolist(), run.answers["quality"].tolist(), strict=True)
    for trace, uncertainty, quality in rows:
        if loop_start(trace) is not None and not np.isnan(quality):
            yield Judged(LOOPS, share_at(curve, uncertainty).value, quality)


def _reference() -> Calibration:
    """The share of correct answers at each score of the table that came with the app."""
    return _curve(_scores())


def _curve(scores: ReferenceScores) -> Calibration:
    clusters = None if scores.clusters is None else np.array(scores.clusters)
    return calibrate(np.array(scores.uncertainties), np.array(scores.correct, dtype=float), clusters=clusters)


def _longest() -> int:
    """Tokens of the longest answer of the reference."""
    return _scores().longest or 0


def _scores(file: Path | None = None) -> ReferenceScores:
    return next(one for one in load_scores(file) if one.model == SMOLLM2)
