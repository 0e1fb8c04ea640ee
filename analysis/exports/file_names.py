"""What a file about one answer is called: by its model and its prompt, so that many of them can lie in one folder."""

import re
from pathlib import PurePosixPath

from rauq.trace.trace import Trace

_MOST_WORDS, _LONGEST = 6, 60  # of a prompt; characters of a name
_WORD = re.compile(r"[^\W_]+")


def file_name(trace: Trace, ending: str) -> str:
    """A name such as "smollm2-who-wrote-the-novel.tokens.csv", of letters and digits of any script.

    The words are the first of the prompt's last line with more than one: a cue such as "A:" and worked examples are
    left out.
    """
    model = PurePosixPath(trace.model.replace("\\", "/")).name.removesuffix(".gguf")
    lines = [words for line in trace.prompt.splitlines() if len(words := _WORD.findall(line)) > 1]
    words = [*_WORD.findall(model), *(lines[-1][:_MOST_WORDS] if lines else _WORD.findall(trace.prompt)[:_MOST_WORDS])]
    stem = "-".join(words).lower()[:_LONGEST].strip("-")
    return f"{stem}.{ending}" if stem else ending
