"""What users write in laws: called with traced values, and what goes wrong there said in a sentence."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.engine.ir import is_comparison
from bondloop.engine.laws.traced import Traced, Value
from bondloop.errors import AbsentError, BondloopError, ModelError, unknown_name
from bondloop.units import known_unit


class Readings:
    """Base of what a law is told at a sample, whose entries are its fields.

    >>> from bondloop.control import Desired
    >>> Desired(1.0).acceleration
    Traceback (most recent call last):
    bondloop.errors.AbsentError: unknown entry 'acceleration' of Desired; known: displacement, velocity
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = self.__dataclass_fields__
        raise AbsentError(unknown_name("entry", name, known, where=type(self).__name__))


def called(method: Callable[..., Value], what: str, *arguments: object) -> Value:
    """Call a method that a user wrote; an error in it becomes a sentence with its line.

    Parameters
    ----------
    method
        As it is bound to its law.
    what
        Its name for the message: ``"Lead.step"``.
    *arguments
        What it is told.
    """
    try:
        return method(*arguments)
    except BondloopError:
        raise  # it says already what to do
    except Exception as error:
        code = getattr(method, "__code__", None)
        file = getattr(code, "co_filename", "")
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if file and f.filename == file]
        at = f", line {lines[-1]} of {Path(file).name}" if lines else ""
        raise ModelError(
            f"{what}{at}: {type(error).__name__}: {error}; a law is written with Python's operators and the "
            "functions of bondloop.math"
        ) from error


def check_arguments(cls: type, expected: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a class whose methods do not take what they will be called with.

    Parameters
    ----------
    cls
        The class that a user wrote.
    expected
        The arguments after ``self``, by the name of the method.
    """
    for word, arguments in expected.items():
        method = vars(cls).get(word)
        if not inspect.isfunction(method) or not any(hasattr(base, word) for base in cls.__mro__[1:]):
            continue
        signature = inspect.signature(method)
        taken = [*signature.parameters][1:]
        swapped = any(
            name in arguments and name != arguments[i] for i, name in enumerate(taken[: len(arguments)])
        )
        try:
            signature.bind(None, *arguments)
        except TypeError:
            swapped = True
        if swapped:
            wanted = f"{word}(self, {', '.join(arguments)})"
            raise ModelError(f"{cls.__name__}.{word}: expected {wanted}; found {word}{signature}")


def check_units(units: object, what: str) -> None:
    """Refuse units by name that are none: ``{"sum": "metre"}``.

    Parameters
    ----------
    units
        What a class says of its states.
    what
        What it is, for the message.
    """
    if not isinstance(units, Mapping) or not all(isinstance(name, str) for name in units):
        raise ModelError(f'{what}: expected units by names of states, {{"sum": "m"}}; found {units!r:.60}')
    for name, unit in units.items():
        known_unit(unit, f"{what}['{name}']")


def one_number(value: Value, what: str) -> Value:
    """Return what a law computed if it is a number; refuse several, none, and a comparison.

    Parameters
    ----------
    value
        What its method returned.
    what
        The method, for the message.
    """
    if value is None:
        raise ModelError(f"{what} returns nothing; end it with 'return ...'")
    count = len(value) if isinstance(value, (tuple, list)) else getattr(value, "size", 1)
    if count != 1:
        raise ModelError(f"{what}: expected one number; found {count}")
    if isinstance(value, (tuple, list)):
        return one_number(value[0], what)
    return not_a_comparison(value.item() if isinstance(value, np.ndarray) else value, what)


def not_a_comparison(value: Value, what: str) -> Value:
    """Return what a law computed; refuse what is true or false, for it is no force and no displacement."""
    expr = value.expr if isinstance(value, Traced) else None
    if is_comparison(expr) or isinstance(value, (bool, np.bool_)):
        shown = str(value if expr is None else expr)
        raise ModelError(
            f"{what}: expected a number; found the comparison '{shown:.60}'; choose between numbers by "
            "bondloop.math.where(condition, a, b)"
        )
    return value
