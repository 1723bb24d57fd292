"""Parameters that may be changed while a test runs: within bounds, and no faster than the tick lets them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.data import FINITE, Range, is_truth
from bondloop.engine.ir import (
    Assign,
    Channel,
    Expr,
    Quantity,
    Role,
    Step,
    Tick,
    Tunable,
    Update,
    Var,
    reads,
    select,
    variables,
)
from bondloop.errors import InputError, unknown_name
from bondloop.safety import DISPLACEMENT_TARGET, FORCE_TARGET, LIMITS
from bondloop.substructure import ExternalHalf
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.hybrid import HybridTest


SCALE = "excitation.scale"
"""Parameter by which the excitation is multiplied: 1 as it is given, 0 for none."""
SCALE_RANGE = Range(least=0.0, units=("1",))
"""What it may be: a plain number."""
HOLD = "excitation.hold"
"""Parameter that lets a tunable excitation fade out while it is 1."""

SWITCHES = (DISPLACEMENT_TARGET, FORCE_TARGET)
"""Parameters of the operator's that every test with switches has; the switches themselves ramp."""

SPAN_RATE = 0.2
"""A second, of the span of a test that declares none: from nothing to all of it in 5 s."""


def operated(test: HybridTest) -> HybridTest:
    """Return a test with a span for its operator: its own, or from 0 to the excitation as it is given."""
    if SCALE in test.tunable or not test.scale > 0:
        return test
    span = Tunable(
        least=0.0, most=test.scale, rate=SPAN_RATE * test.scale, description="span of the excitation"
    )
    return test.replaced(tunable={**test.tunable, SCALE: span})


def check_tunable(test: HybridTest) -> None:
    """Refuse what is declared as tunable and is no parameter, or beyond what it may be.

    Parameters
    ----------
    test
        With its parts.
    """
    if not test.tunable:
        return
    limits = {} if test.interlock is None else vars(test.interlock.limits)
    held = {name: limits.get(word) for name, word in LIMITS.items()}
    known: dict[str, tuple[float, Range]] = {SCALE: (test.scale, SCALE_RANGE)}
    known |= {name: (float(x), Range(above=0.0, most=float(x))) for name, x in held.items() if x is not None}
    for system in (test.design.system, test.reference_system):
        if system is not None:
            known |= {v.name: (x, _in_its_unit(v)) for v, x in system.values().items()}
    for name, tunable in test.tunable.items():
        where = f"tunable['{name}']"
        if not isinstance(tunable, Tunable):
            raise InputError(f"{where}: expected Tunable(least=..., most=...); found {tunable!r:.60}")
        if name in LIMITS and name not in known:
            raise InputError(f"{where}: the interlock has no such limit; it can be tightened, not made")
        if name not in known:
            raise InputError(unknown_name("parameter", name, known, where="the computer's half of the test"))
        value, within = known[name]
        units = (limit_units(test)[LIMITS[name]],) if name in LIMITS else within.units
        known_units = [unit for unit in units if unit]
        if known_units and not any(is_of_kind(f"1 {tunable.unit}", unit) for unit in known_units):
            raise InputError(
                f"{where}: expected values in {' or '.join(known_units)}, or in another unit of that kind, "
                f"and a rate of such a second; found {tunable.unit}"
            )
        for word, bound in (("least", tunable.least), ("most", tunable.most)):
            if bound is not None and float(bound) not in within:
                more = (
                    "; a limit may be tightened while the test runs, never widened" if name in LIMITS else ""
                )
                raise InputError(f"{where}: expected {word} to be {within}; found {float(bound):g}{more}")
        if not tunable.low <= value <= tunable.high:
            raise InputError(
                f"{where}: the test begins with {value:g}, which is not between {tunable.low:g} and "
                f"{tunable.high:g}"
            )


def _in_its_unit(parameter: Var) -> Range:
    """Return which numbers a parameter may be, in the one unit that it has in its model if that is known."""
    within = parameter.range or FINITE
    return replace(within, units=(parameter.unit,)) if parameter.unit else within


def limit_units(test: HybridTest) -> dict[str, str]:
    """Return the units of the interlock's limits, by their names in `Limits`; empty where one is not known.

    Parameters
    ----------
    test
        The test.
    """
    domain = test.domains[0]
    unit = next((u.unit for u in test.rig_system.commands), "")
    return {
        "displacement": domain.displacement.unit,
        "velocity": domain.flow.unit,
        "force": domain.effort.unit,
        "tracking_error": domain.displacement.unit,
        "command": unit,
        "command_rate": f"{unit}/s" if unit else "",
    }


def adjustable_limits(test: HybridTest) -> dict[str, Var]:
    """Return the limits of the interlock that are tunable, by their names in `Limits`, as parameters.

    Parameters
    ----------
    test
        The test.
    """
    units = limit_units(test)
    return {
        word: Var(
            name,
            range=Range(above=0.0, most=float(getattr(test.interlock.limits, word))),
            quantity=Quantity("limit", units[word]),
        )
        for name, word in LIMITS.items()
        if test.interlock is not None and name in test.tunable
    }


