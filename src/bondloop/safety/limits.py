"""Limits of a test: beyond them a run stops."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from bondloop.errors import InputError
from bondloop.program.described import Described
from bondloop.units import quantity

__all__ = ["Limits"]


_KINDS = {
    "displacement": ("m", "rad"),
    "velocity": ("m/s", "rad/s"),
    "force": ("N", "N m"),
    "tracking_error": ("m", "rad"),
}
"""What each limit measures, of a motion along an axis or about it; a command has its actuator's own unit."""


@dataclass(frozen=True)
class Limits(Described, family="limits", alone=True):
    """Largest allowed magnitudes; None where there is no limit. Texts with units are accepted.

    Parameters
    ----------
    displacement, velocity, force, command
        In m, m/s, N (rad, rad/s, N m where it turns), and the command's own unit.
    tracking_error
        Desired less measured displacement, in m.
    """

    displacement: float | str | None = None
    velocity: float | str | None = None
    force: float | str | None = None
    command: float | str | None = None
    tracking_error: float | str | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            try:
                number = quantity(value, *_KINDS.get(f.name, ())) if isinstance(value, str) else float(value)
            except InputError as error:
                raise InputError(f"limits.{f.name}: {error}") from None
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"limits.{f.name}: expected a number or a text with unit; found {value!r}"
                ) from None
            if not number > 0:
                raise InputError(f"limits.{f.name} must be positive; found {value}")
            if number == math.inf:
                raise InputError(f"limits.{f.name} must be finite; leave it out where there is no limit")
            object.__setattr__(self, f.name, number)
