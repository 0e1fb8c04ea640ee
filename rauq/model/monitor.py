"""Score an answer while transformers' own `generate` produces it."""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from rauq.arguments import is_number
from rauq.capture import tap
from rauq.capture.session import TappedSession, last_key_weight, single_head
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.engines.transformers_engine import TransformersEngine
from rauq.scoring.algorithm import signal_of
from rauq.scoring.online import OnlineState
from rauq.scoring.settings import Settings, resolve, window

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel


_LEAST = -1e4  # nats: of a token that the model rules out, which adds nothing to an entropy


@dataclass(frozen=True, kw_only=True)
class MonitoredToken:
    """A token as soon as it is chosen, and the score of the answer so far.

    Attributes:
        index: Its place in the answer, from 0.
        id: Of the token.
        logprob: Its log-probability in nats.
        entropy: Of the distribution that it was chosen from, in nats.
        uncertainty: RAUQ of the answer so far, in nats.
        layer: The layer that gives this, None where several do.
        head: Its head; None where several do, or where it is the mean over heads.
        attention: On the previous token, of that head; nan for the first token, and where there is no such head.
        confidence: c of that head; nan where there is no such head.
    """

    index: int
    id: int
    logprob: float
    entropy: float
    uncertainty: float
    layer: int | None
    head: int | None
    attention: float
    confidence: float


class Monitor:
    """Scores one answer token by token, inside `with`, and may stop it.

    It is given to transformers' `generate` among the `stopping_criteria`, and works in the thread that calls it. Of the
    layers in the window it computes the attention of each new token once more, which is linear in the context: of all
    heads, or of fixed `heads` alone. After the last token `uncertainty` is that of `score`. It watches one sequence,
    without thinking, and refuses `settings` that need a whole answer. `lm.generate` and `rauq.Watch` do without it:
    `on_progress` there has the trace so far.

    Args:
        lm: The model, from `load_model` or `wrap`, in transformers.
        settings: How to score; None: the paper's for this kind of model.
        threshold: The answer is stopped at the first token where it is more uncertain, in nats; None: never.
        on_token: Called with each `MonitoredToken`.

    Raises:
        InvalidInput: settings that need the whole answer, or a threshold that is no number.
        UnsupportedModel: another engine runs the model, or its attention is not captured from its own calls.

    Example:
        >>> lm = rauq.load_model("atlas", device="cpu")
        >>> ids = torch.tensor([lm.encode("Q: In which country is Kyoto? A:").ids])
        >>> with rauq.Monitor(lm) as monitor:
        ...     _ = lm.model.generate(ids, max_new_tokens=3, do_sample=False, stopping_criteria=[monitor])
        >>> len(monitor.tokens)
        3
    """

    def __init__(
        self,
        lm: "LanguageModel",
        settings: Settings | None = None,
        *,
        threshold: float | None = None,
        on_token: Callable[[MonitoredToken], object] | None = None,
    ) -> None:
        if threshold is not None and not (is_number(threshold) and math.isfinite(threshold)):
            message = f"Got the threshold {threshold!r}; give a number in nats, or None to stop nothing."
            raise InvalidInput(message)
        engine = lm.engine
        if not isinstance(engine, TransformersEngine) or engine.session_type is not TappedSession:
            message = f"{lm.name} cannot be watched while it generates: its attention is not seen in its own calls."
            raise UnsupportedModel(message)
        self.lm, self.threshold, self.on_token = lm, threshold, on_token
        self.tokens: list[MonitoredToken] = []
        self.alarm: int | None = None
        self._settings = resolve(settings or Settings(), lm.kind)
        layers = window(self._settings, captured=lm.layers, num_layers=lm.num_layers)
        self._online = OnlineState.begin(self._settings, layers, lm.num_heads)
        self._weights: dict[int, Tensor] = {}
        self._logits: Tensor | None = None
        self._open = ExitStack()

    @property
    def uncertainty(self) -> float:
        """RAUQ of the answer so far, in nats; nan before its first token."""
        return self.tokens[-1].uncertainty if self.tokens else math.nan

    def __enter__(self) -> Self:
        """Begin with a new answer: from now on, the calls of the model in this thread are seen."""
        self.tokens, self.alarm = [], None
        self._online = OnlineState.begin(self._settings, self._online.layers, self.lm.num_heads)
        modules = tap.attention_modules(self.lm.model)
        recorders = {modules[layer]: self._recorder(layer) for layer in self._online.layers}
        self._open.enter_context(tap.recording(recorders))
        hook = self.lm.model.register_forward_hook(self._note_logits)
        self._open.callback(hook.remove)
        return self

    def __exit__(self, *_error: object) -> None:
        """See nothing any more."""
        self._open.close()

    def __call__(self, input_ids: Tensor, scores: Tensor, **_options: Any) -> Tensor:
        """Take in the token that was chosen; `generate` calls it after each, and stops at a True (B,).

        Raises:
            InvalidInput: several sequences at once, or a call outside `with`.
            UnsupportedModel: the model called its attention in a way that is not known here.
        """
        del scores
        if len(input_ids) != 1 or self._logits is None:
            message = f"Got {len(input_ids)} sequences; a monitor watches one, inside `with`, without beams."
            raise InvalidInput(message)
        token = self._token(int(input_ids[0, -1]), torch.log_softmax(self._logits, dim=-1))
        self.tokens.append(token)
        if self.on_token is not None:
            self.on_token(token)
        if self.threshold is not None and token.uncertainty > self.threshold:
            self.alarm = token.index
        return torch.full((1,), self.alarm is not None, device=input_ids.device)

    def _token(self, chosen_id: int, logprobs: Tensor) -> MonitoredToken:
        chosen, index = float(logprobs[chosen_id]), self._online.count
        entropy = -float((logprobs.exp() * logprobs.clamp(min=_LEAST)).sum())
        signal = signal_of(np.array(chosen), np.array(entropy), self.lm.vocab_size, self._settings.signal or "entropy")
        self._online = self._online.after(float(signal), self._attention() if index else None)
        found = self._online.partial_score()
        is_one = found.layer is not None and found.picked[found.layer] >= 0
        return MonitoredToken(
            index=index,
            id=chosen_id,
            logprob=chosen,
            entropy=entropy,
            uncertainty=found.uncertainty,
            layer=None if found.layer is None else self._online.layers[found.layer],
            head=int(found.picked[found.layer]) if is_one else None,
            attention=float(found.attention[found.layer]) if found.layer is not None else math.nan,
            confidence=float(found.confidence[found.layer]) if found.layer is not None else math.nan,
        )

    def _attention(self) -> np.ndarray:
        """The weights (Lw, H) of the query that predicts the token on the token before."""
        if missing := [layer for layer in self._online.layers if layer not in self._weights]:
            message = f"Layer {missing[0]} of {self.lm.name} was not called with one new token, as `generate` does."
            raise UnsupportedModel(message)
        weights = torch.stack([self._weights.pop(layer) for layer in self._online.layers])
        return weights.cpu().numpy()

    def _recorder(self, layer: int) -> tap.Recorder:
        fixed = dict(self._settings.heads).get(layer) if isinstance(self._settings.heads, tuple) else None

        def note(query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> None:
            self._weights.pop(layer, None)
            if query.shape[0] != 1 or query.shape[2] != 1:
                return  # a prompt: its last row predicts the first token, which has no previous one
            if fixed is not None:
                query, key, options = single_head(fixed, query, key, options)
            self._weights[layer] = last_key_weight(query, key, mask, options)[0]

        return note

    def _note_logits(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        del module, args
        self._logits = output.logits[0, -1].float()
