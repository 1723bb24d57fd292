"""A specimen moved as it was moved in the laboratory: many sets of parameters over all records, compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile import Runner
from bondloop.identify.tolerances import DIVERGED, RK4_STAGES
from bondloop.integrate import RK4
from bondloop.program.expr import Const, Expr, Var, substitute
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Tick, identifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.system import System

    Array = NDArray[np.float64]

__all__ = ["Moved", "SpecimenRun"]

FLOW, EFFORT = "interface.flow", "interface.effort"


@dataclass(frozen=True, eq=False)
class Moved:
    """How a specimen was moved, and by which force.

    Attributes
    ----------
    displacement, force
        Samples in m and N, shape (n,).
    driven
        Samples of parameters or inputs that were set while it was moved, by path.
    period
        Seconds between samples.
    start
        States at the first sample that differ from the specimen's own, by path.
    """

    displacement: Array
    force: Array
    driven: Mapping[str, Array]
    period: float
    start: Mapping[str, float] = field(default_factory=dict)


class SpecimenRun:
    """Called with rows of values of the free parameters, returns the force for each row and each record.

    Between samples the displacement is a cubic spline. Its velocity is quadratic, so that a Runge-Kutta step
    integrates it without an error: the specimen is where it was measured at every sample.

    Parameters
    ----------
    system
        The specimen as a system that takes the velocity of its interface and gives the force.
    records
        How it was moved.
    paths
        Of the free parameters.
    substeps
        Runge-Kutta steps in a sample period, of each record; 1 unless given.
    """

    def __init__(
        self,
        system: System,
        records: Sequence[Moved],
        paths: Sequence[str],
        substeps: Sequence[int] | None = None,
    ) -> None:
        self.system, self.records, self.paths = system, tuple(records), tuple(paths)
        self.substeps = [1] * len(records) if substeps is None else list(substeps)
        self.values = {v.name: x for v, x in system.values().items()}
        self._follows = _displacements(system)
        self._changing = sorted(
            {p for r in records for p, x in r.driven.items() if p in system.inputs or np.ptp(x) > 0}
        )
        self._runners: dict[float, Runner] = {}
        self._tables: dict[tuple[int, int], Array] = {}

    def __call__(self, rows: Array) -> list[Array] | None:
        """Return the forces (rows, samples) of each record; None where one of them runs away."""
        forces = []
        for i in range(len(self.records)):
            force = self.of_record(i, rows)
            if force is None:
                return None
            forces.append(force)
        return forces

    def of_record(self, number: int, rows: Array) -> Array | None:
        """Return the forces (rows, samples) of one record; None where they run away."""
        record, count = self.records[number], self.substeps[number]
        runner = self._runner(record.period / count)
        if (number, count) not in self._tables:
            self._tables[number, count] = _table(record, self._changing, self.values, count)
        table, tick = self._tables[number, count], runner.tick
        own = {**self.values, **{path: float(x[0]) for path, x in record.driven.items()}}
        defaults = [own[v.name] for v in tick.parameters] or [0.0]
        parameters = np.tile(defaults, (len(rows), 1))
        places = [v.name for v in tick.parameters]
        parameters[:, [places.index(path) for path in self.paths]] = rows
        state = np.tile(self._start(tick, record), (len(rows), 1))
        found = np.empty((len(rows), record.displacement.size, 1))
        ends = runner.batch(len(table), table[None], state, parameters, found, every=count)
        # A step too long for a law lets its force grow without end: what is so far off has no value.
        if np.any(ends.code) or not np.all(np.abs(found) < DIVERGED * np.max(np.abs(record.force))):
            return None
        return found[:, :, 0]

    def _runner(self, step: float) -> Runner:
        key = float(f"{step:.9g}")  # 0.005 and 0.05/10 are one step, and are compiled once
        if key not in self._runners:
            self._runners[key] = Runner(_tick(self.system, key, self._changing, self.values))
        return self._runners[key]

    def refine(self, values: Array, tolerance: float, most: int = 64) -> bool:
        """Double the steps of records until the force no longer changes; return whether any were doubled.

        Parameters
        ----------
        values
            Of the free parameters.
        tolerance
            Change of the force that counts as none, as a part of its rms.
        most
            Steps in a sample period, at most.
        """
        doubled = False
        for i in range(len(self.records)):
            last = self.of_record(i, values[None])
            while self.substeps[i] < most:
                self.substeps[i] *= 2
                finer = self.of_record(i, values[None])
                if last is not None and finer is not None:
                    change = float(np.sqrt(np.mean((finer - last) ** 2)))
                    if change <= tolerance * float(np.sqrt(np.mean(finer**2))):
                        self.substeps[i] //= 2
                        break
                last, doubled = finer, True
        return doubled

    def _start(self, tick: Tick, record: Moved) -> list[float]:
        """Return the states at the first sample: as built, but displaced as the specimen was."""
        own = {v.name: x for v, x in tick.states.items()}
        own.update(record.start)
        own.update(dict.fromkeys(self._follows, float(record.displacement[0])))
        return list(own.values())


def _displacements(system: System) -> list[str]:
    """Return the states that are the displacement of the interface: their rate is its velocity, always."""
    rng = np.random.default_rng(0)
    alike = np.ones(len(system.states), dtype=bool)
    values = list(system.values().values())
    for _ in range(4):
        x, u = 1e-3 * rng.normal(size=len(system.states)), rng.normal(size=len(system.inputs))
        flow = float(u[system.inputs.index(FLOW)])
        alike &= np.asarray(system.rates(x.tolist(), u.tolist(), (), values)) == flow
    return [name for name, is_one in zip(system.states, alike, strict=True) if is_one]


def _table(record: Moved, changing: Sequence[str], values: Mapping[str, float], substeps: int) -> Array:
    """Return a row for every step: velocities, then parameters that change, at each stage."""
    from scipy.interpolate import CubicSpline

    n = record.displacement.size
    time = record.period * np.arange(float(n))
    begins = record.period / substeps * np.arange(float((n - 1) * substeps + 1))
    stages = [np.minimum(begins + f * record.period / substeps, time[-1]) for f in RK4_STAGES]
    velocity = CubicSpline(time, record.displacement).derivative()
    columns = [velocity(t) for t in stages]
    for path in changing:
        samples = np.broadcast_to(record.driven.get(path, np.array(values.get(path, 0.0))), n)
        columns += [np.interp(t, time, samples) for t in stages]
    return np.ascontiguousarray(np.column_stack(columns))


def _tick(system: System, step: float, changing: Sequence[str], values: Mapping[str, float]) -> Tick:
    """Return one Runge-Kutta step, the force recorded at its beginning."""
    by_name = {v.name: v for v in (*system.input_vars, *system.parameters_by_var)}
    driven = {name: [Var(f"{name}@{f:g}") for f in RK4_STAGES] for name in (FLOW, *changing)}

    def at(fraction: float) -> dict[Var, Expr]:
        given: dict[Var, Expr] = {u: Const(system.input_defaults.get(u.name, 0.0)) for u in system.input_vars}
        given.update({by_name[name]: columns[RK4_STAGES.index(fraction)] for name, columns in driven.items()})
        return given

    goal = system.expression(EFFORT)
    stepped = RK4().discretise(system, step, at, [goal])
    force = Var("force")
    return Tick(
        name=identifier(system.name, "specimen_"),
        period=step,
        time=Var("t"),
        count=Var("k"),
        inputs=tuple(v for columns in driven.values() for v in columns),
        states={x: system.initial_by_var.get(x, 0.0) for x in system.state_vars},
        parameters={v: values[v.name] for v in system.parameters_by_var},
        steps=(*stepped.first, Assign(force, substitute(goal, stepped.table)), *stepped.rest),
        channels=(Channel("force", force),),
    )
