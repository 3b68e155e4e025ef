"""Options that several commands share, besides those about data and about learning."""

import argparse

from odca.cli.option_types import coverage, reads_file, whole_number, writes_file

STANDARD_STREAM = "-"


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add MODEL."""
    reads_file(parser.add_argument("model", metavar="MODEL", help="a model or checkpoint written by `odca train`"))


def add_answer_option(parser: argparse.ArgumentParser) -> None:
    """Add --answer."""
    parser.add_argument(
        "--answer",
        choices=("live", "steady"),
        default="steady",
        help="for an automatic model: steady, if it is used while no labels are coming in; live, if the data continue those that it "
        "learned from (default: steady)",
    )


def add_output_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add -o, for data that go to standard output by default."""
    writes_file(
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default=STANDARD_STREAM,
            help=f"the file to write {what} to (default: -, standard output)",
        )
    )


def add_model_output_option(parser: argparse.ArgumentParser, what: str, *, otherwise: str | None = None) -> None:
    """Add -o, for a model; `otherwise`: what happens without it, if it may be left out."""
    text = f"the file to write {what} to (.safetensors)" + (f"; {otherwise}" if otherwise else "")
    writes_file(parser.add_argument("-o", "--output", metavar="MODEL", required=otherwise is None, help=text))


def add_prediction_options(parser: "argparse._ActionsContainer") -> None:
    """Add --proba, --raw, --no-names, --interval and --set: the form of predictions."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--proba", action="store_true", help="print the probabilities of all classes, separated by tabs")
    group.add_argument("--raw", action="store_true", help="print margins, before they become classes or probabilities")
    parser.add_argument(
        "--no-names", dest="names", action="store_false", help="print no header line with the names of the columns"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--interval",
        type=coverage,
        metavar="COVERAGE",
        help="of numbers: also print an interval that holds this share of the labels, such as 0.9",
    )
    group.add_argument(
        "--set",
        type=coverage,
        metavar="COVERAGE",
        help="of classes: also print a set of classes that holds this share of the labels, such as 0.9",
    )


def require_forms_of(task: str, arguments: argparse.Namespace) -> None:
    """ArgumentTypeError for a form of predictions that a model of this task does not have."""
    if arguments.proba and task == "numbers":
        raise argparse.ArgumentTypeError("argument --proba: the model predicts numbers, which have no probabilities")
    if arguments.interval is not None and task == "classes":
        raise argparse.ArgumentTypeError("argument --interval: the model predicts classes. Use --set")
    if arguments.set is not None and task == "numbers":
        raise argparse.ArgumentTypeError("argument --set: the model predicts numbers. Use --interval")


def add_printing_options(parser: argparse.ArgumentParser, *, table: bool = False, quiet: str = "") -> None:
    """Add --json, and --table and --quiet if they are wanted; `quiet` is the help of the latter."""
    if table:
        parser.add_argument(
            "--table",
            type=whole_number(1),
            metavar="N",
            help="print a row of the table every N events (default: at events 1, 2, 4, 8, ...)",
        )
    if quiet:
        parser.add_argument("--quiet", action="store_true", help=quiet)
    parser.add_argument("--json", action="store_true", help="print everything as JSON, one object per line")
