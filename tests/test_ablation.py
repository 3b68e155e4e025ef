"""The variants of benchmarks.ablation fit the sources: what they replace is there."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))

from benchmarks.ablation.variants import EXPERTS, SOURCES, VARIANTS, Variant, write  # noqa: E402


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_changes_the_sources(variant: Variant, tmp_path: Path) -> None:
    shutil.copytree(SOURCES / EXPERTS, tmp_path / EXPERTS)
    write(variant, tmp_path)
    changed = [
        path.name
        for path in (SOURCES / EXPERTS).iterdir()
        if path.read_bytes() != (tmp_path / EXPERTS / path.name).read_bytes()
    ]
    assert changed or variant.products == 0
    assert variant.chosen_on


def test_a_text_that_is_not_there_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SOURCES / EXPERTS, tmp_path / EXPERTS)
    with pytest.raises(ValueError, match="occurs 0 times, not once"):
        write(Variant("nothing", changes=(("mixture.cpp", "no such text", ""),)), tmp_path)
    with pytest.raises(ValueError, match="the table has 0 lines"):
        write(Variant("nobody", without=("nobody",)), tmp_path)
