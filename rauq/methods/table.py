"""The table of all methods, by id."""

from collections.abc import Mapping
from types import MappingProxyType

from rauq.methods.ablations import ABLATIONS
from rauq.methods.from_samples import FROM_SAMPLES
from rauq.methods.method import Method
from rauq.methods.one_generation import ONE_GENERATION

METHODS: Mapping[str, Method] = MappingProxyType(
    {method.id: method for method in (*ONE_GENERATION, *FROM_SAMPLES, *ABLATIONS)}
)
"""Each row under its id: RAUQ and the baselines of one generation, those of samples, the ablations of RAUQ."""
