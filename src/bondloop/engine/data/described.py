"""Values that describe themselves: frozen dataclasses that can be written to a file and read back exactly.

Signals, envelopes, imperfections and sensors are families of such values. A description is a dictionary of
plain numbers, texts and lists, so that it fits into JSON, TOML or an attribute of an HDF5 file; its first
entry names the family and the member: ``{"signal": "Sine", "amplitude": 0.01, ...}``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from bondloop.display import brief
from bondloop.engine.data.kinds import (
    DERIVED,
    PYTHON,
    Kind,
    family_word,
    file_of,
    in_words,
    plain,
    register,
    same,
)
from bondloop.engine.data.ranges import Range, number
from bondloop.engine.data.restoring import restore
from bondloop.errors import InputError, ModelError
from bondloop.units import is_of_kind, known_unit, si_unit, unit_in

T = TypeVar("T")

STATED, KINDS = "_units_stated", "_kinds_stated"
"""Where an object keeps, by name, the units in which those of its parameters were given that may measure
more than one thing; and the units of all that each may measure."""


def state_unit(owner: object, name: str, value: object, units: Sequence[str] = ()) -> None:
    """Keep the unit of a text, for whoever knows what the parameter should measure.

    Parameters
    ----------
    owner
        The object whose parameter it is.
    name
        The parameter's.
    value
        As it was given; a plain number has no unit.
    units
        Of all that it may measure, one for each domain.
    """
    if isinstance(value, str) and unit_in(value):
        vars(owner).setdefault(STATED, {})[name] = unit_in(value)
        vars(owner).setdefault(KINDS, {})[name] = tuple(units)


def stated_units(owner: object) -> dict[str, str]:
    """Return the units in which those parameters of an object were given that may measure several things.

    Parameters
    ----------
    owner
        Any object; what was given as a plain number is left out.
    """
    return dict(getattr(owner, STATED, {}))


def stated_kinds(owner: object) -> dict[str, tuple[str, ...]]:
    """Return, for each parameter of `stated_units`, the units of all that it may measure.

    Parameters
    ----------
    owner
        Any object.
    """
    return dict(getattr(owner, KINDS, {}))


def with_si_unit(value: float, unit: str) -> float | str:
    """Return a number in SI as a parameter takes it that keeps a unit; plain where there is none.

    Parameters
    ----------
    value
        In SI.
    unit
        Of its kind.

    Examples
    --------
    >>> with_si_unit(0.5, "mm/s"), with_si_unit(0.5, "")
    ('0.5 m/s', 0.5)
    """
    return f"{float(value)!r} {si_unit(unit) or '1'}" if unit else value


def common_unit(units: Mapping[str, str]) -> str:
    """Return the first of some units that must measure one thing; empty where there are none.

    Parameters
    ----------
    units
        By what is in them, for the message.

    Examples
    --------
    >>> common_unit({"Sine(amplitude)": "mm", "Sine(offset)": "m"})
    'mm'
    """
    first = next(iter(units.values()), "")
    for what, unit in units.items():
        if not is_of_kind(f"1 {unit}", first):
            raise InputError(
                f"{what}: expected a quantity like one in {first}, as {next(iter(units))} is; found one in "
                f"{unit}"
            )
    return first


class _Checked(Generic[T]):
    """A field of a frozen dataclass whose value is checked as it is set."""

    name: str
    default: float | str | None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> T:
        if instance is not None:
            return instance.__dict__[self.name]  # type: ignore[no-any-return]
        if self.default is None:  # dataclasses take this for "no default"
            raise AttributeError(self.name)
        return self.default  # type: ignore[return-value]  # dataclasses hand it on to __set__


class Parameter(_Checked[float]):
    """A number of a frozen dataclass: given in SI or as text with a unit, checked, kept as float.

    Parameters
    ----------
    default
        Its value when none is given, in SI or as text with a unit; None for a parameter that must be given.
    least, most, above
        Bounds: at least, at most, and strictly above; in SI or as texts with units.
    unit
        What it measures, as an SI unit, ``"1"`` for a plain number, any one of several; None for anything.
    """

    __repr__ = brief

    def __init__(
        self,
        default: float | str | None = None,
        *,
        least: float | str | None = None,
        most: float | str | None = None,
        above: float | str | None = None,
        unit: str | tuple[str, ...] | None = None,
    ) -> None:
        self.default = default
        units = () if unit is None else (unit,) if isinstance(unit, str) else unit
        for text in units:
            known_unit(text, "Parameter(unit)")
        least, most, above = (
            number(bound, f"Parameter({word})", *units) if isinstance(bound, str) else bound
            for word, bound in (("least", least), ("most", most), ("above", above))
        )
        self.range = Range(least, most, above, units=units)

    def __set__(self, instance: object, value: float | str) -> None:
        instance.__dict__[self.name] = self.accept(value, f"{type(instance).__name__}({self.name})")
        if len(self.range.units) != 1:
            state_unit(instance, self.name, value, self.range.units)

    def accept(self, value: float | str, what: str) -> float:
        """Return a value as a float within the range.

        Parameters
        ----------
        value
            A number in SI, or a text with a unit of the kind that is asked for.
        what
            What it is called in the error that refuses it.
        """
        return self.range.check(value, what)


def ranges_of(owner: type, *names: str, **other: str) -> dict[str, Range]:
    """Return the ranges of a dataclass's parameters, for the element that takes their values.

    Parameters
    ----------
    owner
        The dataclass.
    *names
        Parameters that the element calls by the same names.
    **other
        By the element's name for it the dataclass's: ``damping="viscous"``. What it measures may be another
        thing there (a modulus made of an area), so the unit is the element's affair.
    """
    same = {name: vars(owner)[name].range for name in names}
    return same | {name: replace(vars(owner)[own].range, units=()) for name, own in other.items()}


class Whole(_Checked[int]):
    """A whole number of a frozen dataclass, between bounds: a seed, a number of bits."""

    def __init__(self, default: int | None = None, *, least: int, most: int) -> None:
        self.default, self.least, self.most = default, least, most

    def __set__(self, instance: object, value: int) -> None:
        instance.__dict__[self.name] = self.accept(value, f"{type(instance).__name__}({self.name})")

    def accept(self, value: int, what: str) -> int:
        """Return a value as a whole number within the bounds."""
        try:  # True is no count, though Python takes it for 1
            result = self.least - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            result = self.least - 1
        if not self.least <= result <= self.most:
            raise InputError(
                f"{what}: expected a whole number from {self.least} to {self.most}; found {value!r}"
            )
        return result


class Described:
    """Base of the families; the base of one says ``family="signal"``, and its members register by name.

    With ``alone=True`` a family has one member, the class itself, and its description no first entry. A class
    with another base joins a family by ``member_of="rig"``.
    """

    _kind: ClassVar[Kind]
    _family: ClassVar[str] = ""

    def __init_subclass__(
        cls, family: str = "", *, alone: bool = False, member_of: str = "", **rest: object
    ) -> None:
        super().__init_subclass__(**rest)
        if family and cls._family:
            DERIVED.setdefault(cls._family, []).append(family)
        if family or member_of:
            cls._family = family or member_of
        if family:
            family_word(cls.__name__, family, cls.__module__)
        if alone or (not family and not cls.__name__.startswith("_")):
            kind = Kind(cls._family, cls.__name__, cls, alone, file_of(cls))
            cls._kind = register(kind, cls.__name__)

    def describe(self) -> dict[str, Any]:
        """Return the value as a dictionary that fits into JSON; `from_description` is its exact inverse."""
        value: object = self
        if not is_dataclass(value):
            return {PYTHON: in_words(value)}
        if getattr(self, "_kind", None) is None:
            name = type(self).__name__
            raise ModelError(
                f"{name} is the base of the family '{self._family}', and values are of its members: write "
                f"class _Base(Described, family='{self._family}') and class {name}(_Base)"
            )
        entries = {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.init}
        return {**self._kind.head(), **entries}

    def __eq__(self, other: object) -> bool:
        """Whether the descriptions are complete and equal; dataclasses compare fields, unless told not to."""
        if type(self) is not type(other):
            return NotImplemented
        return self is other or same(self, other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *(v for v in vars(self).values() if isinstance(v, (float, str)))))

    @classmethod
    def from_description(cls, description: Mapping[str, object]) -> Self:
        """Return the value that a dictionary from `describe` (or from a file) stands for.

        Parameters
        ----------
        description
            With the entry that names the class, and one for each argument; one of another class is
            refused.
        """
        given: object = description
        if not isinstance(given, Mapping) or (cls._family not in given and not _alone(cls)):
            raise InputError(
                f"expected a dictionary with the entry '{cls._family}'; found {description!r:.80}"
            )
        value = restore(description, cls._kind if _alone(cls) else None)
        if not isinstance(value, cls):
            raise InputError(f"expected a description of {cls.__name__}; found one of {type(value).__name__}")
        return value


def _alone(cls: type[Described]) -> bool:
    return "_kind" in vars(cls) and cls._kind.alone
