"""Labels of any kind for an automatic learner, in the order in which they came: a new one makes room for itself at its own event.

So however a stream is cut into calls, classes appear at the same events, and the learner ends with the same bits.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

from odca.auto import AutoLearner

Label = TypeVar("Label", bound=Hashable)


def stretches(known: Sequence[Label], labels: Sequence[Label]) -> Iterator[tuple[slice, list[Label]]]:
    """Stretches of events, each with the labels that are known in it: a label that is new begins another one."""
    so_far, seen = list(known), set(known)
    begin = 0
    for at, label in enumerate(labels):
        if label in seen:
            continue
        if at > begin:
            yield slice(begin, at), list(so_far)
        begin = at
        so_far.append(label)
        seen.add(label)
    if begin < len(labels):
        yield slice(begin, len(labels)), so_far


def make_room(learner: AutoLearner, classes: int) -> None:
    """For so many classes; the new ones come behind."""
    if classes > learner.classes:
        learner.with_classes([*range(learner.classes), *[-1] * (classes - learner.classes)])
