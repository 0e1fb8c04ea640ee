"""Every error that this package raises on purpose: each message says what was given, what is allowed, what to do."""

from dataclasses import dataclass


class RauqError(Exception):
    """Base of all errors of this package."""


class InvalidInput(RauqError, ValueError):
    """An argument, a prompt or an answer that cannot be used."""


class NotCaptured(RauqError):
    """The trace lacks the attention that was asked for."""


class ModelNotFound(RauqError):
    """No model could be loaded under that name."""


class UnsupportedModel(RauqError):
    """The model cannot be used exactly: its files need an unsupported feature, or its attention cannot be captured."""


class NonFiniteLogits(RauqError):
    """The model produced NaN logits, or no finite logit at all."""


class TraceFileError(RauqError):
    """A file that is not a readable trace."""


class OutOfMemory(RauqError):
    """The device has not enough memory for the model or for this prompt."""


class RunError(RauqError):
    """A run of answers that cannot be read, written or resumed."""


class DataSetNotFound(RauqError):
    """No data set was found under that name."""


class MissingPackage(RauqError):
    """A feature needs an optional package that is not installed."""


class CacheError(RauqError):
    """The cache of dequantised models has no room, or cannot be read or written."""


class EngineStopped(RauqError):
    """The process that runs a model has ended: what was being answered is lost, and the next call starts another."""


class Stopped(RauqError):
    """The user stopped the work before there was a result to keep."""


@dataclass(frozen=True)
class Failure:
    """What `generate_batch` and `read_batch` yield in place of a trace: which item, counted from 0, and why."""

    index: int
    error: RauqError
