"""Comparison with lm-polygraph, BertViz and plain transformers: time, memory, agreement, payload.

The tools run in their own environment, which `make bench-peers` makes, with the same torch and transformers as here.
Bounds, at a prompt of 4,096 tokens: lm-polygraph takes at least 3 times as much CPU time, each relative to plain
generation in its own process, and at least 15 times as much memory above the loaded model; and both agree.
"""
