"""One tool's side of the comparison, run in the tool's own environment: a request on stdin, figures as JSON on stdout.

Imports nothing of the project but the clock, and the library where that is the tool. Batch 1, greedy, float32, no stop;
a tool answers a prompt and scores the answer with RAUQ on probabilities, alpha 0.2. "plain" is transformers alone.
"""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.support.paired import Spent, one_turn, spent
from benchmarks.support.processes import extra_peak

ToolName = Literal["plain", "rauq", "lm-polygraph"]
What = Literal["times", "memory", "answers", "batches"]

ALPHA = 0.2
WARM_WORDS = 16


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to measure of which tool: `pairs` for each prompt; `wide` widens the peer's log-likelihoods to float64.

    Batches have `batch_size` prompts, and their answers end at `stop`.
    """

    what: What
    tool: ToolName
    folder: str
    prompts: tuple[str, ...]
    new_tokens: int
    pairs: tuple[int, ...] = ()
    wide: bool = False
    batch_size: int = 1
    stop: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Ids, `logprobs` (N,), `weights` (L, H, N - 1) on the previous token, and the tool's RAUQ."""

    prompt_ids: list[int]
    answer_ids: list[int]
    logprobs: np.ndarray
    weights: np.ndarray
    uncertainty: float


Run = Callable[[str], object]


def plain(request: Request) -> Run:
    """Generation as transformers does it alone."""
    model, tokenizer = _model(request, "sdpa"), AutoTokenizer.from_pretrained(request.folder)

    def run(prompt: str) -> object:
        return model.generate(
            **_fed(tokenizer, prompt), max_new_tokens=request.new_tokens, do_sample=False, return_dict_in_generate=True
        )

    return run


def rauq_tool(request: Request) -> Callable[[str], Answer]:
    """This project: capture while generating, then score."""
    import rauq

    lm = rauq.load_model(request.folder, device="cpu", dtype="float32")
    settings = rauq.Settings(alpha=ALPHA, signal="probability")

    def run(prompt: str) -> Answer:
        trace = lm.generate(prompt, max_new_tokens=request.new_tokens, stop=(), chat=False)
        return Answer(
            prompt_ids=trace.prompt_ids.tolist(),
            answer_ids=trace.answer_ids.tolist(),
            logprobs=trace.logprobs,
            weights=trace.previous_token_attention(settings.alignment),
            uncertainty=rauq.score(trace, settings).uncertainty,
        )

    return run


class Polygraph:
    """lm-polygraph: eager attention, its calculator without hidden states, its estimator."""

    def __init__(self, request: Request) -> None:
        from lm_polygraph.estimators.rauq import RAUQ
        from lm_polygraph.stat_calculators.greedy_probs import GreedyProbsCalculator
        from lm_polygraph.utils.generation_parameters import GenerationParameters
        from lm_polygraph.utils.model import WhiteboxModel

        self.new_tokens = request.new_tokens
        tokenizer = AutoTokenizer.from_pretrained(request.folder, padding_side="left")
        stop = GenerationParameters(stop_strings=[request.stop] if request.stop else None, allow_newlines=True)
        self.model = WhiteboxModel(_model(request, "eager"), tokenizer, request.folder, generation_parameters=stop)
        self.calculator, self.estimator = GreedyProbsCalculator(output_hidden_states=False), RAUQ(alpha=ALPHA)

    def answer(self, prompts: list[str]) -> dict[str, Any]:
        """Its statistics of one batch."""
        return self.calculator({}, prompts, self.model, self.new_tokens) | {"model": self.model}


def polygraph_tool(request: Request) -> Callable[[str], Answer]:
    """One prompt at a time, with all that our numbers are compared with."""
    tool = Polygraph(request)

    def run(prompt: str) -> Answer:
        found = tool.answer([prompt])
        if request.wide:
            found["greedy_log_likelihoods"] = np.array(found["greedy_log_likelihoods"], dtype=np.float64)
        attention = found["attention_all"][0]  # (L * H, N, N)
        return Answer(
            prompt_ids=found["input_tokens"][0],
            answer_ids=found["greedy_tokens"][0],
            logprobs=np.array(found["greedy_log_likelihoods"][0], dtype=np.float64),
            weights=np.diagonal(attention, offset=-1, axis1=1, axis2=2).reshape(
                tool.model.model.config.num_hidden_layers, -1, len(attention[0]) - 1
            ),
            uncertainty=float(tool.estimator(found)[0]),
        )

    return run


TOOLS: dict[ToolName, Callable[[Request], Run]] = {
    "plain": plain,
    "rauq": rauq_tool,
    "lm-polygraph": polygraph_tool,
}


def times(request: Request) -> list[list[list[Spent]]]:
    """CPU and wall seconds of plain generation and of the tool, for each prompt, pair by pair."""
    runs = plain(request), TOOLS[request.tool](request)
    for run in runs:
        run(_short(request))
    return [
        [one_turn(turn, *(partial(run, prompt) for run in runs)) for turn in range(pairs)]
        for prompt, pairs in zip(request.prompts, request.pairs, strict=True)
    ]


def memory(request: Request) -> float:
    """Peak MiB of this process for the first prompt, above what the loaded model takes."""
    run = TOOLS[request.tool](request)
    run(_short(request))  # what every first call allocates
    return extra_peak(partial(run, request.prompts[0]))


def answers(request: Request) -> list[object]:
    """The tool's answer to every prompt."""
    run = TOOLS[request.tool](request)
    return [run(prompt) for prompt in request.prompts]


def batches(request: Request) -> list[Spent]:
    """CPU and wall seconds that lm-polygraph takes for all prompts with their scores, turn by turn."""
    tool, size = Polygraph(request), request.batch_size

    def run() -> None:
        for first in range(0, len(request.prompts), size):
            tool.estimator(tool.answer(list(request.prompts[first : first + size])))

    run()
    return [spent(run) for _ in range(request.pairs[0])]


MEASURES: dict[What, Callable[[Request], object]] = {
    "times": times,
    "memory": memory,
    "answers": answers,
    "batches": batches,
}


def _model(request: Request, attention: str) -> Any:  # noqa: ANN401 - models have no common type
    model = AutoModelForCausalLM.from_pretrained(
        request.folder, attn_implementation=attention, dtype=torch.float32, use_safetensors=True
    )
    return model.eval()


def _fed(tokenizer: Any, prompt: str) -> dict[str, torch.Tensor]:  # noqa: ANN401 - nor have tokenizers
    found = tokenizer(prompt, return_tensors="pt")
    return {name: found[name] for name in ("input_ids", "attention_mask")}


def _short(request: Request) -> str:
    return " ".join(request.prompts[0].split()[:WARM_WORDS])


def main() -> None:
    """Answer one request; whatever a tool prints goes to stderr."""
    request = Request(**json.load(sys.stdin))
    with redirect_stdout(sys.stderr):
        found = MEASURES[request.what](request)
    json.dump(found, sys.stdout, default=lambda value: asdict(value) if isinstance(value, Answer) else value.tolist())


if __name__ == "__main__":
    main()
