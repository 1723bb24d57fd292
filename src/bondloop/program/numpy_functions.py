"""NumPy's functions that may take traced values: those that only move, add and multiply entries.

The others ask what the entries are. Some then raise an exception; some take entries that are no floats for
numbers that need nothing done (``nan_to_num``), and would be gone from a law without a word.
"""

from __future__ import annotations

import numpy as np

__all__ = ["TRACEABLE"]

_PLACES = (
    np.append, np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.block, np.broadcast_arrays,
    np.broadcast_to, np.column_stack, np.concatenate, np.copy, np.delete, np.diag, np.diagonal, np.dsplit,
    np.dstack, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.hstack, np.insert, np.moveaxis,
    np.ndim, np.ravel, np.repeat, np.reshape, np.resize, np.roll, np.rollaxis, np.rot90, np.shape, np.size,
    np.split, np.squeeze, np.stack, np.swapaxes, np.take, np.tile, np.transpose, np.tril, np.triu, np.vsplit,
    np.vstack, np.where, np.full_like, np.ones_like, np.zeros_like, np.empty_like,
)  # fmt: skip
"""Entries move, and stay what they are; ``where`` asks its condition, which refuses if it is traced."""

_SUMS = (
    np.average, np.convolve, np.correlate, np.cross, np.cumprod, np.cumsum, np.diff, np.dot, np.ediff1d,
    np.einsum, np.inner, np.kron, np.mean, np.outer, np.polyval, np.prod, np.sum, np.tensordot, np.trace,
    np.trapezoid, np.linalg.matrix_power, np.linalg.multi_dot,
)  # fmt: skip
"""Sums and products, by the operators of the entries."""

_WORDS = (np.array2string, np.array_repr, np.array_str)

TRACEABLE = frozenset((*_PLACES, *_SUMS, *_WORDS))
"""Functions that do to traced values what they do to numbers."""
