"""Products of two features in a linear model, beside its weights: those that an automatic model has found, once it is frozen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.errors import InputError
from odca.records import record

Array = npt.NDArray[np.float64]

BOUND = 3.0
"""Of a standardised feature in a product: larger values count as this."""


@record
class Product:
    """A product of two features x_i and x_j. To a margin it adds

        weight · h_i · h_j        h = (x - centre) / scale, clipped to [-3, 3]

    i and j may be the same. There is a weight for each lane, or class.

    >>> product = Product(features=(0, 1), centres=(1.0, 0.0), scales=(2.0, 1.0), weights=(0.5,))
    >>> product.values(np.array([[3.0, 2.0], [100.0, -1.0]]))
    array([ 2., -3.])
    """

    features: tuple[int, int]
    centres: tuple[float, float]
    scales: tuple[float, float]
    weights: tuple[float, ...]

    def values(self, X: Any) -> Array:
        """h_i · h_j of each row of X, which is dense or sparse. Columns that X does not have are zero."""
        first, second = (
            np.clip((_column(X, place) - centre) / scale, -BOUND, BOUND)
            for place, centre, scale in zip(self.features, self.centres, self.scales, strict=True)
        )
        product: Array = first * second
        return product


def margins_of(products: Sequence[Product], X: Any, lanes: int) -> Array:
    """What the products add to the margins of each row, (n, lanes)."""
    out = np.zeros((X.shape[0], lanes))
    for each in products:
        out += np.outer(each.values(X), each.weights)
    return out


def from_arrays(pairs: npt.ArrayLike, forms: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Product, ...]:
    """Products from pairs of features, (n, 2), centre and scale of the first and of the second, (n, 4), and weights, (n, lanes)."""
    listed = [np.asarray(each).tolist() for each in (pairs, forms, weights)]
    return tuple(
        Product((int(i), int(j)), (first, second), (scale, other), tuple(weight))
        for (i, j), (first, scale, second, other), weight in zip(*listed, strict=True)
    )


def as_arrays(products: Sequence[Product], lanes: int) -> tuple[npt.NDArray[np.int64], Array, Array]:
    """The reverse."""
    n = len(products)
    forms = [(each.centres[0], each.scales[0], each.centres[1], each.scales[1]) for each in products]
    return (
        np.array([each.features for each in products], np.int64).reshape(n, 2),
        np.array(forms, np.float64).reshape(n, 4),
        np.array([each.weights for each in products], np.float64).reshape(n, lanes),
    )


def checked(products: object, lanes: int) -> tuple[Product, ...]:
    """Products for so many lanes. TypeError or ValueError for what is none."""
    if not isinstance(products, list | tuple) or not all(isinstance(each, Product) for each in products):
        raise TypeError(f"products must be a sequence of odca.products.Product; got {products!r}.")
    for each in products:
        sound = len(each.weights) == lanes and np.all(np.isfinite([*each.centres, *each.scales, *each.weights]))
        if not sound or min(each.features) < 0 or not min(each.scales) > 0.0:
            raise InputError(
                f"a product needs two columns, finite centres, scales > 0, and {lanes} weights, one for each lane; got {each!r}."
            )
    return tuple(products)


def _column(X: Any, place: int) -> Array:
    if place >= X.shape[1]:
        return np.zeros(X.shape[0])
    column = X[:, [place]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column, np.float64)[:, 0]
