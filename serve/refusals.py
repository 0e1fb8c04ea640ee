"""Errors as OpenAI's clients expect them: a status, and a JSON object that says what was wrong and in which field."""

import traceback
from typing import Any

from rauq.errors import EngineStopped, InvalidInput, RauqError


class Refusal(Exception):
    """A request that is not answered: its HTTP status, and what the client is told.

    `param` is the field at fault, `code` OpenAI's word for the fault where it has one.
    """

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the response."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


STOPPING = "The server is stopping. Send the request again once it runs."


def refusal_of(error: Exception, *, param: str | None = None) -> Refusal:
    """What a client is told of an error: messages are those of this package, of others none."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, InvalidInput):
        return Refusal(400, str(error), param=param)
    if isinstance(error, EngineStopped):
        return Refusal(503, "The process that runs the model has ended. Send the request again.")
    if isinstance(error, RauqError):
        return Refusal(500, str(error))
    return Refusal(500, f"The server failed ({type(error).__name__}). Its log says where.")


def where(error: BaseException) -> str:
    """The kind of an error and the line that raised it: its message may hold a text of a client."""
    lines = traceback.extract_tb(error.__traceback__)
    place = f" at {lines[-1].filename}:{lines[-1].lineno}" if lines else ""
    return f"{type(error).__name__}{place}"
