"""Cases that crash, use up the memory or do not end, for test_children.py: a child imports them from a module of this folder."""

import os

import numpy as np


def crash(number: int, seed: int) -> list[str]:
    del seed
    if number == 1:
        os.abort()
    if number == 2:
        np.ones(2**40)
    return ["it is odd"] if number % 2 else []


def linger(number: int, seed: int) -> list[str]:
    del seed
    while number == 1:
        pass
    return []
