"""Training: one pass over the rows with Muon for the matrices and Adam for the rest, resumable, seeded."""

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from training.tokenizer import BOS_ID, CONTEXT, EOS_ID, PAD_ID, VOCABULARY

_MASKED = -1e9


@dataclass(frozen=True)
class Shape:
    """The size of the model."""

    vocabulary: int = VOCABULARY
    hidden: int = 256
    feed_forward: int = 704
    layers: int = 12
    heads: int = 8
    key_value_heads: int = 4


@dataclass(frozen=True)
class Settings:
    """How the model is trained."""

    seed: int = 0
    batch: int = 32  # rows of a step
    matrix_rate: float = 0.02
    other_rate: float = 3e-3
    weight_decay: float = 0.05
    warm_up: int = 60  # steps
    checkpoint_seconds: float = 300
    compiled: bool = True
    shape: Shape = Shape()


def build(shape: Shape, *, seed: int) -> LlamaForCausalLM:
    """Return a model with random weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
    )
    model = LlamaForCausalLM(config)
    model.set_attn_implementation("eager")  # on CPU its backward pass is the fastest
    return model


def train(
    rows: NDArray[np.uint16],
    settings: Settings,
    *,
    checkpoint: Path,
    report: Callable[[int, int, float], None] | None = None,
    stop_after: int | None = None,
) -> LlamaForCausalLM:
    """Return a model trained on one pass over the rows (R, T), resumed from this run's checkpoint if there is one.

    `report` is called with the step, the number of steps and the loss in nats a token. `stop_after` ends the call
    early, after that step, with the checkpoint written.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build(settings.shape, seed=settings.seed)
    nn.Module.to(model, device)
    optimizers = _optimizers(model, settings)
    loss_of = torch.compile(_loss) if settings.compiled else _loss
    order = np.random.default_rng(settings.seed).permutation(len(rows))
    steps = len(rows) // settings.batch
    run = _fingerprint(rows, settings)
    first, saved = _restore(checkpoint, run, model, optimizers), time.monotonic()
    for step in range(first, min(steps, stop_after or steps)):
        chosen = order[step * settings.batch : (step + 1) * settings.batch]
        loss = loss_of(model, torch.from_numpy(rows[chosen].astype(np.int64)).to(device))
        loss.backward()
        _update(optimizers, _rate(step, steps, settings.warm_up))
        if report is not None:
            report(step, steps, float(loss.detach()))
        if time.monotonic() - saved > settings.checkpoint_seconds:
            _save(checkpoint, run, step + 1, model, optimizers)
            saved = time.monotonic()
    _save(checkpoint, run, min(steps, stop_after or steps), model, optimizers)
    return model.cpu().eval()


def _loss(model: LlamaForCausalLM, tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats of the next tokens; tokens (B, T)."""
    with torch.autocast(tokens.device.type, torch.bfloat16):
        logits = model(input_ids=tokens, attention_mask=_visible(tokens), use_cache=False).logits
    targets = tokens[:, 1:].masked_fill(_outside(tokens[:, 1:]), -100)
    return functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), targets.flatten())


def _visible(tokens: Tensor) -> Tensor:
    """Return the additive mask (B, 1, T, T) under which documents of a row do not see each other."""
    documents = torch.cumsum(tokens == BOS_ID, dim=1)
    length = tokens.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
    visible = (documents[:, :, None] == documents[:, None, :]) & causal
    return torch.zeros(visible.shape, device=tokens.device).masked_fill(~visible, _MASKED)[:, None]


def _outside(targets: Tensor) -> Tensor:
    # The next document cannot be predicted from this one.
    return (targets == PAD_ID) | (targets == BOS_ID)


def _optimizers(model: LlamaForCausalLM, settings: Settings) -> tuple[torch.optim.Optimizer, ...]:
    matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and "embed" not in name]
    others = [weight for name, weight in model.named_parameters() if weight.ndim != 2 or "embed" in name]
    return (
        torch.optim.Muon(matrices, lr=settings.matrix_rate, weight_decay=settings.weight_decay),
        torch.optim.Adam(others, lr=settings.other_rate, betas=(0.9, 0.95)),
    )


def _rate(step: int, steps: int, warm_up: int) -> float:
    """Return the share of the full learning rate: a linear warm-up, then a cosine to 0."""
    return min((step + 1) / warm_up, 1.0) * 0.5 * (1 + math.cos(math.pi * step / steps))


def _update(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("full_rate", group["lr"]) * rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def _fingerprint(rows: NDArray[np.uint16], settings: Settings) -> str:
    """Return a digest of rows and settings: a checkpoint of others is not resumed."""
    return sha256(repr(settings).encode() + np.ascontiguousarray(rows).tobytes()).hexdigest()


def _save(
    path: Path, run: str, step: int, model: LlamaForCausalLM, optimizers: Iterable[torch.optim.Optimizer]
) -> None:
    tensors = {f"model/{name}": weight.detach().contiguous() for name, weight in model.named_parameters()}
    for number, optimizer in enumerate(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            tensors |= {f"{number}/{index}/{name}": value for name, value in state.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".part")
    save_file(tensors, written, metadata={"run": run, "step": str(step)})
    written.replace(path)


def _restore(path: Path, run: str, model: LlamaForCausalLM, optimizers: Iterable[torch.optim.Optimizer]) -> int:
    """Load the checkpoint of this run and return its step; 0 where there is none."""
    if not path.exists():
        return 0
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    if metadata["run"] != run:
        return 0
    tensors = load_file(path)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(tensors[f"model/{name}"])
    for number, optimizer in enumerate(optimizers):
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(f"{number}/"):
                _, index, name = key.split("/")
                states.setdefault(int(index), {})[name] = value
        optimizer.load_state_dict(optimizer.state_dict() | {"state": states})
    return int(metadata["step"])


def export(model: LlamaForCausalLM, folder: Path) -> None:
    """Write weights in bfloat16, config and the ids that end an answer, for transformers to load."""
    model.bfloat16().save_pretrained(folder)
    ids = {"bos_token_id": BOS_ID, "eos_token_id": EOS_ID, "pad_token_id": PAD_ID}
    (folder / "generation_config.json").write_text(json.dumps(ids, indent=2) + "\n", encoding="utf-8")
