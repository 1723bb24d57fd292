"""What a program divides by though it may pass zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.program.expr import Expr

__all__ = ["Divisor"]


@dataclass(frozen=True)
class Divisor:
    """Something that is divided by and changes in time: it is watched in simulations.

    Attributes
    ----------
    value
        What is divided by.
    advice
        What would make the division a product, as a clause.
    """

    value: Expr
    advice: str
