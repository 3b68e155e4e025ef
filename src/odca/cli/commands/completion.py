"""`odca completion`: print a script that lets a shell complete odca's commands and options."""

import argparse

from odca import cli

EPILOG = """\
examples:
  odca completion bash > ~/.local/share/bash-completion/completions/odca
  odca completion zsh > ~/.zfunc/_odca        (with fpath+=~/.zfunc before compinit)
  odca completion tcsh | sudo tee /etc/profile.d/odca.completion.csh
"""
SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise ImportError("completion needs shtab: pip install 'odca[cli]'.") from error
    print(shtab.complete(full_parser(), shell=arguments.shell))
    return 0


def full_parser() -> argparse.ArgumentParser:
    """The parser of `odca` with the arguments of all commands, which are all imported for it."""
    top = cli.top_parser()
    parsers = top.add_subparsers(metavar="<command>")
    for name, summary in cli.COMMANDS.items():
        cli.prepare(parsers.add_parser(name, help=summary), name)
    return top
