"""Linearisation at a point: a system that switches by the equations of the mode that holds there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation.mode_at_point import constant, mode_at
from bondloop.engine.analysis.simulation.settling import Settling
from bondloop.engine.ir import INSTANT_SECONDS, Const, Expr, StopRule, Var, substitute, variables
from bondloop.engine.passes import folded, linearised, needed, numeric
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.engine.analysis.simulation.switching_functions import Key
    from bondloop.engine.ir import Rule, StateSpace, SystemData


def linearise(
    system: SystemData,
    states: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
    modes: Mapping[str, int | str] | None = None,
) -> StateSpace:
    """Return sparse E, A, B, C, D at an operating point; of what switches, in the mode that holds there.

    Parameters
    ----------
    system
        What to linearise.
    states, inputs
        By name, the others as the model starts or gives them; or a full vector. Modes among the states are
        where the search for those in force starts.
    values
        Parameter values that replace the model's own.
    modes
        By path of every element that switches, its mode; they are then taken whether or not they hold.
    """
    if system.switching:
        return _linearised_mode(
            system,
            system.initial(states).tolist(),
            system.operating_inputs(inputs).tolist(),
            system.values(values),
            modes,
        )
    if modes is not None:
        raise InputError(f"{system.name} has no elements that switch; modes are for models that have")
    return linearised(system, states, inputs, values)


def local_space(
    system: SystemData,
    states: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
) -> StateSpace:
    """Return the matrices of a linear system, and of any other those at an operating point.

    Parameters
    ----------
    system, states, inputs, values
        As for `linearise`.
    """
    return numeric(system, values) if system.is_linear else linearise(system, states, inputs, values)


def _linearised_mode(
    system: SystemData,
    states: list[float],
    inputs: list[float],
    parameters: Mapping[Var, float],
    modes: Mapping[str, int | str] | None,
) -> StateSpace:
    """Return a system that switches linearised at a point, in the mode that holds there or in another."""
    signals = [partial(constant, value) for value in inputs]
    still = [partial(constant, 0.0) for _ in system.input_rates]
    run = Settling(system, signals, still, list(parameters.values()), INSTANT_SECONDS)
    if modes is None:
        x = mode_at(run, states)
        key = run.modes.of(x)
    else:
        key = _numbers(system, run.rules.rules, modes)
        x = run.entered(0.0, states, key)
    mode, places = system_in_mode(system, key)
    mode, kept = without_idle(mode, run.rules.rules)
    places = [places[i] for i in kept]
    space = linearised(
        mode, [x[i] for i in places], inputs, {v.name: value for v, value in parameters.items()}
    )
    return replace(space, mode=mode_words(run.rules.rules, key))


def without_idle(mode: SystemData, rules: Sequence[Rule]) -> tuple[SystemData, list[int]]:
    """Leave out displacements that only a stop's own rule reads: they act on nothing in one mode.

    Returns also the places of the states that are kept.
    """
    exprs = [*mode.rate_exprs, *mode.output_exprs.values(), *mode.definitions.values()]
    read = {v for e in exprs for v in variables(e)}
    idle = {rule.terms[0] for rule in rules if isinstance(rule, StopRule)} - read
    kept = [i for i, v in enumerate(mode.state_vars) if v not in idle]
    if not idle:
        return mode, kept
    states = {mode.state_vars[i]: mode.rate_exprs[i] for i in kept}
    initial = {v: x for v, x in mode.initial_by_var.items() if v in states}
    return mode.replaced(states=states, initial=initial), kept


def mode_words(rules: Sequence[Rule], modes: Key) -> str:
    """Return modes in words: ``stop closed, key open``."""
    return ", ".join(f"{r.path} {r.words[round(m)]}" for r, m in zip(rules, modes, strict=True))


def _numbers(system: SystemData, rules: Sequence[Rule], modes: Mapping[str, int | str]) -> Key:
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


def system_in_mode(system: SystemData, modes: Key) -> tuple[SystemData, list[int]]:
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
    definitions = needed(system.definitions, [*rates.values(), *outputs.values()], put)
    ordered = {v: definitions[v] for v in system.definitions if v in definitions}
    used = {v for e in (*rates.values(), *outputs.values(), *ordered.values()) for v in variables(e)}
    reduced = system.replaced(
        name=f"{system.name} ({mode_words(rules, modes)})",
        states=rates,
        outputs=outputs,
        definitions=ordered,
        tears=[v for v in system.tears if v in ordered],
        initial={v: x for v, x in system.initial_by_var.items() if v in rates},
        input_rates={u: r for u, r in system.input_rates.items() if r in used},
        lookup=None,
        remarks=(),
        switching=(),
        memories={},  # what is remembered stays as it is about a point
    )
    return reduced, places
