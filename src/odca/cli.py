"""The command line: `odca <command>`. It parses, dispatches, and turns the end of a command into an exit code.

A command is a module with the parts of `Command`; a new one is a line in `COMMANDS`.

    0    done                        2    wrong arguments
    130  interrupted with Ctrl-C     141  the reader of our output went away
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from odca import __version__, demo

INTERRUPTED = 130
BROKEN_PIPE = 141


class Command(Protocol):
    """What a module must have to be a command."""

    NAME: str
    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; return the exit code."""


COMMANDS: tuple[Command, ...] = (demo,)


def parser() -> argparse.ArgumentParser:
    """The parser of `odca` and all its commands."""
    top = argparse.ArgumentParser(
        prog="odca",
        description="Linear models from streams by online dual coordinate ascent.",
        epilog="`odca <command> --help` explains a command.",
    )
    top.add_argument("--version", action="version", version=f"odca {__version__}")
    commands = top.add_subparsers(metavar="<command>", title="commands")
    for command in COMMANDS:
        own = commands.add_parser(command.NAME, help=command.SUMMARY, description=command.SUMMARY)
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Wrong arguments leave through SystemExit(2), as argparse does."""
    top = parser()
    parsed = top.parse_args(arguments)
    if not hasattr(parsed, "run"):
        top.print_help()
        return 0
    try:
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # The terminal has echoed ^C: write over it.
        print("\rInterrupted." if sys.stderr.isatty() else "Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code
