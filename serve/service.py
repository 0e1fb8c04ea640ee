"""One served model, and the jobs of a request to it."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rauq.errors import InvalidInput
from rauq.model.context import PromptLike
from rauq.model.language_model import LanguageModel
from rauq.model.monitor import Monitor
from rauq.scoring.settings import Settings
from serve.counts import Counts
from serve.handover import Events, Handover
from serve.job import Ended, Event, Failed, Job, Wanted
from serve.numbers import Scored, answer_numbers, scored
from serve.refusals import Refusal
from serve.requests import AnyRequest, Kind
from serve.worker import Worker

if TYPE_CHECKING:
    from serve.reference import Reference

NO_RUN = "the server was started without --run"
Keep = Callable[[Scored, Ended, float | None], str]
"""Keeps an answer that has ended, with the uncertainty that its client gets, if any.

Returns where the app beside the endpoint shows it: a path and its query.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Service:
    """A model with its thread, how its answers are scored, and what they are ranked among.

    `threshold`: an answer ends where it is more uncertain, in nats. `key`: what clients have to send; "" for none.
    `keep`: of an app in the same process.
    """

    lm: LanguageModel
    worker: Worker
    settings: Settings
    reference: "Reference | None" = None
    threshold: float | None = None
    key: str = ""
    keep: Keep | None = None
    counts: Counts = field(default_factory=Counts)
    handover: Handover = field(default_factory=Handover)

    def score(self, ended: Ended) -> Scored:
        """The score of an answer that has ended."""
        return scored(ended.trace, self.settings, len(ended.text))

    def numbers(self, found: Scored, ended: Ended, *, base: str) -> dict[str, Any]:
        """RAUQ's numbers of an answer; with an app, which keeps it, its `url` below this address."""
        numbers = answer_numbers(found, ended, self._rank(found))
        if self.keep is not None:
            numbers["url"] = base + self.keep(found, ended, numbers["uncertainty"])
        return numbers

    def _rank(self, found: Scored) -> Mapping[str, object]:
        if self.reference is None:
            return {"no_rank": NO_RUN}
        return self.reference.rank(found.trace, found.score.uncertainty)


class Answers:
    """The answers to one request: `events` has what happens to each, by the index of its choice.

    `base`: the address of the server, as the client knows it.
    """

    def __init__(self, service: Service, asked: AnyRequest, kind: Kind, *, base: str) -> None:
        self.service, self.asked, self.kind, self.base = service, asked, kind, base
        self.events: Events = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.began = time.monotonic()
        self.num_prompt = 0
        self.jobs: list[Job] = []

    def submit(self) -> None:
        """Encode the prompts, and let the jobs wait for their turn; this may take seconds.

        Raises:
            Refusal: a prompt cannot be used, or the queue is full.
        """
        seed = secrets.randbits(62) if self.asked.seed is None else self.asked.seed
        seeds = [seed, *(_derived(seed, row) for row in range(1, self.asked.n))]
        for prompt in self.asked.prompts:
            num_prompt = self._length(prompt)
            self.num_prompt += num_prompt
            for one in seeds:
                self.jobs.append(self._job(len(self.jobs), prompt, num_prompt, one))
        self.service.worker.submit(self.jobs)

    def leave(self) -> None:
        """End the answers: nobody waits for them any more."""
        for job in self.jobs:
            job.gone.set()
        self.jobs.clear()  # they hold this object: memory comes back without a search for circles

    @property
    def wants_numbers(self) -> bool:
        """Whether the client gets RAUQ's numbers."""
        return self.asked.rauq or self.asked.alternatives is not None

    @property
    def is_scored(self) -> bool:
        """Whether an answer is scored once it has ended: for the client, or to be kept."""
        return self.wants_numbers or self.service.keep is not None

    def _length(self, prompt: PromptLike) -> int:
        try:
            return len(self.service.lm.encode(prompt, chat=self._chat).ids)
        except InvalidInput as error:
            raise Refusal(400, str(error), param="messages" if self.kind == "chat" else "prompt") from error

    @property
    def _chat(self) -> bool | None:
        return None if self.kind == "chat" else False

    def _job(self, index: int, prompt: PromptLike, num_prompt: int, seed: int) -> Job:
        service, asked, limits = self.service, self.asked, self.service.worker.limits
        context = service.lm.context_length
        room = limits.tokens if context is None else min(limits.tokens, context - num_prompt)
        wanted = Wanted(
            prompt=prompt,
            chat=self._chat,
            num_prompt=num_prompt,
            most_tokens=min(asked.most_tokens or room, room),
            stops=asked.stops,
            sampling=asked.sampling(seed),
            until=self.began + limits.seconds,
            grows=asked.stream,
            with_traces=asked.stream and asked.alternatives is not None,
        )
        monitor = None
        if service.threshold is not None:
            monitor = Monitor(service.lm, service.settings, threshold=service.threshold)
        return Job(wanted=wanted, tell=lambda event: self._tell(index, event), monitor=monitor)

    def _tell(self, index: int, event: Event) -> None:
        """Count an event, and pass it from a thread of the model to the event loop, unless that has ended."""
        if isinstance(event, Ended):
            self.service.counts.answer(event.ending, event.trace)
        elif isinstance(event, Failed):
            self.service.counts.failure()
        if not self.loop.is_closed():
            self.service.handover.put(self.loop, self.events, (index, event))


def _derived(seed: int, row: int) -> int:
    """The seed of a further answer, as `LanguageModel.sample` draws its rows."""
    return int(np.random.SeedSequence((seed, row)).generate_state(1, np.uint64)[0])
