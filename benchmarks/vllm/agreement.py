"""Whether attention, entropies and scores out of vLLM are those of this project's own capture, on the same tokens.

smollm2 in float32 answers questions about facts in vLLM, in batches of 1, 8 and 16, with and without prefix caching,
with so few blocks that answers are preempted, and streamed beside clients that hang up; transformers reads the same
tokens.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, NamedTuple

import httpx
import numpy as np
import openai

from analysis.datasets.names import PLAIN, load
from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import at_most, measured, tell
from benchmarks.vllm.server import MODEL, answered, metric, serving
from rauq import LanguageModel, Trace, from_vllm, load_model, score
from rauq.model.vllm import request_for

QUESTIONS, TOKENS, READ_AT_ONCE = 100, 48, 8
LEAVERS, STAYS = 8, 0.3  # clients that hang up, and seconds after which they do
MOST_ATTENTION, MOST_LOGPROB, MOST_SCORE = 1e-4, 1e-3, 1e-4
COMPARED = ("attention", "log-probability", "entropy", "RAUQ", "heads equal", "of")
COLUMNS = ("clients", "server", "answers", "tokens", "preemptions", *COMPARED)


class Compared(NamedTuple):
    """The largest differences from this project's own capture, and how many selected heads are equal of how many."""

    attention: float
    logprob: float
    entropy: float
    score: float
    same: int
    heads: int


class Way(NamedTuple):
    """How a server is started and asked: what the table calls it, its options, clients, and tokens of an answer."""

    name: str
    options: tuple[str, ...]
    clients: tuple[int, ...]
    tokens: int = TOKENS
    leavers: int = 0
    stream: bool = False


IN_CHUNKS = ("--no-enable-prefix-caching", "--max-num-batched-tokens", "32")
FEW_BLOCKS = ("--block-size", "32", "--num-gpu-blocks-override", "20", "--max-model-len", "512")
STREAMED = ("--middleware", "rauq_vllm.stream.StreamedRows")
WAYS = (
    Way("with prefix caching", (), (1, 8, 16)),
    Way("without prefix caching, prompts in chunks of 32", IN_CHUNKS, (1, 8, 16)),
    Way("20 blocks of 32 tokens", FEW_BLOCKS, (16,), tokens=96),
    Way("streamed, beside clients that hang up", STREAMED, (8,), leavers=LEAVERS, stream=True),
)


