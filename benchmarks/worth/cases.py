"""The sets whose answers or tokens are judged, by each model in each engine."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.datasets.names import PLAIN, load
from analysis.methods.added_heads import candidates
from analysis.methods.attention_permutation import EXCHANGES
from analysis.quality.measures import measure as quality_measure
from analysis.runs.attention import means
from analysis.runs.library import bundled_folder
from analysis.runs.opened import Run, open_run
from analysis.survival.answers import of_run
from analysis.survival.asked import labelled_signals
from benchmarks.marked.reading import Part, parts_here, read_part
from benchmarks.online.runs import LONGEST, PER_FAMILY
from benchmarks.support.runs import worked
from benchmarks.worth.lists import items_judged
from benchmarks.worth.units import Units, heads_of
from rauq.checkpoints.named import NAMED_MODELS
from rauq.labels import TRANSFORMERS, EngineName

_OF_ANSWERS, _OF_TOKENS = ("rauq", "msp", "mean_token_entropy"), ("collapse", "probability", "entropy")


class Case(NamedTuple):
    """What is judged: which data, answered or read by which model in which engine."""

    data: str
    model: str
    engine: EngineName
    units: Units


def cases(engines: Sequence[EngineName]) -> Iterator[Case]:
    """Every set that is here, by every packaged model that is installed, in each of the engines."""
    parts = parts_here()
    for model in (one.name for one in NAMED_MODELS if one.is_here):
        for engine in engines:
            yield Case("facts", model, engine, of_answers(facts_run(model, engine)))
            yield Case("lists", model, engine, items_judged(model, engine))
            for part in parts:
                yield Case(part.title, model, engine, _read(part, model, engine))


def _read(part: Part, model: str, engine: EngineName) -> Units:
    run = read_part(part, model, engine=engine)
    return of_tokens(run) if part.level == "tokens" else of_answers(run)


def facts_run(model: str, engine: EngineName) -> Run:
    """Greedy answers about facts: the bundled run where it is that of this model and engine."""
    bundled = open_run(bundled_folder())
    if (model, engine) == ("smollm2", TRANSFORMERS):
        return bundled
    data = load(PLAIN, kind="instruct" if model == "smollm2" else "base", per_group=PER_FAMILY)
    return worked(f"{model}-facts", data, model=model, engine=engine, max_new_tokens=LONGEST)


def of_answers(run: Run) -> Units:
    """The judged answers of a run."""
    given, (rauq, msp, entropy) = labelled_signals(run, _OF_ANSWERS)
    _, rows = of_run(run)
    chosen = candidates(
        run,
        rows,
        uncertainty=rauq.values,
        means=means(run)[rows],
        thresholds=quality_measure(run.manifest.request.quality).thresholds,
        clusters=run.clusters,
    )
    return Units(
        given=given,
        rauq=rauq.values,
        shuffled=rauq.replaced[EXCHANGES["shuffled"]],
        msp=msp.values,
        entropy=entropy.values,
        heads=heads_of(chosen),
    )


def of_tokens(run: Run) -> Units:
    """The tokens of the marked answers of a run."""
    given, (collapse, probability, entropy) = labelled_signals(run, _OF_TOKENS, level="tokens")
    return Units(
        given=given,
        rauq=collapse.values,
        shuffled=collapse.replaced[EXCHANGES["shuffled"]],
        msp=probability.values,
        entropy=entropy.values,
        heads=None,
    )
