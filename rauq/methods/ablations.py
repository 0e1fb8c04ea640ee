"""Rows of the table: RAUQ with one of its parts exchanged (paper, section on ablations)."""

from rauq.methods.method import Method
from rauq.methods.recurrent import single_head, under
from rauq.settings import Settings

_SOURCE = "the paper, ablations"

_SETTINGS: tuple[tuple[str, str, Settings], ...] = (
    ("rauq_probability", "RAUQ (probability)", Settings(signal="probability")),
    ("rauq_entropy", "RAUQ (entropy)", Settings(signal="entropy")),
    ("token_mean", "RAUQ, mean over tokens", Settings(token_aggregation="mean")),
    ("token_median", "RAUQ, median over tokens", Settings(token_aggregation="median")),
    ("token_sum_log", "RAUQ, sum of logs over tokens", Settings(token_aggregation="sum_log")),
    ("layer_mean", "RAUQ, mean over layers", Settings(layer_aggregation="mean")),
    ("layer_median", "RAUQ, median over layers", Settings(layer_aggregation="median")),
    ("no_attention", "RAUQ, no attention", Settings(update="no_attention")),
    ("no_recurrence", "RAUQ, no recurrence", Settings(update="no_recurrence")),
    ("previous_probability", "RAUQ, previous probability", Settings(update="previous_probability")),
    ("product", "RAUQ, probability times attention", Settings(update="product")),
    ("minus_mean", "RAUQ, attention minus its mean", Settings(update="minus_mean")),
    ("minus_recent_mean", "RAUQ, attention minus its recent mean", Settings(update="minus_recent_mean")),
    ("ratio_to_mean", "RAUQ, attention over its mean", Settings(update="ratio_to_mean")),
    ("mean_product", "Mean log probability times mean log attention", Settings(update="mean_product")),
    ("mean_sum", "Mean log probability plus mean log attention", Settings(update="mean_sum")),
    ("heads_mean", "RAUQ, mean of the heads", Settings(heads="mean")),
    ("heads_top5", "RAUQ, best five heads", Settings(heads="top5")),
    ("middle_five", "RAUQ, five middle layers", Settings(layers="middle_five")),
    ("all_layers", "RAUQ, all layers", Settings(layers="all")),
)

ABLATIONS = (
    *(
        Method(id=name, name=label, family="ablation", compute=under(own), source=_SOURCE, cost="none", settings=own)
        for name, label, own in _SETTINGS
    ),
    Method(
        id="single_head",
        name="RAUQ, one head a layer",
        family="ablation",
        compute=single_head,
        source=_SOURCE,
        cost="none; the heads are chosen on other answers",
        needs=frozenset({"held_out"}),
    ),
)
