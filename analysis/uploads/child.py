"""The process that reads one upload from a stranger; its arguments are LIMITS, TASK and OPTIONS.

The upload is its input, the answer its output. An upload that is refused leaves the reason there instead.
"""

import json
import sys

from analysis.uploads.limits import OUT_OF_MEMORY, REFUSED, Limits, confine

_LONGEST = 2_000  # characters of a reason, which may quote the upload


def main(limits: str, task: str, options: str) -> int:
    """Answer, and return the exit code."""
    confine(Limits(**json.loads(limits)))
    from rauq.errors import RauqError
    from rauq.labels import shortened

    try:
        answer, code = _answer(task, options), 0
    except RauqError as error:
        answer, code = shortened(str(error), longest=_LONGEST).encode(errors="replace"), REFUSED
    except MemoryError:
        return OUT_OF_MEMORY
    sys.stdout.buffer.write(answer)
    return code


def _answer(task: str, options: str) -> bytes:
    from analysis.typed_json import parsed
    from analysis.uploads.readers import TABLE, RunOrder, TableOrder, answer_run, answer_table

    if task == TABLE:
        return answer_table(sys.stdin.buffer.read(), parsed(TableOrder, options))
    answer_run(sys.stdin.buffer, parsed(RunOrder, options))
    return b""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
