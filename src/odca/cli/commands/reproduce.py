"""`odca reproduce`: check the paper's claims by running its experiments.

The experiments are in `odca.research.experiments`. This command runs them, prints each verdict as soon as it is known, and writes a folder:
report.md with the parameters, the data, the results and a verdict on each claim; claims.csv; a figure for each study as PNG and SVG; a CSV
file with the curves of each panel. The same seeds give the same numbers. An experiment whose data cannot be found is left out, with a warning
and a note in the report, and the exit code is 1.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from odca.cli import REFUSED
from odca.cli.option_types import whole_number, writes_file
from odca.cli.shared_options import add_printing_options
from odca.cli.views.console import LiveLine, Output, PrintedColumn

if TYPE_CHECKING:
    from odca.research.experiments import Study

EPILOG = """\
experiments:
  adult      the paper's Figure 1: O-DCA, SGD, S-DCA and LIBSVM on Adult
  rcv1       the paper's Figure 2: the same on RCV1
  tracking   moving targets: LMS, NLMS, RLS, windows, theory; vibrations of an F-16
  portfolio  a portfolio of stocks, with weights on the simplex
  sparse     the elastic net online, compared with the batch solution
  step-size  how sensitive SGD is to its step size, and O-DCA to rho

Data are looked up in $ODCA_DATA, ../shared/data and the cache, and downloaded otherwise. If a similar data set is found but not the
paper's, it is used and the report says so; --download insists on the paper's own. pip install 'odca[reproduce]' installs the packages that
the experiments need.

examples:
  odca reproduce all
  odca reproduce adult sparse --out results --seeds 20
"""
ALL = "all"
NAMES = ("adult", "rcv1", "tracking", "portfolio", "sparse", "step-size")
SEEDS, FOLDER = 10, "reproduced"
NEEDED = {"matplotlib": "matplotlib", "sklearn": "scikit-learn"}
COLUMNS = (
    PrintedColumn("study", "study", 9, is_text=True),
    PrintedColumn("verdict", "verdict", 15, is_text=True),
    PrintedColumn("difference", "ours minus theirs [95 %]", 32, is_text=True),
    PrintedColumn("claim", "claim", 120, is_text=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "experiments", nargs="+", choices=[*NAMES, ALL], metavar="EXPERIMENT", help=f"{', '.join(NAMES)}, or {ALL}"
    )
    writes_file(
        parser.add_argument(
            "--out", type=Path, default=Path(FOLDER), metavar="DIR", help=f"the folder to write to (default: {FOLDER})"
        )
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(least=2),
        default=SEEDS,
        metavar="N",
        help=f"repeat each experiment with seeds 0 to N - 1: other orders of the events, or other streams (default: {SEEDS})",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="use only the paper's own data sets, and download those that are missing",
    )
    add_printing_options(parser)
    parser.set_defaults(result_in_file=True)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiments and write the report; return the exit code."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"the experiments need {' and '.join(missing)}: pip install 'odca[reproduce]'.")
    from odca.research.datasets import MissingDataError  # noqa: PLC0415 - after parsing
    from odca.research.experiments import EXPERIMENTS, Job, figures, report  # noqa: PLC0415 - the same

    names = list(EXPERIMENTS) if ALL in arguments.experiments else list(dict.fromkeys(arguments.experiments))
    folder: Path = arguments.out
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder; {folder} is a file.")
    folder.mkdir(parents=True, exist_ok=True)
    output = Output.of(arguments)
    table = output.table(COLUMNS, "claim")
    studies: list[Study] = []
    left_out: list[str] = []
    chosen = {name: EXPERIMENTS[name] for name in names}
    with output.progress(sum(each.per_seed * arguments.seeds + each.others for each in chosen.values())) as line:
        job = Job(range(arguments.seeds), _Counter(line).count, arguments.download)
        for name, experiment in chosen.items():
            try:
                study = experiment.run(job)
            except MissingDataError as error:
                left_out.append(f"{name}. {error}")
                line.erase()
                output.warn(f"{name} is left out. {error}")
                continue
            studies.append(study)
            figures.draw(study, folder)
            line.erase()
            for part in study.left_out:
                output.warn(f"left out: {part}")
            for claim in study.claims:
                by_smoothing = claim.verdict == "needs smoothing" and claim.smoothed
                shown = report.signed(by_smoothing or claim.difference)
                table.row(study.name, claim.verdict, shown, claim.statement)
            report.write(studies, folder, left_out)
    if studies:
        report.write(studies, folder, left_out)
        output.note(f"The report is {folder / 'report.md'}; figures and curves are in the same folder.")
    return REFUSED if left_out or any(study.left_out for study in studies) else 0


class _Counter:
    """Counts finished parts, from any thread."""

    def __init__(self, line: LiveLine) -> None:
        self._line = line
        self._done = 0
        self._lock = Lock()

    def count(self, what: str) -> None:
        """Count one more finished part."""
        with self._lock:
            self._done += 1
            self._line.step(self._done, what)