def allowed(tick: Tick, parameter: Var) -> tuple[float, float]:
    """Return the least and the largest value that may be set as it runs; none is between them where none may.

    Parameters
    ----------
    tick
        What runs.
    parameter
        One of its parameters.
    """
    if tick.tunable is not None and parameter.name not in tick.tunable:
        return math.inf, -math.inf
    declared = Tunable() if tick.tunable is None else tick.tunable[parameter.name]
    within = parameter.range or FINITE
    least = [declared.low, -math.inf if within.least is None else within.least]
    most = [declared.high, math.inf if within.most is None else within.most]
    if within.above is not None:
        least.append(math.nextafter(within.above, math.inf))
    if within.below is not None:
        most.append(math.nextafter(within.below, -math.inf))
    return max(least), min(most)


def checked_sets(
    tick: Tick, sets: Mapping[int, Mapping[str, float]], steps: int
) -> dict[int, dict[str, float]]:
    """Return what a rehearsal sets, by tick in their order; refuse what a loop would refuse.

    Parameters
    ----------
    tick
        What runs.
    sets
        Values of parameters by the first tick for which they hold.
    steps
        Ticks of the run.
    """
    by_name = {v.name: v for v in tick.parameters}
    checked: dict[int, dict[str, float]] = {}
    for at in sets:
        if is_truth(at) or at not in range(steps):
            raise InputError(f"sets: expected ticks from 0 to {steps - 1}; found {at!r}")
    for at in sorted(sets):
        checked[at] = {}
        for name, value in sets[at].items():
            if name not in by_name:
                raise InputError(unknown_name("parameter", name, by_name, where="the test"))
            low, high = allowed(tick, by_name[name])
            if low > high:
                raise InputError(
                    f"sets: {name} is fixed while the test runs; declare it, "
                    f"tunable={{'{name}': Tunable(...)}}"
                )
            within = (by_name[name].range or FINITE) & Range(
                least=low if math.isfinite(low) else None, most=high if math.isfinite(high) else None
            )
            checked[at][name] = within.check(value, name)
    return checked


def targets_from_outside(numerical: Model) -> dict[str, Tunable]:
    """Return what another program sets while the test runs: the targets of an external half, if it is one.

    Parameters
    ----------
    numerical
        The numerical half.
    """
    if not isinstance(numerical, ExternalHalf):
        return {}
    return {
        path: Tunable(-numerical.stroke, numerical.stroke, description="where the rig is asked to be")
        for path in numerical.targets
    }


def tunable_tick(tick: Tick, declared: Mapping[str, Tunable]) -> Tick:
    """Return a tick whose declared parameters move towards what they are set to, and are recorded.

    Parameters
    ----------
    tick
        Of a test.
    declared
        By the names of parameters.
    """
    by_name = {v.name: v for v in tick.parameters}
    steps: list[Step] = []
    channels = list(tick.channels)
    states, parameters = dict(tick.states), dict(tick.parameters)
    tunable = {name: Tunable(0.0, 1.0, description="ramp") for name in SWITCHES if name in by_name}
    read = reads(tick.steps).union(*(variables(c.value) for c in tick.channels))
    for name, how in declared.items():
        if name not in by_name:  # of the part that this tick leaves out
            continue
        tunable[name] = how
        v = by_name[name]
        if v not in read or name in tick.worked_in:
            raise InputError(
                f"tunable['{name}']: the integrator works its value into constant matrices, so that it "
                "cannot be changed while the test runs"
            )
        channels.append(Channel.of(name, v, v.quantity or Quantity("parameter"), Role.OTHER))
        target = Var(name, range=v.range, quantity=v.quantity)
        goal: Expr = target
        if name == SCALE:
            hold = Var(HOLD, range=Range(least=0.0, most=1.0))
            goal = select(hold > 0.0, 0.0, target)
            tunable[HOLD] = Tunable(0.0, 1.0, description="1 lets the excitation fade out")
        elif how.rate is None:
            continue
        parameters = {target if p is v else p: x for p, x in parameters.items()}
        if name == SCALE:
            parameters[hold] = 0.0
        steps += _moved(v, goal, how.rate, tick.period)
        if how.rate is not None:
            states[steps[-1].pairs[0][0]] = tick.parameters[v]  # type: ignore[union-attr]
    if not declared:
        return replace(tick, tunable=tunable)
    return replace(
        tick,
        states=states,
        parameters=parameters,
        steps=(*steps, *tick.steps),
        channels=tuple(channels),
        tunable=tunable,
    )


def _moved(v: Var, goal: Expr, rate: float | str | None, period: float) -> list[Step]:
    """Return the statements that bring a variable to its goal: at once, or by so much a tick at most."""
    if rate is None:
        return [Assign(v, goal)]
    now, wanted, step = Var(f"{v.name}.now"), Var(f"{v.name}.goal"), float(rate) * period
    move = select(wanted > now + step, now + step, select(wanted < now - step, now - step, wanted))
    return [Assign(wanted, goal), Assign(v, move), Update(((now, v),))]
