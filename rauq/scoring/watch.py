"""What happens while one answer is written: callbacks, and a monitor that scores it after each token."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rauq.arguments import Cancel, is_number
from rauq.errors import InvalidInput, NonFiniteLogits
from rauq.scoring.algorithm import signal_of
from rauq.scoring.online import OnlineState
from rauq.scoring.settings import Settings
from rauq.trace.thinking import PROMPT_TOKENS, USUAL_MARKS, Marks, thinking_span
from rauq.trace.trace import Kind, StopReason, Trace

OnToken = Callable[[int, int, str], None]
OnProgress = Callable[[Callable[[], Trace]], None]
_ENDS_OF_MARKS = (b">", b"]", "▷".encode())


@dataclass(frozen=True, kw_only=True)
class MonitoredToken:
    """A token as soon as it is chosen, and the score of the answer so far.

    Attributes:
        index: Its place in the answer, from 0.
        id: Of the token.
        logprob: Its log-probability in nats.
        entropy: Of the distribution that it was chosen from, in nats.
        uncertainty: RAUQ of the answer so far, in nats; nan once the answer has thinking and a part of it is scored.
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


OnAlarm = Literal["stop", "mark"] | Callable[[MonitoredToken], object]


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What a monitor has to know of its model; `piece` gives the bytes of a token."""

    model: str
    kind: Kind
    num_heads: int
    vocab_size: int
    piece: Callable[[int], bytes]
    thinking_marks: Marks = USUAL_MARKS


class AnswerMonitor:
    """The score of one answer after each of its tokens, and the alarm where it passes a threshold.

    What generates calls `begin`, and `take` with each token; it needs the weights of `layers` alone.

    Raises:
        InvalidInput: settings that need the whole answer, a threshold that is no number, an unknown `on_alarm`.
    """

    def __init__(
        self,
        watched: Watched,
        settings: Settings,
        layers: Sequence[int],
        *,
        threshold: float | None = None,
        on_alarm: OnAlarm = "stop",
        on_token: Callable[[MonitoredToken], object] | None = None,
    ) -> None:
        if threshold is not None and not (is_number(threshold) and math.isfinite(threshold)):
            message = f"Got the threshold {threshold!r}; give a number in nats, or None for no alarm."
            raise InvalidInput(message)
        if on_alarm not in ("stop", "mark") and not callable(on_alarm):
            message = f"Got on_alarm={on_alarm!r}; give 'stop', 'mark' or a function of the token."
            raise InvalidInput(message)
        self.watched, self.settings, self.layers = watched, settings, tuple(layers)
        self.threshold, self.on_alarm, self.on_token = threshold, on_alarm, on_token
        self.begin()

    @property
    def uncertainty(self) -> float:
        """RAUQ of the answer so far, in nats; nan before its first token."""
        return self.tokens[-1].uncertainty if self.tokens else math.nan

    @property
    def stops(self) -> bool:
        """Whether the answer has to end: there was an alarm that stops it."""
        return self.alarm is not None and self.on_alarm == "stop"

    def begin(self, prompt_ids: Sequence[int] = ()) -> None:
        """Begin with a new answer to this prompt."""
        self.tokens: list[MonitoredToken] = []
        self.alarm: int | None = None
        self._online = OnlineState.begin(self.settings, self.layers, self.watched.num_heads)
        self._prompt_end = [self.watched.piece(token) for token in prompt_ids[-PROMPT_TOKENS:]]
        self._pieces: list[bytes] = []
        self._is_split = False

    def take(self, token_id: int, logprob: float, entropy: float, attention: np.ndarray | None) -> None:
        """Score the answer with one more token.

        Args:
            token_id: Of the token.
            logprob: Its log-probability, in nats.
            entropy: Of the distribution that it was chosen from, in nats.
            attention: The weights (Lw, H) of the query that predicts it on the token before, or (Lw, 1) of fixed heads;
                None for the first token.
        """
        name, fixed = self.settings.signal or "entropy", self._online.fixed
        signal = signal_of(np.array(logprob), np.array(entropy), self.watched.vocab_size, name)
        if attention is not None and fixed is not None and fixed.min() >= 0 and attention.shape[1] > 1:
            attention = np.take_along_axis(attention, fixed[:, None], axis=1)
        self._online = self._online.after(float(signal), attention)
        self._note_thinking(token_id)
        token = self._token(token_id, logprob, entropy)
        self.tokens.append(token)
        if self.on_token is not None:
            self.on_token(token)
        if self.alarm is None and self.threshold is not None and token.uncertainty > self.threshold:
            self.alarm = token.index
            if callable(self.on_alarm):
                self.on_alarm(token)

    def _note_thinking(self, token_id: int) -> None:
        """Look for thinking, which only the prompt or the end of a mark can begin, where a part of it is scored."""
        piece = self.watched.piece(token_id)
        self._pieces.append(piece)
        is_due = len(self._pieces) == 1 or any(end in piece for end in _ENDS_OF_MARKS)
        if is_due and self.settings.part != "all" and not self._is_split:
            span = thinking_span(self._prompt_end, self._pieces, self.watched.thinking_marks)
            self._is_split = span is not None

    def _token(self, token_id: int, logprob: float, entropy: float) -> MonitoredToken:
        found = self._online.partial_score()
        layer = None if self._is_split else found.layer
        is_one = layer is not None and found.picked[layer] >= 0
        return MonitoredToken(
            index=len(self.tokens),
            id=token_id,
            logprob=logprob,
            entropy=entropy,
            uncertainty=math.nan if self._is_split else found.uncertainty,
            layer=None if layer is None else self.layers[layer],
            head=int(found.picked[layer]) if layer is not None and is_one else None,
            attention=math.nan if layer is None else float(found.attention[layer]),
            confidence=math.nan if layer is None else float(found.confidence[layer]),
        )


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What happens while one answer grows, alone or in a batch.

    `on_token` is called at once with index, id and text of each of its tokens, and again from index 0 where a batch did
    not fit in memory; `on_progress` after each but the last with a function that returns the trace so far, and that
    raises `NonFiniteLogits` where there is none; `on_end` with the trace or that error when this answer has ended,
    possibly before others of its batch. `cancel` is asked after each token. `monitor` scores it after each token,
    before `on_token` is called, and may end it as `cancel` does; each answer needs its own.
    """

    on_token: OnToken | None = None
    on_progress: OnProgress | None = None
    on_end: Callable[[Trace | NonFiniteLogits], object] | None = None
    cancel: Cancel | None = None
    monitor: AnswerMonitor | None = None

    @property
    def ends(self) -> StopReason | None:
        """Why the answer has to end with the token that it has now; None where it may go on."""
        if self.monitor is not None and self.monitor.stops:
            return "alarm"
        return "cancelled" if self.cancel is not None and self.cancel.is_set() else None


UNWATCHED = Watch()
