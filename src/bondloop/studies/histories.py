"""Histories of chosen tests, by a second pass: the worst, the best, those at quantiles, every so many."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import Run
    from bondloop.studies.sampled import Sampled

__all__ = ["choose", "histories"]

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
        between them.
    """
    if not isinstance(which, str):
        raise InputError(f"expected a choice such as 'worst 3, best, 95 %'; found {which!r}")
    ranked, n = found.worst_first(measure).tolist(), len(found)
    names: dict[str, int] = {}
    for part in (" ".join(p.split()) for p in which.split(",")):
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", part)
        word = re.fullmatch(r"(worst|best|every)(?: (\d+))?", part)
        if share is not None and float(share[1]) <= 100:
            # As `Sampled.quantile`: the first that no smaller share lies below.
            names[f"{share[1]} %"] = ranked[n - 1 - math.ceil(float(share[1]) / 100 * (n - 1) - 1e-9)]
        elif word is not None and int(word[2] or 1) > 0 and part != "every":
            count = int(word[2] or 1)
            numbers = range(0, n, count) if word[1] == "every" else range(min(count, n))
            if len(numbers) > MOST:
                raise InputError(f"'{part}' chooses {len(numbers):,} tests; at most {MOST:,} are recorded")
            for i in numbers:
                if word[1] == "every":
                    names[f"test {i}"] = i
                else:
                    names[f"{word[1]} {i + 1}"] = ranked[i if word[1] == "worst" else n - 1 - i]
        else:
            raise InputError(f"expected a choice such as 'worst 3, best, 95 %, every 100'; found {part!r}")
    return names


def histories(found: Sampled, test: Any, chosen: Mapping[str, int]) -> dict[str, Run]:
    """Rehearse chosen tests and return them by name.

    Parameters
    ----------
    found
        The tests.
    test
        That was sampled.
    chosen
        Their numbers by name.
    """
    from bondloop.hybrid.run import rehearse

    if math.isnan(found.length):
        raise InputError("these tests do not say how long they were; sample them anew")
    return {name: rehearse(test, found.length, values=found.row(i)) for name, i in chosen.items()}
