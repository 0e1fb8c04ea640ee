"""The commands of answer sets: each adds its options to a parser, and returns the function that runs them.

What loads torch or pandas is imported when it is needed.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from analysis.cli.score_options import add_score_options, run_place
from rauq.cli.commands import DONE, KNOWN_ERROR, named_model, say
from rauq.errors import InvalidInput
from rauq.labels import running

Run = Callable[[argparse.Namespace], int]  # what runs a command: its exit code

_PROGRESS_EVERY = 1_000  # shards


def score(parser: argparse.ArgumentParser) -> Run:
    """Generate and score answers to a data set."""
    add_score_options(parser)
    return _score


def add_methods(parser: argparse.ArgumentParser) -> Run:
    """Compute further methods on the answers of a run."""
    parser.description = (
        "Compute methods on the stored answers of a finished run, without its model. Extras that they need must have "
        "been stored with --keep; methods that compare samples cannot be added."
    )
    parser.add_argument("folder", type=run_place, metavar="DIR", help="the folder of the run")
    parser.add_argument(
        "--methods", nargs="+", required=True, metavar="ID", help="ids of methods, or ID=FILE with a detector"
    )
    parser.add_argument("--nli", metavar="M", help="hub id or folder of a model for natural-language inference")
    parser.add_argument("--similarity", metavar="M", help="hub id or folder of a sentence-similarity model")
    parser.add_argument("--tagger", metavar="M", help="name or folder of a spaCy model that finds keywords")
    return _methods


def attribute(parser: argparse.ArgumentParser) -> Run:
    """Compute RAUQ (LIG) of a run's answers."""
    parser.description = (
        "Compute RAUQ with Layer Integrated Gradients (LIG) in place of attention on answers of a run, and compare it "
        "with RAUQ. It takes seconds to minutes an answer. To resume, repeat the command."
    )
    parser.add_argument("folder", type=_run_folder, metavar="RUN", help="the folder of the run")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder of the result")
    parser.add_argument("--steps", type=int, default=8, metavar="S", help="points of the integral; default 8")
    parser.add_argument(
        "--layers", metavar="L,L,...", help="layers to attribute, from 0; default: the middle ones without the last"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of answers, evenly spaced in the run")
    parser.add_argument(
        "--side",
        choices=("output", "input"),
        default="output",
        help="side of the output projection: equal segments of its output (default), or the real heads of its input",
    )
    parser.add_argument("--compare", type=Path, metavar="DIR", help="another result of this run, compared at the end")
    parser.add_argument("--positive", action="store_true", help="count negative attributions as 0")
    return _attribute


def report(parser: argparse.ArgumentParser) -> Run:
    """Write the tables and figures of runs."""
    parser.description = (
        "Write the tables and figures of a run, and an index.html that shows all of them offline. Of several runs: the "
        "paper's tables over models and data sets, and its published numbers beside them."
    )
    parser.add_argument(
        "folders", type=_run_folder, nargs="+", metavar="RUN", help="the folder of a run, or of several"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="output folder; default for one run: report, in the run's folder"
    )
    parser.add_argument("--intervals", action="store_true", help="several runs: with 95 %% intervals in the tables")
    return _report


def check(parser: argparse.ArgumentParser) -> Run:
    """Compare the files of a run with their checksums."""
    parser.description = (
        "Read all files of a run, compare them with their checksums, and name the shards that are missing or broken. A "
        "large run is otherwise compared shard by shard, when one is first read."
    )
    parser.add_argument("folder", type=_run_folder, metavar="RUN", help="the folder of the run")
    return _check


def export(parser: argparse.ArgumentParser) -> Run:
    """Write the results of a run in other formats."""
    parser.description = (
        "Write the results of a run, one row for each example: as a table (docs/results.md), or as a log of "
        "inspect_ai, W&B or MLflow by their own clients, without a network. zip: the whole run, for another machine."
    )
    parser.add_argument("folder", type=_run_folder, metavar="RUN", help="the folder of the run")
    parser.add_argument("--to", required=True, metavar="FORMAT", help="parquet, jsonl, inspect, wandb, mlflow or zip")
    parser.add_argument(
        "--out",
        type=_local_path,
        required=True,
        metavar="PATH",
        help="a new file; for wandb and mlflow a folder, to which runs can be added",
    )
    return _export


def import_run(parser: argparse.ArgumentParser) -> Run:
    """Unpack a run that was exported as a zip archive."""
    parser.description = (
        "Unpack a run that was exported as a zip archive, and check every number of it: some 1.5 ms an answer."
    )
    parser.add_argument("archive", type=Path, metavar="FILE", help="the archive")
    parser.add_argument("--out", type=_local_path, required=True, metavar="DIR", help="the new folder of the run")
    return _import


def tokens(parser: argparse.ArgumentParser) -> Run:
    """Compare how well signals find the wrong tokens."""
    parser.description = (
        "Compare how well collapse, probability, entropy and attention find the wrong tokens of answers: of a run "
        "whose facts are known, or of traces whose wrong tokens were marked in Inspect."
    )
    parser.add_argument(
        "paths", type=_run_folder, nargs="+", metavar="PATH", help="the folder of a run, or files of traces"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table with intervals as CSV")
    return _tokens


def survive(parser: argparse.ArgumentParser) -> Run:
    """Judge what is left of a signal beyond words, length, group and chance."""
    parser.description = (
        "Take a signal that claims to find incorrect answers, and control it for chance, groups, length, the words of "
        "question and answer, and repeated questions; or one of tokens, for their words, capitals and position. The "
        "last line says what it adds to these together. The signal is a method of a run, a method of yours, or a "
        "column of numbers in a file of labelled answers, which needs no model."
    )
    parser.add_argument("source", type=run_place, metavar="RUN|FILE", help="the folder of a run, or a table of answers")
    parser.add_argument(
        "--signal",
        nargs="+",
        required=True,
        metavar="S",
        help="ids of methods of the run, module:method of yours, or columns of the file; of tokens of a run: collapse, "
        "probability, entropy or selected; higher: less certain",
    )
    parser.add_argument(
        "--level",
        choices=("answers", "tokens"),
        default="answers",
        help="what is judged: answers (default), or the tokens of an answer; a file then has a row for each token",
    )
    parser.add_argument(
        "--columns",
        metavar="FIELD=COLUMN,...",
        help="which columns of a file hold what, for example prompt=question,answer=reply,incorrect=wrong,group=topic",
    )
    parser.add_argument(
        "--planted", action="store_true", help="judge planted signals, planted leaks and 200 random signals too"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of folds and shuffles; default 0")
    parser.add_argument(
        "--out", type=_local_path, metavar="DIR", help="write a page that opens offline, CSV, LaTeX and figures"
    )
    return _survive


def train(parser: argparse.ArgumentParser) -> Run:
    """Fit a supervised method on the answers of runs."""
    parser.description = (
        "Fit a supervised method on the labelled answers of finished runs of one model, and save the detector. The "
        "runs must have kept what the method reads: score with --keep."
    )
    parser.add_argument(
        "--run", type=_run_folder, nargs="+", required=True, metavar="RUN", dest="run_folders", help="folders of runs"
    )
    parser.add_argument(
        "--method",
        required=True,
        metavar="ID",
        help="lookback_lens, saplma, mind, sheeps, satrmd, tad, factoscope or head_entropy_linear",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file, .safetensors")
    parser.add_argument(
        "--full-search", action="store_true", help="search all settings of the reference; default: a reduced grid"
    )
    parser.add_argument("--seed", type=int, default=42, metavar="N", help="random seed of networks; default 42")
    return _train


def supervised(parser: argparse.ArgumentParser) -> Run:
    """Fit supervised methods on runs, and judge them."""
    parser.description = (
        "Fit supervised methods on runs of one model, and judge them on answers that they were not fitted on: "
        "in-domain, out-of-domain (several runs) and with families left out. Takes minutes. The runs must have kept "
        "what the methods need: score them with --keep. The page Methods shows the result."
    )
    parser.add_argument(
        "runs", type=_run_folder, nargs="+", metavar="RUN", help="folders of runs, one for each data set"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    parser.add_argument("--methods", nargs="+", metavar="ID", help="ids of supervised methods; default: all")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="Q",
        help="an answer is correct where its quality is above Q; default: that of the runs' measure",
    )
    parser.add_argument(
        "--full-search", action="store_true", help="search all settings of the reference, for hours; default: few"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed; default 1")
    return _supervised


def convert(parser: argparse.ArgumentParser) -> Run:
    """Convert the checkpoint of AlignScore or COMET."""
    parser.description = "Convert the checkpoint of AlignScore or COMET, once, to the folder that --weights takes."
    parser.add_argument("file", type=Path, metavar="FILE", help="the published .ckpt file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="a new folder; default: next to the file")
    parser.add_argument(
        "--tokenizer", metavar="T", help="folder or hub id of its tokenizer; default: the published one"
    )
    return _convert


def idf(parser: argparse.ArgumentParser) -> Run:
    """Count document frequencies of a model's tokens."""
    parser.description = "Make the file of inverse document frequencies with which Focus weights a model's tokens."
    parser.add_argument(
        "--model", default="atlas", metavar="M", help="model whose tokenizer is used; default: atlas (embedded)"
    )
    parser.add_argument(
        "--documents",
        type=Path,
        required=True,
        metavar="FILE",
        help="a .txt file with one document per line, or a CSV, JSONL or Parquet file with one per row",
    )
    parser.add_argument("--column", default="text", metavar="C", help="column of the document; default: text")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file, .safetensors")
    return _idf


def _score(options: argparse.Namespace) -> int:
    from analysis.cli.score import score

    if options.out is None and not options.dry_run:
        message = "A run needs a folder: give --out DIR. With --dry-run nothing is written."
        raise InvalidInput(message)
    if options.model:
        named = named_model(options.model, revision=options.revision)
        options.model, options.revision = named.source, named.revision
    return score(options)


def _methods(options: argparse.Namespace) -> int:
    from analysis.cli.score import add_methods

    return add_methods(options)


def _attribute(options: argparse.Namespace) -> int:
    from analysis.cli.attribute import attribute

    return attribute(options)


def _check(options: argparse.Namespace) -> int:
    from analysis.runs.files.index import faults_of

    count, faults = 0, 0
    for count, fault in enumerate(faults_of(options.folder), start=1):
        if fault:
            faults += 1
            sys.stdout.write(f"{running(fault)}\n")
        if count % _PROGRESS_EVERY == 0:
            say(f"{count:,} shards read")
    sys.stdout.write(f"Shards: {count:,}; missing or broken: {faults:,}.\n")
    return DONE if not faults else KNOWN_ERROR


def _report(options: argparse.Namespace) -> int:
    return _report_of_one(options) if len(options.folders) == 1 else _report_of_several(options)


def _report_of_several(options: argparse.Namespace) -> int:
    from analysis.collections.writing import CollectionSettings, write_collection

    if options.out is None:
        message = "The report of several runs belongs to none of their folders. Give one with --out DIR."
        raise InvalidInput(message)
    settings = CollectionSettings(intervals=options.intervals)
    page = write_collection(
        options.folders, options.out, settings, on_run=lambda cell: say(f"Ablations of {cell.model} on {cell.column}")
    )
    sys.stdout.write(f"{running(str(page))}\n")
    return DONE


def _report_of_one(options: argparse.Namespace) -> int:
    from analysis.report.writing import write_report
    from analysis.runs.opened import open_run, sampled

    (folder,) = options.folders
    written = write_report(sampled(open_run(folder)), options.out or folder / "report")
    if written.missing:
        say(written.missing)
    sys.stdout.write(f"{running(str(written.page))}\n")
    return DONE


def _export(options: argparse.Namespace) -> int:
    from analysis.report.export import about_missing, export_run
    from analysis.runs.opened import open_run

    if options.to == "zip":
        return _export_zip(options)
    run = open_run(options.folder)
    export_run(run, options.out, options.to)
    for said in (*run.faults, about_missing(run)):
        if said:
            say(said)
    sys.stdout.write(f"{running(str(options.out))}\n")
    return DONE


def _export_zip(options: argparse.Namespace) -> int:
    from analysis.runs.archive import write_zip

    write_zip(options.folder, options.out)
    sys.stdout.write(f"{running(str(options.out))}\n")
    return DONE


def _import(options: argparse.Namespace) -> int:
    from analysis.runs.archive import import_zip

    def show(done: int, total: int) -> None:
        if done % _PROGRESS_EVERY == 0:
            say(f"{done:,} of {total:,} shards read")

    try:
        archive = options.archive.open("rb")
    except OSError as error:
        message = f"{options.archive} cannot be read: {error.strerror}. Give the path of an archive."
        raise InvalidInput(message) from error
    target = options.out.absolute()
    with archive:
        folder = import_zip(archive, target.parent, target.name, on_progress=show)
    sys.stdout.write(f"{running(str(folder))}\n")
    return DONE


def _tokens(options: argparse.Namespace) -> int:
    from analysis.cli.tokens import compare

    return compare(options)


def _survive(options: argparse.Namespace) -> int:
    from analysis.cli.survive import survive

    return survive(options)


def _train(options: argparse.Namespace) -> int:
    from analysis.cli.supervised import train

    return train(options)


def _supervised(options: argparse.Namespace) -> int:
    from analysis.cli.supervised import supervised

    return supervised(options)


def _convert(options: argparse.Namespace) -> int:
    from analysis.quality.convert import convert

    sys.stdout.write(f"{running(str(convert(options.file, options.out, tokenizer=options.tokenizer)))}\n")
    return DONE


def _idf(options: argparse.Namespace) -> int:
    from analysis.cli.idf import count

    return count(options)


def _run_folder(text: str) -> Path:
    """The folder of a run that is read; of one in a store, that of an up-to-date copy."""
    place = run_place(text)
    if isinstance(place, Path):
        return place

    from analysis.stores import local_copy

    try:
        return local_copy(place)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _local_path(text: str) -> Path:
    if "://" in text:
        message = f"{text} is an address, and this is written on this machine only: give a path"
        raise argparse.ArgumentTypeError(message)
    return Path(text)
