"""Whether both engines see the same: llama.cpp's answers to questions about facts, read by transformers.

Of each packaged model, llama.cpp answers, and transformers reads the same tokens with the weights of the same file
dequantised to float32. What is left is arithmetic: llama.cpp rounds activations in the products with quantised weights,
and keys and values to float16. For scale, transformers in bfloat16 reads the answers too.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from analysis.datasets.names import PLAIN, load
from analysis.evidence.record import Cell, Record
from benchmarks.support.recording import measured, tell
from rauq import LanguageModel, Trace, evaluate, load_model, score
from rauq.checkpoints.named import NAMED_MODELS, find_named

PER_FAMILY, NEW_TOKENS, BATCH = 25, 24, 8
MOST_OTHER = 48  # answers that are read in bfloat16, which takes a CPU many times as long
METHODS = ("rauq", "msp", "mean_token_entropy")
REFERENCE, OTHER = "float32", "bfloat16"
COLUMNS = (
    *("model", "answers", "beside transformers in float32", "Spearman: RAUQ", "MSP", "entropy"),
    *("RAUQ, mean difference", "sd of RAUQ", "heads equal", "of", "largest difference of the map of heads"),
)


class Read(NamedTuple):
    """What one engine makes of the answers: scores (A, methods), selected heads (A, Lw), map of heads (L, H)."""

    scores: np.ndarray
    heads: np.ndarray
    map: np.ndarray


def measure() -> Record:
    """Every packaged model that is on this machine."""
    names = [model.name for model in NAMED_MODELS if model.is_here]
    return record_of([row for name in names for row in rows_of(name)])


def rows_of(name: str, *, per_family: int = PER_FAMILY) -> Iterator[tuple[Cell, ...]]:
    """A packaged model in llama.cpp and in bfloat16, each beside transformers in float32."""
    source = str(found.path) if (found := find_named(name)) else name
    lm = load_model(source, engine="llama.cpp", device="cpu")
    asked = [one.prompt for one in load(PLAIN, kind=lm.kind).examples]
    prompts = asked[:: max(1, len(asked) // (8 * per_family))][: 8 * per_family]
    tell(f"{name}: {len(prompts)} answers by llama.cpp")
    answers = [one for one in lm.generate_batch(prompts, max_new_tokens=NEW_TOKENS) if isinstance(one, Trace)]
    reference = _read_again(load_model(source, engine="transformers", device="cpu"), answers)
    yield (name, len(answers), "llama.cpp", *compared(read_of(answers), read_of(reference)))
    some = answers[:: max(1, len(answers) // MOST_OTHER)]
    other = _read_again(load_model(source, engine="transformers", device="cpu", dtype=OTHER), some)
    same = reference[:: max(1, len(answers) // MOST_OTHER)]
    yield (name, len(some), f"transformers, {OTHER}", *compared(read_of(other), read_of(same)))


def _read_again(lm: LanguageModel, answers: Sequence[Trace]) -> list[Trace]:
    tell(f"{lm.name}: the same answers by transformers in {lm.dtype}")
    pairs = [(answer.prompt_ids.tolist(), answer.answer_ids.tolist()) for answer in answers]
    return [one for one in lm.read_batch(pairs, batch_size=BATCH) if isinstance(one, Trace)]


def read_of(answers: Sequence[Trace]) -> Read:
    """Scores, selected heads and the map of heads of these answers."""
    values = [[evaluate(answer, METHODS)[method] for method in METHODS] for answer in answers]
    heads = [score(answer).heads for answer in answers]
    weights = [
        np.nanmean(answer.previous_token_attention(), axis=2) for answer in answers if len(answer.answer_ids) > 1
    ]
    return Read(np.array(values, float), np.array(heads), np.mean(weights, axis=0))


def compared(found: Read, reference: Read) -> tuple[Cell, ...]:
    """How far one reading is from another."""
    ranks = [float(spearmanr(*pair).statistic) for pair in zip(found.scores.T, reference.scores.T, strict=True)]
    difference = float(np.abs(found.scores[:, 0] - reference.scores[:, 0]).mean())
    same = int((found.heads == reference.heads).sum())
    return (
        *(round(rank, 4) for rank in ranks),
        *(round(difference, 4), round(float(reference.scores[:, 0].std()), 4), same, found.heads.size),
        round(float(np.abs(found.map - reference.map).max()), 4),
    )


def record_of(rows: Sequence[tuple[Cell, ...]]) -> Record:
    """The table, and what it shows of llama.cpp."""
    own = [row for row in rows if row[2] == "llama.cpp"]
    said = [
        f"{row[0]}: Spearman of RAUQ {row[3]}, {row[8]:,} of {row[9]:,} selected heads equal (n = {row[1]:,})"
        for row in own
    ]
    return measured(
        "engines",
        title="llama.cpp beside transformers",
        about=f"Questions about facts, answered by llama.cpp with up to {NEW_TOKENS} tokens, and the same tokens read "
        "by transformers from the same file, dequantised to float32. The map of heads is the mean attention on the "
        "preceding token, over all answers.",
        columns=COLUMNS,
        rows=rows,
        notes=(f"transformers in {OTHER} shows how much another rounding of the same weights changes.",),
        finding=f"Scores by llama.cpp and by transformers in float32. {'; '.join(said)}.",
        packages=("torch", "transformers", "xllamacpp", "numpy"),
    )
