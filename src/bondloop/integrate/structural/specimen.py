"""What a scheme is told about the specimen before the test: estimates of its stiffness and damping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondloop.integrate.structural.base import Scheme
from bondloop.integrate.structural.matrices import Array, square

__all__ = ["Estimating", "spread"]


@dataclass(frozen=True)
class Estimating(Scheme, family="scheme"):
    """A scheme that takes the specimen's force as r + K_s (u - u*) + C_s (v - v*) around what it asked for.

    The estimates K_s and C_s decide about stability, not about the order of accuracy: u* and v* differ from
    the end of the step by terms of second order.

    Parameters
    ----------
    specimen_stiffness, specimen_damping
        Estimates, shape (n, n), in N/m and Ns/m; a number where n = 1; zero if left out. In a pseudo-dynamic
        test also of the interface alone, in its order: a number where there is one interface. For a
        softening specimen take the initial stiffness, for a hardening one the largest.
    """

    specimen_stiffness: Any = field(default=None, kw_only=True)
    specimen_damping: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Keep matrices as tuples, so that schemes compare and hash as values."""
        for name in ("specimen_stiffness", "specimen_damping"):
            given = getattr(self, name)
            if given is not None:
                dense = given.toarray() if hasattr(given, "toarray") else given
                rows = np.atleast_2d(np.asarray(dense, dtype=float)).tolist()
                object.__setattr__(self, name, tuple(tuple(row) for row in rows))

    def estimates(self, size: int) -> tuple[Array, Array]:
        """Return the estimated stiffness and damping matrices of this ``size``; zero without any."""
        return (
            square("specimen_stiffness", self.specimen_stiffness, size),
            square("specimen_damping", self.specimen_damping, size),
        )


def spread(scheme: Scheme, at: Sequence[int], size: int) -> Scheme:
    """Return a scheme with estimates of all degrees of freedom, where it has those of an interface.

    Parameters
    ----------
    scheme
        Any.
    at
        Numbers of the interface's degrees of freedom.
    size
        How many degrees of freedom there are.
    """
    if not isinstance(scheme, Estimating) or len(at) == size:
        return scheme
    changes = {}
    for name in ("specimen_stiffness", "specimen_damping"):
        small = getattr(scheme, name)
        if small is not None and np.shape(small) == (len(at), len(at)):
            whole = np.zeros((size, size))
            whole[np.ix_(at, at)] = small
            changes[name] = whole
    return replace(scheme, **changes) if changes else scheme
