"""docs/spark.md runs, and shows what it prints."""

from pathlib import Path
from typing import Any

from pages import run

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "spark.md"


def test_the_snippets_of_the_page_run_one_after_the_other(spark: Any) -> None:
    for each in run(PAGE):
        assert each.fits, f"docs/spark.md:{each.line} shows:\n{each.shown}\nprinted:\n{each.actual}"
