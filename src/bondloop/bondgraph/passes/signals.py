"""Equations of signals, and laws that depend on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph.elements import fields, signals, two_ports
from bondloop.bondgraph.elements.laws import Formula, modulation_of, product_of, rises
from bondloop.bondgraph.passes.equations import Draft, Equations, Variables, joined
from bondloop.bondgraph.passes.field_laws import momentum_of
from bondloop.bondgraph.passes.measures import of_parameter
from bondloop.engine.ir import Expr, Op, Var
from bondloop.engine.passes import from_sympy
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from bondloop.bondgraph.parts import Part


def signal_equations(v: Variables, parts: Iterable[Part]) -> Equations:
    """Return the equations of some signal parts and of all that these read, what is read first."""
    seen: set[Part] = set()
    order: list[Part] = []
    for part in parts:
        stack = [(part, False)]
        while stack:
            one, ready = stack.pop()
            if ready:
                order.append(one)
            elif one not in seen:
                seen.add(one)
                stack.append((one, True))
                sources = v.flat.signals.get(one, ())
                stack += [(s, False) for s, _, word in reversed(sources) if word is None and s.is_signal]
    return joined(v.once(_of_one, part) for part in order) if order else Equations()


def _of_one(v: Variables, part: Part) -> Equations:
    """Return the equations of one signal part."""
    path, draft, value = v.flat.paths[part], Draft(v), v.signal(part)
    if isinstance(value, Var) and isinstance(part, signals.Input):
        return Equations(inputs=((value, 0.0, path),))
    if isinstance(part, signals.SignalIntegrator):
        assert isinstance(value, Var)
        draft.states.append((value, _read(draft, *v.flat.signals[part][0])))
        if part.start:
            draft.initial.append((value, part.start))
    elif isinstance(part, signals.Function):
        draft.define(value, _called(draft, part, part.function, None))
    return draft.equations()


def source_value(draft: Draft, source: Part, index: int, word: str | None) -> Expr:
    """Return what a signal bond carries, with the equations that it takes."""
    if word is None:
        draft.include(signal_equations(draft.v, [source]))
    return _read(draft, source, index, word)


def _read(draft: Draft, source: Part, index: int, word: str | None) -> Expr:
    """Return what a signal bond carries: the value of a signal part, or what a storage holds."""
    v = draft.v
    if word is None:
        return v.signal(source)
    node = v.flat.first[source] + index
    if isinstance(source, fields.IField) and source.relations is None:
        return momentum_of(draft, node)
    return v.content(f"{v.flat.path[node]}.{word}")


def inverted(draft: Draft, part: signals.MC) -> Callable[[Expr, Var], Expr]:
    """Return the displacement at which a modulated law gives an effort: solved for in every step."""

    def backward(effort: Expr, displacement: Var) -> Expr:
        path = draft.v.flat.paths[part]
        formula = modulation_of(part.modulation, part.parameters, path)
        values = {symbol: part.parameters[name] for name, symbol in formula.parameters.items()}
        if not rises(formula.value, formula.arguments[0], values):
            raise ModelError(
                f"{path} ({part.symbol}) is forced into derivative causality, in which its law has no "
                "inverse; put a resistor or inertia between it and the source that forces it"
            )
        return displacement + (effort - modulated(draft, part, part.modulation, displacement))

    return backward


def modulated(
    draft: Draft, part: Part, function: Callable[..., Any] | None, first: Expr | None = None
) -> Expr:
    """Return a function of a part's signals (after ``first``, before its named parameters)."""
    draft.include(
        signal_equations(draft.v, [s for s, _, w in draft.v.flat.signals.get(part, ()) if w is None])
    )
    return _called(draft, part, function, first)


def _called(draft: Draft, part: Part, function: Callable[..., Any] | None, first: Expr | None) -> Expr:
    path = draft.v.flat.paths[part]
    if function is None:
        values = _values(draft, part)
        if len(values) != 1:
            raise ModelError(f"{path} has {len(values)} signals but no function to combine them")
        return values[0]
    parameters = getattr(part, "parameters", {})
    formula = product_of(function, parameters) or modulation_of(function, parameters, path)
    return formula.expression(_table(draft, part, formula, first), path)


def modulated_matrix(draft: Draft, part: two_ports.TF | two_ports.MTF) -> dict[tuple[int, int], Expr]:
    """Return the entries of a matrix transformer that are not zero, by row and column."""
    formula, path = part.formula(), draft.v.flat.paths[part]
    if isinstance(part, two_ports.TF):
        return {
            (i, j): draft.parameter(f"{path}.{part.word}[{i},{j}]", value)
            for (i, j), value in np.ndenumerate(part.matrix)
            if value != 0
        }
    draft.include(
        signal_equations(draft.v, [s for s, _, w in draft.v.flat.signals.get(part, ()) if w is None])
    )
    lookup = _table(draft, part, formula, None)
    entries: dict[tuple[int, int], Expr] = {}
    for (i, j), value in np.ndenumerate(np.array(formula.value, dtype=object)):
        if value != 0:
            name = f"{path}.{part.word}[{i},{j}]"
            entry = from_sympy(value, lookup, name)
            if isinstance(entry, Op):  # it is used several times, so it is computed once
                draft.define(named := Var(name), entry)
                entry = named
            entries[i, j] = entry
    return entries


def _values(draft: Draft, part: Part) -> list[Expr]:
    values = [_read(draft, *signal) for signal in draft.v.flat.signals.get(part, [])]
    if not values:
        raise ModelError(f"{draft.v.flat.paths[part]} needs a signal; bond a detector to it")
    return values


def _table(draft: Draft, part: Part, formula: Formula, first: Expr | None) -> Callable[[Any], Expr]:
    """Return what the symbols of a formula stand for: signals, parameters, and symbols of the model."""
    values, path = _values(draft, part), draft.v.flat.paths[part]
    count = len(formula.arguments) - (first is not None)
    if count != len(values):
        raise ModelError(f"{path}: its function takes {count} signals, but {len(values)} are bonded to it")
    given, ranges = getattr(part, "parameters", {}), getattr(part, "ranges", {})
    arguments = [*([first] if first is not None else []), *values]
    table: dict[Any, Expr] = dict(zip(formula.arguments, arguments, strict=True))
    for name, symbol in formula.parameters.items():
        within = ranges.get(name)
        table[symbol] = draft.parameter(
            f"{path}.{name}", given[name], within, of_parameter(name, None, within)
        )

    def variable(symbol: Any) -> Expr:
        return table[symbol] if symbol in table else draft.symbol(symbol)

    return variable
