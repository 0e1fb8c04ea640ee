"""What the hub's failures mean: each kind has its own message, with what to do."""

import errno
from collections.abc import Iterator
from dataclasses import dataclass, replace

_LOG_IN = "Accept its terms on the hub, and log in: hf auth login, or a token in the variable HF_TOKEN."
_AGAIN = "Try again later."


@dataclass(frozen=True, kw_only=True)
class HubFailure:
    """A kind of failure of the hub: what happened, and what to do.

    It is recognised by the `names` of an exception's classes (httpx, httpx2, requests and aiohttp each have their own
    under the same names), by an HTTP status from `statuses`, by `errnos`, or by what the exception `says`. If it is
    the `network` that fails, a model on this machine still works.
    """

    what: str
    todo: str
    names: frozenset[str] = frozenset()
    statuses: range = range(0)
    errnos: tuple[int, ...] = ()
    says: str = ""
    network: bool = False

    def matches(self, error: BaseException) -> bool:
        """Whether an exception, without what led to it, is of this kind."""
        return (
            any(parent.__name__ in self.names for parent in type(error).__mro__)
            or _status(error) in self.statuses
            or getattr(error, "errno", None) in self.errnos
            or bool(self.says and self.says in str(error))
        )


# The first match counts, so special kinds come before general ones.
_FAILURES = (
    HubFailure(
        what="the disk is full",
        todo="Free disk space, or keep the hub's files on another disk: the variable HF_HOME names their folder.",
        errnos=(errno.ENOSPC, errno.EDQUOT),
        says="No space left on device",
    ),
    HubFailure(
        what="the hub was not contacted, since HF_HUB_OFFLINE is set",
        todo="Unset that variable.",
        names=frozenset({"OfflineModeIsEnabled"}),
        network=True,
    ),
    HubFailure(
        what="no secure connection to the hub is possible: its certificate, or that of a proxy, was rejected",
        todo="Check this machine's clock, and name the certificates of a proxy in the variable SSL_CERT_FILE.",
        names=frozenset({"SSLError"}),
        says="[SSL",
        network=True,
    ),
    HubFailure(
        what="the proxy does not reach the hub",
        todo="Check the variables HTTPS_PROXY and NO_PROXY.",
        names=frozenset({"ProxyError"}),
        statuses=range(407, 408),
        network=True,
    ),
    HubFailure(
        what="the hub gives access only to users who have accepted its terms",
        todo=_LOG_IN,
        names=frozenset({"GatedRepoError"}),
    ),
    HubFailure(what="the hub has disabled it", todo="Choose another {thing}.", names=frozenset({"DisabledRepoError"})),
    HubFailure(
        what="the hub has this {thing}, but not in that revision",
        todo="Give a branch, a tag or a commit that it has, or leave the revision out.",
        names=frozenset({"RevisionNotFoundError"}),
    ),
    HubFailure(
        what="the hub has this {thing}, but not that file",
        todo="Check the spelling; a GGUF file is named organisation/model/file.gguf.",
        names=frozenset({"RemoteEntryNotFoundError"}),
    ),
    HubFailure(
        what="no {thing} of that name is available on the hub",
        todo="Check the spelling; a private one needs a token: hf auth login, or the variable HF_TOKEN.",
        names=frozenset({"RepositoryNotFoundError", "HFValidationError"}),
    ),
    HubFailure(
        what="the hub does not give this user access",
        todo=_LOG_IN,
        names=frozenset({"LocalTokenNotFoundError"}),
        statuses=range(401, 404),
    ),
    HubFailure(
        what="the hub received too many requests from this machine",
        todo="Try again in some minutes; more requests are allowed after hf auth login.",
        statuses=range(429, 430),
        network=True,
    ),
    HubFailure(what="the hub reports an internal error", todo=_AGAIN, statuses=range(500, 600), network=True),
    HubFailure(
        what="the hub refuses the request",
        todo="Check the name, and HF_ENDPOINT if that variable is set.",
        statuses=range(400, 500),
    ),
    HubFailure(
        what="the server that answered is not the hub",
        todo="Check the proxy, and HF_ENDPOINT if that variable is set.",
        names=frozenset({"FileMetadataError"}),
        network=True,
    ),
    HubFailure(
        what="the hub cannot be reached: it did not answer in time",
        todo=_AGAIN,
        names=frozenset({"TimeoutException", "TimeoutError", "Timeout"}),
        network=True,
    ),
    HubFailure(
        what="the download was interrupted, or differs from what the hub announced",
        todo="Try again.",
        names=frozenset(
            {"RemoteProtocolError", "ReadError", "IncompleteRead", "ChunkedEncodingError", "ClientPayloadError"}
            | {"ConnectionResetError", "XetDownloadError"}
        ),
        says="Consistency check failed",
        network=True,
    ),
    HubFailure(
        what="the hub cannot be reached: there is no network",
        todo="Connect this machine to a network.",
        names=frozenset({"NetworkError", "ConnectionError", "ClientConnectionError"}),
        network=True,
    ),
    HubFailure(
        what="it is not in the hub's cache on this machine, and the hub was not contacted",
        todo="Connect this machine to a network.",
        names=frozenset({"LocalEntryNotFoundError"}),
        network=True,
    ),
)


def why_no_hub(source: str, error: Exception, *, otherwise: str) -> str:
    """The error for a failure of the hub; `otherwise` is what can be done without a network."""
    if (found := hub_failure(error)) is None:
        return f"Folder {source!r} not found, and the request to the hub failed ({short(error)}). {otherwise}"
    return f"Folder {source!r} not found, and {found.what}. {found.todo}{' ' + otherwise if found.network else ''}"


def hub_failure(error: BaseException, *, thing: str = "model") -> HubFailure | None:
    """What happened if the hub gave no `thing`, from an exception and its causes; None if it is something else.

    Its `what` ends with the name of the exception, or with the HTTP status.
    """
    chain = list(_causes(error))
    for kind in _FAILURES:
        if (cause := next(filter(kind.matches, chain), None)) is not None:
            by = f"HTTP {_status(cause)}" if _status(cause) in kind.statuses else type(cause).__name__
            return replace(kind, what=f"{kind.what} ({by})".format(thing=thing), todo=kind.todo.format(thing=thing))
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes. Exceptions handled before, as for a file that may be missing, do not count."""
    while error is not None:
        yield error
        error = error.__cause__


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception tells of."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def short(error: Exception) -> str:
    """An exception in one line, shortened."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
