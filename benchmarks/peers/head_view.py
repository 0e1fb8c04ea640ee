"""How many bytes BertViz's head view is, run in its own environment: layers, heads and tokens in, a number out.

The attention is seeded and causal, so that half of it is zero, as in a real model.

    python -m benchmarks.peers.head_view LAYERS HEADS TOKENS
"""

import sys

import torch
from bertviz import head_view


def size(layers: int, heads: int, tokens: int) -> int:
    """Bytes of the HTML that a notebook is sent."""
    torch.manual_seed(0)
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    attention = [
        torch.randn(1, heads, tokens, tokens).masked_fill(later, -torch.inf).softmax(-1) for _ in range(layers)
    ]
    page = head_view(attention, [f"word{place % 97}" for place in range(tokens)], html_action="return")
    return len(page.data.encode())


if __name__ == "__main__":
    print(size(*map(int, sys.argv[1:])))
