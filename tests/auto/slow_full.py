"""Experts with a full covariance from their definition: plain matrices, without factors. See slow_experts.py.

The weights of expert k belong to the constant and to the adopted features: those that are dense, at most 64, in the order in which they became so.

    w <- w + c lambda P h        P <- P - P h h'P q / (1 + q h'P h),  q = max(c curvature, 1e-6)        P <- P / memory

of which the last step never makes the trace larger than it was at the start.
"""

import numpy as np

from auto.slow_parts import OF_FULL, Array, Feature, Pace

MOST_FEATURES = 64


class SlowFull:
    """`weights` is [expert, head, place] and `P` [expert, place, place]; place 0 is the constant."""

    def __init__(self, heads: int):
        self.features: list[int] = []
        self.weights = np.zeros((len(OF_FULL), heads, 1))
        self.P = np.array([np.eye(1) / expert.parameter for expert in OF_FULL])

    def follow(self, features: dict[int, Feature]) -> None:
        """Drop what is no longer dense and adopt what is, with the prior and weights of zero."""
        kept = [0, *(n for n, j in enumerate(self.features, 1) if features[j].dense)]
        self.features = [self.features[n - 1] for n in kept[1:]]
        self.weights, self.P = self.weights[:, :, kept], self.P[:, kept][:, :, kept]
        for j in sorted(features):
            if features[j].dense and j not in self.features and len(self.features) < MOST_FEATURES:
                self.features.append(j)
                self.weights = np.pad(self.weights, ((0, 0), (0, 0), (0, 1)))
                self.P = np.pad(self.P, ((0, 0), (0, 1), (0, 1)))
                self.P[:, -1, -1] = [1.0 / expert.parameter for expert in OF_FULL]

    def row(self, h: dict[int, float]) -> Array:
        """The constant and the standardised features."""
        return np.array([1.0, *(h.get(j, 0.0) for j in self.features)])

    def margins(self, head: int, h: dict[int, float]) -> Array:
        return self.weights[:, head] @ self.row(h)

    def slopes(self, h: dict[int, float], c: float) -> Array:
        row = self.row(h)
        return np.array([c * row @ P @ row for P in self.P])

    def step(self, h: dict[int, float], lam: Array, c: float, curvature: float, pace: Pace) -> None:
        """lam is [head, expert]."""
        row, q = self.row(h), max(c * curvature, 1e-6)
        for k, expert in enumerate(OF_FULL):
            gain = self.P[k] @ row
            self.weights[k] += c * np.outer(lam[:, k], gain)
            P = self.P[k] - np.outer(gain, gain) * q / (1.0 + q * row @ gain)
            memory = pace.full[k]
            if expert.memory < 1.0:
                room = len(row) / expert.parameter / np.trace(P)
                P = P * max(1.0, min(1.0 / memory if memory > 0.0 else np.inf, room))
            self.P[k] = (P + P.T) / 2.0

    def meet(self, more: int) -> None:
        """Make room for more classes, like `SlowExperts.meet`."""
        old = np.concatenate([-0.5 * self.weights, 0.5 * self.weights], axis=1)
        old = old if self.weights.shape[1] == 1 else self.weights
        self.weights = np.concatenate([old, *[old.mean(axis=1, keepdims=True)] * more], axis=1)

    # --- In the form of the core's state ---

    def parts(self) -> dict[str, Array]:
        out = {"full_features": np.array(self.features, dtype=float)}
        for k, expert in enumerate(OF_FULL):
            upper, diagonal = factors(self.P[k])
            out[f"{expert.key}.weights"] = self.weights[k].ravel()
            out[f"{expert.key}.upper"], out[f"{expert.key}.diagonal"] = upper, diagonal
        return out

    @classmethod
    def of_parts(cls, parts: dict[str, Array], heads: int) -> "SlowFull":
        out = cls(heads)
        out.features = [int(j) for j in parts["full_features"]]
        n = len(out.features) + 1
        out.weights = np.array([parts[f"{expert.key}.weights"].reshape(heads, n) for expert in OF_FULL])
        covariances = []
        for expert in OF_FULL:
            U = np.eye(n)
            U.T[np.tril_indices(n, -1)] = parts[f"{expert.key}.upper"]
            covariances.append(U @ np.diag(parts[f"{expert.key}.diagonal"]) @ U.T)
        out.P = np.array(covariances)
        return out


def factors(P: Array) -> tuple[Array, Array]:
    """U and D of P = U D U', U unit upper triangular, column by column without its diagonal: from Cholesky's factors of P upside down."""
    L = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    return (L / np.diag(L)).T[np.tril_indices(len(P), -1)], np.diag(L) ** 2
