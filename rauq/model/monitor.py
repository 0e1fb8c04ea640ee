"""Score an answer while it is generated: by `lm.generate`, or by transformers' own `generate`."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from rauq.capture import tap
from rauq.capture.kernel_sums import with_sums
from rauq.capture.logits import chosen_and_entropies
from rauq.capture.session import TappedSession, last_key_weight, single_head
from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.engines.transformers_engine import TransformersEngine
from rauq.scoring.settings import Settings, resolve, window
from rauq.scoring.watch import AnswerMonitor, MonitoredToken, OnAlarm, Watched

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel


class Monitor(AnswerMonitor):
    """Scores one answer token by token, and may stop it.

    `lm.generate(prompt, monitor=monitor)` calls it with every engine, and so does `generate_batch` with a
    `rauq.Watch(monitor=...)` for each answer. Inside `with` it may stand among the `stopping_criteria` of transformers'
    own `generate`, in the thread that calls it. Of the layers in the window it computes the attention of each new token
    once more, which is linear in the context: of all heads, or, inside `with`, of fixed `heads` alone. After the last
    token `uncertainty` is that of `score`. It watches one sequence, and refuses `settings` that need a whole answer.

    Args:
        lm: The model, from `load_model` or `wrap`.
        settings: How to score; None: the paper's for this kind of model.
        threshold: There is an alarm at the first token where the answer is more uncertain, in nats; None: never.
        on_alarm: "stop": the answer ends there; "mark": `alarm` is its index, and the answer goes on; a function is
            called with the token, and the answer goes on.
        on_token: Called with each `MonitoredToken`.

    Raises:
        InvalidInput: settings that need the whole answer, a threshold that is no number, an unknown `on_alarm`.

    Example:
        >>> lm = rauq.load_model("atlas", device="cpu")
        >>> monitor = rauq.Monitor(lm)
        >>> trace = lm.generate("Q: In which country is Kyoto? A:", monitor=monitor, max_new_tokens=3)
        >>> len(monitor.tokens)
        3
    """

    def __init__(
        self,
        lm: "LanguageModel",
        settings: Settings | None = None,
        *,
        threshold: float | None = None,
        on_alarm: OnAlarm = "stop",
        on_token: Callable[[MonitoredToken], object] | None = None,
    ) -> None:
        self.lm = lm
        settings = resolve(settings or Settings(), lm.kind)
        super().__init__(
            Watched(
                model=lm.name,
                kind=lm.kind,
                num_heads=lm.num_heads,
                vocab_size=lm.vocab_size,
                piece=lm.tokens.piece,
                thinking_marks=lm.tokens.thinking_marks,
            ),
            settings,
            window(settings, captured=lm.layers, num_layers=lm.num_layers),
            threshold=threshold,
            on_alarm=on_alarm,
            on_token=on_token,
        )
        self._weights: dict[int, Tensor] = {}
        self._logits: Tensor | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Begin with a new answer: from now on, the calls of the model in this thread are seen.

        Raises:
            UnsupportedModel: another engine runs the model, or its attention is not captured from its own calls.
        """
        engine = self.lm.engine
        if not isinstance(engine, TransformersEngine) or engine.session_type is not TappedSession:
            message = (
                f"{self.lm.name} cannot be watched inside `with`: its attention is not seen in its own calls. Use "
                "lm.generate(prompt, monitor=monitor)."
            )
            raise UnsupportedModel(message)
        self.begin()
        modules = tap.attention_modules(self.lm.model)
        recorders = {modules[layer]: self._recorder(layer) for layer in self.layers}
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
        if not self.tokens:
            self.begin(input_ids[0, :-1].tolist())
        logprobs, entropies = chosen_and_entropies(self._logits, input_ids[:, -1].to(self._logits.device))
        attention = self._attention() if self.tokens else None
        self.take(int(input_ids[0, -1]), float(logprobs), float(entropies), attention)
        return torch.full((1,), self.stops, device=input_ids.device)

    def _attention(self) -> np.ndarray:
        """The weights (Lw, H) of the query that predicts the token on the token before."""
        if missing := [layer for layer in self.layers if layer not in self._weights]:
            message = f"Layer {missing[0]} of {self.lm.name} was not called with one new token, as `generate` does."
            raise UnsupportedModel(message)
        weights = torch.stack([self._weights.pop(layer) for layer in self.layers])
        return weights.cpu().numpy()

    def _recorder(self, layer: int) -> tap.Around:
        fixed = dict(self.settings.heads).get(layer) if isinstance(self.settings.heads, tuple) else None

        def note(
            call: Callable[[], Any], query: Tensor, key: Tensor, mask: Tensor | None, options: Mapping[str, Any]
        ) -> Any:
            self._weights.pop(layer, None)
            if query.shape[0] != 1 or query.shape[2] != 1:
                return call()  # a prompt: its last row predicts the first token, which has no previous one
            result, sums = with_sums(call, key)
            if fixed is not None:
                query, key, options = single_head(fixed, query, key, options)
                sums = None if sums is None else sums[fixed : fixed + 1]
            self._weights[layer] = last_key_weight(query, key, mask, options, sums=sums)[0]
            return result

        return tap.Around(note)

    def _note_logits(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        del module, args
        self._logits = output.logits[:, -1]
