"""`python -m odca` is `odca`."""

import sys

from odca.cli import main

if __name__ == "__main__":
    sys.exit(main())
