"""`rauq completion SHELL`: a script that completes commands and options, taken from the help of each command."""

import argparse
import io
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from string import Template

from rauq.cli.commands import DONE
from rauq.cli.main import COMMANDS, Command
from rauq.layout import RAUQ_COMMAND

SHELLS = ("bash", "zsh", "fish")
_BASH = Template("""\
_rauq() {
    local words
    if [ "$$COMP_CWORD" -eq 1 ]; then
        words="$commands"
    else
        case "$${COMP_WORDS[1]}" in
$cases
        esac
    fi
    COMPREPLY=($$(compgen -W "$$words" -- "$${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rauq rauq
""")
# argparse indents options by two blanks, the names of actions by four, and what it says of them by more.
_WORD = re.compile(r"^(?:  (?:-h, )?(--[a-z][a-z-]*)|    ([a-z][a-z-]*) {2})", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Print the script, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"{RAUQ_COMMAND} completion",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Print the completion of commands and options. Put its line into the start file of your shell:\n"
        '  bash, zsh   eval "$(rauq completion bash)", or zsh\n'
        "  fish        rauq completion fish | source",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    shell = parser.parse_args(arguments[1:]).shell
    words = {command.name: _words(command) for command in COMMANDS}
    sys.stdout.write(_fish(words) if shell == "fish" else _bash(words, is_zsh=shell == "zsh"))
    return DONE


def _words(command: Command) -> str:
    if command.name == "host":  # its help is that of the server, which takes the place of this process
        return ""
    if command.name == "completion":
        return " ".join(SHELLS)
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        command.run(["--help"])
    return " ".join(option or action for option, action in _WORD.findall(said.getvalue()))


def _bash(words: Mapping[str, str], *, is_zsh: bool) -> str:
    cases = "\n".join(f'        {name}) words="{text}" ;;' for name, text in words.items())
    script = _BASH.substitute(commands=" ".join(words), cases=cases)
    return f"autoload -Uz bashcompinit && bashcompinit\n{script}" if is_zsh else script


def _fish(words: Mapping[str, str]) -> str:
    first = f'complete -c rauq -n __fish_use_subcommand -f -a "{" ".join(words)}"'
    rest = (f'complete -c rauq -n "__fish_seen_subcommand_from {name}" -a "{text}"' for name, text in words.items())
    return "\n".join((first, *rest)) + "\n"
