"""Tracking of moving targets: six parts, each with its own panel."""

from itertools import chain

from odca.research.datasets import MissingDataError
from odca.research.experiments import abrupt_change, bursts, f16, leaky, random_walk, rotating_hyperplane
from odca.research.experiments.study import Finding, Job, Study

PARTS = (random_walk.find, abrupt_change.find, bursts.find, rotating_hyperplane.find, leaky.find)


def run(job: Job) -> Study:
    """Run the experiment. The F-16 is left out if its file is missing."""
    findings: list[Finding] = [find(job) for find in PARTS]
    left_out = []
    try:
        findings.append(f16.find(job))
    except MissingDataError as error:
        left_out.append(f"tracking, the F-16. {error}")
    return Study(
        name="tracking",
        title="Tracking: moving targets",
        data=" ".join(
            [
                "Generated (odca.research.datasets.random_walk, drifting_hyperplane).",
                *(each.data for each in findings if each.data),
            ]
        ),
        parameters={key: value for each in findings for key, value in each.parameters.items()},
        seeds=job.seeds,
        claims=list(chain.from_iterable(each.claims for each in findings)),
        panels=[each.panel for each in findings],
        columns=("measured", "theory"),
        results={key: value for each in findings for key, value in each.results.items()},
        notes=list(chain.from_iterable(each.notes for each in findings)),
        left_out=left_out,
    )
