"""Limits of a test: beyond them a run stops, or the interlock brings the rig to rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import ClassVar

from bondloop.engine.data import Described, Range, plain_number
from bondloop.errors import InputError
from bondloop.units import quantity

_KINDS = {
    "displacement": ("m", "rad", "C", "m^3"),
    "velocity": ("m/s", "rad/s", "A", "m^3/s"),
    "force": ("N", "N m", "V", "Pa"),
    "tracking_error": ("m", "rad", "C", "m^3"),
    "warning": ("1",),
}
"""What each limit measures: of a motion along an axis or about it, of electricity, of a fluid. A test takes
those of its interfaces only; a command has its actuator's own unit, which the test knows too."""


@dataclass(frozen=True)
class Limits(Described, family="limits", alone=True):
    """Largest allowed magnitudes; None where there is no limit. Texts with units are accepted.

    Parameters
    ----------
    displacement, velocity, force, command
        In m, m/s, N (rad, rad/s, N m where it turns), and the command's own unit.
    tracking_error
        Desired less measured displacement, in m.
    command_rate
        Change of the command, in its own unit a second.
    warning
        Share of each limit from which it is a warning: recorded, shown, and no trip; a number or ``"80 %"``.

    Attributes
    ----------
    texts
        Limits that were given as text, as they were written, by name: a test whose interface turns refuses
        a displacement in mm, and one whose command is a position a limit of it in V.
    """

    texts: ClassVar[Mapping[str, str]] = MappingProxyType({})

    _allowed: ClassVar[dict[str, Range]] = {
        name: Range(above=0, below=1 if name == "warning" else None, units=_KINDS.get(name, ()))
        for name in (*_KINDS, "command", "command_rate")
    }

    displacement: float | str | None = None
    velocity: float | str | None = None
    force: float | str | None = None
    command: float | str | None = None
    tracking_error: float | str | None = None
    command_rate: float | str | None = None
    warning: float | str | None = None

    def __post_init__(self) -> None:
        words = {f.name: getattr(self, f.name) for f in fields(self)}
        object.__setattr__(self, "texts", {n: value for n, value in words.items() if isinstance(value, str)})
        for f in fields(self):
            value = words[f.name]
            if value is None:
                continue
            try:
                number = (
                    quantity(value, *_KINDS.get(f.name, ()))
                    if isinstance(value, str)
                    else plain_number(value)
                )
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
        if self.warning is not None and not float(self.warning) < 1:
            raise InputError(f"limits.warning: expected a share of the limits below 1; found {self.warning}")

    def stricter(self, other: Limits | None) -> Limits:
        """Return limits of which each is the smaller one of two; the other's where this has none.

        Parameters
        ----------
        other
            Further limits, or None.

        Examples
        --------
        >>> Limits(force=10, command=1).stricter(Limits(force="5 N", velocity=2)).force
        5.0
        """
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name, None)) for f in fields(self)}
        return Limits(
            **{n: min((x for x in pair if x is not None), default=None) for n, pair in pairs.items()}
        )
