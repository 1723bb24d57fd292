"""Which of several compensators to take: error first, then margin, then noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.tuning.trial import Trial

__all__ = ["CLOSE", "chosen"]

CLOSE = 1.1
"""Errors within this factor of the least count as equal: then margin decides, and noise."""

SURE = 0.95
"""Margins within this factor of the largest count as equal."""


def _tolerable(trials: Iterable[Trial]) -> list[Trial]:
    """Return those that pass their check, and of them those that need no care, if there are any."""
    passed = [t for t in trials if t.check is not None and t.check.passed]
    return [t for t in passed if t.check is not None and t.check.level == "run"] or passed


def chosen(trials: Iterable[Trial]) -> Trial | None:
    """Return the one to take of those that were checked.

    Of those that pass, the least error; where others come within a tenth of it, of these the one that needs
    no care, then the largest margin, then the least noise.
    """
    passed = [t for t in trials if t.check is not None and t.check.passed]
    if not passed:
        return None
    least = min(t.error for t in passed)
    close = _tolerable(t for t in passed if t.error <= CLOSE * least)
    widest = max(t.margin for t in close)
    wide = [t for t in close if t.margin >= SURE * widest]
    return min(wide, key=lambda t: (t.noise if math.isfinite(t.noise) else math.inf, t.error))
