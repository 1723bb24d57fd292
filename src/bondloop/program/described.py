"""Values that describe themselves: frozen dataclasses that can be written to a file and read back exactly.

Signals, envelopes, imperfections and sensors are families of such values. A description is a dictionary of
plain numbers, texts and lists, so that it fits into JSON, TOML or an attribute of an HDF5 file; its first
entry names the family and the member: ``{"signal": "Sine", "amplitude": 0.01, ...}``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self

from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import Range, number

__all__ = ["Described", "Parameter", "Whole", "number", "ranges_of"]

_FAMILIES: dict[str, dict[str, type[Described]]] = {}


class Parameter:
    """A number of a frozen dataclass: given in SI or as text with a unit, checked, kept as float.

    Parameters
    ----------
    default
        Its value when none is given; None for a parameter that must be given.
    least, most, above
        Bounds: at least, at most, and strictly above.
    """

    def __init__(
        self,
        default: float | None = None,
        *,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
    ) -> None:
        self.default = default
        self.range = Range(least, most, above)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> float:
        if instance is not None:
            return instance.__dict__[self.name]  # type: ignore[no-any-return]
        if self.default is None:  # dataclasses take this for "no default"
            raise AttributeError(self.name)
        return self.default

    def __set__(self, instance: object, value: float | str) -> None:
        instance.__dict__[self.name] = self.range.check(value, f"{type(instance).__name__}({self.name})")


def ranges_of(owner: type, *names: str, **other: str) -> dict[str, Range]:
    """Return the ranges of a dataclass's parameters, for the element that takes their values.

    Parameters
    ----------
    owner
        The dataclass.
    *names
        Parameters that the element calls by the same names.
    **other
        By the element's name for it the dataclass's: ``damping="viscous"``.
    """
    return {name: vars(owner)[own].range for name, own in {**{n: n for n in names}, **other}.items()}


class Whole:
    """A whole number of a frozen dataclass, between bounds: a seed, a number of bits."""

    def __init__(self, default: int | None = None, *, least: int, most: int) -> None:
        self.default, self.least, self.most = default, least, most

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> int:
        if instance is not None:
            return instance.__dict__[self.name]  # type: ignore[no-any-return]
        if self.default is None:
            raise AttributeError(self.name)
        return self.default

    def __set__(self, instance: object, value: int) -> None:
        try:  # True is no count, though Python takes it for 1
            result = self.least - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            result = self.least - 1
        if not self.least <= result <= self.most:
            raise InputError(
                f"{type(instance).__name__}({self.name}): expected a whole number "
                f"from {self.least} to {self.most}; found {value!r}"
            )
        instance.__dict__[self.name] = result


class Described:
    """Base of the families; the base of one says ``family="signal"``, and its members register by name."""

    _family: ClassVar[str] = ""

    def __init_subclass__(cls, family: str = "", **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if family:
            cls._family = family
            _FAMILIES[family] = {}
        elif not cls.__name__.startswith("_"):
            _FAMILIES[cls._family][cls.__name__] = cls

    def describe(self) -> dict[str, Any]:
        """Return the value as a dictionary that fits into JSON; `from_description` is its exact inverse."""
        entries = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.init}  # type: ignore[arg-type]
        return {self._family: type(self).__name__, **entries}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """Return the value that a dictionary from `describe` (or from a file) stands for."""
        value = _restored(description, cls._family)
        if not isinstance(value, cls):
            raise InputError(f"expected a description of {cls.__name__}; found one of {type(value).__name__}")
        return value


def _plain(value: Any) -> Any:
    if isinstance(value, Described):
        return value.describe()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def _restored(description: Any, family: str) -> Any:
    if not isinstance(description, Mapping) or family not in description:
        raise InputError(f"expected a dictionary with the entry '{family}'; found {description!r:.80}")
    kind = description[family]
    members = _FAMILIES[family]
    if kind not in members:
        raise InputError(unknown_name(family, str(kind), members))
    member = members[kind]
    known = {f.name: f for f in fields(member) if f.init}  # type: ignore[arg-type]
    given = {name: _nested(v) for name, v in description.items() if name != family}
    for name in given:
        if name not in known:
            raise InputError(unknown_name("parameter", name, known, where=f"the {family} {kind}"))
    missing = [n for n, f in known.items() if n not in given and f.default is f.default_factory is MISSING]
    if missing:
        raise InputError(f"the {family} {kind} needs {', '.join(missing)}")
    return member(**given)


def _nested(value: Any) -> Any:
    if isinstance(value, Mapping):
        for family in _FAMILIES:
            if family in value:
                return _restored(value, family)
    if isinstance(value, (list, tuple)):
        return tuple(_nested(v) for v in value)
    return value
