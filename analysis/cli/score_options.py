"""The options of `rauq score`."""

import argparse
from pathlib import Path

from rauq.cli.commands import add_model_options, add_stop_options
from rauq.layout import ANALYSIS_COMMAND


def run_place(text: str) -> Path | str:
    """A run that is written: its folder, or its address in a store."""
    return text if "://" in text else Path(text)


def add_score_options(score: argparse.ArgumentParser) -> None:
    """Add the options of `score` to its parser."""
    score.description = (
        "Generate and score answers to a data set. To resume a stopped or killed run, repeat the command, or use "
        "--out DIR --resume."
    )
    asked = score.add_argument_group("model and data")
    asked.add_argument("--model", metavar="M", help="atlas (embedded, default), a hub id, or a local folder")
    asked.add_argument(
        "--revision",
        metavar="R",
        help="branch, tag or commit of a model on the hub; default: main. A resumed run keeps its commit",
    )
    add_model_options(asked)
    asked.add_argument(
        "--data",
        metavar="D",
        help="a CSV, JSONL, JSON, Excel or Parquet file; atlas, or one of its families; facts or facts_few_shot, or "
        "one family as facts=capitals; one of the paper's sets, such as sciq, or sciq=FOLDER for a local copy; answers "
        "that people marked, which the model reads: mu_shroom=FOLDER, faithbench=FOLDER or helm=FOLDER",
    )
    asked.add_argument("--correct", type=Path, metavar="FILE", help="instead of --data: a file of correct answers")
    asked.add_argument("--incorrect", type=Path, metavar="FILE", help="with --correct: a file of incorrect answers")
    asked.add_argument(
        "--columns",
        metavar="FIELD=COLUMN,...",
        help="which columns of a file to use, for example prompt=question,references=answer; default: by their names "
        "and cells. --dry-run prints what was found",
    )
    asked.add_argument("--limit", type=int, metavar="N", help="maximum number of examples")
    asked.add_argument(
        "--per-group", type=int, metavar="N", help="maximum number of examples per family (atlas, facts)"
    )
    asked.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of the limit and of sampling; default 0"
    )
    how = score.add_argument_group("run")
    how.add_argument(
        "--out", type=run_place, metavar="DIR", help="the folder of the run, or s3://BUCKET/NAME; needed for a run"
    )
    how.add_argument(
        "--dry-run", action="store_true", help="print how --data is read, with an example of each column, and stop"
    )
    how.add_argument("--resume", action="store_true", help="resume the run in --out with its own options")
    how.add_argument(
        "--parent",
        type=int,
        metavar="PID",
        help="stop, as on Ctrl-C, once this process, which started the job, has ended",
    )
    how.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads that torch computes with, which decide how sums round; default: those of this process",
    )
    how.add_argument(
        "--mixed",
        action="store_true",
        help="allow machines that round differently from the one that the run was started on; near ties may then give "
        "other tokens",
    )
    how.add_argument("--on", metavar="ADDRESS", help="answer on Ray: ray for this machine, or ray://HOST:PORT")
    how.add_argument(
        "--endpoint",
        metavar="URL",
        help="answer by a vLLM server with the plugin rauq-vllm, such as http://127.0.0.1:8000; --model then names one "
        "of its models, and may be left out where there is one",
    )
    how.add_argument(
        "--models-per-gpu", type=int, default=1, metavar="N", help="with --on: models that share a GPU; default 1"
    )
    how.add_argument(
        "--questions",
        choices=("joined", "apart"),
        help="whether near-duplicate questions count as one (default) or as different ones, in this run from now on",
    )
    how.add_argument("--batch-size", type=int, metavar="B", help="examples in a batch; default 8")
    how.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="maximum answer length; default: that of the data set, else 128"
    )
    add_stop_options(how)
    how.add_argument(
        "--methods",
        nargs="+",
        metavar="ID",
        help="ids of methods; default: rauq msp perplexity mean_token_entropy; no-download: all without another model; "
        "tad=FILE: a supervised method with its detector; "
        "module:method: one of your own, of a Python file in this folder, to be named again with --resume",
    )
    how.add_argument(
        "--method-seconds",
        type=float,
        metavar="S",
        help="the most that a method of your own may take for an answer; default 30",
    )
    how.add_argument(
        "--samples", type=int, metavar="K", help="samples per answer, for methods that compare samples; default 5"
    )
    how.add_argument("--nli", metavar="M", help="hub id or folder of a model for natural-language inference")
    how.add_argument("--similarity", metavar="M", help="hub id or folder of a sentence-similarity model")
    how.add_argument("--tagger", metavar="M", help="name or folder of a spaCy model that finds keywords")
    how.add_argument("--idf", type=Path, metavar="FILE", help=f"document frequencies from {ANALYSIS_COMMAND} idf")
    how.add_argument(
        "--quality",
        metavar="ID",
        help="measure of answer quality, such as contains (the answer names a reference), exact_match, token_f1, "
        "rouge_l; default for a file: contains for short references, else token_f1",
    )
    how.add_argument("--weights", type=Path, metavar="DIR", help="folder of the model that --quality needs, if any")
    how.add_argument(
        "--layers",
        choices=("middle", "all"),
        help="layers whose attention is stored; default: middle",
    )
    how.add_argument("--offsets", type=int, metavar="N", help="keys back whose attention is stored; default: 2")
    how.add_argument(
        "--keep",
        metavar="NAME,...",
        help="extras of the traces to store, such as lookback,hidden_layers; default: none",
    )
