"""Every view, of whatever answers: it finds finite numbers or a reason, says what it found, and interprets no text."""

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
import pytest

from analysis.answer_sets.gaps import with_enough
from analysis.exports.csv_text import csv_table
from analysis.exports.tables import headings, latex_table, rows_of_cells
from analysis.quality.measures import measure
from analysis.runs.files.arrays import OFFSETS
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.stats import SMALLEST, Estimate, sign_of
from analysis.views import answer_sets, methods
from analysis.views.all_views import VIEWS
from analysis.views.answer_set import AnswerSet, Choices, keeping
from rauq.errors import RauqError
from rauq.labels import listed
from tests.analysis.report.made_run import made_run
from tests.hostile import ATTACK

BY_ID = {view.id: view for view in VIEWS}
COUNT, MANY = 45, 10_000
MOST = 25  # times the CPU time of `sorting`, for a view of MANY answers; the slowest takes 12
QUALITY = [float(number % 3 > 0) for number in range(COUNT)]
FOREIGN = f"**{ATTACK}** \\input{{x}}"
UNSEEN = ("\u202e", "\x1b", "\x07")
ACTIVE_IN_FIGURES = ("<img", "<script", "<svg", "<a href", "$x$", *UNSEEN)
ACTIVE = (*ACTIVE_IN_FIGURES, "![](", "](javascript", ":red[", "**", "\\input")

