"""The data of the experiments: real data sets, found on this machine or downloaded, and generated streams.

    from odca.research import datasets
    adult = datasets.load("adult")
    adult.X, adult.y, adult.X_test, adult.y_test

A file is looked up in $ODCA_DATA, in ../shared/data and in the cache. If it is in none of them and its address is known, it is downloaded
to the cache (`pip install 'odca[datasets]'`). Every data set says where it came from and whether it is the one that the paper used.
"""

from odca.research.datasets.documents import rcv1_like
from odca.research.datasets.files import MissingDataError, cache
from odca.research.datasets.generators import Drift, drifting_hyperplane, random_walk
from odca.research.datasets.sets import SETS, Dataset, load, load_file

__all__ = [
    "SETS",
    "Dataset",
    "Drift",
    "MissingDataError",
    "cache",
    "drifting_hyperplane",
    "load",
    "load_file",
    "random_walk",
    "rcv1_like",
]
