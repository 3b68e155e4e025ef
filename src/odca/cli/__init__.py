"""The command line: `odca <command>`. It finds the command, parses its arguments, runs it and returns an exit code.

A command is a module in `odca.cli.commands` with the attributes of `Command`; to add one, add a line to `COMMANDS`. Only the
module of the requested command is imported, so that no command waits for imports that only another one needs.

A command fails by raising ValueError, OSError, ImportError or MemoryError. The user sees only the message, with the options that
it names written as flags (see `flag_spelling`), or with ODCA_DEBUG=1 the traceback too. Invalid arguments that are found after parsing are
raised as argparse.ArgumentTypeError.
"""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import NoReturn, Protocol, cast

from odca import __version__
from odca.cli import standard_streams
from odca.cli.interrupts import INTERRUPTS

REFUSED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's default, 700, searches what was just imported for garbage again and again: 9 of 170 ms of a short command."""

# The commands with their summaries, in the order of the help.
COMMANDS = {
    "train": "train a model on files, in one pass",
    "predict": "print a model's prediction for each event, one per line",
    "evaluate": "measure how well a model predicts labelled data, compared with baselines",
    "inspect": "show a model's settings, its history, and its weights by feature name",
    "merge": "merge models that were trained on different data into one",
    "split": "split a model into parts that learn from different data and merge again",
    "freeze": "save the steady answer of an automatic model as one small linear model",
    "serve": "keep models live behind HTTP: predict, learn, late labels, exactly once",
    "convert": "convert data to another format, or a model to JSON or ONNX",
    "sample": "write a small generated stream as CSV, to try things with",
    "demo": "compare three windows on a drifting stream, in a few seconds",
    "reproduce": "run the paper's experiments and some of our own: figures, curves, a verdict on each claim",
    "bench": "measure how fast this machine parses data and learns from them",
    "completion": "print a script that completes commands and options in your shell",
}

DESCRIPTION = "Learn from streams of data: predict each event, learn from it once, follow drift, with nothing to tune."
EXIT_CODES = """\
exit codes:
  0    success
  1    failure: bad data or a bad model file, for example (ODCA_DEBUG=1 shows the traceback)
  2    invalid arguments
  130  interrupted with Ctrl-C or SIGTERM
  141  the program that read the output has closed the pipe
"""


class Command(Protocol):
    """The attributes that a command's module must have."""

    EPILOG: str
    """Notes and examples, shown below the help."""
    FINISHES: bool
    """Whether an interrupted command finishes by itself (see `odca.cli.interrupts`); False if it is left out."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command; return the exit code."""


def command(name: str) -> Command:
    """The module of a command."""
    return cast("Command", import_module(f"odca.cli.commands.{name}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Wrong arguments leave through SystemExit(2), as argparse does.

    Without arguments it runs as the program: on `sys.argv`, and with the standard streams and signals for itself.
    """
    is_program = arguments is None
    with INTERRUPTS.handled(at_exit=signal.SIG_IGN if is_program else None):
        if is_program:
            gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
            standard_streams.prepare()
        try:
            return _main(list(sys.argv[1:] if arguments is None else arguments))
        except KeyboardInterrupt:
            # The terminal has echoed ^C: write over it.
            from odca.cli.views.console import Output  # noqa: PLC0415 - most commands end well

            Output().write_line("\rInterrupted." if sys.stderr.isatty() else "Interrupted.", stream=sys.stderr)
            exec("")  # noqa: S102 - if the signal came amid another exec (one makes each dataclass), Python would end by SIGINT
            return INTERRUPTED
        finally:
            standard_streams.flush_output()
            if is_program:
                gc.freeze()  # the system takes all memory back: a last search for garbage would take 16 ms


def _main(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start threads that have nothing to do
        return _run(words[0], words[1:])
    top = top_parser()
    if words and not words[0].startswith("-"):
        top.error(_unknown(words[0]))
    top.parse_args(words)
    top.print_help()
    return 0


def top_parser() -> argparse.ArgumentParser:
    """The parser of `odca` itself, which knows the names of the commands but not their arguments."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items())
    top = argparse.ArgumentParser(
        prog="odca",
        usage="odca [-h] [--version] <command> ...",
        description=f"{DESCRIPTION}\n\ncommands:\n{listed}",
        epilog=f"{EXIT_CODES}\n`odca <command> --help` shows the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"odca {__version__}")
    return top


def prepare(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """Make a parser one for the arguments of a command, and return it."""
    module = command(name)
    parser.description = COMMANDS[name]
    parser.epilog = module.EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.allow_abbrev = False  # a script must not break when an option is added
    module.add_arguments(parser)
    parser.usage = _usage(parser)
    return parser


def _usage(parser: argparse.ArgumentParser) -> str:
    """The usage line, with the required arguments only: there are too many options to list here, and the help lists them below."""
    formatter = argparse.HelpFormatter(parser.prog, width=1000)
    needed = [action for action in parser._actions if action.required or not action.option_strings]  # noqa: SLF001 - argparse has no other way
    formatter.add_usage(None, needed, [], prefix="")
    words = formatter.format_help().strip().removeprefix(parser.prog)
    return f"{parser.prog} [options]{words}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.endswith("required: DATA"):
            message += ". Put DATA before options that take several names, such as --interact"
        if message.startswith("unrecognized arguments: --"):
            from odca.errors import did_you_mean  # noqa: PLC0415 - only needed after a typing mistake

            word = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
            message = " ".join(filter(None, (f"{message}.", did_you_mean(word, list(self._option_string_actions)))))
        super().error(message)


def _run(name: str, words: Sequence[str]) -> int:
    module, parser = command(name), prepare(_Parser(prog=f"odca {name}"), name)
    parsed = parser.parse_args(words)
    try:
        from odca.cli.files import refuse_overwriting  # noqa: PLC0415 - the help does not need it

        refuse_overwriting(parser, parsed)
        with nullcontext() if getattr(module, "FINISHES", False) else INTERRUPTS.raised():
            code = module.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        return BROKEN_PIPE
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except (ValueError, OSError, ImportError, MemoryError) as error:
        return _refuse(parser, parsed, error)
    return code


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace, error: Exception) -> int:
    from odca.cli.flag_spelling import explain  # noqa: PLC0415 - most commands end well
    from odca.cli.views.console import Output  # noqa: PLC0415 - the same

    if os.environ.get("ODCA_DEBUG"):
        import traceback  # noqa: PLC0415 - the same

        traceback.print_exception(error)
    message = explain(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        message = f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        message = "there is not enough memory. Fewer features (--bits), fewer classes or a shorter window need less."
    Output.of(parsed).error(f"{parser.prog}: {message}")
    return REFUSED


def _unknown(word: str) -> str:
    from odca.errors import did_you_mean  # noqa: PLC0415 - only needed after a typing mistake

    meant = did_you_mean(word, list(COMMANDS)) or f"The commands are {', '.join(COMMANDS)}."
    return f"there is no command {word!r}. {meant}"
