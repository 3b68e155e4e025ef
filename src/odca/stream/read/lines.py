"""Finding the ends of lines in a block of bytes where quotes mean nothing. Each search copies only the bytes it looks at."""

import numpy as np
import numpy.typing as npt

SMALLEST_BLOCK, LARGEST_BLOCK = 1 << 10, 1 << 18  # a line end is usually near, but need not be

Bytes = npt.NDArray[np.uint8]


def first_line_end(data: Bytes) -> int:
    """The place after the first newline; 0 if there is none."""
    begin, block = 0, SMALLEST_BLOCK
    while begin < len(data):
        found = data[begin : begin + block].tobytes().find(b"\n")
        if found >= 0:
            return begin + found + 1
        begin, block = begin + block, min(4 * block, LARGEST_BLOCK)
    return 0


def last_line_end(data: Bytes) -> int:
    """The place after the last newline; 0 if there is none."""
    end, block = len(data), SMALLEST_BLOCK
    while end:
        begin = max(0, end - block)
        found = data[begin:end].tobytes().rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end, block = begin, min(4 * block, LARGEST_BLOCK)
    return 0
