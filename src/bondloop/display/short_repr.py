"""Short reprs: what a thing is in a line, without arrays and addresses."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

REPR_LETTERS, REPR_ENTRIES = 300, 4
"""Letters of a repr, and entries of a list in it."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def brief(thing: object) -> str:
    """Return a dataclass as the call that would make it, in a line: arrays by shape, long lists cut short.

    Parameters
    ----------
    thing
        A dataclass; of anything else its kind is all that is told.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Fit:
    ...     name: str
    ...     measured: np.ndarray
    ...     poles: tuple
    ...     __repr__ = brief
    >>> Fit("G2", np.zeros(2000), tuple(range(9)))
    Fit(name='G2', measured=<2000 float64>, poles=(0, 1, 2, 3, ...))
    """
    if not dataclasses.is_dataclass(thing):
        return f"<{type(thing).__name__}>"
    shown = [
        f"{f.name}={_value(getattr(thing, f.name))}"
        for f in dataclasses.fields(thing)
        if f.repr and f.init and not _is_default(f, getattr(thing, f.name))
    ]
    return _cut(f"{type(thing).__qualname__.rpartition('.')[2]}({', '.join(shown)})")


def _value(value: Any) -> str:
    """Write a field."""
    if getattr(value, "shape", None) and hasattr(value, "dtype"):  # an array, of NumPy or sparse
        return f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, Enum) or value is None or hasattr(value, "dtype"):
        return str(value)
    if isinstance(value, Mapping):
        inside = [f"{k!r}: {_value(v)}" for k, v in list(value.items())[:REPR_ENTRIES]]
        return f"{{{_list(inside, len(value))}}}"
    if isinstance(value, (tuple, list, AbstractSet)):
        inside = [_value(v) for v in list(value)[:REPR_ENTRIES]]
        text = _list(inside, len(value))
        return (
            f"({text})"
            if isinstance(value, tuple)
            else f"[{text}]"
            if isinstance(value, list)
            else f"{{{text}}}"
        )
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = ADDRESS.sub("", repr(value))
    return text if len(text) <= REPR_LETTERS // 3 else f"<{type(value).__name__}>"


def _list(inside: list[str], count: int) -> str:
    return ", ".join([*inside, "..."] if count > len(inside) else inside)


def _is_default(field: dataclasses.Field[object], value: object) -> bool:
    """Whether a field says nothing: it is what it is where nobody says anything."""
    if field.default_factory is not dataclasses.MISSING:
        return isinstance(value, (tuple, list, Mapping, AbstractSet)) and not value
    default = field.default
    if default is dataclasses.MISSING:
        return False
    return value is default or (isinstance(value, (str, int, float)) and value == default)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= REPR_LETTERS else f"{text[: REPR_LETTERS - 4]} ..."
