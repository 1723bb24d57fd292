"""Linearisation at a point, in the mode that holds there; and the zero dynamics of an inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.simulation.inputs import Inputs
from bondloop.engine.analysis.simulation.settling import Settling, by_part, mode_at
from bondloop.engine.ir import Const, Expr, StopRule, Var, substitute, variables
from bondloop.engine.passes import folded, linearised, needed, numeric
from bondloop.errors import InputError, SolveError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.analysis.simulation.settling import Key
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
    constant = Inputs.constant(system, inputs)
    run = Settling(system, constant, list(parameters.values()), tolerances.INSTANT_SECONDS)
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
    for part, own in by_part(system, numbers):
        reason = part.refused.get(tuple(int(n != 0) for n in own))
        if reason is not None:
            raise InputError(f"{system.name}: no causality with {part.in_words(own)}: {reason}")
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


# Zero dynamics: what moves inside a system while its outputs are held, and whether it comes to rest.


@dataclass(frozen=True)
class ZeroDynamics:
    """What moves inside a system while its outputs are held: the dynamics of its inverse.

    Attributes
    ----------
    states
        Names of the states that the imposed motions leave free.
    zeros
        Their eigenvalues in rad/s: the zeros of the system.
    verdict
        ``"none"``, ``"stable"``, ``"marginal"`` (a zero on the imaginary axis) or ``"unstable"``.

    Examples
    --------
    >>> ZeroDynamics(("C.displacement",), np.array([-2.0 + 0j]), "stable").verdict
    'stable'
    """

    states: tuple[str, ...]
    zeros: NDArray[np.complex128]
    verdict: str

    @property
    def is_stable(self) -> bool:
        """Whether an error of the inverse's states dies out."""
        return self.verdict in ("none", "stable")

    def __str__(self) -> str:
        if self.verdict == "none":
            return "no zero dynamics: every state follows from the imposed motions"
        ends = {
            "stable": "stable, what is wrong at the start is forgotten",
            "marginal": "marginal, what is wrong at the start stays",
            "unstable": "unstable, the inputs that keep the outputs to their motions grow without bound",
        }
        zeros = ", ".join(f"{z:.4g}" if z.imag else f"{z.real:.4g}" for z in self.zeros[:6])
        more = ", ..." if len(self.zeros) > 6 else ""
        return f"zero dynamics of {', '.join(self.states)}: zeros {zeros}{more} rad/s; {ends[self.verdict]}"


def zero_dynamics(
    system: SystemData,
    states: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
) -> ZeroDynamics:
    """Return and judge what the imposed motions of an inverse leave free.

    How far a stop has come that cannot switch here is no part of it.

    Parameters
    ----------
    system
        The inverse.
    states, inputs, values
        The operating point and the values of parameters, as for ``linearise``.
    """
    if system.inversion is None:
        raise InputError(
            f"{system.name} imposes no motions, so it has no zero dynamics: take those of its inverse, "
            "system.inverse(output, input).zero_dynamics()"
        )
    mode, kept = without_idle(system, system.inversion.rules)
    if not kept:
        return judged((), np.zeros(0, dtype=complex))
    x = system.initial(states)[kept]
    try:
        space = local_space(mode, x, inputs, values)
    except SolveError as error:
        u = system.operating_inputs(inputs).tolist()
        point = ", ".join(f"{name} = {value:.6g}" for name, value in zip(system.inputs, u, strict=True))
        raise SolveError(f"{system.name} at {point}: {error}") from error
    return judged(mode.states, space.poles())


def judged(states: tuple[str, ...], zeros: NDArray[np.complex128]) -> ZeroDynamics:
    """Judge zero dynamics by their eigenvalues."""
    size = tolerances.IMAGINARY_AXIS * max(1.0, float(np.abs(zeros).max(initial=0.0)))
    worst = float(zeros.real.max(initial=-np.inf))
    verdict = "unstable" if worst > size else "marginal" if worst > -size else "stable"
    return ZeroDynamics(states, zeros, verdict if states else "none")
