"""Run the examples of documents, each document in a folder of its own: python run_documents.py PLACE DOCUMENT ...

Blocks of `python` and `sh` are run in their order. What needs a network, another machine or a file that is not there is
a block of `shell`, and not run. Nothing of the repository is imported, so that this runs beside an installed package.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rauq.cli.main import main as rauq_command

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = ["python", "-m", "rauq"]
MODULE = "my_module.py"  # the name that documents give to the file of their code


def run(document, folder):
    folder.mkdir()
    os.chdir(folder)
    names, written = {"__name__": "__main__"}, ""
    for language, text in BLOCK.findall(document.read_text(encoding="utf-8")):
        if language == "sh":
            run_commands(text)
        else:
            before = "\n" * written.count("\n")  # so that lines have the numbers of the file
            written += text
            Path(MODULE).write_text(written, encoding="utf-8")
            exec(compile(before + text, str(folder / MODULE), "exec"), names)  # noqa: S102 - our own documents


def run_commands(text):
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:3] != COMMAND:
            message = f"{line!r} is no command of rauq: fence it as `shell`, which is not run."
            raise SystemExit(message)
        if code := exit_code(words[3:]):
            message = f"{line!r} ended with {code}."
            raise SystemExit(message)


def exit_code(words):
    if words[0] == "host":  # its process becomes another one
        return subprocess.run([sys.executable, "-m", "rauq", *words], check=False).returncode
    try:
        return rauq_command(words)
    except SystemExit as ended:  # of --help
        return ended.code


if __name__ == "__main__":
    place, *documents = [Path(argument).resolve() for argument in sys.argv[1:]]
    for document in documents:
        print(f"== {document.name}", flush=True)
        run(document, place / document.stem)
