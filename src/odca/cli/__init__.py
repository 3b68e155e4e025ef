"""The command line: `odca <command>`. It finds the command, parses, and turns the command's end into an exit code.

A command is a module with the parts of `Command`; a new one is a line in `COMMANDS`. Only the module of the command
that is asked for is imported, so that no command waits for what another one needs.

A command refuses by raising ValueError, OSError or ImportError, whose message is all that a user sees, with the options that
it names written as flags (see `flags`); ODCA_DEBUG=1 shows where it came from. What is wrong with its arguments and shows only later it raises as argparse.ArgumentTypeError.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from odca import __version__

REFUSED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141

# Their modules and what they do, in the order of the help.
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("odca.cli.commands.train", "learn a model from files, in one pass"),
    "predict": ("odca.cli.commands.predict", "predict events by a model, one line for each"),
    "evaluate": ("odca.cli.commands.evaluate", "tell how well a model predicts labelled data, beside baselines"),
    "inspect": ("odca.cli.commands.inspect", "tell what a model is, what it has seen, and its weights by name"),
    "merge": ("odca.cli.commands.merge", "make one model of several that learned from different data"),
    "convert": ("odca.cli.commands.convert", "convert data to another format, or a model to JSON or ONNX"),
    "demo": (
        "odca.cli.commands.demo",
        "stream a drifting problem through three windows, side by side, in a few seconds",
    ),
    "reproduce": (
        "odca.cli.commands.reproduce",
        "run the paper's experiments, and ours: figures, curves, a verdict for each claim",
    ),
    "bench": ("odca.cli.commands.bench", "measure how fast data are parsed and learned here"),
    "completion": ("odca.cli.commands.completion", "print a script that completes commands and options in your shell"),
}

DESCRIPTION = "Linear models from streams by online dual coordinate ascent."
EXIT_CODES = """\
exit codes:
  0    done
  1    refused: bad data, a bad model file (ODCA_DEBUG=1 shows where)
  2    wrong arguments
  130  interrupted with Ctrl-C
  141  the reader of our output went away
"""


class Command(Protocol):
    """What a module must have to be a command."""

    NAME: str
    SUMMARY: str
    EPILOG: str
    """Examples, shown below the help."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; return the exit code."""


def command(name: str) -> Command:
    """The module of a command."""
    return cast("Command", import_module(COMMANDS[name][0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Wrong arguments leave through SystemExit(2), as argparse does."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in COMMANDS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads would start, and wait in vain
        try:
            return _run(command(words[0]), words[1:])
        except KeyboardInterrupt:
            # The terminal has echoed ^C: write over it.
            print("\rInterrupted." if sys.stderr.isatty() else "Interrupted.", file=sys.stderr)
            return INTERRUPTED
    top = top_parser()
    if words and not words[0].startswith("-"):
        top.error(_unknown(words[0]))
    top.parse_args(words)
    top.print_help()
    return 0


def top_parser() -> argparse.ArgumentParser:
    """The parser of `odca` itself, which knows its commands by name alone."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    top = argparse.ArgumentParser(
        prog="odca",
        usage="odca [-h] [--version] <command> ...",
        description=f"{DESCRIPTION}\n\ncommands:\n{listed}",
        epilog=f"{EXIT_CODES}\n`odca <command> --help` explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"odca {__version__}")
    return top


def prepare(parser: argparse.ArgumentParser, command: Command) -> argparse.ArgumentParser:
    """A parser for a command's arguments."""
    parser.description = command.SUMMARY
    parser.epilog = command.EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.allow_abbrev = False  # a script must not break when an option is added
    command.add_arguments(parser)
    parser.usage = _usage(parser)
    return parser


def _usage(parser: argparse.ArgumentParser) -> str:
    """What must be given; the options that may be are listed below it, and are too many to be read here."""
    formatter = argparse.HelpFormatter(parser.prog, width=1000)
    needed = [action for action in parser._actions if action.required or not action.option_strings]  # noqa: SLF001 - argparse has no other way
    formatter.add_usage(None, needed, [], prefix="")
    words = formatter.format_help().strip().removeprefix(parser.prog)
    return f"{parser.prog} [options]{words}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.endswith("required: DATA"):
            message += ". They go before options that take several names, such as --interact"
        super().error(message)


def _run(command: Command, words: Sequence[str]) -> int:
    parser = prepare(_Parser(prog=f"odca {command.NAME}"), command)
    parsed = parser.parse_args(words)
    try:
        code = command.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except (ValueError, OSError, ImportError) as error:
        return _refuse(parser, parsed, error)
    return code


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace, error: Exception) -> int:
    from odca.cli.flags import explain  # noqa: PLC0415 - most commands end well
    from odca.cli.views.console import Output  # noqa: PLC0415 - the same

    if os.environ.get("ODCA_DEBUG"):
        import traceback  # noqa: PLC0415 - the same

        traceback.print_exception(error)
    message = explain(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        message = f"{error.filename}: {error.strerror}."
    Output.of(parsed).error(f"{parser.prog}: {message}")
    return REFUSED


def _unknown(word: str) -> str:
    import difflib  # noqa: PLC0415 - for those who mistype

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    meant = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(COMMANDS)}."
    return f"there is no command {word!r}. {meant}"
