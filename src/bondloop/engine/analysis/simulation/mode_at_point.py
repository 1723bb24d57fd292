"""Which mode holds at a point of a system that switches, where nothing has moved yet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation.settling import Settling
from bondloop.engine.ir import GAP_EXCESS, StopRule
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    from bondloop.engine.ir import SystemData, Var


def constant(value: float, _: float) -> float:
    """Return a value, whatever the time."""
    return value


def mode_at(run: Settling, x: list[float], t: float = 0.0) -> list[float]:
    """Return states in the mode that holds at a point, whatever mode they came with.

    A simulation learns by a motion that a stop is met. At a point without a motion it is met where its gap is
    used up and something presses on it; short of the gap it is free.
    """
    x = list(x)
    stops = [i for i, rule in enumerate(run.rules.rules) if isinstance(rule, StopRule)]
    if not stops:
        return run.settle(t, x).x
    run.learn(t, x)
    terms = run.ports(t, x)[2]
    for i in stops:
        if x[run.modes.places[i]] == 0 and terms[i][0] < terms[i][1] - run.slacks[i][2]:
            x[run.modes.places[i]] = 1.0
    x = run.settle(t, x).x
    for _ in stops:
        pressed = next((after for i in stops if (after := _closed(run, t, x, i)) is not None), None)
        if pressed is None:
            break
        x = run.settle(t, pressed).x
    return x


def _closed(run: Settling, t: float, x: list[float], i: int) -> list[float] | None:
    """Return the states with one more stop closed, if it is free, met, and pressed once it is closed."""
    place = run.modes.places[i]
    if x[place] == 0:
        return None
    _, flows, terms = run.ports(t, x)
    _, flow_slack, slack = run.slacks[i]
    if terms[i][0] < terms[i][1] - slack or abs(flows[i]) > flow_slack:
        return None
    modes = list(run.modes.of(x))
    modes[i] = 0.0
    if not run.exists(modes):
        return None
    after = run.entered(t, x, tuple(modes))
    run.learn(t, after)
    return after if run.ports(t, after)[0][i] > run.slacks[i][0] else None


def check_gaps(run: Settling, x: list[float], t: float = 0.0) -> None:
    """Refuse a start at which a stop is beyond its gap."""
    terms = run.ports(t, x)[2]
    for rule, of_rule in zip(run.rules.rules, terms, strict=True):
        if not isinstance(rule, StopRule):
            continue
        displacement, gap = of_rule[:2]
        if displacement - gap > GAP_EXCESS * (1 + abs(gap)):
            raise InputError(
                f"{run.system.name}: {rule.path} would start {displacement - gap:.6g} beyond its gap of "
                f"{gap:.6g}, at a displacement of {displacement:.6g}; give a larger gap, or a lower "
                f"displacement with initial={{...}}"
            )


def starting_states(system: SystemData) -> dict[Var, float]:
    """Return the states at which a tick of a system starts, stops that are pressed then closed.

    Inputs count as the model says, or as zero; the first tick opens a stop that they pull at.
    """
    states = {v: system.initial_by_var.get(v, 0.0) for v in system.state_vars}
    if not system.switching:
        return states
    signals = [partial(constant, value) for value in system.operating_inputs().tolist()]
    still = [partial(constant, 0.0) for _ in system.input_rates]
    run = Settling(system, signals, still, list(system.values().values()), 1e-8)
    try:
        check_gaps(run, list(states.values()))
        settled = mode_at(run, list(states.values()))
    except (SolveError, ArithmeticError):
        return states  # of inputs that are not the model's own nothing is known yet
    for rule, place in zip(run.rules.rules, run.modes.places, strict=True):
        if isinstance(rule, StopRule):
            states[rule.mode] = settled[place]
    return states
