"""What attention costs a vLLM server with the plugin rauq-vllm: seconds for answers with it and without it.

One server holds smollm2, and gets both kinds of request in turn, round by round: two servers side by side, one without
the plugin, differed by up to a quarter for other reasons. Both kinds return log-probabilities. Answers have the same
length, and of long prompts all but the end is in the cache of prefixes: what is timed is mostly decoding.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count

import openai

from analysis.evidence.record import Cell, Record
from benchmarks.support.paired import Ratio, one_turn, ratio
from benchmarks.support.recording import at_most, interval, measured, tell
from benchmarks.vllm.agreement import model_folder
from benchmarks.vllm.server import MODEL, answered, serving
from rauq import load_model

CLIENTS, WORDS, TOKENS, ROUNDS = (1, 8, 16), (2, 970), 64, 5
MOST = 1.05
COLUMNS = ("clients", "prompt tokens", "tokens/s without", "tokens/s with", "seconds, ratio", "low", "high")
PASSAGE = "The history of this town is long and old. ".split(" ") * 200


def measure() -> Record:
    """Every number of clients at both lengths of prompt."""
    lm = load_model(MODEL, engine="transformers", device="cpu")
    with model_folder(lm) as folder, serving(folder) as client:
        prompts = map(str, count())
        return record_of([_row(client, clients, words, prompts) for words in WORDS for clients in CLIENTS])


def _row(client: openai.OpenAI, clients: int, words: int, prompts: Iterator[str]) -> tuple[Cell, ...]:
    tell(f"{clients} clients, {words} words")
    length = 0

    def run(*, attention: bool) -> None:
        nonlocal length
        asked = [" ".join([*PASSAGE[:words], next(prompts)]) for _ in range(clients)]
        found = answered(client, asked, clients=clients, tokens=TOKENS, attention=attention, whole=True)
        length = found[0].usage.prompt_tokens

    runs = (partial(run, attention=True), partial(run, attention=False))
    turns = [one_turn(turn, *runs) for turn in range(-1, ROUNDS)][1:]  # the first one warms up
    ours, plain = ([each[place].wall for each in turns] for place in (0, 1))
    rates = (round(clients * TOKENS / sorted(each)[len(each) // 2], 1) for each in (plain, ours))
    return (clients, length, *rates, *interval(ratio(ours, plain)))


def record_of(rows: list[tuple[Cell, ...]]) -> Record:
    """The table, and its bounds."""
    ratios = [Ratio(median=float(row[4]), low=float(row[5]), high=float(row[6]), pairs=ROUNDS) for row in rows]
    worst = max(ratios, key=lambda found: found.median)
    return measured(
        "vllm_cost",
        title="What attention costs in vLLM",
        about=f"Seconds that a vLLM server with the plugin rauq-vllm takes for answers of {TOKENS} tokens by {MODEL} "
        "in float32, with attention in the response, divided by those without. Medians of "
        f"{ROUNDS} rounds in turn; both return log-probabilities.",
        columns=COLUMNS,
        rows=rows,
        bounds=[
            at_most(f"{row[0]} clients, prompts of {row[1]} tokens", found, MOST)
            for row, found in zip(rows, ratios, strict=True)
        ],
        notes=("Version of vLLM: 0.32.0, on a CPU.",),
        finding=f"With attention in the response, vLLM takes {min(found.median for found in ratios):.3f} to "
        f"{worst.median:.3f} times as long on {MODEL}.",
        packages=("torch", "transformers", "numpy", "openai"),
    )