def measure() -> Record:
    """Every way, with the questions of the plain set."""
    lm = load_model(MODEL, engine="transformers", device="cpu")
    asked = [one.prompt for one in load(PLAIN, kind=lm.kind).examples]
    prompts = asked[:: max(1, len(asked) // QUESTIONS)][:QUESTIONS]
    with model_folder(lm) as folder:
        return record_of([row for way in WAYS for row in _rows(lm, folder, way, prompts)])


@contextmanager
def model_folder(lm: LanguageModel) -> Iterator[Path]:
    """A folder with the weights and the tokenizer of a model, which both sides read."""
    with TemporaryDirectory() as name:
        lm.model.save_pretrained(name)
        lm.tokens.tokenizer.save_pretrained(name)
        yield Path(name)


def _rows(lm: LanguageModel, folder: Path, way: Way, prompts: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    with serving(folder, *way.options) as client:
        for clients in way.clients:
            tell(f"{way.name}: {len(prompts)} answers, {clients} clients")
            before = metric(client, "num_preemptions_total")
            with hanging_up(client, prompts, way.leavers):
                how: Any = {"clients": clients, "tokens": way.tokens, "stream": way.stream}
                found = [from_vllm(one) for one in answered(client, prompts, **how)]
            preempted = int(metric(client, "num_preemptions_total") - before)
            yield (
                clients,
                way.name,
                len(found),
                sum(len(one.answer_ids) for one in found),
                preempted,
                *compared(lm, found),
            )


@contextmanager
def hanging_up(client: openai.OpenAI, prompts: Sequence[str], leavers: int) -> Iterator[list[str]]:
    """Beside what is done in the context, so many clients ask for attention, and hang up before the end.

    Gives the prompts of the answers that nobody waited for.
    """
    over = Event()
    given_up: list[str] = []

    def leave(first: int) -> None:
        with httpx.Client(base_url=str(client.base_url), timeout=STAYS) as leaver:
            for prompt in [*prompts[first:], *prompts[:first]] * 100:
                if over.is_set():
                    return
                body = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": 512}
                try:
                    leaver.post("chat/completions", json=request_for(body))
                except httpx.TimeoutException:
                    given_up.append(prompt)

    with ThreadPoolExecutor(max(1, leavers)) as pool:
        leaving = [pool.submit(leave, place * 7) for place in range(leavers)]
        try:
            yield given_up
        finally:
            over.set()
        for one in leaving:
            one.result()  # raises what ended a client


def compared(lm: LanguageModel, found: Sequence[Trace]) -> Compared:
    """Answers beside what this project captures of the same tokens."""
    pairs = [(one.prompt_ids.tolist(), one.answer_ids.tolist()) for one in found]
    own = [one for one in lm.read_batch(pairs, batch_size=READ_AT_ONCE) if isinstance(one, Trace)]
    both = list(zip(found, own, strict=True))
    scored = [(one, score(other)) for one, other in both if len(one.answer_ids) > 1]
    scores = [(score(one, other.settings), other) for one, other in scored]  # defaults are those of the model's kind
    return Compared(
        attention=max(_attention(one, other) for one, other in both),
        logprob=max(float(np.abs(one.logprobs - other.logprobs).max()) for one, other in both),
        entropy=max(float(np.abs(one.entropies - other.entropies).max()) for one, other in both),
        score=max(abs(one.uncertainty - other.uncertainty) for one, other in scores),
        same=sum(int((np.array(one.heads) == np.array(other.heads)).sum()) for one, other in scores),
        heads=sum(len(one.heads) for one, _ in scores),
    )


def of_all(rows: Sequence[tuple[Cell, ...]]) -> Compared:
    """The largest differences of rows that end with a comparison, and the heads of all."""
    columns = list(zip(*(row[-len(COMPARED) :] for row in rows), strict=True))
    return Compared._make(
        [*(max(map(float, one)) for one in columns[:4]), *(sum(map(int, one)) for one in columns[4:])]
    )


def bounds_of(found: Compared) -> list[Bound]:
    """What the differences may be at most."""
    return [
        at_most("Attention", found.attention, MOST_ATTENTION),
        at_most("Log-probability, nats", found.logprob, MOST_LOGPROB),
        at_most("Entropy, nats", found.entropy, MOST_LOGPROB),
        at_most("RAUQ", found.score, MOST_SCORE),
        Bound(text=f"Selected heads equal: {found.same:,} of {found.heads:,}", met=found.same == found.heads),
    ]


def _attention(one: Trace, other: Trace) -> float:
    rows = other.attention[list(one.layers), :, :-1, : one.attention.shape[3]]
    return float(np.abs(rows - one.attention[:, :, :-1]).max())


def record_of(rows: Sequence[tuple[Cell, ...]]) -> Record:
    """The table, and its bounds."""
    found = of_all(rows)
    answers, preempted = (sum(int(row[place]) for row in rows) for place in (2, 4))
    return measured(
        "vllm",
        title="Attention out of vLLM",
        about=f"{MODEL} in float32 answers {QUESTIONS} questions about facts in vLLM with the plugin rauq-vllm, at "
        f"most {TOKENS} tokens each (twice that where answers are preempted), and transformers reads the same tokens. "
        "Differences are the largest of all tokens, layers and heads.",
        columns=COLUMNS,
        rows=rows,
        bounds=[
            *bounds_of(found),
            Bound(text=f"Some answers were preempted: {preempted:,}", met=preempted > 0),
        ],
        notes=("Version of vLLM: 0.32.0, on a CPU. The plugin was not tried on a GPU.",),
        finding=f"Of {answers:,} answers that vLLM gave with their attention, the largest difference from this "
        f"project's own capture is {found.attention:.1g} in a weight and {found.score:.1g} in RAUQ; {found.same:,} of "
        f"{found.heads:,} selected heads are equal.",
        packages=("torch", "transformers", "numpy", "openai"),
    )
