"""What methods and their metrics are called."""

from types import MappingProxyType

from rauq.methods.table import METHODS

METRICS = MappingProxyType({"prr": "PRR", "roc_auc": "ROC-AUC"})


def name_of(method: str) -> str:
    """The name of a method for a reader, by its id; a variant outside the table is called by its id."""
    return METHODS[method].name if method in METHODS else method.replace("_", " ")
