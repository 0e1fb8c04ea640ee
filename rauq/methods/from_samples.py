"""Rows of the table: methods that compare sampled answers."""

from rauq.methods import graphs
from rauq.methods.hidden_states import eigen_score
from rauq.methods.known_facts import with_facts
from rauq.methods.lexical import lexical_similarity
from rauq.methods.luq import luq
from rauq.methods.method import Method
from rauq.methods.relevance import sar
from rauq.methods.semantic_density import semantic_density
from rauq.methods.semantic_entropy import semantic_entropy

_SAMPLES = "K N, of one token each"
_PAIRS = f"{_SAMPLES}; the judge reads K² pairs of answers"
_GRAPHS = (
    ("degmat", "DegMat", graphs.degmat),
    ("eccentricity", "Eccentricity", graphs.eccentricity),
    ("eigval_laplacian", "EVL", graphs.eigval_laplacian),
)
_SOURCE_OF_GRAPHS = "Lin et al. (2024), Generating with Confidence"

_OF_TEXTS = (
    Method(
        id="lexical_similarity",
        name="Lexical Similarity ROUGE-L",
        family="samples",
        compute=lexical_similarity,
        source="Fomicheva et al. (2020)",
        cost=_SAMPLES,
        needs=frozenset({"samples"}),
    ),
    Method(
        id="eigen_score",
        name="EigenScore",
        family="samples",
        compute=eigen_score,
        source="Chen et al. (2024), INSIDE",
        cost=_SAMPLES,
        needs=frozenset({"samples"}),
        sample_extras=("hidden",),
    ),
    *(
        Method(
            id=f"{name}_jaccard",
            name=f"{label} (Jaccard)",
            family="samples",
            compute=graphs.from_words(measure),
            source=_SOURCE_OF_GRAPHS,
            cost=_SAMPLES,
            needs=frozenset({"samples"}),
        )
        for name, label, measure in _GRAPHS
    ),
)

_OF_MEANING = (
    *(
        Method(
            id=name,
            name=f"{label} NLI entail.",
            family="samples",
            compute=graphs.from_entailment(measure),
            source=_SOURCE_OF_GRAPHS,
            cost=_PAIRS,
            needs=frozenset({"samples", "nli"}),
        )
        for name, label, measure in _GRAPHS
    ),
    Method(
        id="luq",
        name="LUQ",
        family="samples",
        compute=luq,
        source="Zhang et al. (2024), LUQ",
        cost=_PAIRS,
        needs=frozenset({"samples", "nli"}),
    ),
    Method(
        id="semantic_entropy",
        name="Semantic Entropy",
        family="samples",
        compute=semantic_entropy,
        source="Kuhn et al. (2023)",
        cost=_PAIRS,
        needs=frozenset({"samples", "nli"}),
    ),
    Method(
        id="sar",
        name="SAR",
        family="samples",
        compute=sar,
        source="Duan et al. (2024)",
        cost=f"{_PAIRS}, and each without each token",
        needs=frozenset({"samples", "similarity"}),
    ),
    Method(
        id="semantic_density",
        name="Semantic Density",
        family="samples",
        compute=semantic_density,
        source="Qiu and Miikkulainen (2024)",
        cost=f"{_SAMPLES}; the judge reads K pairs of answers",
        needs=frozenset({"samples", "nli"}),
    ),
)

FROM_SAMPLES = (*_OF_TEXTS, *_OF_MEANING, *map(with_facts, _OF_MEANING))
