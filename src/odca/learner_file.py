"""What the file of a learner holds: its options, its state, and arrays for those options that grow with the features."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import products as product_terms
from odca.io import model_file
from odca.learner_options import can_choose, candidates_of, count_lanes

PRIOR_MEAN = "prior_mean"
"""The array of a file that holds the option of this name. (Files of version 0.3 and before have it among the options.)"""
PRODUCTS = ("product_pairs", "product_forms", "product_weights")
"""Those that hold the option products, as of `odca.products.as_arrays`."""
LINEAGE = "lineage"
"""The array of a file that holds what the learner is the sum of, if it is not just itself: see `odca.lineage`."""

State: TypeAlias = dict[str, npt.NDArray[Any]]


def filed(options: Mapping[str, Any], state: Mapping[str, npt.NDArray[Any]]) -> tuple[dict[str, Any], State]:
    """Options and state as a file holds them: a prior mean grows with the features, so it is an array, and so are products."""
    mean, products = options["prior_mean"], options["products"]
    arrays = {} if mean is None else {PRIOR_MEAN: np.array(mean)}
    if products:
        arrays |= dict(zip(PRODUCTS, product_terms.as_arrays(products, len(products[0].weights)), strict=True))
    kept = {name: value for name, value in options.items() if name != "products"}
    return {**kept, "prior_mean": None}, {**state, **arrays}


def saved_options(
    options: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], loss: object
) -> tuple[dict[str, Any], State]:
    """Options and state of a saved learner, with the user's own loss inserted. ValueError if they do not match."""
    given = dict(options) if loss is None else {**options, "loss": loss}
    state = {name: array for name, array in arrays.items() if name not in (PRIOR_MEAN, LINEAGE, *PRODUCTS)}
    if PRIOR_MEAN in arrays:
        given["prior_mean"] = arrays[PRIOR_MEAN]
    if PRODUCTS[0] in arrays:
        given["products"] = product_terms.from_arrays(*(arrays[name] for name in PRODUCTS))
    if isinstance(given["loss"], model_file.UsersLoss):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"its loss was {given['loss'].name}, which is code. Give it again: load(path, loss=...)."
        )
    named = ("lanes", "rho", "prior_strength", "window")
    lanes = count_lanes(**{name: options[name] for name in named}) or 1
    if can_choose(given["loss"]):
        lanes *= len(candidates_of(*(given[name] for name in ("rho", "window", "penalty", "smoothing")))) or 1
    if arrays["mass"].size != lanes or (options["n_features"] or 0) > arrays["dual"].size:
        raise ValueError("its options and its state do not fit together.")
    return given, state
