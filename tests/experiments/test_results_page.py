"""What docs/results.md quotes is in the report that was written with it."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?:e-?\d+)?(?![\w])")


def sections(text: str) -> dict[str, str]:
    """By heading, with what figures and code say left out."""
    parts = re.split(r"^## ", re.sub(r"!?\[[^\]]*\]\([^)]*\)", "", text), flags=re.MULTILINE)
    return {part.splitlines()[0]: "\n".join(part.splitlines()[1:]) for part in parts}


@pytest.mark.parametrize("heading", sections((DOCS / "results.md").read_text(encoding="utf-8")))
def test_every_decimal_number_on_the_results_page_is_in_the_report(heading: str) -> None:
    report = (DOCS / "results" / "report.md").read_text(encoding="utf-8")
    text = sections((DOCS / "results.md").read_text(encoding="utf-8"))[heading]
    quoted = [each.rstrip(".,") for each in NUMBER.findall(text)]
    numbers = [each for each in quoted if "." in each or "," in each or "e" in each]
    assert numbers
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}", report), number
