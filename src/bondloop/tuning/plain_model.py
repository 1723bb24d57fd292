"""A fitted model without what the fit shows nothing of: roots far beyond its band."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.transfer.process import Process

__all__ = ["plain_model"]

TRIFLE = 1e-4
"""Largest change of the response, against that of slow motions, that counts as none."""


def plain_model(process: Process, frequencies: NDArray[np.float64]) -> Process:
    """Return a model without the zeros and poles that lie so far beyond a band that nothing in it shows them.

    A fit with more zeros than there are puts them there, on either side; an inverse would act on them.

    Parameters
    ----------
    process
        The model.
    frequencies
        Of the band, in Hz.

    Examples
    --------
    >>> from bondloop.transfer import Process
    >>> odd = Process((-1e-9, 1.0), (1e-12, 0.01, 1.0), 0.002)
    >>> print(plain_model(odd, np.linspace(0.1, 20.0, 10)))
    (1) / (0.01 s + 1) exp(-0.002 s)
    """
    wanted = process.response(frequencies)
    nothing = TRIFLE * abs(process.gain)
    plain = process
    while True:
        above, below = plain.numerator, plain.denominator
        simpler = [replace(plain, numerator=above[1:])] if len(above) > 1 else []
        if len(below) > max(len(above), 2):
            simpler.append(replace(plain, denominator=below[1:]))
        same = [p for p in simpler if np.max(np.abs(p.response(frequencies) - wanted)) <= nothing]
        if not same:
            return plain
        plain = same[0]
