"""The judges of these names, together."""

from rauq.judges.idf import load_idf
from rauq.judges.judges import Judges
from rauq.judges.nli import load_nli
from rauq.judges.similarity import load_similarity
from rauq.judges.tagger import load_tagger


def load_judges(
    *, nli: str = "", similarity: str = "", tagger: str = "", idf: str = "", device: str = "auto"
) -> Judges:
    """Load each judge that is named: a model or a folder, for `idf` a file or "atlas"; without a name it is None.

    Facts are known of a prompt, not by name: `replace(judges, facts=rauq.atlas.oracles.facts_for_prompt(prompt))`.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, MissingPackage, InvalidInput: as the loader of each judge says.
    """
    return Judges(
        nli=load_nli(nli, device=device) if nli else None,
        similarity=load_similarity(similarity, device=device) if similarity else None,
        keywords=load_tagger(tagger) if tagger else None,
        idf=load_idf(idf) if idf else None,
    )
