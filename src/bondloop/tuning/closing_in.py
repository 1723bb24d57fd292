"""Closing in on the least error along one setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

__all__ = ["closed_in", "next_place"]

GOLDEN = (3 - math.sqrt(5)) / 2
"""Share of an interval at which it is cut where nothing better is known."""

NEAR = 5e-3
"""Share of the scale within which two places are one."""


def next_place(errors: Mapping[float, float]) -> float | None:
    """Return the place to try next; None where the least is known closely.

    An rms error is the root of what stays and the square of what the setting is off by, so its square is a
    parabola about the best setting: three places give it. Where they do not bend upwards, or one of them has
    no error, the wider interval beside the best is cut by the golden section.

    Parameters
    ----------
    errors
        By place, three of them or more; infinite where a try came to nothing.

    Examples
    --------
    >>> round(next_place({0.0: 0.5, 0.5: 0.1, 1.0: 0.7}), 4)
    0.4167
    """
    places = sorted(errors)
    i = min(range(len(places)), key=lambda k: errors[places[k]])
    best = places[i]
    beside = [places[k] for k in (i - 1, i + 1) if 0 <= k < len(places)]
    if len(beside) == 2 and all(math.isfinite(errors[p]) for p in beside):
        (a, c), b = beside, best
        fa, fb, fc = (errors[p] ** 2 for p in (a, b, c))
        bend = (b - a) * (fb - fc) - (b - c) * (fb - fa)
        if bend:
            place = b - 0.5 * ((b - a) ** 2 * (fb - fc) - (b - c) ** 2 * (fb - fa)) / bend
            if a < place < c:
                return place if abs(place - b) > NEAR else None
    widest = max(beside, key=lambda p: abs(p - best))
    return best + GOLDEN * (widest - best) if abs(widest - best) > NEAR else None


def closed_in(error: Callable[[float], float], start: float, tries: int) -> None:
    """Try places between 0 and 1, ever closer to the least error.

    Parameters
    ----------
    error
        Tries a place and returns its error; it remembers what it has tried.
    start
        The best place so far, between 0 and 1.
    tries
        How many further places at most, both ends not counted.
    """
    errors = {place: error(place) for place in (0.0, start, 1.0)}
    for _ in range(tries):
        place = next_place(errors)
        if place is None or min(abs(place - p) for p in errors) < NEAR / 5:
            return
        errors[place] = error(place)
