"""Values of signals, and laws that depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.elements import Formula, modulation_of, rises
from bondloop.bondgraph.passes.fields import momentum_of
from bondloop.bondgraph.passes.measures import of_parameter
from bondloop.errors import ModelError
from bondloop.program.expr import Expr, Op, Var
from bondloop.program.sympy_bridge import from_sympy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.derive import Derivation

__all__ = ["inverted", "modulated", "modulated_matrix", "signal_value", "source_value"]


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
    source, index, word = d.flat.signals[part][0]
    if isinstance(part, (el.De, el.Df)):
        value = d._common(d.flat.first[source] + index)
    elif isinstance(part, el.Integrator):
        state = Var(f"{path}.value")
        value = d.signal_values[part] = state
        d.states[state] = source_value(d, source, index, word)
        if part.start:
            d.initial[state] = part.start
    else:
        assert isinstance(part, el.Function)
        target = Var(f"{path}.value")
        value = d.signal_values[part] = target
        d.definitions[target] = modulated(d, part, part.function)
    d.signal_values[part] = value
    return value


def source_value(d: Derivation, source: Part, index: int, word: str | None) -> Expr:
    """Return what a signal bond carries: the value of a signal part, or what a storage holds."""
    if word is None:
        return signal_value(d, source)
    node = d.flat.first[source] + index
    if isinstance(source, el.IField) and source.relations is None:
        return momentum_of(d, node)
    return d.content(f"{d.flat.path[node]}.{word}")


def inverted(d: Derivation, part: el.MC) -> Callable[[Expr, Var], Expr]:
    """Return the displacement at which a modulated law gives an effort: solved for in every step."""

    def backward(effort: Expr, displacement: Var) -> Expr:
        path = d.flat.paths[part]
        formula = modulation_of(part.modulation, part.parameters, path)
        values = {symbol: part.parameters[name] for name, symbol in formula.parameters.items()}
        if not rises(formula.value, formula.arguments[0], values):
            raise ModelError(
                f"{path} ({part.symbol}) is forced into derivative causality, in which its law has no "
                "inverse; put a resistor or inertia between it and the source that forces it"
            )
        return displacement + (effort - modulated(d, part, part.modulation, displacement))

    return backward


def modulated(
    d: Derivation, part: Part, function: Callable[..., Any] | None, first: Expr | None = None
) -> Expr:
    """Return a function of a part's signals (after ``first``, before its named parameters)."""
    path = d.flat.paths[part]
    if function is None:
        values = _values(d, part)
        if len(values) != 1:
            raise ModelError(f"{path} has {len(values)} signals but no function to combine them")
        return values[0]
    formula = modulation_of(function, getattr(part, "parameters", {}), path)
    return from_sympy(formula.value, _table(d, part, formula, first), path)


def modulated_matrix(d: Derivation, part: el.TF | el.MTF) -> dict[tuple[int, int], Expr]:
    """Return the entries of a matrix transformer that are not zero, by row and column."""
    formula, path = part.formula(), d.flat.paths[part]
    if isinstance(part, el.TF):
        return {
            (i, j): d._parameter(f"{path}.{part.word}[{i},{j}]", value)
            for (i, j), value in np.ndenumerate(part.matrix)
            if value != 0
        }
    lookup = _table(d, part, formula, None)
    entries: dict[tuple[int, int], Expr] = {}
    for (i, j), value in np.ndenumerate(np.array(formula.value, dtype=object)):
        if value != 0:
            name = f"{path}.{part.word}[{i},{j}]"
            entry = from_sympy(value, lookup, name)
            if isinstance(entry, Op):  # it is used several times, so it is computed once
                d.definitions[named := Var(name)] = entry
                entry = named
            entries[i, j] = entry
    return entries


def _values(d: Derivation, part: Part) -> list[Expr]:
    values = [source_value(d, *signal) for signal in d.flat.signals.get(part, [])]
    if not values:
        raise ModelError(f"{d.flat.paths[part]} needs a signal; bond a detector to it")
    return values


def _table(d: Derivation, part: Part, formula: Formula, first: Expr | None) -> Callable[[Any], Expr]:
    """Return what the symbols of a formula stand for: signals, parameters, and symbols of the model."""
    values, path = _values(d, part), d.flat.paths[part]
    count = len(formula.arguments) - (first is not None)
    if count != len(values):
        raise ModelError(f"{path}: its function takes {count} signals, but {len(values)} are bonded to it")
    given, ranges = getattr(part, "parameters", {}), getattr(part, "ranges", {})
    arguments = [*([first] if first is not None else []), *values]
    table: dict[Any, Expr] = dict(zip(formula.arguments, arguments, strict=True))
    for name, symbol in formula.parameters.items():
        within = ranges.get(name)
        table[symbol] = d._parameter(f"{path}.{name}", given[name], within, of_parameter(name, None, within))

    def variable(symbol: Any) -> Expr:
        return table[symbol] if symbol in table else d._symbol(symbol)

    return variable
