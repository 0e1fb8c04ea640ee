"""The numbers that the paper published, of its models on its data sets: shown next to a run's, never mixed."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import pandas as pd

from analysis.stats import METRICS
from rauq.errors import InvalidInput

Kind = Literal["methods", "ablation", "supervised"]

_FOLDER = Path(__file__).parent / "paper_numbers"
_OVER_MODELS = "(mean)"

PAPER_ROWS = MappingProxyType(
    {
        "rauq": "RAUQ",
        "msp": "MSP",
        "perplexity": "Perplexity",
        "mean_token_entropy": "MTE",
        "ccp": "CCP",
        "attention_score": "Attention Score",
        "attention_score_answer": "Attention Score (Gen. Tokens)",
        "attention_score_answer_head": "Attention Score (Gen. Tokens, Selected Head)",
        "focus": "Focus",
        "simple_focus": "Simple Focus",
        "degmat": "DegMat NLI Score entail.",
        "eccentricity": "Ecc. NLI Score entail.",
        "eigval_laplacian": "EVL NLI Score entail.",
        "lexical_similarity": "Lexical Similarity Rouge-L",
        "eigen_score": "EigenScore",
        "luq": "LUQ",
        "semantic_entropy": "Semantic Entropy",
        "sar": "SAR",
        "semantic_density": "Semantic Density",
        "token_mean": "token mean",
        "token_median": "token median",
        "token_sum_log": "token sum of logs",
        "layer_mean": "layer mean",
        "layer_median": "layer median",
        "no_attention": "no attention",
        "no_recurrence": "no recurrence",
        "previous_probability": "previous probability instead of confidence",
        "product": "probability times attention",
        "minus_mean": "attention minus running mean",
        "minus_recent_mean": "attention minus rolling mean of 5",
        "ratio_to_mean": "attention over running mean",
        "rauq_entropy": "RAUQ (Entropy)",
        "single_head": "RAUQ (Single Head)",
        "middle_five": "RAUQ (5 middle layers, 14–18)",
        "all_layers": "RAUQ (All layers)",
        "rauq_lig": "RAUQ (LIG)",
        "factoscope": "Factoscope",
        "saplma": "SAPLMA",
        "mind": "MIND",
        "sheeps": "Sheeps",
        "lookback_lens": "LookBackLens",
        "satrmd": "SATRMD+MSP",
        "tad": "TAD",
    }
)
"""Ids of methods, and the names of their rows in the paper; what asks another judge than the paper's has none."""

_METHODS = {
    **{name: method for method, name in PAPER_ROWS.items()},
    **dict.fromkeys(("token mean of logs (RAUQ)", "layer max (RAUQ)"), "rauq"),
}


@dataclass(frozen=True, kw_only=True)
class Published:
    """A table of the paper about one model: `table` is its label there, `metric` prr or roc_auc."""

    table: str
    model: str
    metric: str
    kind: Kind
    topic: str

    @property
    def ref(self) -> str:
        """What identifies it, in a URL for example."""
        return f"{self.table}.{self.model}"

    @property
    def title(self) -> str:
        """What it shows, for a reader: that it is published is always said."""
        return f"Published {METRICS[self.metric]}, {self.model}: {self.topic}"


TABLE_NUMBERS = MappingProxyType(
    {
        label: number
        for number, label in (
            (1, "overall_results"),
            (2, "attention_score_selected_head"),
            (5, "llama_token_agg"),
            (6, "llama_layer_agg"),
            (7, "llama_functions"),
            (8, "llama_delta_functions"),
            (9, "llama_prob_entropy"),
            (10, "llama_instruct_prob_entropy"),
            (11, "llama_layer_selection"),
            (12, "llama_wmt_heads"),
            (13, "llama_coqa_heads"),
            (14, "llama_single_head"),
            (15, "overall_results_small_large"),
            (16, "instruction_results"),
            (17, "overall_results_roc_auc"),
            (18, "llama_supervised_id"),
            (19, "llama_supervised_ood"),
            (20, "llama_lig"),
            (21, "llama_detailed"),
            (22, "qwen_detailed"),
            (23, "gemma_detailed"),
            (24, "falcon_detailed"),
        )
    }
)
"""The number of each table in the paper, by its label there."""

_TABLES: tuple[tuple[str, Kind, str], ...] = (
    ("overall_results", "methods", "methods by task"),
    ("overall_results_roc_auc", "methods", "methods by task"),
    ("overall_results_small_large", "methods", "methods by task"),
    ("instruction_results", "methods", "methods by task"),
    ("llama_detailed", "methods", "methods by data set"),
    ("qwen_detailed", "methods", "methods by data set"),
    ("gemma_detailed", "methods", "methods by data set"),
    ("falcon_detailed", "methods", "methods by data set"),
    ("attention_score_selected_head", "ablation", "attention score with parts of RAUQ"),
    ("llama_token_agg", "ablation", "over tokens"),
    ("llama_layer_agg", "ablation", "over layers"),
    ("llama_functions", "ablation", "update rules"),
    ("llama_delta_functions", "ablation", "change-point rules"),
    ("llama_prob_entropy", "ablation", "probability or entropy"),
    ("llama_instruct_prob_entropy", "ablation", "probability or entropy"),
    ("llama_single_head", "ablation", "one head of each layer for all answers"),
    ("llama_layer_selection", "ablation", "layers"),
    ("llama_lig", "ablation", "integrated gradients in place of attention"),
    ("llama_supervised_id", "supervised", "supervised methods, trained on the same data set"),
    ("llama_supervised_ood", "supervised", "supervised methods, trained on other data sets"),
)


