"""What methods are called."""

from rauq.methods.table import METHODS


def name_of(method: str) -> str:
    """The name of a method for a reader, by its id; a variant outside the table is called by its id."""
    return METHODS[method].name if method in METHODS else method.replace("_", " ")
