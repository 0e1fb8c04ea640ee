"""The supervised methods by id."""

from collections.abc import Mapping
from types import MappingProxyType

from analysis.detectors.evaluation.answers import SupervisedMethod

SUPERVISED: Mapping[str, SupervisedMethod] = MappingProxyType({})
