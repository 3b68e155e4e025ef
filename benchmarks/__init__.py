"""Speed, measured: `python -m benchmarks.engine` and `python -m benchmarks.scaling`.

Every side runs on one thread: the limits below must be set before NumPy is imported, so they stand here.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
