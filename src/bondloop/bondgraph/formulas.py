"""Functions that users write, of signals and parameters, called with SymPy symbols."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.laws import check_number, checked_ranges, placeholder
from bondloop.bondgraph.multiport import formula_of
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.data.ranges import Range

__all__ = ["Formula", "checked_parameters", "is_matrix", "modulation_of"]


@dataclass(frozen=True)
class Formula:
    """What a function gives for symbols.

    Attributes
    ----------
    arguments
        A symbol for each argument that is not a parameter, in order.
    parameters
        A symbol for each parameter, by name.
    value
        The result: a SymPy expression, or a SymPy matrix where the function returns rows.
    """

    arguments: tuple[Any, ...]
    parameters: Mapping[str, Any]
    value: Any


def is_matrix(value: Any) -> bool:
    """Whether a value is given as rows: a list of lists, an array, a SymPy matrix."""
    return isinstance(value, (list, tuple)) or bool(getattr(value, "shape", ()))


def modulation_of(function: Callable[..., Any], parameters: Iterable[str], where: str) -> Formula:
    """Call a function of signals with symbols; what SymPy cannot follow is refused, by its place."""
    import sympy as sp

    named = {n: placeholder(n) for n in parameters}
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    arguments = tuple(placeholder(n) for n in names if n not in named)
    value = formula_of(function, arguments, named, where)
    return Formula(arguments, named, sp.Matrix(value) if is_matrix(value) else value)


def checked_parameters(
    kind: str,
    function: Callable[..., Any] | None,
    given: Mapping[str, Any],
    ranges: Mapping[str, Range] | None,
) -> tuple[dict[str, Any], dict[str, Range]]:
    """Return the named parameters of a function, as numbers or symbols, and which numbers they may be."""
    within = checked_ranges(ranges, given, kind)
    if given and function is None:
        raise InputError(f"{kind} has no function, so it takes no parameters; found {', '.join(given)}")
    if function is not None:
        accepted = inspect.signature(function).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in accepted):
            known = [p.name for p in accepted]
            for name in given:
                if name not in known:
                    raise InputError(unknown_name("parameter", name, known, where=f"{kind}'s function"))
    return {n: check_number(v, f"{kind}({n})", within.get(n)) for n, v in given.items()}, within
