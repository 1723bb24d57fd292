"""A system and its sensitivities, run together over a record in one compiled loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile import Runner
from bondloop.errors import InputError
from bondloop.identify.tolerances import MOST_SUBSTEPS, STEP_REACH
from bondloop.integrate import RK4
from bondloop.program.expr import Const, Expr, Var, substitute
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Repeat, Step, Tick, identifier, instantiate
from bondloop.transfer.held_input import HOLDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.system import System

    Array = NDArray[np.float64]

__all__ = ["SensitivityRun"]


class SensitivityRun:
    """Called with values of the free parameters, returns the outputs and their derivatives.

    Parameters
    ----------
    system
        The model.
    inputs
        Samples of the driven inputs by name.
    outputs
        Paths of the outputs.
    paths
        Paths of the free parameters.
    period
        Seconds between samples.
    hold
        ``"zero"`` or ``"first"``.
    initial
        States at the beginning that differ from the model's.
    substeps
        Runge-Kutta steps in a sample period; None chooses.
    bounds
        Lowest and highest values of the free parameters.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of one experiment
        self,
        system: System,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        paths: Sequence[str],
        period: float,
        hold: str,
        initial: Mapping[str, float] | None,
        substeps: int | None,
        bounds: tuple[Array, Array],
    ) -> None:
        if hold not in HOLDS:
            raise InputError(f"hold must be 'zero' or 'first'; found {hold!r}")
        if system.input_rates:
            names = ", ".join(u.name for u in system.input_rates)
            raise InputError(
                f"{system.name} needs the rate of {names}: an input drives a storage directly; put a "
                "compliance between them"
            )
        self.outputs, self.paths = list(outputs), list(paths)
        middle = dict(zip(paths, _middle(*bounds), strict=True))
        self.values = {v.name: x for v, x in system.values({**middle}).items()}
        self.steps = len(next(iter(inputs.values())))
        columns = list(inputs.values())
        if hold == "first":
            columns += [np.append(c[1:], c[-1]) for c in columns]
        self.table = np.column_stack(columns)
        count = substeps or self._substeps(system, period, bounds)
        wanted = system.replaced(outputs={path: system.expression(path) for path in outputs})
        full = wanted.sensitivity(self.paths)
        self.runner = Runner(_tick(full, list(inputs), period, count, hold, self.values))
        self.initial = dict(zip(system.states, system.initial(initial).tolist(), strict=True))

    def __call__(self, theta: Array) -> tuple[Array, Array] | None:
        """Return outputs (outputs, samples) and derivatives (parameters, outputs, samples); None if wild."""
        self.runner.reset(self.initial)
        given = {path: float(x) for path, x in zip(self.paths, theta, strict=True)}
        result = self.runner.run(self.steps, self.table, parameters=given)
        if not result.finished:
            return None
        y = np.array([result.channels[name] for name in self.outputs])
        J = np.array([[result.channels[f"d({n})/d({p})"] for n in self.outputs] for p in self.paths])
        return (y, J) if np.all(np.isfinite(y)) and np.all(np.isfinite(J)) else None

    def _substeps(self, system: System, period: float, bounds: tuple[Array, Array]) -> int:
        fastest = 0.0
        for theta in (bounds[0], _middle(*bounds), bounds[1]):
            values = {**self.values, **dict(zip(self.paths, theta.tolist(), strict=True))}
            poles = system.linearise(system.initial(), values=values).poles()
            fastest = max(fastest, float(np.max(np.abs(poles[np.isfinite(poles)]), initial=0.0)))
        return int(np.clip(np.ceil(fastest * period / STEP_REACH), 1, MOST_SUBSTEPS))


def _middle(low: Array, high: Array) -> Array:
    positive = (low > 0) & (high > 0)
    return np.where(positive, np.sqrt(np.abs(low * high)), (low + high) / 2)


def _tick(
    system: System, driven: list[str], period: float, substeps: int, hold: str, values: Mapping[str, float]
) -> Tick:
    """Return one sample period: outputs recorded at its beginning, then so many Runge-Kutta steps."""
    now = {name: Var(f"{name}@now") for name in driven}
    ahead = {name: Var(f"{name}@ahead") for name in driven}
    counter = Var("substep")

    def at(fraction: float) -> dict[Var, Expr]:
        part = (counter + Const(fraction)) / Const(float(substeps))
        found: dict[Var, Expr] = {}
        for u in system.input_vars:
            if u.name not in driven:
                found[u] = Const(system.input_defaults.get(u.name, 0.0))
            elif hold == "zero":
                found[u] = now[u.name]
            else:
                found[u] = now[u.name] + (ahead[u.name] - now[u.name]) * part
        return found

    goals = list(system.output_exprs.values())
    given: dict[Var, Expr] = {x: x for x in system.state_vars}
    given.update({u: now[u.name] if u.name in driven else e for u, e in at(0.0).items()})
    first, table = instantiate(system.schedule(goals), given, "@out")
    steps: list[Step] = list(first)
    channels = []
    for i, (name, goal) in enumerate(system.output_exprs.items()):
        recorded = Var(f"recorded[{i}]")
        steps.append(Assign(recorded, substitute(goal, table)))
        channels.append(Channel(name, recorded))
    stepped = RK4().discretise(system, period / substeps, at, [])
    steps.append(Repeat(substeps, counter, (*stepped.first, *stepped.rest)))
    return Tick(
        name=identifier(system.name, "fit_"),
        period=period,
        time=Var("t"),
        count=Var("k"),
        inputs=(*now.values(), *(ahead.values() if hold == "first" else ())),
        states={x: system.initial_by_var.get(x, 0.0) for x in system.state_vars},
        parameters={v: values[v.name] for v in system.parameters_by_var},
        steps=tuple(steps),
        channels=tuple(channels),
    )
