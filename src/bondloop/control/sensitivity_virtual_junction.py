"""A virtual junction whose model is identified on line by its sensitivity equations."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.adaptive_virtual_junction import AdaptiveVirtualJunction
from bondloop.control.base import displacement_state
from bondloop.control.linear_filter import state_variable_filter
from bondloop.errors import InputError
from bondloop.integrate import RK4
from bondloop.program.block import Applied, Context
from bondloop.program.compose import connect, prefixed
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Repeat, Update

if TYPE_CHECKING:
    from bondloop.control.base import Design, Measured
    from bondloop.program.system import System
    from bondloop.transfer.base import Transfer

__all__ = ["SensitivityVirtualJunction"]

REACH = 1.0
"""Largest pole times step of the Runge-Kutta steps with which the model runs."""
MOST_SUBSTEPS = 100


@dataclass(frozen=True, eq=False)
class SensitivityVirtualJunction(AdaptiveVirtualJunction):
    """A virtual junction with parameters of its model identified on line by the sensitivity bond graph.

    The model of the transfer system runs beside it, with the estimates of the last sample, driven by the
    command that was sent and by the measured load; with it run the derivatives of its displacement with
    respect to the parameters (Gawthrop 2000). The error between measured and modelled displacement moves the
    estimates against these derivatives: a recursive prediction-error method (Ljung 1999, ch. 11). Where
    `AdaptiveVirtualJunction` needs an equation of motion that is linear in the parameters, this one takes
    any model that can be inverted, one with dry friction too; it has to come to rest by itself, since
    nothing but the estimates leads it back to the measured motion.

    Parameters
    ----------
    model, parameters, uncertainty, range, latency
        As for `AdaptiveVirtualJunction`.
    memory
        Time in s after which a sample counts 1/e. The derivatives of the first samples are those of a wrong
        model and should be forgotten soon: a few periods of the motion.
    noise
        Standard deviation of the error between measured and modelled displacement, in m (rad where it turns).
    filter_frequency
        Corner in Hz of the low pass through which error and derivatives go: above the motion's frequencies,
        below the noise's.

    References
    ----------
    Gawthrop (2000), Sensitivity bond graphs. Journal of the Franklin Institute 337, 907-922.
    Ljung (1999), System Identification, ch. 11.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> actuator = MassSpringDamper(m=2.2, c=150, k=13.6e3, drive="position")
    >>> junction = SensitivityVirtualJunction(actuator, ["damper.damping", "spring.stiffness"])
    """

    memory: Parameter = Parameter(1.0, above=0, unit="s")
    noise: Parameter = Parameter(1e-5, above=0, unit=("m", "rad"))
    filter_frequency: Parameter = Parameter(100.0, above=0, unit="Hz")

    def _refuse(self, transfer: Transfer, names: Sequence[str]) -> None:
        system = transfer.system
        missing = [name for name, value in system.parameters.items() if value is None]
        if missing:
            raise InputError(f"no value for {', '.join(missing)}; give one in the model")
        poles = _with_displacement(transfer).linearise().poles()
        scale = max(1.0, float(abs(poles).max(initial=0.0)))
        free = [p for p in poles if p.real > -1e-9 * scale]
        if free:
            raise InputError(
                f"{system.name} does not come to rest by itself (pole at {free[0]:.4g} 1/s), so that it "
                "would drift away from the measured motion; use AdaptiveVirtualJunction, or a model with a "
                "spring and a damper"
            )
        at = [0.1 * scale, scale]
        known = system.linearise().frequency_response(at)
        for name in names:
            moved = {name: 1.1 * (system.parameters[name] or 1.0)}
            if np.allclose(system.linearise(values=moved).frequency_response(at), known, rtol=1e-9, atol=0):
                raise InputError(
                    f"{name} of {system.name} does not show in its motion; leave it out of the parameters"
                )

    def _identify(
        self,
        design: Design,
        transfer: Transfer,
        sensors: Measured,
        load: Expr,
        first: Sequence[float],
        context: Context,
    ) -> tuple[Applied, Sequence[Var]]:
        names = self._names(transfer)
        prefix = f"{context.name}.model."
        system = _with_sensitivities(transfer, names, prefix)
        displacement, *slopes = system.output_exprs.values()
        steps, states, command = self._acting(sensors, context)
        states.update({x: system.initial_by_var.get(x, 0.0) for x in system.state_vars})
        before = [Var(f"{context.name}.before[{i}]") for i in range(len(names))]
        states.update(zip(before, first, strict=True))
        # The load is measured at both ends of the period that the model runs through, and straight between.
        old, new = Var(f"{context.name}.load_before"), Var(f"{context.name}.load_now")
        states[old] = 0.0
        steps.append(Assign(new, load))
        count, counter = self._substeps(transfer, context.period), Var(f"{context.name}.substep")
        driven: dict[str, Expr] = {v.name: v for v in design.system.parameters_by_var}
        driven |= {transfer.command.name: command, **dict(zip(names, before, strict=True))}

        def at(fraction: float) -> dict[Var, Expr]:
            part = (counter + Const(fraction)) / Const(float(count))
            driven[transfer.load.name] = old + (new - old) * part
            return {u: driven[u.name.removeprefix(prefix)] for u in system.input_vars}

        stepped = RK4().discretise(system, context.period / count, at, [])
        steps.append(Repeat(count, counter, (*stepped.first, *stepped.rest)))
        steps.append(Update(((old, new),)))
        error = Var(f"{context.name}.difference")
        steps.append(Assign(error, sensors.displacement - displacement))
        passed: list[Expr] = []
        for word, signal in (("error", error), *((f"slope[{i}]", x) for i, x in enumerate(slopes))):
            applied, outputs = state_variable_filter(0, self.filter_frequency).apply(signal, context, word)
            steps += applied.steps
            states.update(applied.states)
            passed.append(outputs[0])
        value: Expr = passed[0]
        for slope, p in zip(passed[1:], before, strict=True):
            value = value + slope * p
        estimate = self._estimator(first).apply(passed[1:], value, context, when=self._settled(context))
        steps += estimate.applied.steps
        steps.append(Update(tuple(zip(before, estimate.parameters, strict=True))))
        states.update(estimate.applied.states)
        return Applied(steps, error, states), estimate.parameters

    def _substeps(self, transfer: Transfer, period: float) -> int:
        """Return how many Runge-Kutta steps the model needs in a sample, with room for the estimates."""
        fastest = float(abs(transfer.system.linearise().poles()).max(initial=0.0)) * float(self.range) ** 0.5
        return int(np.clip(np.ceil(fastest * period / REACH), 1, MOST_SUBSTEPS))


def _with_sensitivities(transfer: Transfer, names: Sequence[str], prefix: str) -> System:
    """Return the model with the derivatives of its displacement, the first output, all named apart.

    Its parameters are inputs: some are estimates, the others are those of the inverse.
    """
    full = _with_displacement(transfer).sensitivity(names)
    return prefixed(full.replaced(inputs=[*full.input_vars, *full.parameters_by_var], parameters={}), prefix)


def _with_displacement(transfer: Transfer) -> System:
    """Return the model with its displacement as its only output; a state of its own where it has none."""
    rates = dict(zip(transfer.system.state_vars, transfer.system.rate_exprs, strict=True))
    z, new = displacement_state(rates, transfer.velocity, "displacement")
    return connect("model", [transfer.system], {}, {"displacement": z}, states=new)
