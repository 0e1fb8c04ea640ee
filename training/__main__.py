"""`python -m training STEP`: the recipe of the embedded model, step by step, or all of it."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BUILD = Path(__file__).parent / "build"
ATLAS = Path(__file__).parent.parent / "rauq" / "atlas"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def make_corpus(seed: int) -> None:
    """Write the corpus and the held-out prompts."""
    from training import corpus

    documents = corpus.documents(seed)
    corpus.write(documents, BUILD / "corpus.jsonl")
    for family, examples in corpus.held_out(seed).items():
        corpus.write_examples(examples, ATLAS / "evaluation" / f"{family}.jsonl")
    _say(f"corpus: {len(documents):,} documents, {sum(map(len, documents)) / 1e6:.1f} million characters")


def make_tokenizer(_seed: int) -> None:
    """Train the tokenizer and write the corpus as rows of tokens."""
    from training import corpus, rows, tokenizer

    documents = corpus.read(BUILD / "corpus.jsonl")
    trained = tokenizer.train(documents)
    tokenizer.save(trained, BUILD / "tokenizer")
    encoded = tokenizer.encode(trained, documents)
    packed = rows.pack(encoded, length=tokenizer.CONTEXT, pad=tokenizer.PAD_ID)
    np.savez_compressed(BUILD / "rows.npz", rows=packed)
    _say(f"tokenizer: {trained.get_vocab_size():,} tokens; {packed.size / 1e6:.1f} million in {len(packed):,} rows")


def make_model(seed: int) -> None:
    """Train the model, resuming from the last checkpoint, and write weights and tokenizer."""
    from training import tokenizer, train

    started = time.monotonic()

    def report(step: int, steps: int, loss: float) -> None:
        if step % 50 == 0 or step == steps - 1:
            _say(f"step {step:5} of {steps}  loss {loss:.3f}  {time.monotonic() - started:6.0f} s")

    packed = np.load(BUILD / "rows.npz")["rows"]
    settings = train.Settings(seed=seed)
    train.export(train.train(packed, settings, checkpoint=BUILD / "checkpoint.safetensors", report=report), ATLAS)
    tokenizer.save(tokenizer.load(BUILD / "tokenizer"), ATLAS)


def make_idf(_seed: int) -> None:
    """Count in how many documents of the corpus each token of the model is."""
    from rauq.methods.pair_scorers.idf import save_idf
    from training import corpus, idf, tokenizer

    documents = corpus.read(BUILD / "corpus.jsonl")
    save_idf(idf.frequencies(tokenizer.load(ATLAS), documents), ATLAS / "idf.safetensors")
    _say(f"idf: {len(documents):,} documents")


def make_recordings(_seed: int) -> None:
    """Record the answers that the app opens on, of real models and of the embedded one, and those of the game.

    Those of the game are chosen among the answers of the bundled run.
    """
    import rauq
    from training import real_answers
    from training.game import record_game
    from training.paper_like import PAPER_LIKE
    from training.recorded import record, write_index

    real, like = (real_answers.record(wanted) for wanted in (real_answers.CHOSEN, PAPER_LIKE))
    recorded = (*real, *record(rauq.load_model("atlas")), *like)
    write_index(recorded)
    game_answers = record_game(rauq.load_model("smollm2"))
    _say(f"record: {len(recorded)} answers, {len(game_answers)} answers of the game")


def make_atlas_run(_seed: int) -> None:
    """Answer a part of the held-out prompts with the embedded model, as a run among the user's."""
    from analysis.runs.library import runs_folder
    from training import run

    _say(f"run: {run.make_atlas(runs_folder() / 'atlas')}")


def make_run(_seed: int) -> None:
    """Answer plain questions about facts with a real model, for the pages about sets of answers to open on."""
    from training import run

    _say(f"run: {run.make_bundled(BUILD / 'run')}")


def add(_seed: int) -> None:
    """Compute the methods on the answers of the bundled run that are newer than it."""
    from training import run

    _say(f"add: {', '.join(run.add_to_bundled()) or 'none is newer'}")


def judge(_seed: int) -> None:
    """Judge the answers of the bundled run again, after a change of the rule."""
    from training import run

    _say(f"judge: {run.judge_bundled()} verdicts changed")


def make_written(_seed: int) -> None:
    """Let the packaged models read written answers, which other written answers are compared with."""
    from training import run

    _say(f"written: {', '.join(map(str, run.make_written(BUILD / 'written')))}")


def evaluate(_seed: int) -> None:
    """Print the evaluation of the model, and write it to the model card."""
    import rauq
    from training import card
    from training.evaluate import report

    evaluation = report(rauq.load_model("atlas"))
    card.update(ATLAS / "README.md", weights=ATLAS / "model.safetensors", evaluation=evaluation)
    print(evaluation)


_STEPS: dict[str, Callable[[int], None]] = {
    "corpus": make_corpus,
    "tokenizer": make_tokenizer,
    "train": make_model,
    "idf": make_idf,
    "atlas_run": make_atlas_run,
    "run": make_run,
    "add": add,
    "judge": judge,
    "written": make_written,
    "record": make_recordings,
    "evaluate": evaluate,
}


def main() -> None:
    """Run one step of the recipe, or all of them in order."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("step", choices=[*_STEPS, "all"])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for step in _STEPS if arguments.step == "all" else [arguments.step]:
        _STEPS[step](arguments.seed)


if __name__ == "__main__":
    main()
