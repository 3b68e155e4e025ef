"""Labels as codes: the positions of their classes."""

from collections.abc import Sequence

import numpy as np

from odca.metrics import Codes
from odca.models.options import Label
from odca.stream.read.blocks import Block


class ClassCodes:
    """The codes of labels: their positions in the list of classes."""

    def __init__(self, classes: Sequence[Label]) -> None:
        self.classes = tuple(classes)
        self._texts = {label: code for code, label in enumerate(classes) if isinstance(label, str)}
        numbers = sorted((label, code) for code, label in enumerate(classes) if not isinstance(label, str))
        self._numbers = np.array([label for label, _ in numbers], dtype=np.float64)
        self._codes = np.array([code for _, code in numbers], dtype=np.int32)

    def of(self, block: Block) -> tuple[Codes, int]:
        """The code of every event, -1 if its class is new or missing; and the number of these."""
        names = block.rows.label_names
        texts = np.array([self._texts.get(name.decode(), -1) for name in names], dtype=np.int32)
        return block.rows.codes(self._numbers, self._codes, texts)
