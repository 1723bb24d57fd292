"""Histories of chosen tests, by a second pass: the worst, the best, those at quantiles, every so many."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.studies.uncertainty import built

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest, PseudoDynamicTest, Run, Simulation
    from bondloop.studies.sampled import Sampled

__all__ = ["choices", "choose", "histories"]

MOST = 1000
"""Histories at most: a choice is to be looked at."""


def choose(found: Sampled, measure: str, which: str) -> dict[str, int]:
    """Return the numbers of chosen tests, by name.

    Parameters
    ----------
    found
        The tests.
    measure
        By which they are ranked.
    which
        Any of ``worst``, ``worst 3``, ``best 2``, quantiles such as ``95 %``, and ``every 1000``, with commas
        between them. A quantile of a time is of the tests in which it happened, as `Sampled.quantile`.
    """
    ranked, n = found.worst_first(measure).tolist(), len(found)
    # Smaller values first: of a time those in which it happened, the earliest being the worst.
    happened = (~np.isnan(found[measure]))[ranked].tolist()
    among = (
        [i for i, good in zip(ranked, happened, strict=True) if good]
        if measure in found.times
        else ranked[::-1]
    )
    names: dict[str, int] = {}
    for word, count in choices(which):
        if word == "%":
            # As `Sampled.quantile`: the first that no smaller share lies below.
            if among:
                names[f"{count:g} %"] = among[math.ceil(count / 100 * (len(among) - 1) - 1e-9)]
            continue
        numbers = range(0, n, int(count)) if word == "every" else range(min(int(count), n))
        if len(numbers) > MOST:
            raise InputError(f"'{which}' chooses {len(numbers):,} tests; at most {MOST:,} are recorded")
        for i in numbers:
            if word == "every":
                names[f"test {i}"] = i
            else:
                names[f"{word} {i + 1}"] = ranked[i if word == "worst" else n - 1 - i]
    return names


def choices(which: str) -> list[tuple[str, float]]:
    """Return the words of a choice, each with its number.

    Parameters
    ----------
    which
        As of `choose`.

    Examples
    --------
    >>> choices("worst 3, best, 95 %")
    [('worst', 3.0), ('best', 1.0), ('%', 95.0)]
    """
    found = []
    for part in str(which).split(","):
        plain = " ".join(part.split())
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", plain)
        word = re.fullmatch(r"(worst|best|every)(?: (\d+))?", plain)
        if share is not None and float(share[1]) <= 100:
            found.append(("%", float(share[1])))
        elif word is not None and int(word[2] or 1) > 0 and plain != "every":
            found.append((word[1], float(word[2] or 1)))
        else:
            raise InputError(f"expected a choice such as 'worst 3, best, 95 %, every 100'; found {plain!r}")
    return found


def histories(
    found: Sampled,
    test: HybridTest | PseudoDynamicTest | Simulation,
    chosen: Mapping[str, int],
    make: Callable[[Mapping[str, float]], HybridTest | PseudoDynamicTest | Simulation] | None = None,
) -> dict[str, Run]:
    """Rehearse chosen tests and return them by name.

    Parameters
    ----------
    found
        The tests.
    test
        That was sampled.
    chosen
        Their numbers by name.
    make
        Makes the test with other options, where some were varied.
    """
    if math.isnan(found.length):
        raise InputError("these tests do not say how long they were; sample them anew")
    runs = {}
    for name, i in chosen.items():
        row = found.row(i)
        base = built(test, make, {n: row.pop(n) for n in found.rebuilt})
        try:
            runs[name] = base.with_values(row).run(found.length)
        except InputError:  # a state that begins otherwise: it is of the tick alone
            runs[name] = base.prepare().run(row, found.length)
    return runs
