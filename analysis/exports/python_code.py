"""The Python that reproduces a score: short, and safe to run for any prompt."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from string import Template
from types import MappingProxyType

from rauq.scoring.score import Measure, Score
from rauq.scoring.settings import changed
from rauq.trace.messages import Message
from rauq.trace.trace import Trace

_SCRIPT = Template('''\
"""Rescores a saved answer: python THIS_FILE, with rauq installed and the trace in the same folder.

regenerate(trace) generates the answer again; other hardware may round differently and give other tokens.
"""

import math

import rauq

TRACE = $file
PROMPT = $prompt
$settings

def regenerate(saved):
    lm = rauq.load_model($model)
    trace = $call$attributed
    for name in ("prompt_ids", "answer_ids"):
        if getattr(trace, name).tolist() != getattr(saved, name).tolist():
            raise SystemExit(f"The model gives other {name} than those saved: is it the same model and revision?")
    return trace


if __name__ == "__main__":
    score = $scoring
    print(score.uncertainty)
    assert $check
''')


def python_code(trace: Trace, score: Score, *, trace_file: str = "answer.safetensors") -> str:
    """A script that scores the trace saved as `trace_file` and asserts that the uncertainty is the same, to 1e-6.

    Its function `regenerate` computes the trace again with the model: by sampling with the same seed, by greedy
    generation where each token is the most probable one, else by reading the tokens of the saved answer. The prompt has
    the form in which it was given before, and text is written as Python literals.
    """
    return _SCRIPT.substitute(
        file=repr(trace_file),
        prompt=_prompt(trace),
        settings=_settings(trace, score),
        scoring=_SCORING[score.by],
        model=_model(trace),
        call=_call(trace),
        attributed=_attributed(trace),
        check=_check(score.uncertainty),
    )


_SCORING: Mapping[Measure, str] = MappingProxyType(
    {
        "rauq": "rauq.score(rauq.Trace.load(TRACE), SETTINGS)",
        "surprisal": "rauq.score_surprisal(rauq.Trace.load(TRACE))",
    }
)


def _settings(trace: Trace, score: Score) -> str:
    """The line with the settings; empty for the largest surprisal, which has none."""
    if score.by == "surprisal":
        return ""
    return f"SETTINGS = rauq.Settings({_arguments(changed(score.settings, trace.kind))})\n"


def _model(trace: Trace) -> str:
    """Arguments of load_model; the embedded model and local folders have no revision to ask for."""
    has_commit = trace.model != "atlas" and trace.revision != "local"
    chosen: dict[str, object] = {"revision": trace.revision} if has_commit else {}
    chosen["kind"] = trace.kind
    if trace.engine_name is not None:
        chosen["engine"] = trace.engine_name
    return f"{trace.model!r}, {_arguments(chosen)}"


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _call(trace: Trace) -> str:
    """The call that computes the trace again: generating it, or reading its tokens."""
    how: dict[str, object] = {}
    if trace.prompt_form in ("text", "templated"):
        how["chat"] = trace.chat_applied
    if trace.template_options:
        how["template_options"] = dict(trace.template_options)
    if (sampling := _sampling(trace)) or trace.is_greedy:
        how |= {"max_new_tokens": len(trace.answer_ids), "stop": (), "last_row": True} | sampling
        return f"lm.generate(PROMPT, {_arguments(how)})"
    given = f", {_arguments(how)}" if how else ""
    return f"lm.read(PROMPT, saved.answer_ids.tolist(){given})"


def _attributed(trace: Trace) -> str:
    """The line that attributes the answer; empty where the weights are attention."""
    if trace.attribution is None:
        return ""
    steps, side, positive = trace.attribution.method
    how = _arguments({"layers": trace.layers, "steps": steps, "side": side, "positive": positive})
    return f"\n    trace = lm.attribute(trace, {how})"


def _sampling(trace: Trace) -> dict[str, object]:
    """Arguments that sample the same tokens; empty where the answer was not sampled, has no seed or was cut short."""
    if trace.sampling is None or trace.sampling.seed is None or trace.stop_reason not in ("eos", "stop", "length"):
        return {}
    return {"do_sample": True} | asdict(trace.sampling)


def _prompt(trace: Trace) -> str:
    """A literal of the prompt: text, ids, or messages."""
    if trace.prompt_form == "ids":
        return repr(trace.prompt_ids.tolist())
    return _literals(trace.messages) if trace.messages else _literal(trace.prompt)


def _literals(messages: Sequence[Message]) -> str:
    return f"[\n{''.join(map(_message, messages))}]"


def _message(message: Message) -> str:
    if message.parts or message.fields:
        return f"    {message.as_dict()!r},\n"
    return f'    {{"role": {message.role!r}, "content": {_literal(message.content)}}},\n'


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
