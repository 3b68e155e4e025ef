"""`odca serve`: models behind HTTP that learn every acknowledged event exactly once."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from odca.cli.interrupts import INTERRUPTS
from odca.cli.option_types import reads_file, whole_number
from odca.cli.shared_options import add_printing_options
from odca.cli.views.console import Output

FINISHES = True
NEEDED = ("uvicorn", "httptools", "msgspec", "prometheus_client")
SCOPES = ("predict", "learn", "admin")
EPILOG = """\
Models live in DIR and survive everything: a request is on the disk before it is learned, and learned before it is answered.
docs/serve.md is a tutorial; GET /openapi.json lists the routes. Ctrl-C or SIGTERM works off what waits, saves the models and exits with 0.

tokens:
  odca serve token create DIR --name NAME --scope learn     print a new token, once (scopes: predict, learn, admin; each includes those before it)
  odca serve token list DIR                                 list the tokens
  odca serve token revoke DIR --token ID                    revoke one

example:
  odca serve models/
  curl -X PUT localhost:8080/v1/models/shop -H 'Content-Type: application/json' -d '{}'
  curl localhost:8080/v1/models/shop/learn -H 'Content-Type: application/json' -d '{"price": 3.2, "label": "yes"}'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "words", metavar="DIR", nargs="+", help="the folder of the models; or token create|list|revoke DIR"
    )
    where = parser.add_argument_group("where")
    where.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="the address to listen on (default: %(default)s); others need tokens",
    )
    where.add_argument(
        "--port", metavar="N", type=int, default=8080, help="the port (default: %(default)s; 0: a free one)"
    )
    reads_file(where.add_argument("--tls-cert", metavar="FILE", help="the certificate, for https"))
    reads_file(where.add_argument("--tls-key", metavar="FILE", help="its key"))
    limits = parser.add_argument_group("limits")
    for name, (default, text) in LIMITS.items():
        flag = f"--{name.replace('_', '-')}"
        limits.add_argument(
            flag, metavar="N", type=whole_number(0), default=default, help=f"{text} (default: %(default)s)"
        )
    tokens = parser.add_argument_group("tokens")
    tokens.add_argument("--name", metavar="NAME", help="token create: whose token it is, for the audit log")
    tokens.add_argument(
        "--scope", choices=SCOPES, default="predict", help="token create: what it allows (default: %(default)s)"
    )
    tokens.add_argument("--token", metavar="ID", help="token revoke: the id of the token")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning"),
        default="info",
        help="what is logged to stderr (default: %(default)s)",
    )
    add_printing_options(parser, quiet="do not print the address")


LIMITS = {
    "max_models": (64, "models"),
    "max_body": (16 << 20, "bytes of a request"),
    "max_line": (1 << 20, "bytes of an event"),
    "max_events": (100_000, "events of a request"),
    "max_queue": (1_000, "requests of a model that wait; more are answered with 429"),
    "max_connections": (1_000, "connections"),
    "log_bytes": (64 << 20, "bytes of a model's log after which a snapshot is made; the log is at most twice as large"),
    "keep_log_bytes": (0, "bytes of a model's log that are kept though a snapshot has them"),
    "snapshot_seconds": (300, "seconds after a change until a snapshot is made"),
}


def run(arguments: argparse.Namespace) -> int:
    """Serve, or manage tokens; return the exit code."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(f"odca serve needs {missing[0].replace('_', '-')}: pip install 'odca[serve]'.")
    words: list[str] = arguments.words
    if words[0] == "token":
        return _tokens(arguments, words[1:])
    if len(words) > 1:
        raise argparse.ArgumentTypeError(f"unrecognized arguments: {' '.join(words[1:])}")
    return _serve(arguments, Path(words[0]))


def _serve(arguments: argparse.Namespace, folder: Path) -> int:
    from odca.serve.access import is_loopback  # noqa: PLC0415 - only where it is installed
    from odca.serve.limits import Limits  # noqa: PLC0415 - the same
    from odca.serve.run import log_to_stderr, serve  # noqa: PLC0415 - the same

    if (arguments.tls_cert is None) != (arguments.tls_key is None):
        raise argparse.ArgumentTypeError("--tls-cert and --tls-key belong together")
    output = Output.of(arguments)
    tls = None if arguments.tls_cert is None else (arguments.tls_cert, arguments.tls_key)
    if tls is None and not is_loopback(arguments.host):
        output.warn("tokens and data are sent in plain text. Use --tls-cert and --tls-key, or a proxy that does.")
    log_to_stderr(arguments.log_level)
    limits = Limits(
        body=arguments.max_body,
        line=arguments.max_line,
        events=arguments.max_events,
        models=arguments.max_models,
        queue=arguments.max_queue,
        connections=arguments.max_connections,
        log_bytes=arguments.log_bytes,
        keep_log_bytes=arguments.keep_log_bytes,
        snapshot_seconds=float(arguments.snapshot_seconds),
    )

    def listening(address: str) -> None:
        if not arguments.quiet:
            output.write_line(f"Serving {folder} at {address}")
            sys.stdout.flush()

    serve(
        folder,
        host=arguments.host,
        port=arguments.port,
        limits=limits,
        tls=tls,
        listening=listening,
        stopping=INTERRUPTS.answered,
    )
    return 0


def _tokens(arguments: argparse.Namespace, words: list[str]) -> int:
    from odca.serve.tokens import Tokens  # noqa: PLC0415 - only where it is installed

    if len(words) != 2 or words[0] not in {"create", "list", "revoke"}:
        raise argparse.ArgumentTypeError("write odca serve token create|list|revoke DIR")
    output, tokens = Output.of(arguments), Tokens(Path(words[1]) / "tokens.json")
    if words[0] == "create":
        if not arguments.name:
            raise argparse.ArgumentTypeError("--name says whose token it is")
        output.write_line(tokens.create(arguments.name, arguments.scope))
    elif words[0] == "revoke":
        if not arguments.token:
            raise argparse.ArgumentTypeError("--token says which one; odca serve token list DIR shows their ids")
        gone = tokens.revoke(arguments.token)
        output.write_line(f"revoked {gone.id}, of {gone.name}")
    else:
        for each in tokens.all():
            output.write_line(f"{each.id}  {each.scope:7}  {each.name}")
    return 0
