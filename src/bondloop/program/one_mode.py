"""A system that switches as an ordinary one: the equations of the mode that holds at a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bondloop.errors import InputError, unknown_name
from bondloop.program.expr import Const, Expr, Var, substitute, variables
from bondloop.program.mode_merge import folded
from bondloop.program.settling import Settling

if TYPE_CHECKING:
    from bondloop.program.statespace import StateSpace
    from bondloop.program.switching_functions import Key
    from bondloop.program.switching_rules import Rule
    from bondloop.program.system import System

__all__ = ["linearised_mode", "system_in_mode"]

WINDOW = 1e-8
"""Seconds within which events are one instant where there is but one instant."""


def linearised_mode(
    system: System,
    states: list[float],
    inputs: list[float],
    parameters: Mapping[Var, float],
    modes: Mapping[str, int | str] | None,
) -> StateSpace:
    """Return a system that switches linearised at a point, in the mode that holds there or in another.

    Parameters
    ----------
    system
        What switches.
    states, inputs, parameters
        The point; modes among the states are where the search for those in force starts.
    modes
        By path of every element that switches, its mode; they are then taken whether or not they hold.
    """
    constant = [partial(_same, value) for value in (*inputs, *(0.0 for _ in system.input_rates))]
    count = len(inputs)
    run = Settling(system, constant[:count], constant[count:], list(parameters.values()), WINDOW)
    if modes is None:
        x = run.settle(0.0, states).x
        key = run.modes.of(x)
    else:
        key = _numbers(system, run.rules.rules, modes)
        x = run.entered(0.0, states, key)
    mode, places = system_in_mode(system, key)
    space = mode.linearise([x[i] for i in places], inputs, {v.name: value for v, value in parameters.items()})
    return replace(space, mode=_words(run.rules.rules, key))


def _same(value: float, _: float) -> float:
    return value


def _words(rules: Sequence[Rule], modes: Key) -> str:
    return ", ".join(f"{r.path} {r.words[round(m)]}" for r, m in zip(rules, modes, strict=True))


def _numbers(system: System, rules: Sequence[Rule], modes: Mapping[str, int | str]) -> Key:
    paths = [rule.path for rule in rules]
    for path in modes:
        if path not in paths:
            raise InputError(unknown_name("element that switches", path, paths, where=system.name))
    missing = [f"{r.path} ({', '.join(r.words.values())})" for r in rules if r.path not in modes]
    if missing:
        raise InputError(
            f"modes: expected the mode of every element that switches; missing {'; '.join(missing)}"
        )
    numbers: list[float] = []
    for rule in rules:
        mode = modes[rule.path]
        number = next((n for n, word in rule.words.items() if mode in (n, word)), None)
        if number is None or isinstance(mode, bool):
            known = ", ".join(f"'{word}'" for word in rule.words.values())
            raise InputError(f"{rule.path}: expected a mode, {known}; found {mode!r}")
        numbers.append(float(number))
    first = 0
    for part in system.switching:
        own = numbers[first : first + len(part.rules)]
        reason = part.refused.get(tuple(int(n != 0) for n in own))
        if reason is not None:
            raise InputError(f"{system.name}: no causality with {part.told(own)}: {reason}")
        first += len(part.rules)
    return tuple(numbers)


def system_in_mode(system: System, modes: Key) -> tuple[System, list[int]]:
    """Return the equations of one mode, and the places of its states among those of the system.

    The modes are constants then, and storages that follow from others are no states.
    """
    rules = [rule for part in system.switching for rule in part.rules]
    constants: dict[Var, Expr] = {r.mode: Const(m) for r, m in zip(rules, modes, strict=True)}
    present = {v: folded(e, constants) for part in system.switching for v, e in part.present.items()}
    followers = {v: e for v, e in present.items() if e is not v}

    def put(expr: Expr) -> Expr:
        return substitute(folded(expr, constants), followers)

    places = [i for i, v in enumerate(system.state_vars) if v not in constants and v not in followers]
    rates = {system.state_vars[i]: put(system.rate_exprs[i]) for i in places}
    outputs = {name: put(e) for name, e in system.output_exprs.items()}
    definitions: dict[Var, Expr] = {}
    work = [v for e in (*rates.values(), *outputs.values()) for v in variables(e)]
    while work:
        v = work.pop()
        if v in system.definitions and v not in definitions:
            definitions[v] = put(system.definitions[v])
            work += variables(definitions[v])
    ordered = {v: definitions[v] for v in system.definitions if v in definitions}
    used = {v for e in (*rates.values(), *outputs.values(), *ordered.values()) for v in variables(e)}
    reduced = system.replaced(
        name=f"{system.name} ({_words(rules, modes)})",
        states=rates,
        outputs=outputs,
        definitions=ordered,
        tears=[v for v in system.tears if v in ordered],
        initial={v: x for v, x in system.initial_by_var.items() if v in rates},
        input_rates={u: r for u, r in system.input_rates.items() if r in used},
        lookup=None,
        remarks=(),
        switching=(),
    )
    return reduced, places
