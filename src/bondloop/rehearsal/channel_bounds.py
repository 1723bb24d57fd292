"""What a channel is in a run: which limit of the test holds for it, and where it has diverged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.engine.ir import Expr, Meaning, Role, Var
from bondloop.rigs import MEASURED

if TYPE_CHECKING:
    from bondloop.engine import System


DIVERGED = 1e9
"""A motion beyond this magnitude (SI units) has diverged, whatever the limits."""

OVERFLOWING = 1e18
"""The same for all else: a bulk modulus or an estimated stiffness may well be beyond 1e9."""

POWER = "excitation.power"
"""Channel of the power [W] that all sources of the numerical half supply."""


def role_of(system: System, value: Expr) -> Role:
    """Return the role of a variable that is recorded by its path: a state, or nothing in particular."""
    return Role.STATE if isinstance(value, Var) and value in system.state_vars else Role.OTHER


def limit_word(meaning: Meaning) -> str:
    """Return the limit that holds for a channel, by its name in `Limits`; empty where there is none.

    >>> limit_word(Meaning(Role.ACTUAL, "velocity", "flow", 0)), limit_word(Meaning(Role.DESIRED))
    ('velocity', '')
    """
    if meaning.role is Role.COMMAND:
        return "command"
    words = {**{kind: word for word, kind in MEASURED.items()}, "acceleration": "acceleration"}
    return words.get(meaning.kind, "") if meaning.role is Role.ACTUAL else ""


def diverged(meaning: Meaning) -> float:
    """Return the magnitude beyond which a channel has diverged, whatever the limits."""
    moves = meaning.kind in ("displacement", "flow")
    return DIVERGED if moves and meaning.role not in (Role.ESTIMATE, Role.GAIN) else OVERFLOWING
