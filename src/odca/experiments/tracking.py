"""Following what moves: six parts, each with its panel."""

from itertools import chain

from odca.datasets import MissingDataError
from odca.experiments import bursts, leaky, sudden, turning, vibration, walking
from odca.experiments.study import Finding, Job, Study

PARTS = (walking.find, sudden.find, bursts.find, turning.find, leaky.find)


def run(job: Job) -> Study:
    """Do it. Without its file the F-16 is left out."""
    findings: list[Finding] = [find(job) for find in PARTS]
    left_out = []
    try:
        findings.append(vibration.find(job))
    except MissingDataError as error:
        left_out.append(f"tracking, the F-16. {error}")
    return Study(
        name="tracking",
        title="Tracking: targets that move",
        data=" ".join(
            [
                "Generated (odca.datasets.random_walk, drifting_hyperplane).",
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
