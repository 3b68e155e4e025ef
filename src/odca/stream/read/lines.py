"""Finding the ends of lines in a block of bytes. Each search looks at a byte only once, and copies only the bytes it looks at."""

import numpy as np
import numpy.typing as npt

NEWLINE, QUOTE = 10, 34
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


def last_unquoted_line_end(data: Bytes, odd: bool) -> tuple[int, bool]:
    """The place after the last newline outside quotes (0 if there is none), and the value of `odd` at the end.

    `odd` says whether the number of quotes so far is odd, so that the data begin within quotes. A doubled quote, which
    stands for one, does not affect this.
    """
    odd ^= _odd_number_of_quotes(data)
    end, block = last_line_end(data), SMALLEST_BLOCK
    odd_after = odd ^ _odd_number_of_quotes(data[end:])
    if not odd_after:
        return end, odd
    while end:  # the last newline is within quotes: look at earlier ones
        begin = max(0, end - block)
        piece = data[begin:end]
        odd_from = np.logical_xor.accumulate(piece[::-1] == QUOTE)[::-1]
        found = np.flatnonzero((piece == NEWLINE) & (odd_from == odd_after))
        if len(found):
            return begin + int(found[-1]) + 1, odd
        odd_after ^= bool(odd_from[0])
        end, block = begin, min(4 * block, LARGEST_BLOCK)
    return 0, odd


def unquoted_line_ends(data: Bytes, odd: bool) -> tuple[npt.NDArray[np.intp], bool]:
    """The places of all newlines outside quotes, and the value of `odd` at the end; see `last_unquoted_line_end`."""
    is_quote = data == QUOTE
    if not (odd or is_quote.any()):
        return np.flatnonzero(data == NEWLINE), odd
    inside = np.logical_xor.accumulate(is_quote) ^ odd
    return np.flatnonzero((data == NEWLINE) & ~inside), bool(inside[-1]) if len(data) else odd


def _odd_number_of_quotes(data: Bytes) -> bool:
    return bool(np.count_nonzero(data == QUOTE) & 1)
