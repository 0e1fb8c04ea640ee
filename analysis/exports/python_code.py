"""The Python that reproduces a score: short, and safe to run whatever the prompt says."""

import math
from collections.abc import Mapping
from dataclasses import fields
from string import Template

from rauq.score import Score
from rauq.settings import Settings, resolve
from rauq.trace import Kind, Trace

_SCRIPT = Template('''\
"""Scores a saved answer again: python THIS_FILE, with rauq at hand and the trace beside it.

regenerate(trace) answers anew with the model; other hardware may round differently.
"""

import math

import rauq

TRACE = $file
PROMPT = $prompt
SETTINGS = rauq.Settings($settings)


def regenerate(saved):
    lm = rauq.load_model($model)
    trace = $call
    assert trace.prompt_ids.tolist() == saved.prompt_ids.tolist()
    assert trace.answer_ids.tolist() == saved.answer_ids.tolist()
    return trace


if __name__ == "__main__":
    score = rauq.score(rauq.Trace.load(TRACE), SETTINGS)
    print(score.uncertainty)
    assert $check
''')
_GENERATE = "lm.generate(PROMPT, chat={chat}, max_new_tokens={count}, stop=(), last_row=True)"
_READ = "lm.read(PROMPT, saved.answer_ids.tolist(), chat={chat})"


def python_code(trace: Trace, score: Score, *, trace_file: str = "answer.safetensors") -> str:
    """A script that scores the trace saved as `trace_file` and asserts that the uncertainty is the same, to 1e-6.

    Its function `regenerate` gives the trace anew from the model: by greedy generation where each token is the most
    probable one, else by reading the tokens of the saved answer. Text is written as Python literals.
    """
    call = _GENERATE if trace.is_greedy else _READ
    return _SCRIPT.substitute(
        file=repr(trace_file),
        prompt=_literal(trace.prompt),
        settings=_arguments(_changed(score.settings, trace.kind)),
        model=_model(trace),
        call=call.format(chat=trace.chat_applied, count=len(trace.answer_ids)),
        check=_check(score.uncertainty),
    )


def _changed(settings: Settings, kind: Kind) -> dict[str, object]:
    """The values that are not the paper's for this kind of model."""
    paper = resolve(Settings(signal=settings.signal), kind)
    chosen = {field.name: getattr(settings, field.name) for field in fields(settings)}
    changed = {name: value for name, value in chosen.items() if value != getattr(paper, name)}
    if settings.signal != resolve(Settings(), kind).signal:
        changed["signal"] = settings.signal
    return changed


def _model(trace: Trace) -> str:
    """Arguments of load_model; the embedded model and local folders have no revision to ask for."""
    has_commit = trace.model != "atlas" and trace.revision != "local"
    revision = {"revision": trace.revision} if has_commit else {}
    return f"{trace.model!r}, {_arguments(revision | {'kind': trace.kind})}"


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _literal(text: str) -> str:
    """A string literal, one for each line of the text; repr writes what is not printable as an escape."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return repr(text)
    return "(\n" + "".join(f"    {line!r}\n" for line in lines) + ")"


def _check(uncertainty: float) -> str:
    if math.isnan(uncertainty):
        return "math.isnan(score.uncertainty)"
    expected = repr(uncertainty) if math.isfinite(uncertainty) else f'float("{uncertainty}")'
    return f"math.isclose(score.uncertainty, {expected}, rel_tol=0, abs_tol=1e-6)"
