"""Which structures are worth a fit: up to six poles, three zeros and a delay, tried on the spectrum's lines.

Every structure begins from linear least squares and from the optima of the structures inside it (a pole
or a zero far away, a delay of nothing), so a larger one is never worse than a smaller one. Poles are added
as long as they help.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.process.line_fit import LineFit, RecordLines, fit_lines
from bondloop.identify.process.process_fit import information
from bondloop.identify.process.structure_selection import Structure
from bondloop.identify.tolerances import (
    HELPFUL,
    IDLE_ROUNDS,
    LINES_OF_SEARCH,
    MOST_PROMISING,
    PROMISING,
    SEARCHED_POLES,
    SEARCHED_ZEROS,
    SIMILAR_COST,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.process.frequency_fit import Lines

    Array = NDArray[np.float64]
    Bounds = Callable[[Structure], tuple[Array, Array]]


def search(data: RecordLines | Lines, bounds: Bounds, furthest: float) -> list[LineFit]:
    """Fit structures of growing size to lines.

    Parameters
    ----------
    data
        A record, or lines of a measured response.
    bounds
        Bounds of a structure's coordinates.
    furthest
        Longest delay to begin with, s.

    Returns
    -------
    list of LineFit
        Best by Akaike's criterion first.
    """
    if isinstance(data, RecordLines):
        data = replace(data, most=LINES_OF_SEARCH)
    fits: dict[Structure, LineFit] = {}
    least, idle = math.inf, 0
    for poles in range(1, SEARCHED_POLES + 1):
        for zeros in range(min(SEARCHED_ZEROS, poles - 1) + 1):
            for delay in (False, True):
                wanted = Structure(poles, zeros, delay)
                also = [theta for s in inside(wanted) if s in fits for theta in grown(fits[s], wanted)]
                fit = fit_lines(data, wanted, *bounds(wanted), furthest, also=also, starts_each=1)
                if fit is not None:
                    fits[wanted] = fit
        best = min((criterion(f) for f in fits.values()), default=math.inf)
        idle = 0 if best < least - HELPFUL else idle + 1
        least = min(least, best)
        if idle >= IDLE_ROUNDS:
            break
    return sorted(fits.values(), key=criterion)


def criterion(fit: LineFit) -> float:
    """Return Akaike's criterion of the lines."""
    return information(fit.cost, fit.samples, fit.taken, None)[0]


def promising(fits: list[LineFit], *, plain: bool = True) -> list[LineFit]:
    """Return which structures to fit and compare: those near the best, and simpler ones for contrast.

    Near the best are the simplest few; for contrast come du Bois's four, the best of each smaller number
    of poles, and the simplest with the delay taken away or added, and in exchange for a pole.

    Parameters
    ----------
    fits
        Of `search`.
    plain
        Whether du Bois's four are to be among them.
    """
    if not fits:
        return []
    seen = [f for f in fits if not f.idle_pole] or fits
    least = criterion(seen[0])
    near = [f for f in seen if criterion(f) - least <= PROMISING]
    # Lines are not the record: a simpler structure that leaves hardly more over may do as well there.
    similar = [
        f for f in seen if f.cost <= SIMILAR_COST * seen[0].cost and f.structure.size < seen[0].structure.size
    ]
    first = {size: f for f in reversed(similar) for size in [f.structure.size]}
    near.sort(key=lambda f: (f.structure.size, criterion(f)))
    chosen = [*near[:MOST_PROMISING], *sorted(first.values(), key=criterion)[:MOST_PROMISING], seen[0]]
    s = near[0].structure
    wanted = [Structure(poles, 0, delay) for poles in (1, 2) for delay in (False, True) if plain]
    wanted.append(Structure(s.poles, s.zeros, not s.delay))
    if s.delay and s.poles < SEARCHED_POLES:
        wanted.append(Structure(s.poles + 1, s.zeros, False))
    elif not s.delay and s.poles - 1 > s.zeros:
        wanted.append(Structure(s.poles - 1, s.zeros, True))
    chosen += [f for f in fits if f.structure in wanted]
    chosen += [f for f in seen if f.structure.poles == s.poles - 1][:1]
    return list({f.structure: f for f in chosen}.values())


def inside(s: Structure) -> list[Structure]:
    """Return the structures that this one holds with a pole, a zero, both, or the delay left out."""
    result = []
    if s.delay:
        result.append(Structure(s.poles, s.zeros, False))
    if s.zeros:
        result.append(Structure(s.poles, s.zeros - 1, s.delay))
        result.append(Structure(s.poles - 1, s.zeros - 1, s.delay))
    if s.poles - 1 > s.zeros:
        result.append(Structure(s.poles - 1, s.zeros, s.delay))
    return result


def grown(fit: LineFit, wanted: Structure) -> list[Array]:
    """Return a smaller model's optimum as coordinates of a larger structure, to begin with."""
    b, a, delay = fit.structure.polynomials(fit.theta)
    more = wanted.poles - fit.structure.poles
    if more and wanted.zeros > fit.structure.zeros:
        # A pole and a zero that nearly cancel; at the very same place neither would move.
        speeds = fit.top * np.array([0.01, 0.03, 0.1, 0.3, 1.0])
        return [
            wanted.coordinates(np.convolve(b, [1.0, 1 / (apart * w)]), np.convolve(a, [1.0, 1 / w]), delay)
            for w in speeds
            for apart in (0.8, 1.25)
        ]
    if more:  # a pole beyond what the data show, near enough to be felt
        a = np.convolve(a, [1.0, 0.1 / fit.top])
    return [wanted.coordinates(b, a, delay)]