def published_tables() -> tuple[Published, ...]:
    """Every table that ranks methods, once for each of its models, in this file's order."""
    known = _numbers()[["table", "model", "metric"]].drop_duplicates()
    return tuple(
        Published(table=table, model=row.model, metric=row.metric, kind=kind, topic=topic)
        for table, kind, topic in _TABLES
        for row in known[(known["table"] == table) & (known["model"] != _OVER_MODELS)].itertuples()
    )


def published_ref(text: str) -> str | None:
    """`text` if it is the `ref` of a published table, else None."""
    return text if any(text == table.ref for table in published_tables()) else None


def published(table: str, model: str) -> pd.DataFrame:
    """The published numbers of a table about a model: a row for each method, a column for each data set or task.

    The first two columns are `method`, the id or "" where there is none here, and `published`, the paper's own name of
    the row; the mean is last, where the paper states one.

    Raises:
        InvalidInput: no such table, or not about this model.
    """
    numbers = _numbers()
    own = numbers[(numbers["table"] == table) & (numbers["model"] == model)]
    if own.empty:
        there = "; ".join(f"{one.table} of {one.model}" for one in published_tables())
        message = f"The paper has no table {table!r} about {model!r}. It has: {there}."
        raise InvalidInput(message)
    wide = own.pivot_table(index="row", columns="column", values="value", sort=False, observed=True)
    wide = wide.reindex(index=own["row"].unique(), columns=own["column"].unique())
    frame = wide.reset_index(names="published").rename_axis(columns=None)
    frame.insert(0, "method", [method_of(name, table) for name in frame["published"]])
    return frame


def published_mean(table: str) -> pd.Series:
    """The mean over all models of a table, by the paper's name of the row."""
    numbers = _numbers()
    return numbers[(numbers["table"] == table) & (numbers["model"] == _OVER_MODELS)].set_index("row")["value"]


def published_heads(table: str) -> pd.DataFrame:
    """The heads that were selected most often in each layer, with the percent of answers (Tables 12 and 13).

    A row for each of the top three, a column for each layer; "–" where no further head was selected.
    """
    numbers = _numbers()
    own = numbers[numbers["table"] == table]
    named = own["row"].str.extract(r"^(Top-\d head) = head (\d+)$")
    cells = named[1] + " (" + own["value"].map("{:.1f} %".format) + ")"
    wide = pd.DataFrame({"selected": named[0], "column": own["column"], "cell": cells})
    found = wide.pivot_table(index="selected", columns="column", values="cell", aggfunc="first")[own["column"].unique()]
    return found.fillna("–").rename_axis(columns=None).reset_index()


_CONTRADICTED = "Llama-3.1 8B"


def contradictions(column: str) -> tuple[tuple[float, tuple[int, ...]], ...]:
    """The different numbers of a column that tables give of RAUQ with Llama-3.1 8B, each with those tables.

    A mean counts where it is over all twelve data sets, so that these numbers should be one.
    """
    numbers = _numbers()
    own = numbers[(numbers["model"] == _CONTRADICTED) & numbers["row"].map(_is_rauq)]
    whole = own.groupby("table")["column"].transform("count") == _ALL_SETS + 1  # and the mean
    rows = own[whole & (own["column"] == column)]
    found: dict[float, list[int]] = {}
    for row in rows.itertuples():
        found.setdefault(row.value, []).append(TABLE_NUMBERS[row.table])
    return tuple(sorted(((value, tuple(sorted(tables))) for value, tables in found.items()), key=lambda one: one[1]))


_ALL_SETS = 12


def _is_rauq(row: str) -> bool:
    return row in {PAPER_ROWS["rauq"], *(name for name, method in _METHODS.items() if method == "rauq")}


def published_runtime() -> pd.DataFrame:
    """The published cost with Llama-3.1 8B: `method` and `published` as above, seconds an answer, overhead percent."""
    frame = pd.read_csv(_FOLDER / "runtime.csv").rename(columns={"method": "published"})
    frame.insert(0, "method", [method_of(name) for name in frame["published"]])
    return frame


def published_errors() -> pd.DataFrame:
    """The published error analysis of RAUQ, Llama-3.1 8B on TruthfulQA: percent of the answers at each end."""
    return pd.read_csv(_FOLDER / "errors.csv")


def method_of(name: str, table: str = "") -> str:
    """The id of the method that a row of the paper is about, "" where there is none here."""
    if name == PAPER_ROWS["rauq"] and table.endswith("prob_entropy"):
        return "rauq_probability"
    return _METHODS.get(name, "")


def _numbers() -> pd.DataFrame:
    return pd.read_csv(_FOLDER / "results.csv")
