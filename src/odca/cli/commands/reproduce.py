"""`odca reproduce`: does what the paper says hold?

The experiments are `odca.research.experiments`. This command runs them, tells the verdicts as they come, and writes a folder: report.md with the
parameters, the data, the results and a verdict for each claim; claims.csv; a figure for each study as PNG and SVG; a CSV of the curves of
each panel. The same seeds give the same numbers. What has its data nowhere is left out, which is said, in the report too, and the exit code is 1.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from odca.cli import REFUSED
from odca.cli.learner_options import whole_number
from odca.cli.views.console import Column, LiveLine, Output

if TYPE_CHECKING:
    from odca.research.experiments import Study

NAME = "reproduce"
SUMMARY = "run the paper's experiments, and ours: figures, curves, a verdict for each claim"
EPILOG = """\
experiments:
  adult      the paper's Figure 1: O-DCA, SGD, S-DCA and LIBSVM on Adult
  rcv1       the paper's Figure 2: the same on RCV1
  tracking   targets that move: LMS, NLMS, RLS, windows, theory; an F-16
  portfolio  weights on the simplex as a portfolio of stocks
  sparse     the elastic net online, beside the batch solution
  step-size  how forgiving SGD is of its step size, and O-DCA of rho

Data are looked for in $ODCA_DATA, ../shared/data and the cache, else downloaded; where only others than the paper's are there, these are
taken, and the report says so. --download insists on the paper's own. pip install 'odca[reproduce]' has all that is needed.

examples:
  odca reproduce all
  odca reproduce adult sparse --out results --seeds 20
"""
ALL = "all"
NAMES = ("adult", "rcv1", "tracking", "portfolio", "sparse", "step-size")
SEEDS, FOLDER = 10, "reproduced"
NEEDED = {"matplotlib": "matplotlib", "sklearn": "scikit-learn"}
COLUMNS = (
    Column("study", "study", 9, is_text=True),
    Column("verdict", "verdict", 15, is_text=True),
    Column("difference", "ours less theirs [95 %]", 32, is_text=True),
    Column("claim", "claim", 120, is_text=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument(
        "experiments", nargs="+", choices=[*NAMES, ALL], metavar="EXPERIMENT", help=f"{', '.join(NAMES)}, or {ALL}"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(FOLDER), metavar="DIR", help=f"the folder to write to (default: {FOLDER})"
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(least=2),
        default=SEEDS,
        metavar="N",
        help=f"how many orders of the events, or streams, from seeds 0 to N - 1 (default: {SEEDS})",
    )
    parser.add_argument(
        "--download", action="store_true", help="insist on the paper's own files, and download what is not here"
    )
    parser.add_argument("--json", action="store_true", help="tell everything as JSON, an object per line")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"the experiments need {' and '.join(missing)}. pip install 'odca[reproduce]' has all of it.")
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
    with output.progress(sum(each.per_seed * arguments.seeds + each.besides for each in chosen.values())) as line:
        job = Job(range(arguments.seeds), _Counter(line).tell, arguments.download)
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
                table.row(study.name, claim.verdict, shown, claim.says)
            report.write(studies, folder, left_out)
    if studies:
        report.write(studies, folder, left_out)
        output.note(f"{folder / 'report.md'} has the report, with figures and curves beside it.")
    return REFUSED if left_out or any(study.left_out for study in studies) else 0


class _Counter:
    """Counts what is done, from any thread."""

    def __init__(self, line: LiveLine) -> None:
        self._line = line
        self._done = 0
        self._lock = Lock()

    def tell(self, what: str) -> None:
        """One more part is done."""
        with self._lock:
            self._done += 1
            self._line.step(self._done, what)
