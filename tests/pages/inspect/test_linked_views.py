"""The input of the linked views."""

from base64 import b64decode

import numpy as np
import pytest

from pages.ui.inspect.linked_views import MOST_STEPS, payload
from rauq.scoring.report import words
from rauq.scoring.score import score
from tests.traces import make_trace


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_weight_is_drawn_as_it_is_in_whatever_precision_a_file_holds_it(kind):
    attention = make_trace().attention.astype(kind)
    attention[0, 0, 1:, 0] = (1.0, 0.25, 0.0)
    attention[0, 1, 1, 0] = np.nan
    trace = make_trace(attention=attention)
    scored = score(trace)
    steps = np.frombuffer(b64decode(payload(trace, scored, words(trace, scored))["weights"]), "<u2")
    drawn = steps.reshape(trace.previous_token_attention().shape)
    assert drawn[0, 0].tolist() == [MOST_STEPS, round(MOST_STEPS / 4)]
    assert drawn[0, 1, 0] == MOST_STEPS + 1


def test_the_source_of_an_answer_says_that_its_weights_are_those_of_a_gguf_file():
    trace = make_trace(quantisation="Q4_1", dtype="float32", stop_reason="stop")
    said = words(trace, score(trace), "A note.").source
    assert said.endswith(
        " a stop string. The weights are quantised as Q4_1 in a GGUF file; the computation is in float32. A note."
    )
