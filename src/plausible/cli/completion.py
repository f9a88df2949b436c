"""Completion in the shell: commands, options, files, and the variables and states of a network."""

from __future__ import annotations

import os
import re

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

VARIABLE = "_PLAUSIBLE_COMPLETE"

SPECIAL, BACKSLASHED = r"[^\w=:./,+@%^-]", r"\\\g<0>"
"""What Bash takes as it stands is left alone; all else gets a backslash."""

SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                [[ $value == *= ]] && compopt -o nospace
                COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2> /dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Bash breaks words at `=` and `:`, which `--given VAR=not:STATE` is full of, and replaces only the last part."""

    source_template = SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, whole, and the one at the cursor."""
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        words = split_arg_string(line)[1:]
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        breaks = re.escape("".join(mark for mark in os.environ.get("COMP_BREAKS", "") if mark in "=:"))
        found = re.match(f".*[{breaks}]", incomplete, re.DOTALL) if breaks else None
        self.typed = found[0] if found else ""
        self.in_quotes = line.count("'") % 2 or line.count('"') % 2
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The part of a completion that Bash is to put at the cursor."""
        value = item.value.removeprefix(self.typed)
        return f"{item.type},{value if self.in_quotes else re.sub(SPECIAL, BACKSLASHED, value)}"


add_completion_class(Bash)

SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command(short_help="Turn on completion in a shell.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """The script that completes commands, files, and the variables and states of networks.

    \b
      plausible completion bash >> ~/.bashrc
      plausible completion zsh >> ~/.zshrc
      plausible completion fish > ~/.config/fish/completions/plausible.fish
    """
    from plausible.cli import plausible

    click.echo(SHELLS[shell](plausible, {}, "plausible", VARIABLE).source(), nl=False)
