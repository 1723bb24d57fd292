"""The family of the safety blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bondloop.data.described import Described
from bondloop.display import brief

__all__ = ["SafetyBlock", "safety_from"]


class SafetyBlock(Described, family="safety"):
    """Base of switches, trips and interlocks: frozen values whose steps run in the tick."""

    __repr__ = brief


def safety_from(description: Mapping[str, Any]) -> SafetyBlock:
    """Return the block of a description, the inverse of ``block.describe()``.

    Parameters
    ----------
    description
        As ``block.describe()`` returns it.

    Examples
    --------
    >>> safety_from({"safety": "PowerTrip", "threshold": "20 W"})
    PowerTrip(threshold=20.0, cutoff=1.0)
    """
    return SafetyBlock.from_description(description)
