"""The command line of answer sets: `python -m analysis score`, and what is made of its runs.

Exit codes: 0 done, 1 a known error, 2 input that cannot be used, 130 stopped by the user, 143 told to end. Results go
to standard output, progress and errors to standard error. What loads torch or pandas is imported when it is needed.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rauq.cli.commands import DONE, add_model_options, exit_code, say
from rauq.labels import running


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    return exit_code(partial(options.run, options), name="analysis")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis", description="Score a data set with RAUQ, and compare correct with incorrect answers."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_score(commands.add_parser("score", help="answer a data set, and score every answer"))
    _add_report(commands.add_parser("report", help="write the tables and figures of a run"))
    _add_convert(commands.add_parser("convert", help="make a model that judges answers from its published checkpoint"))
    _add_idf(commands.add_parser("idf", help="count in how many documents each token of a model is"))
    return parser


def _add_score(score: argparse.ArgumentParser) -> None:
    score.description = (
        "Answer a data set and score every answer. Stopped or killed, the same command goes on where it was, "
        "and so does --out DIR --resume."
    )
    score.set_defaults(run=_score)
    asked = score.add_argument_group("what is asked")
    asked.add_argument("--model", metavar="M", help="atlas (embedded, default), a hub id, or a local folder")
    asked.add_argument(
        "--revision",
        metavar="R",
        help="branch, tag or commit of a model on the hub; default: main. A run resumes with the commit it began with",
    )
    add_model_options(asked)
    asked.add_argument(
        "--data",
        metavar="D",
        help="a CSV, JSONL or Parquet file; atlas, or one of its families; one of the paper's sets, such as sciq, "
        "or sciq=FOLDER for a copy of it",
    )
    asked.add_argument("--correct", type=Path, metavar="FILE", help="instead of --data: a file of correct answers")
    asked.add_argument("--incorrect", type=Path, metavar="FILE", help="beside --correct: one of incorrect answers")
    asked.add_argument(
        "--columns",
        metavar="NAME=COLUMN,...",
        help="which columns of a file to use, for example prompt=question,references=answer; default: guessed",
    )
    asked.add_argument("--limit", type=int, metavar="N", help="at most so many examples")
    asked.add_argument("--per-group", type=int, metavar="N", help="at most so many of each family, for atlas")
    asked.add_argument(
        "--seed", type=int, default=0, metavar="N", help="which examples a limit chooses, and which samples; default 0"
    )
    how = score.add_argument_group("how")
    how.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder of the run")
    how.add_argument("--resume", action="store_true", help="go on with the run in --out, as it was asked for")
    how.add_argument("--batch-size", type=int, metavar="B", help="default 8")
    how.add_argument("--max-new-tokens", type=int, metavar="N", help="default: as the data set has it, else 128")
    how.add_argument(
        "--methods",
        nargs="+",
        metavar="ID",
        help="ids of methods; default: rauq msp perplexity mean_token_entropy; no-download: all without another model",
    )
    how.add_argument("--samples", type=int, metavar="K", help="for methods that compare samples; default 5")
    how.add_argument("--nli", metavar="M", help="hub id or folder of a model for natural-language inference")
    how.add_argument("--similarity", metavar="M", help="hub id or folder of a model of sentence similarity")
    how.add_argument("--tagger", metavar="M", help="name or folder of a spaCy model that finds keywords")
    how.add_argument("--idf", type=Path, metavar="FILE", help="document frequencies that python -m analysis idf made")
    how.add_argument(
        "--quality",
        metavar="ID",
        help="how answers are judged, such as contains (the answer names a reference), exact_match, token_f1, rouge_l; "
        "default for a file: contains for references of a few words, else token_f1",
    )
    how.add_argument("--weights", type=Path, metavar="DIR", help="the model that judges, where --quality needs one")
    how.add_argument("--layers", choices=("middle", "all"), help="whose attention is kept; default: the paper's window")


def _add_report(report: argparse.ArgumentParser) -> None:
    report.description = (
        "Write the tables and figures of a run, and one index.html with all of them that opens offline."
    )
    report.set_defaults(run=_report)
    report.add_argument("folder", type=Path, metavar="DIR", help="the folder of the run")
    report.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write it; default: report, in the run's folder"
    )


def _add_convert(convert: argparse.ArgumentParser) -> None:
    convert.description = "Make the folder that --weights takes, once, from the checkpoint of AlignScore or COMET."
    convert.set_defaults(run=_convert)
    convert.add_argument("file", type=Path, metavar="FILE", help="the published .ckpt")
    convert.add_argument("--out", type=Path, metavar="DIR", help="a new folder; default: beside the file")
    convert.add_argument(
        "--tokenizer", metavar="T", help="folder or hub id of its tokenizer; default: the published one"
    )


def _add_idf(idf: argparse.ArgumentParser) -> None:
    idf.description = "Make the file by which Focus weighs a model's tokens: their inverse document frequencies."
    idf.set_defaults(run=_idf)
    idf.add_argument("--model", default="atlas", metavar="M", help="whose tokenizer is used; default: atlas (embedded)")
    idf.add_argument(
        "--documents",
        type=Path,
        required=True,
        metavar="FILE",
        help="a .txt file of one document a line, or a CSV, JSONL or Parquet file of one a row",
    )
    idf.add_argument("--column", default="text", metavar="C", help="where a row has its document; default: text")
    idf.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write, .safetensors")


def _score(options: argparse.Namespace) -> int:
    from analysis.cli.score import score

    return score(options)


def _report(options: argparse.Namespace) -> int:
    from analysis.report.writing import write_report
    from analysis.runs.opened import open_run

    written = write_report(open_run(options.folder), options.out or options.folder / "report")
    if written.missing:
        say(written.missing)
    sys.stdout.write(f"{running(str(written.page))}\n")
    return DONE


def _convert(options: argparse.Namespace) -> int:
    from analysis.quality.convert import convert

    sys.stdout.write(f"{running(str(convert(options.file, options.out, tokenizer=options.tokenizer)))}\n")
    return DONE


def _idf(options: argparse.Namespace) -> int:
    from analysis.cli.idf import count

    return count(options)
