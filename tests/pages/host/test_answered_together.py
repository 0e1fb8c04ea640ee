"""Prompts that wait on a host are answered in one batch, and each job goes on and ends as if it were alone."""

import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

import rauq
from pages.ui.host import hosting, jobs, models
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.request import Request
from pages.ui.host.store import store
from rauq.arguments import Sampling
from rauq.errors import InvalidInput, NonFiniteLogits, OutOfMemory
from rauq.model import generation
from tests.pages.reading import started


def ended(job):
    assert job.done.wait(30)
    return job


@pytest.fixture
def host(monkeypatch):
    """A host that offers the embedded model, and the batches that it has answered."""
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "1")
    monkeypatch.setattr(hosting, "models", lambda: ("atlas",))
    lm, batches = rauq.load_model("atlas"), []
    monkeypatch.setattr(models, "model", lambda _name, **_options: lm)
    monkeypatch.setattr(models, "if_loaded", lambda _name: lm)
    real = rauq.LanguageModel.generate_batch

    def noted(self, prompts, **options):
        batches.append(list(prompts))
        return real(self, prompts, **options)

    monkeypatch.setattr(rauq.LanguageModel, "generate_batch", noted)
    return lm, batches


QUESTIONS = [f"Q: What is the capital of {country}?\nA:" for country in ("Japan", "Peru", "Chad", "Oman", "Fiji")]


def asked(prompt, **changes):
    return Request(model=ModelChoice(), prompt=prompt, max_new_tokens=12, **changes)


def started_behind_another(lm, requests):
    """Jobs that have waited until all of them were there."""
    with models.queue(lm).turn(threading.Event(), "before"):
        found = [started(request) for request in requests]
        with models.queue(lm).moved:
            assert models.queue(lm).moved.wait_for(lambda: models.queue(lm).length == len(found) + 1, 30)
    return found


def test_a_host_answers_waiting_prompts_in_one_batch_and_each_as_if_alone(host):
    lm, batches = host
    found = [ended(job) for job in started_behind_another(lm, [asked(prompt) for prompt in QUESTIONS])]
    assert [sorted(batch) for batch in batches] == [sorted(QUESTIONS)]
    for job, prompt in zip(found, QUESTIONS, strict=True):
        alone = lm.generate(prompt, max_new_tokens=12, last_row=True)
        assert (job.error, job.trace.prompt, job.trace.answer) == (None, prompt, alone.answer)
        np.testing.assert_allclose(job.trace.logprobs, alone.logprobs, atol=1e-4)
        np.testing.assert_allclose(job.trace.attention, alone.attention, atol=1e-4)
        assert "".join(job.pieces) == alone.answer
        assert not job.waiting
        assert job.waited >= 0
    assert not set(found) & store().jobs.jobs.keys()
    with models.queue(lm).moved:
        assert models.queue(lm).moved.wait_for(lambda: models.queue(lm).length == 0, 30)


def test_what_differs_in_more_than_its_prompt_is_answered_alone(host, monkeypatch):
    lm, batches = host
    monkeypatch.setattr(jobs, "_MOST_SHARED", 100)
    alone = [
        asked(QUESTIONS[0], stop=","),
        asked(QUESTIONS[0], answer=" Tokyo."),
        asked(QUESTIONS[0], sampling=Sampling(seed=1)),
        asked(f"Q: {'Please. ' * 20}{QUESTIONS[0][3:]}"),
        replace(asked(QUESTIONS[0]), max_new_tokens=5),
    ]
    for job in started_behind_another(lm, [*alone, *map(asked, QUESTIONS[:2])]):
        assert ended(job).error is None
    assert [sorted(batch) for batch in batches] == [sorted(QUESTIONS[:2])]
    monkeypatch.delenv(hosting.HOSTED_VARIABLE)
    for job in started_behind_another(lm, map(asked, QUESTIONS[:2])):
        assert ended(job).error is None
    assert len(batches) == 1


def with_nan(weight, row):
    changed = weight.detach().clone()
    changed[row] = torch.nan
    return torch.nn.Parameter(changed, requires_grad=False)


