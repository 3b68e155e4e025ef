"""`odca sample`: write a small generated stream as CSV."""

import argparse
import csv

from odca.cli.files import open_output
from odca.cli.option_types import whole_number
from odca.cli.shared_options import add_output_option

EPILOG = """\
streams (label in parentheses):
  clicks    ads that are shown, and whether they are clicked; half-way, the pattern is reversed (click)
  payments  card payments, some of them frauds that are reported later; half-way a new trick appears (fraud)
  load      the electric load of three stations, every hour (load)
  messages  short messages, some of them spam, whose words change (kind)

They are the same each time, and on every machine; --seed makes others. In Python: odca.datasets.clicks() and so on.

examples:
  odca sample clicks -o clicks.csv && odca train clicks.csv --label click
  odca sample load | odca train - --label load --history 'y by station: lag 1,24'
"""
NAMES = ("clicks", "payments", "load", "messages")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("stream", choices=NAMES, metavar="STREAM", help=f"one of {', '.join(NAMES)}")
    parser.add_argument(
        "--events", type=whole_number(1), metavar="N", help="how many events (default: some thousands, by the stream)"
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="another stream of its kind (default: 0)"
    )
    add_output_option(parser, "the events")


def run(arguments: argparse.Namespace) -> int:
    """Write the events; return the exit code."""
    from odca.datasets import STREAMS  # noqa: PLC0415 - after parsing

    given = {} if arguments.events is None else {"events": arguments.events}
    events = STREAMS[arguments.stream](**given, seed=arguments.seed)
    with open_output(arguments.output) as file:
        writer = csv.DictWriter(file, events[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(events)
    return 0
