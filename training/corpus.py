"""The corpus, as documents of worked questions, and the held-out prompts with their ground truth."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random

from rauq.atlas.evaluation import Example, Family
from training import exposures, frames, places, summaries, translation
from training.frames import Pair
from training.task import Task, answer, reference

_ITEMS = 70_000  # news items
_FILLED = 0.1  # share of answers about places that end in "of course" and the like
_PLACES = {"never seen": 130, "seen 1-3": 160, "seen 4-10": 130, "seen 11-30": 110, exposures.OFTEN: 130, "myth": 90}
_TRANSLATION = {
    "never seen": 120,
    "seen 1-3": 130,
    "seen 4-10": 120,
    "seen 11-30": 110,
    exposures.OFTEN: 170,
    "false friend": 80,
}
_SUMMARIES = {"complete": 200, "two people": 150} | {f"no {detail} in the text": 75 for detail in summaries.DETAILS}


def documents(seed: int) -> list[str]:
    """Return every document of the corpus, shuffled; the same seed gives the same documents."""
    rng = Random(f"corpus {seed}")
    found = [*_places(seed, rng), *_translation(seed, rng), *_summaries(seed, rng)]
    rng.shuffle(found)
    return found


def _places(seed: int, rng: Random) -> Iterable[str]:
    tasks = places.corpus_tasks(places.knowledge(seed), rng)
    return _grouped(tasks, lambda: rng.choices(frames.PLACES, (3, 1, 1))[0], most=5, rng=rng, filled=_FILLED)


def _translation(seed: int, rng: Random) -> Iterable[str]:
    for language in translation.LANGUAGES:
        tasks = translation.corpus_tasks(language, seed)
        yield from _grouped(tasks, partial(_translated, language, rng), most=4, rng=rng)


def _summaries(seed: int, rng: Random) -> Iterable[str]:
    source, _ = summaries.names(seed)
    tasks = [summaries.corpus_task(summaries.draw(source, rng), rng) for _ in range(_ITEMS)]
    return _grouped(tasks, lambda: rng.choice(frames.SUMMARIES), most=2, rng=rng)


def _translated(language: str, rng: Random) -> str:
    return rng.choice(frames.TRANSLATION).format(language=language)


def _grouped(
    tasks: Iterable[Task], frame: Callable[[], str], *, most: int, rng: Random, filled: float = 0.0
) -> Iterable[str]:
    shuffled = list(tasks)
    rng.shuffle(shuffled)
    start = 0
    while start < len(shuffled):
        count = rng.randint(1, most)
        pairs = [_pair(task, rng, filled) for task in shuffled[start : start + count]]
        yield frames.document(frame(), pairs)
        start += count


def _pair(task: Task, rng: Random, filled: float = 0.0) -> Pair:
    return task.question, answer(task, rng, filled=filled)


def held_out(seed: int) -> dict[Family, list[Example]]:
    """Return the held-out prompts of each family."""
    return {
        "places": held_out_places(seed, _PLACES),
        "translation": held_out_translation(seed, _TRANSLATION),
        "summaries": held_out_summaries(seed, _SUMMARIES),
    }


def held_out_places(seed: int, counts: dict[str, int]) -> list[Example]:
    """Return questions about drawn facts of each stratum, after one to three worked ones about well-known facts."""
    rng = Random(f"held-out places {seed}")
    known = places.knowledge(seed)
    famous = [entry for entry in known if entry.stratum == exposures.OFTEN]
    rows = []
    for stratum, count in counts.items():
        pool = [entry for entry in known if entry.stratum == stratum]
        for entry in rng.choices(pool, places.evenly(pool), k=count):
            shots = [
                _pair(rng.choice(places.tasks(other, truth=False)), rng)
                for other in rng.sample(famous, rng.randint(1, 3))
            ]
            task = rng.choice(places.tasks(entry, truth=True))
            rows.append(
                (stratum, frames.prompt(rng.choice(frames.PLACES[:2]), shots, task.question), task, entry.exposures)
            )
    return examples("places", rows)


def held_out_translation(seed: int, counts: dict[str, int]) -> list[Example]:
    """Return new sentences around a drawn word of each stratum; its foreign form differs from the English word."""
    rng = Random(f"held-out translation {seed}")
    known = {language: translation.counted(language, seed) for language in translation.LANGUAGES}
    rows = []
    for stratum, count in counts.items():
        for number in range(count):
            language = translation.LANGUAGES[number % 2]
            entry = translation.draw_target(known[language], language, stratum, rng)
            task = translation.sentence(language, entry.word, translation.common(language), rng)
            shots = [_pair(translation.drawn_sentence(language, rng), rng) for _ in range(rng.randint(1, 3))]
            rows.append(
                (stratum, frames.prompt(_translated(language, rng), shots, task.question), task, entry.exposures)
            )
    return examples("translation", rows)


def held_out_summaries(seed: int, counts: dict[str, int]) -> list[Example]:
    """Return news items with names that the corpus lacks, a share of them after one worked item."""
    rng = Random(f"held-out summaries {seed}")
    corpus_names, new_names = summaries.names(seed)
    wanted = Counter(counts)
    rows = []
    while wanted.total():
        item = summaries.draw(new_names, rng)
        if not wanted[item.stratum]:
            continue
        wanted[item.stratum] -= 1
        shot = summaries.draw(corpus_names, rng)
        shots = [_pair(summaries.corpus_task(shot, rng), rng)] if rng.random() < 0.3 and not shot.missing else []
        task = summaries.held_out_task(item)
        rows.append((item.stratum, frames.prompt(rng.choice(frames.SUMMARIES), shots, task.question), task, None))
    return examples("summaries", rows)


def examples(family: Family, rows: Sequence[tuple[str, str, Task, int | None]]) -> list[Example]:
    """Return held-out prompts from rows of stratum, prompt, task and exposures."""
    return [
        Example(
            f"{family}-{number:04}",
            family,
            stratum,
            prompt,
            reference(task.wordings, task.facts),
            task.wordings,
            task.facts,
            seen,
        )
        for number, (stratum, prompt, task, seen) in enumerate(rows)
    ]


def write(documents: Iterable[str], path: Path) -> None:
    """Write documents as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(text, ensure_ascii=False)}\n" for text in documents), encoding="utf-8")


def read(path: Path) -> list[str]:
    """Return the documents that `write` wrote."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_examples(examples: Iterable[Example], path: Path) -> None:
    """Write held-out prompts as JSON lines, one object each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(example), ensure_ascii=False) for example in examples)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