def test_in_a_batch_an_error_and_a_stop_concern_one_job_alone(host, monkeypatch):
    lm, _ = host
    note, stopped = jobs._note_progress, []

    def stop_peru(job, so_far, **how):
        if "Peru" in job.request.prompt and len(job.pieces) == 1:
            job.cancel.set()
            stopped.append(job)
        note(job, so_far, **how)

    monkeypatch.setattr(jobs, "_note_progress", stop_peru)
    (poisoned,) = set(lm.tokens.encode("~", special=False))
    monkeypatch.setattr(lm.model.model.embed_tokens, "weight", with_nan(lm.model.model.embed_tokens.weight, poisoned))
    japan, peru, broken, chad = started_behind_another(lm, map(asked, [*QUESTIONS[:2], "Q: ~\nA:", QUESTIONS[2]]))
    assert isinstance(ended(broken).error, NonFiniteLogits)
    assert broken.trace is None
    assert ended(peru).trace.stop_reason == "cancelled"
    assert len(peru.trace.answer_ids) == 2
    for job in (japan, chad):
        assert ended(job).trace.stop_reason != "cancelled"
        assert job.error is None
    assert stopped == [peru]


def test_a_prompt_that_leaves_no_room_for_the_longest_answer_is_answered_alone(host):
    lm, batches = host
    long = asked(f"Q: {'Please. ' * 49}")
    too_long = asked(chr(0x1F642) * 900)
    assert 256 - 12 < len(lm.encode(long.prompt).ids) < 256
    found = started_behind_another(lm, [asked(QUESTIONS[0]), long, too_long, asked(QUESTIONS[1])])
    assert [ended(job).error is None for job in found] == [True, True, False, True]
    assert "takes 256 of prompt and answer together" in str(found[2].error)
    assert [sorted(batch) for batch in batches] == [sorted(QUESTIONS[:2])]


def test_a_batch_that_does_not_fit_in_memory_changes_nothing_that_has_ended(host, monkeypatch):
    lm, _ = host
    real, kept = generation.generate, []

    def full(decoder, prompts, **how):
        found = real(decoder, prompts, **how)
        if len(prompts) > 1:
            kept.extend((job.trace, list(job.pieces)) for job in jobs_of_batch)
            message = "full"
            raise OutOfMemory(message)
        return found

    monkeypatch.setattr(generation, "generate", full)
    before = Counter(store().counts.answers)
    jobs_of_batch = []
    with models.queue(lm).turn(threading.Event(), "before"):
        jobs_of_batch += [started(asked(prompt)) for prompt in QUESTIONS[:3]]
        with models.queue(lm).moved:
            assert models.queue(lm).moved.wait_for(lambda: models.queue(lm).length == 4, 30)
    with models.queue(lm).turn(threading.Event(), "after"):
        pass
    assert [(job.trace, job.pieces) for job in jobs_of_batch] == kept
    assert all(job.error is None and job.so_far is None for job in jobs_of_batch)
    assert Counter(store().counts.answers) - before == {"done": 3}


def test_where_a_batch_is_refused_every_job_of_it_says_why(host, monkeypatch):
    lm, _ = host

    def refuse(*_args, **_options):
        message = "this cannot be asked"
        raise InvalidInput(message)

    monkeypatch.setattr(rauq.LanguageModel, "generate_batch", refuse)
    found = [ended(job) for job in started_behind_another(lm, map(asked, QUESTIONS[:3]))]
    assert {str(job.error) for job in found} == {"this cannot be asked"}


def test_where_a_batch_fails_every_job_of_it_says_so(host, monkeypatch):
    lm, _ = host

    def fail(*_args, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr(rauq.LanguageModel, "generate_batch", fail)
    found = [ended(job) for job in started_behind_another(lm, map(asked, QUESTIONS[:3]))]
    said = sorted(str(job.error) for job in found)
    assert [text.partition(" (")[0] for text in said] == [
        *["The generation failed together with others that were waiting. Try again."] * 2,
        "The generation failed unexpectedly",
    ]
    assert ended(started(asked(QUESTIONS[3], stop=","))).error is None
