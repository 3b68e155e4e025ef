"""`odca serve`: models behind HTTP that learn every acknowledged event exactly once."""

import argparse
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from odca.cli.interrupts import INTERRUPTS
from odca.cli.option_types import reads_file, whole_number
from odca.cli.shared_options import add_printing_options
from odca.cli.views.console import Output

FINISHES = True
DEFAULT_PORT = 8080
NEEDED = ("uvicorn", "httptools", "msgspec", "prometheus_client")
SCOPES = ("predict", "learn", "admin")
EPILOG = """\
Models live in DIR and survive everything: a request is on the disk before it is learned, and learned before it is answered.
docs/tutorials/serving.md is a tutorial; GET /openapi.json lists the routes. Ctrl-C or SIGTERM finishes queued requests, saves the models and exits
with 0.

tokens:
  odca serve token create DIR --name NAME --scope learn     print a new token, once (scopes: predict, learn, admin; each includes those before it)
  odca serve token list DIR                                 list the tokens
  odca serve token revoke DIR --token ID                    revoke one

examples:
  odca serve models/
  odca serve models/ --follow shop=kafka://localhost:9092/visits
  curl -X PUT localhost:8080/v1/models/shop --json '{}'
  curl -X PUT localhost:8080/v1/models/shop -H 'Content-Type: application/octet-stream' --data-binary @model.safetensors   # of odca train
  curl localhost:8080/v1/models/shop/learn --json '{"price": 3.2, "label": "yes"}'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "words", metavar="DIR", nargs="+", help="the folder with the models; or: token create|list|revoke DIR"
    )
    where = parser.add_argument_group("where")
    where.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="the address to listen on (default: %(default)s); any other than loopback needs tokens",
    )
    where.add_argument(
        "--port", metavar="N", type=int, default=DEFAULT_PORT, help="the port (default: %(default)s; 0: a free one)"
    )
    reads_file(where.add_argument("--tls-cert", metavar="FILE", help="the certificate, for https"))
    reads_file(where.add_argument("--tls-key", metavar="FILE", help="its key"))
    where.add_argument(
        "--follow",
        metavar="NAME=TOPIC",
        action="append",
        default=[],
        help="let the model NAME learn the events of a topic, kafka://HOST:PORT/NAME or redis://HOST:PORT/NAME; NAME/label=TOPIC for "
        "labels that come later, NAME/predict=TOPIC for the events that wait for them; may be repeated",
    )
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
    "max_models": (64, "the most models"),
    "max_body": (16 << 20, "the most bytes in a request"),
    "max_line": (1 << 20, "the most bytes in an event"),
    "max_events": (100_000, "the most events in a request"),
    "max_queue": (1_000, "the most requests that may wait for a model; more are answered with 429"),
    "max_connections": (1_000, "the most connections"),
    "log_bytes": (
        64 << 20,
        "save a snapshot of a model after this many bytes of log; the log is at most twice as large",
    ),
    "keep_log_bytes": (0, "bytes of log to keep although a snapshot covers them"),
    "snapshot_seconds": (300, "save a snapshot this many seconds after a change"),
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

    _require_folder(folder, arguments.port or DEFAULT_PORT)
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
        for loose in _loose_models(folder):
            output.warn(
                f"{loose} is a model that is not served: only models that were sent to the service are. Send it:\n{_sending(loose, address)}"
            )
        if not arguments.quiet:
            output.write_line(f"Serving {folder} at {address}")
            sys.stdout.flush()

    serve(
        folder,
        host=arguments.host,
        port=arguments.port,
        limits=limits,
        tls=tls,
        follow=_topics(arguments.follow),
        listening=listening,
        stopping=INTERRUPTS.answered,
    )
    return 0


def _require_folder(folder: Path, port: int) -> None:
    """NotADirectoryError if it is a file: most likely the model that the user wants to be served."""
    from odca.io.model_file import kind_of  # noqa: PLC0415 - after parsing

    if folder.is_dir() or not folder.exists():
        return
    if kind_of(folder) is None:
        raise NotADirectoryError(f"{folder} is a file. Name the folder where the service shall keep its models.")
    raise NotADirectoryError(
        f"{folder} is a model, and not the folder where the service keeps its models. Start the service, then send it the model:\n"
        f"  odca serve models/\n{_sending(folder, f'localhost:{port}')}"
    )


def _loose_models(folder: Path) -> list[Path]:
    from odca.io.model_file import kind_of  # noqa: PLC0415 - after parsing

    return [each for each in sorted(folder.glob("*.safetensors")) if kind_of(each) is not None]


def _sending(path: Path, address: str) -> str:
    """The command that sends the file of a model to the service."""
    name = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_")[:64] or "model"
    file = shlex.quote(f"@{path}")
    return f"  curl -X PUT {address}/v1/models/{name} -H 'Content-Type: application/octet-stream' --data-binary {file}"


def _topics(wishes: list[str]) -> list[str]:
    """The topics to follow. ImportError if a library is missing that reads one of them."""
    from odca.topics.address import SCHEMES  # noqa: PLC0415 - only where it is needed

    for kind, library in {"kafka": "confluent_kafka", "redis": "redis"}.items():
        schemes = [each for each in SCHEMES if each.startswith(kind)]
        if any(f"={each}://" in wish for each in schemes for wish in wishes) and find_spec(library) is None:
            raise ImportError(f"--follow needs {library.replace('_', '-')}: pip install 'odca[{kind}]'.")
    return wishes


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
