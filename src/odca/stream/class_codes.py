"""Labels as codes: the positions of their classes."""

from collections.abc import Iterator, Sequence

import numpy as np

from odca.errors import InputError
from odca.metrics import Codes
from odca.models.options import Label, label_text
from odca.stream.given_labels import as_given
from odca.stream.read.blocks import Block
from odca.stream.read.errors import shown

ENOUGH_EVENTS = 200
"""Among fewer events, a class that occurs once is nothing odd."""


class ClassCodes:
    """The codes of labels: their positions in the list of classes."""

    def __init__(self, classes: Sequence[Label], kind: str = "") -> None:
        """`kind`: what the labels are in the user's data (`Schema.labels`): True may come as a text, or as 1."""
        self.classes = tuple(classes)
        texts = {label: code for code, label in enumerate(classes) if isinstance(label, str)}
        known = {label: code for code, label in enumerate(classes) if not isinstance(label, str)}
        for label, value in zip(classes, as_given(classes, kind) if texts and kind else (), strict=False):
            if isinstance(label, str) and not isinstance(value, str):
                known.setdefault(float(value), texts[label])
                for spelling in (label.lower(), label.upper()):
                    texts.setdefault(spelling, texts[label])
        self._texts, numbers = texts, sorted(known.items())
        self._numbers = np.array([label for label, _ in numbers], dtype=np.float64)
        self._codes = np.array([code for _, code in numbers], dtype=np.int32)

    def of(self, block: Block) -> tuple[Codes, int]:
        """The code of every event, -1 if its class is new or missing; and the number of these."""
        names = block.rows.label_names
        texts = np.array([self._texts.get(name.decode(), -1) for name in names], dtype=np.int32)
        return block.rows.codes(self._numbers, self._codes, texts)


class ClassesMet:
    """How often each class was the label of an event, and where first: a class that occurs once may be a typing error."""

    def __init__(self, known: Sequence[Label]) -> None:
        """`known`: classes that were met before."""
        self._known = len(known)
        self._counts = np.zeros(0, dtype=np.int64)
        self._first: dict[int, tuple[str, int]] = {}  # by the code of the class: the file and the line

    def add(self, block: Block, codes: Codes) -> None:
        """Count the events of a block, which have labels."""
        counts = np.bincount(codes, minlength=len(self._counts))
        before = np.pad(self._counts, (0, len(counts) - len(self._counts)))
        for code in np.flatnonzero((before == 0) & (counts > 0)).tolist():
            self._first[code] = block.path, block.line(int(np.argmax(codes == code)))
        self._counts = before + counts

    def remarks(self, classes: Sequence[Label]) -> Iterator[InputError]:
        """That classes occurred once."""
        events = int(self._counts.sum())
        once = [code for code in np.flatnonzero(self._counts == 1).tolist() if code >= self._known]
        if not once or events < ENOUGH_EVENTS:
            return
        path, line = self._first[once[0]]
        name = repr(label_text(classes[once[0]]))
        which = f"the class {name}" if len(once) == 1 else f"each of {len(once):,} classes"
        where = (
            f"in {shown(path)}, line {line}" if len(once) == 1 else f"the first, {name}, in {shown(path)}, line {line}"
        )
        yield InputError(
            f"{which} occurred once among {events:,} events, {where}. If that is a typing error, correct the line and train again."
        )
