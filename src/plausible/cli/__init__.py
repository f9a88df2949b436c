"""The command line: parse, call, print. No logic."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from importlib import import_module

import click

from plausible import __version__
from plausible.errors import CallError, PlausibleError, PlausibleWarning

COMMANDS = {
    "learn": "learning",
    "evaluate": "learning",
    "estimate": "learning",
    "merge": "learning",
    "update": "learning",
    "forget": "learning",
    "classify": "asking",
    "rank": "asking",
    "explain": "looking",
    "words": "looking",
    "info": "looking",
    "query": "networks",
    "sample": "networks",
    "draw": "networks",
    "compare": "networks",
    "convert": "networks",
    "cluster": "cluster",
    "structure": "structure",
    "reader": "reader",
    "completion": "completion",
}


class Commands(click.Group):
    """Commands whose modules are loaded when they are first used, so that a short one costs little."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"plausible.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from plausible.errors import unknown

            raise click.UsageError(unknown("command", args[0], COMMANDS, most=len(COMMANDS)), ctx)
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="plausible")
def plausible() -> None:
    """Learn from labelled documents, sort new ones, and see why.

    \b
      plausible learn mail/ -o mail.plausible        a folder with one sub-folder a class
      plausible evaluate mail/                       how good is it?
      plausible classify mail.plausible new/*.txt    which class is each of these?
      plausible explain mail.plausible letter.txt    why?
    """


def _ready_streams() -> None:
    """Output that was closed goes nowhere, and what its encoding lacks is escaped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _say(text: str) -> None:
    from plausible.cli.show import harmless

    click.echo(harmless(text), err=True)


def main() -> None:
    """Run a command. Exit status: 0 done, 1 failed, 2 usage, 3 a gate was missed."""
    warnings.showwarning = lambda message, category, *_: (
        _say(f"Note: {message}") if issubclass(category, PlausibleWarning) else None
    )
    _ready_streams()
    if "_PLAUSIBLE_COMPLETE" in os.environ:
        import_module("plausible.cli.completion")
    try:
        status = plausible(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except SystemExit:  # click ends so when the reader of a pipe has gone
        status = 0
    except click.ClickException as error:
        error.show()
        status = 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; no file was changed.", err=True)
        status = 130
    except PlausibleError as error:
        _say(f"Error: {error}")
        status = 2 if isinstance(error, CallError) else 1
    except MemoryError:
        _say("Error: this takes more memory than there is; ask for less at a time")
        status = 1
    except BrokenPipeError:
        status = 0
    except OSError as error:
        click.echo(f"Error: {error.filename or 'output'}: {error.strerror}", err=True)
        status = 1
    try:
        sys.stdout.flush()
    except OSError:  # what can't be written must not be tried again when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()  # what is left ends with the process; to look through it once more takes as long as a short answer
    sys.exit(status if isinstance(status, int) else 0)
