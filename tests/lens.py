"""The extra `logit_lens` from its definition, in float64 with numpy alone."""

import numpy as np
from scipy.special import softmax

NEAR = 1e-3  # scores that are nearer to each other may be ordered either way in float32


def assert_lens(lm, trace):
    """A trace's lens is that of its own hidden layers; ranks and ids of nearly equal scores are left open."""
    head, embeddings = (
        lm.model.get_output_embeddings(),
        lm.model.get_input_embeddings().weight.detach().double().numpy(),
    )
    weight = head.weight.detach().double().numpy()
    bias = 0 if head.bias is None else head.bias.detach().double().numpy()
    states = trace.extras["hidden_layers"].astype(np.float64)
    found = trace.extras["logit_lens"]
    num_layers, num_tokens = lm.num_layers, len(trace.answer_ids)
    assert (found.shape, found.dtype) == ((num_layers, num_tokens, 21), np.float32)
    layers = [*range(num_layers - 1), num_layers]
    for token, chosen in enumerate(trace.answer_ids):
        before = None
        for place, layer in enumerate(layers):
            scores = weight @ states[layer, token] + bias
            row = found[place, token]
            assert 1 + (scores > scores[chosen] + NEAR).sum() <= row[0] <= 1 + (scores > scores[chosen] - NEAR).sum()
            ordered = np.sort(scores)
            clear = ordered[-10] - ordered[-11] > NEAR
            top = np.sort(np.argsort(scores)[-10:]) if clear else None
            if top is not None:
                np.testing.assert_allclose(row[11:], softmax(scores)[top], rtol=1e-3, atol=1e-6)
            if place == 0:
                assert not row[1:11].any()
            elif top is not None and before is not None:
                one, other = embeddings[top], embeddings[before]
                lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
                np.testing.assert_allclose(row[1:11], (one * other).sum(axis=1) / lengths, atol=1e-5)
            before = top
