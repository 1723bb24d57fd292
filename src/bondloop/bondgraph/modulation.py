"""Values of signals, and laws that depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import elements as el
from bondloop.errors import ModelError
from bondloop.program.expr import Expr, Var
from bondloop.program.sympy_bridge import from_sympy

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation
    from bondloop.bondgraph.parts import Part

__all__ = ["modulated", "not_inverted", "signal_value"]


def signal_value(d: Derivation, part: Part) -> Expr:
    """Return the value of a signal part."""
    value = d.signal_values.get(part)
    if value is not None:
        return value
    path = d.flat.paths[part]
    if isinstance(part, el.Input):
        owner = path.rpartition(".")[0]
        name = path if part.input_name is None else (f"{owner}." if owner else "") + part.input_name
        value = d.signal_values[part] = d._input(name, path)
        return value
    source, index = d.flat.signals[part][0]
    if isinstance(part, (el.De, el.Df)):
        value = d._common(d.flat.first[source] + index)
    elif isinstance(part, el.Integrator):
        state = Var(f"{path}.value")
        value = d.signal_values[part] = state
        d.states[state] = signal_value(d, source)
        if part.start:
            d.initial[state] = part.start
    else:
        assert isinstance(part, el.Function)
        target = Var(f"{path}.value")
        value = d.signal_values[part] = target
        d.definitions[target] = modulated(d, part, part.function)
    d.signal_values[part] = value
    return value


def not_inverted(d: Derivation, part: Part) -> Callable[[Expr, Var], Expr]:
    """Return an inverse that refuses: the law of a part that has none."""

    def refuse(_y: Expr, _x: Var) -> Expr:
        raise ModelError(
            f"{d.flat.paths[part]} ({part.symbol}) is forced into derivative causality, "
            "in which its law has no "
            "inverse; put a resistor or inertia between it and the source that forces it"
        )

    return refuse


def modulated(
    d: Derivation, part: Part, function: Callable[..., Any] | None, first: Expr | None = None
) -> Expr:
    """Return a function of a part's signals (after ``first``, before its named parameters)."""
    values = [signal_value(d, source) for source, _ in d.flat.signals.get(part, [])]
    path = d.flat.paths[part]
    if not values:
        raise ModelError(f"{path} needs a signal; bond a detector to it")
    if function is None:
        if len(values) != 1:
            raise ModelError(f"{path} has {len(values)} signals but no function to combine them")
        return values[0]
    import inspect

    import sympy as sp

    given, ranges = getattr(part, "parameters", {}), getattr(part, "ranges", {})
    named = {n: d._parameter(f"{path}.{n}", v, ranges.get(n)) for n, v in given.items()}
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    count = len([n for n in names if n not in named]) - (first is not None)
    if count != len(values):
        raise ModelError(f"{path}: its function takes {count} signals, but {len(values)} are bonded to it")
    arguments = [*([first] if first is not None else []), *values]
    symbols = [sp.Symbol(f"s{i}", real=True) for i in range(len(arguments))]
    keywords = {n: sp.Symbol(n, real=True) for n in named}
    table: dict[Any, Expr] = dict(zip(symbols, arguments, strict=True))
    table.update({keywords[n]: v for n, v in named.items()})

    def variable(symbol: Any) -> Expr:
        return table[symbol] if symbol in table else d._symbol(symbol)

    return from_sympy(sp.sympify(function(*symbols, **keywords)), variable, path)