WHOLE = tuple(range(COUNT))
ROWS = {  # of a run
    "all": ("plain", WHOLE),
    "one": ("plain", WHOLE[1:2]),
    "few": ("plain", WHOLE[:5]),
    "correct": ("plain", tuple(row for row in WHOLE if QUALITY[row])),
    "unjudged": ("unjudged", WHOLE),
    "foreign": ("foreign", WHOLE),
    "separated": ("separated", WHOLE),
    "many": ("plain", tuple(number % COUNT for number in range(MANY))),
    "real": ("real", tuple(range(0, 800, 3))),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """In the run "separated" one head has more attention wherever the answer is correct."""
    root = tmp_path_factory.mktemp("runs")
    plain = made_run(root / "plain", quality=QUALITY)
    attention = keeping().means(plain, "predicting", "all", 1)[:, 3, 2]
    return {
        "plain": plain,
        "unjudged": made_run(root / "unjudged", quality=[np.nan] * COUNT),
        "foreign": made_run(root / "foreign", quality=QUALITY, text=FOREIGN, groups=(FOREIGN, f"{FOREIGN} 2")),
        "separated": made_run(root / "separated", quality=(attention > np.median(attention)).astype(float)),
        "real": open_run(bundled_folder()),
    }


@pytest.fixture(scope="module")
def answers(runs):
    """The answers of a case; their attention is read once."""

    @cache
    def of(case):
        name, rows = ROWS[case]
        run = runs[name]
        return AnswerSet(
            run=run,
            rows=np.array(rows),
            thresholds=measure(run.manifest.request.quality).thresholds,
            reader=keeping(),
        )

    return of


def usual(view, run):
    """The choices of a view for a run."""
    if view in answer_sets.VIEWS:
        return Choices(layer=run.stored_layers[len(run.stored_layers) // 2])
    return methods.usual(run)


@pytest.fixture(scope="module")
def sorting():
    """CPU seconds that this machine takes to sort a few numbers 400,000 times."""
    numbers = np.random.default_rng(0).random(COUNT)
    start = time.process_time()
    for _ in range(400_000):
        np.sort(numbers)
    return time.process_time() - start


@pytest.fixture(scope="module")
def found(answers):
    """What a view finds in the answers of a case, or the error that says why it cannot be computed."""

    @cache
    def of(view, case):
        given = answers(case)
        try:
            return BY_ID[view].seen(given, usual(BY_ID[view], given.run))
        except RauqError as error:
            return error

    return of


def leaves(value, path=""):
    """Every part of a result that has no parts, and every estimate, with where it is."""
    if isinstance(value, Estimate) or not (is_dataclass(value) or isinstance(value, (Mapping, list, tuple))):
        yield path, value
    else:
        names = (field.name for field in fields(value)) if is_dataclass(value) else ()
        parts = {name: getattr(value, name) for name in names} or value
        for name, part in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
            yield from leaves(part, f"{path}.{name}")


def fault_of(leaf):
    """What is wrong with a part of a result; "" where nothing is."""
    if isinstance(leaf, Estimate):
        if not (np.isfinite(leaf.value) or leaf.reason):
            return f"{leaf} has neither a value nor a reason"
        known = np.isfinite([leaf.low, leaf.high]).all()
        return "" if known or leaf.reason or leaf.no_interval else f"{leaf} has neither an interval nor a reason"
    if isinstance(leaf, (float, np.ndarray)) and np.asarray(leaf).dtype.kind == "f":
        return "infinite" if np.isinf(leaf).any() else ""
    return ""


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("view", BY_ID)
def test_a_view_finds_finite_numbers_or_gives_a_reason_in_time(view, case, found, sorting):
    start = time.process_time()
    one = found(view, case)
    assert (time.process_time() - start) / sorting < MOST
    if isinstance(one, RauqError):
        assert re.match(r"[A-Z].*\.$", str(one))
        assert case not in ("all", "many", "real", "separated")
        return
    assert [f"{path}: {fault}" for path, leaf in leaves(one.result) if (fault := fault_of(leaf))] == []
    assert BY_ID[view].sentence(one)
    claim, sentence = BY_ID[view].claim(one), BY_ID[view].sentence(one)
    assert claim == sentence or re.fullmatch(r"[A-Z0-9][^.]*(?:\.\d[^.]*)*", claim), claim  # one sentence


@pytest.fixture
def seen(request, found):
    """What the view of the test finds in the answers of its case; None if it cannot be computed."""
    one = found(request.node.callspec.params["view"], request.node.callspec.params["case"])
    return None if isinstance(one, RauqError) else one


def is_drawn(figure):
    """Whether a figure has a finite number, or says why it has none."""
    if any(note.text for note in figure.layout.annotations):
        return True
    axes = (np.asarray(trace[name]) for trace in figure.data for name in ("x", "y", "z") if name in trace)
    return any(np.isfinite(axis).any() for axis in axes if axis.dtype.kind in "fiu")


@pytest.mark.parametrize("case", ["all", "one", "correct", "unjudged"])
@pytest.mark.parametrize("view", BY_ID)
@pytest.mark.usefixtures("case")
def test_every_picture_is_drawn_for_light_and_for_dark_pages(view, seen):
    for picture in BY_ID[view].pictures(seen) if seen else ():
        light, dark = picture.draw(), picture.draw(dark=True)
        assert is_drawn(light)
        assert is_drawn(dark)
        assert light.layout.height == dark.layout.height
        assert light.to_json() != dark.to_json()


def words_of(view, seen):
    """Every text of a view that a page shows as Markdown, and a report as text."""
    own = BY_ID[view]
    shown = [
        own.title,
        own.question,
        own.claim(seen),
        own.sentence(seen),
        own.more(seen),
        own.bounds(seen),
        own.notes(seen),
    ]
    shown += [words for one in own.pictures(seen) for words in (one.heading, one.alt, one.caption)]
    return [*shown, *(words for one in own.tables(seen) for words in (one.heading, one.caption))]


BROKEN = re.compile(r"\bnan\b|\bNone\b|\binf\b|∞|–|\.\.|\( *\)|\[ *\]|  | [.,;:](?: |$)|\{|\}")


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("view", BY_ID)
@pytest.mark.usefixtures("case")
def test_words_are_whole(view, seen):
    for words in words_of(view, seen) if seen else ():
        assert not BROKEN.search(words), words
        assert words == words.strip()
    captions = [one.caption for one in BY_ID[view].pictures(seen)] if seen else []
    assert [words for words in captions if not re.match(r"[A-Z1-9].*\.$", words)] == []


@pytest.mark.parametrize("view", BY_ID)
def test_a_text_from_elsewhere_is_data(view, found):
    one = found(view, "foreign")
    assert [(sign, text) for text in words_of(view, one) for sign in ACTIVE if sign in text] == []
    for picture in BY_ID[view].pictures(one):
        texts = [text for _, text in leaves(picture.draw().to_dict()) if isinstance(text, str)]
        assert [(sign, text) for text in texts for sign in ACTIVE_IN_FIGURES if sign in text] == []
    for table in BY_ID[view].tables(one):
        cells = [cell for row in rows_of_cells(table.shown) for cell in row] + headings(table.shown)
        latex = latex_table(table.shown, caption=table.caption, label=table.name)
        assert [text for text in (*cells, latex) for sign in UNSEEN if sign in text] == []
        assert "\\input" not in latex
        assert [line for line in csv_table(table.frame).splitlines() if re.match(r'"?[=+@]', line)] == []


def test_ids_names_and_files_are_unique(answers):
    given, names = answers("few"), Counter()
    assert len(BY_ID) == len(VIEWS)
    for view in VIEWS:
        for choices in view.reported(given, usual(view, given.run)):
            one = view.seen(given, choices)
            names.update(f"figures/{picture.name}" for picture in view.pictures(one))
            names.update(f"tables/{table.name}" for table in view.tables(one))
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name in names if not re.fullmatch(r"(figures|tables)/[a-z][a-z0-9_]*", name)] == []
    assert len(names) > 2 * len(VIEWS)


CLAIM = re.compile(
    r"\branks? best\b|\b(?:better|worse) than\b|\bis (?:higher|lower)\b|\bsignificant|\bbeyond (?:chance|noise)\b"
    r"|\babove others\b|\bones highest\b|\b(?:rises|falls) with\b|\battention (?:matters|makes)\b"
    r"|\bit survives\b|\bmore attention\b|\beffect shows\b|\bshows the opposite\b|\d\], (?:better|worse)\b",
    re.IGNORECASE,
)
DENIED = re.compile(r"\b(?:no|not|none|nothing|neither|cannot|undefined|whether)\b|\b0 with\b", re.IGNORECASE)
INTERVAL = re.compile(r"\[([+−]?[\d.]+), ([+−]?[\d.]+)\]")
PARTS = re.compile(r"(?<=[.;]) (?=\S)|(?<=\]\)), | and (?=no )|, (?=worse than|\d+ with)")
ASIDE = ", but not better than MSP"  # beside a claim, which it does not deny
HOW_TO_READ = re.compile(r"RAUQ minus the other method, paired.*")


def claims_of(view, seen):
    """What the sentences of a view claim and do not deny, each part with its own intervals."""
    own = BY_ID[view]
    said = [own.title, own.sentence(seen), own.more(seen), own.bounds(seen)]
    said += [words for one in own.pictures(seen) for words in (one.heading, *found_in(one))]
    parts = (part for words in said for part in PARTS.split(words))
    return [part for part in parts if CLAIM.search(part) and not DENIED.search(part)]


def found_in(picture):
    """What the caption of a picture says was found; most say only how to read it."""
    return [HOW_TO_READ.sub("", picture.caption)] if picture.name.startswith("paired") else []


def beyond(areas, chance):
    return (int((areas - 0.5 > chance).sum()), int((0.5 - areas > chance).sum()))


def counted_heads(seen):
    found, half, same = seen.result.found, seen.result.half, seen.result.same_length
    more, less = beyond(found.auc, found.chance)
    yield f"{more + less} of {found.auc.size} heads separate"
    yield f"{more} with more attention in correct answers"
    yield f"{less} with less"
    yield f"{sum(beyond(half.auc.value, half.chance))} of {len(half.heads)} are beyond chance there"
    assert sum(beyond(same.auc, same.chance)) == same.num_beyond


def counted_layers(seen):
    gaps, column = seen.result.picked.absolute, seen.answers.layers.index(seen.choices.layer)
    yield f"more attention in {(gaps.low > 0).sum()} of {len(gaps.low)} layers"
    yield "The paper's effect shows" if gaps.low[column] > 0 else "only where it is above 0"
    yield "the opposite of the paper's effect" if gaps.high[column] < 0 else "only where it is below 0"


def counted_distances(seen):
    enough = with_enough(seen.result, OFFSETS)
    gaps = enough.gaps.picked.absolute
    clear = (gaps.low > 0) | (gaps.high < 0)
    yield f"significant at {listed([str(k) for k, one in zip(enough.shown, clear, strict=True) if one] or ['none'])}"


def counted_methods(seen):
    for column in seen.result.paired.headline.values() if seen.result.paired else ():
        large = [one for one in column if abs(one.value) >= SMALLEST]
        yield f"better than {sum(one.low > 0 for one in large)} of"
        yield f"worse than {sum(one.high < 0 for one in large)}."


def counted_attention(seen):
    replaced = [one.difference for control in seen.result for one in control.exchanged]
    yield "it is lower" if any(one.low > 0 for one in replaced) else "only where real attention is better"
    yield "it is higher" if any(one.high < 0 for one in replaced) else "only where it is worse"


COUNTED = {  # claims that give no interval, counted again from those of the result
    "heads": counted_heads,
    "gap": counted_layers,
    "further": counted_distances,
    "ranking": counted_methods,
    "attention": counted_attention,
}


def is_supported(claim, view, seen):
    """Whether all its intervals exclude what would deny it, or without any, whether it is counted right.

    That one ranks best no interval of its own supports, only those of its differences to all others.
    """
    if re.search(r"\branks? best\b", claim):
        return False
    ends = [[float(end.replace("−", "-")) for end in found] for found in INTERVAL.findall(claim)]
    if not ends:
        return any(words in claim for words in COUNTED.get(view, lambda _: ())(seen))
    null = 0.5 if "ROC-AUC" in claim else 0.0
    return all(low > null or high < null for low, high in ends)


@pytest.mark.parametrize("case", ["all", "one", "few", "correct", "separated", "real"])
@pytest.mark.parametrize("view", BY_ID)
@pytest.mark.usefixtures("case")
def test_what_a_view_claims_is_supported_by_an_interval(view, seen):
    claims = claims_of(view, seen) if seen else []
    assert [claim for claim in claims if not is_supported(claim, view, seen)] == []


# What would deny the claim of a view, and which interval of its sentence must exclude that.
DENIES = {
    **dict.fromkeys(("added", "best", "gap", "bins", "attention", "alpha", "survives"), (0, 0)),
    **{"tokens": (0.5, 0), "scores": (0.5, -1), "alarms": (10, 0)},
}
TELLS_WHAT_IS_THERE = {"picked", "rejection", "ablations", "agreement", "errors"}


def is_denied(claim):
    return bool(DENIED.search(claim.removesuffix(ASIDE)))


def counted_by(view, seen):
    """The numbers of which a claim needs one above 0: of heads, distances, or methods that differ."""
    if view == "ranking":
        paired = seen.result.paired
        return [sign_of(one) != 0 for one in (paired.of_group("all") if paired else ())]
    if view == "further":
        gaps = with_enough(seen.result, OFFSETS).gaps.picked.absolute
        return ((gaps.low > 0) | (gaps.high < 0)).tolist()
    return [seen.result.found.num_beyond]


def is_shown(view, seen):
    """Whether the numbers in the sentence of a view support its claim."""
    if view in ("heads", "further", "ranking"):
        return any(counted_by(view, seen))
    ends = [
        tuple(float(end.replace("−", "-")) for end in found) for found in INTERVAL.findall(BY_ID[view].sentence(seen))
    ]
    if view == "meaning":
        return bool(ends) and ends[0][0] > ends[-1][1]
    null, place = DENIES[view]
    return bool(ends) and (ends[place][0] > null or ends[place][1] < null)


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("view", [view for view in BY_ID if view not in TELLS_WHAT_IS_THERE])
@pytest.mark.usefixtures("case")
def test_a_claim_in_words_has_numbers_that_support_it(view, seen):
    claim = BY_ID[view].claim(seen) if seen else ""
    says_why_not = not seen or claim == BY_ID[view].sentence(seen)
    assert says_why_not or is_denied(claim) or "is first of" in claim or is_shown(view, seen), claim


def test_claims_in_words_are_made_of_real_answers(found):
    made = {view for view in BY_ID if not is_denied(BY_ID[view].claim(found(view, "real")))}
    assert made >= {"heads", "meaning", "gap", "bins", "further", "ranking", "scores", "alarms"}


def test_views_of_real_answers_claim_something(found):
    claims = {view: claims_of(view, found(view, "real")) for view in BY_ID}
    assert {view for view, own in claims.items() if own} >= {"heads", "tokens", "gap", "bins", "ranking"}
