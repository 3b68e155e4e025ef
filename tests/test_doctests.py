"""Every example in a docstring of odca is run."""

import doctest
import importlib
import pkgutil

import pytest

import odca

MODULES = [
    "odca",
    *(
        module.name
        for module in pkgutil.walk_packages(odca.__path__, "odca.")
        if not module.name.endswith(".__main__")  # running it is its purpose
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    if name.startswith("odca.spark"):
        pytest.importorskip("pyspark", reason="PySpark is missing: pip install 'odca[spark]'")
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples in {name} fail"
