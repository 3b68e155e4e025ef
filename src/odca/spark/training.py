"""`odca.spark.train`: the model of `odca.train`, learned by many machines."""

from collections.abc import Sequence
from typing import Any, Unpack

from pyspark.sql import DataFrame

from odca.features.spec import FeatureOptions
from odca.models.options import Label, Memory, OrAuto, Products, Task
from odca.penalties import Penalty
from odca.spark.exact import OnRound, as_few_as_cores, exact_fit
from odca.spark.passes import in_partitions, one_pass, wish_of
from odca.stream.model import StreamModel
from odca.windows import Window


def train(
    df: DataFrame,
    *,
    label: str,
    weight: str | None = None,
    offset: str | None = None,
    time: str | None = None,
    task: Task | None = None,
    classes: Sequence[Label] = (),
    auto: bool = False,
    memory: Memory | None = None,
    products: Products = "auto",
    loss: Any = None,
    penalty: Penalty | str | None = None,
    rho: OrAuto | None = None,
    window: Window | str | float | None = None,
    smoothing: OrAuto | None = None,
    prior_strength: OrAuto | None = None,
    intercept: bool = True,
    initial: StreamModel | None = None,
    partitions: int | None = None,
    exact: bool = False,
    tol: float = 1e-4,
    max_rounds: int = 1000,
    on_round: OnRound | None = None,
    **features: Unpack[FeatureOptions],
) -> StreamModel:
    """Train a model on a Spark DataFrame, one pass over each partition at the same time; return the ordinary model of odca.

    Each partition is learned by a model of its own, and these are merged: see docs/spark.md for what that costs in quality. The model
    has `predict`, `learn`, `save` and all else that the model of `odca.train` has.

    df: its columns may hold numbers, text, dates, arrays of words, arrays or maps of numbers, and vectors of Spark's ML. Rows without
        a label are ignored.
    label, weight, offset, time: the names of these columns.
    task, classes, auto, memory, products, loss, penalty, rho, window, smoothing, prior_strength, intercept: as for `odca.train`. The
        model is automatic unless one of the options of a linear model is given. A linear model does not scale its features here.
    initial: a model that goes on learning; it stays as it is, and the new one is returned.
    partitions: how many partitions learn; None for those that the table has, and with `exact` for no more than there are cores.
    exact: for a linear model, solve the problem of all rows, as `Learner.fit` does with one machine, instead of one pass and a merge: after the
        pass come rounds of questions to all partitions, each a job of Spark, until the duality gap is small. rho="auto" is 1e-5 then, and
        prior_strength="auto" is 0. See docs/spark.md.
    tol, max_rounds: the gap that is wanted, as a share of the mean loss of the untrained model, and the most rounds. A warning says if the gap
        is not reached.
    on_round: called after each round with an `odca.distributed.Round`: the primal and the dual objective, the gap, and the bytes sent.
    features: options of the features, as for `odca.train`.
    """
    roles = {"label": label, "weight": weight, "offset": offset, "time": time}
    linear = {
        "loss": loss, "penalty": penalty, "rho": rho, "window": window, "smoothing": smoothing,
        "prior_strength": prior_strength, "intercept": None if intercept else False,
    }  # fmt: skip
    rest: dict[str, Any] = {
        "task": task, "classes": tuple(classes), "auto": auto, "memory": memory, "products": products,
    }  # fmt: skip
    wish = wish_of(roles, linear, dict(features), **rest)
    if initial is not None:
        if exact:
            raise ValueError(
                "exact=True solves the problem of this table alone, so there is no initial model. Leave one of the two out."
            )
        if set_here := [name for name, value in {**linear, **rest, **features}.items() if value and value != "auto"]:
            raise ValueError(f"{set_here[0]} is fixed by the initial model. Leave it out.")
        rows, parts = in_partitions(df, partitions)
        return one_pass(rows, initial, parts=parts)
    rows = df if partitions is None else df.repartition(partitions)
    if exact:
        rows = as_few_as_cores(df) if partitions is None else rows
        how: dict[str, Any] = {"tol": tol, "max_rounds": max_rounds, "on_round": on_round}
        return exact_fit(rows, wish.begin(df), prior_strength=prior_strength, **how)[0]
    return one_pass(rows, wish.begin(df))
