"""The command `tokens`: which signal finds the wrong tokens, of a run or of traces that were marked in Inspect."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.exports.csv_text import csv_table
from analysis.quality.measures import measure
from analysis.runs.attention import batch
from analysis.runs.manifest import MANIFEST
from analysis.runs.opened import open_run
from analysis.tokens.detection import Detection, detect, marks_by_hand, marks_of_run, token_signals
from analysis.tokens.sentences import detection_sentence, detection_table, place_sentence, undefined_reason
from rauq.cli.commands import DONE
from rauq.errors import InvalidInput, RunError
from rauq.trace.batch import batch as batch_of
from rauq.trace.parts import part_of
from rauq.trace.trace import Trace


def compare(options: argparse.Namespace) -> int:
    """Run the command, and return its exit code."""
    detection = detection_of(options.paths)
    sys.stdout.write(f"{detection_sentence(detection)} {place_sentence(detection)}".rstrip() + "\n")
    if options.out and not undefined_reason(detection):
        _write(options.out, csv_table(detection_table(detection)))
    return DONE


def detection_of(paths: Sequence[Path]) -> Detection:
    """Judge the signals on a run's folder, or on files of traces whose wrong tokens a user marked.

    Raises:
        InvalidInput: neither, traces without marks or of several models.
        RunError: the run cannot be read.
    """
    if len(paths) == 1 and (paths[0] / MANIFEST).exists():
        run = open_run(paths[0])
        marks = marks_of_run(run, measure(run.manifest.request.quality).thresholds)
        return detect(token_signals(batch(run), marks), run.answers["group"].tolist(), clusters=run.clusters)
    parts = [part for path in paths if (part := part_of(Trace.load(path), "answer")) is not None]
    if not any(part.wrong for part in parts):
        message = (
            f"None of {len(paths)} traces has marked tokens. Mark wrong tokens in Inspect and download the trace, or "
            "give the folder of a run."
        )
        raise InvalidInput(message)
    return detect(token_signals(batch_of(parts), list(map(marks_by_hand, parts))), [""] * len(parts))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror or error}). Give another file."
        raise RunError(message) from error
