"""A device moved by itself along a history of displacements: a tick of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.devices.ode_specimen import SYMBOLS, Imposed, changes, finite_formulas
from bondloop.engine.codegen import Runner
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Repeat,
    Step,
    Tick,
    Update,
    Var,
    instantiate,
    select,
    substitute,
    variables,
)
from bondloop.engine.laws import Traced, called, entries, formulas, in_si, named_parts, one_number
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from bondloop.devices.device import Device


DISPLACEMENT, VELOCITY, NEXT = Var("displacement"), Var("velocity"), Var("displacement_next")
PERIOD = Var("period")
"""A parameter, so that another rate is another value, and not another tick to compile."""
FEWEST = 4
"""Runge-Kutta steps of a piece of a sample period, where nobody says how many."""
PIECES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Of a sample period, until the force is settled."""
SETTLED = 1e-6
"""Of the largest force: steps are short enough when half as long ones change it by no more than this."""
BLOCK = 100_000
"""Rows of inputs that are made at a time."""


def driven_tick(law: Device, period: float, substeps: int) -> Tick:
    """Return a tick that moves a device from one displacement to the next, in a straight line of time.

    Its inputs are displacement and velocity of the sample, the displacement of the next, and the device's
    own; it records the force of the sample.

    Parameters
    ----------
    law
        The device.
    period
        Seconds between samples.
    substeps
        Runge-Kutta steps between two samples.
    """
    kind = type(law).__name__
    values = law.parameter_values()
    parameters = {name: Var(f"parameter.{name}") for name in values}
    traced, kept = entries("state.", law.initial_states())
    inputs = {name: Var(f"input.{name}") for name in law.inputs}
    signals = {name: Traced(v) for name, v in inputs.items()}
    copy = law.running({n: Traced(v) for n, v in parameters.items()}, traced, **signals)
    motion = Imposed(Traced(DISPLACEMENT), Traced(VELOCITY))
    force = one_number(called(copy.force, f"{kind}.force", motion), f"{kind}.force")
    goals = formulas(force, f"{kind}.force")
    places: dict[str, list[tuple[Var, int]]] = {word: [] for word in SYMBOLS.values()}
    for state, word, written in changes(copy, motion, kept, kind):
        for (variable, _), formula in zip(kept[state], written, strict=True):
            places[word].append((variable, len(goals)))
            goals.append(formula)
    if not places["rate"]:
        substeps = 1  # what is remembered needs no more
    program, goals = named_parts(finite_formulas(goals, kind), "part")
    counter, force_now = Var("substep"), Var("force")
    steps = _evaluated(program, [(force_now, goals[0])], {}, "@sample")
    along = (NEXT - DISPLACEMENT) / Const(float(substeps))
    fixed: dict[Var, Expr] = {VELOCITY: (NEXT - DISPLACEMENT) / PERIOD}
    now = select(counter > 0, fixed[VELOCITY], VELOCITY)
    start: dict[Var, Expr] = {VELOCITY: now, DISPLACEMENT: DISPLACEMENT + along * counter}
    body: list[Step] = []
    memories = [(Var(f"{v.name}@new"), goals[i]) for v, i in places["renewal"]]
    if memories:
        body += _evaluated(program, memories, start, "@renewal")
        olds = (v for v, _ in places["renewal"])
        body.append(Update(tuple(zip(olds, (v for v, _ in memories), strict=True))))
    h = PERIOD / Const(float(substeps))
    slopes: list[list[Var]] = []
    for stage, fraction in enumerate((0.0, 0.5, 0.5, 1.0) if places["rate"] else ()):
        at = {**fixed, DISPLACEMENT: DISPLACEMENT + along * (counter + Const(fraction))}
        if stage:
            for (v, _), k in zip(places["rate"], slopes[-1], strict=True):
                moved = Var(f"{v.name}@{stage}")
                body.append(Assign(moved, v + Const(fraction) * h * k))
                at[v] = moved
        slopes.append([Var(f"d/dt {v.name}@{stage}") for v, _ in places["rate"]])
        rates = [(k, goals[i]) for k, (_, i) in zip(slopes[-1], places["rate"], strict=True)]
        body += _evaluated(program, rates, at, f"@{stage}")
    pairs = []
    for (v, _), k1, k2, k3, k4 in zip(places["rate"], *slopes, strict=True) if slopes else ():
        pairs.append((v, v + h / 6 * (k1 + 2 * (k2 + k3) + k4)))
    body += [Update(tuple(pairs))] if pairs else []
    steps += [Repeat(substeps, counter, tuple(body))] if body else []
    states = {v: x for known in kept.values() for v, x in known}
    return Tick(
        "device", 1.0, Var("t"), Var("k"), (DISPLACEMENT, VELOCITY, NEXT, *inputs.values()), states,
        {PERIOD: period, **{parameters[name]: value for name, value in values.items()}}, tuple(steps),
        (Channel("force", force_now, "N"),),
    )  # fmt: skip


def _evaluated(
    program: list[Assign], goals: list[tuple[Var, Expr]], at: Mapping[Var, Expr], mark: str
) -> list[Step]:
    """Return statements that give targets their values at a point."""
    needed = {v for _, e in goals for v in variables(e)}
    kept = []
    for step in reversed(program):
        if step.target in needed:
            kept.append(step)
            needed |= set(variables(step.expr))
    steps, table = instantiate(kept[::-1], dict(at), mark)
    return [*steps, *(Assign(target, substitute(e, table)) for target, e in goals)]


def respond(
    law: Device,
    displacement: ArrayLike,
    rate: float | str,
    velocity: ArrayLike | None,
    inputs: Mapping[str, ArrayLike],
    substeps: int | None,
    backend: str,
) -> NDArray[np.float64]:
    """Return the force at every sample; see `Device.respond`."""
    kind = type(law).__name__
    x = in_si(displacement, f"{kind}.respond(displacement)", "m", "rad")
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all():
        raise InputError(
            f"{kind}.respond: expected two finite displacements or more, in a row; found {x!r:.60}"
        )
    period = 1 / POSITIVE.check(rate, f"{kind}.respond(rate)", "Hz")
    asked: object = FEWEST if substeps is None else substeps
    if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or asked < 1:
        raise InputError(
            f"{kind}.respond(substeps): expected a whole number of at least 1; found {substeps!r:.40}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        moves = np.diff(x) / period
        v = (
            np.gradient(x, period)
            if velocity is None
            else in_si(velocity, f"{kind}.respond(velocity)", "m/s", "rad/s")
        )
    if not (np.isfinite(moves).all() and np.isfinite(v).all()):
        raise InputError(
            f"{kind}.respond: displacements of up to {np.max(np.abs(x)):.3g} m at {1 / period:g} Hz have no "
            "finite velocity; expected displacements in m, and finite velocities in m/s"
        )
    columns = [x, v, np.append(x[1:], x[-1])]
    for name, unit in law.inputs.items():
        signal = in_si(inputs.get(name, 0.0), f"{kind}.respond({name})", *filter(None, [unit]))
        if not np.isfinite(signal).all():
            raise InputError(f"{kind}.respond({name}): expected finite numbers; found {signal!r:.60}")
        columns.append(np.full(len(x), signal) if signal.ndim == 0 else signal)
    for name, column in zip(("velocity", *law.inputs), (v, *columns[3:]), strict=True):
        if column.shape != x.shape:
            raise InputError(
                f"{kind}.respond({name}): expected {len(x)} values, as many as displacements; found "
                f"{column.shape}"
            )
    for name in inputs:
        if name not in law.inputs:
            raise InputError(
                f"{kind}.respond: it has no input '{name}'; it has {', '.join(law.inputs) or 'none'}"
            )
    runner = Runner(driven_tick(law, period, int(asked)), backend=backend)
    rows = np.column_stack(columns)
    integrates = any(step.times > 1 for step in runner.tick.steps)
    if substeps is None and integrates:
        return _settled(runner, rows, period, kind)
    return _along(runner, rows, period, 1, kind)


def _settled(runner: Runner, rows: NDArray[np.float64], period: float, kind: str) -> NDArray[np.float64]:
    """Return forces that steps half as long do not change any more."""
    last, off = None, np.inf
    for pieces in PIECES:
        try:
            force = _along(runner, rows, period, pieces, kind)
        except SolveError:
            if pieces == PIECES[-1]:
                raise
            last, off = None, np.inf
        else:
            largest = float(np.max(np.abs(force)))
            if last is not None:
                off = float(np.max(np.abs(force - last))) / (largest or 1.0)
                if off <= SETTLED:
                    return force
            last = force
    steps = FEWEST * PIECES[-1]
    raise SolveError(
        f"{kind}.respond: with {steps} steps between samples the force still changes by {off:.1g} of the "
        "largest when they are doubled; give a higher rate, or say with substeps how many will do"
    )


def _along(
    runner: Runner, rows: NDArray[np.float64], period: float, pieces: int, kind: str
) -> NDArray[np.float64]:
    """Return the force at every sample, each period gone in so many equal pieces."""
    runner.reset()
    forces, part = [], np.arange(pieces) / pieces
    for block in np.split(rows, range(BLOCK // pieces, len(rows), BLOCK // pieces)):
        x, ahead = block[:, :1], block[:, 2:3]
        fine = np.repeat(block, pieces, axis=0)
        if pieces > 1:
            places = x + (ahead - x) * part
            fine[:, 0], fine[:, 2] = places.ravel(), np.hstack([places[:, 1:], ahead]).ravel()
            speeds = np.repeat((ahead - x) / period, pieces, axis=1)
            speeds[:, 0] = block[:, 1]  # at the sample itself the velocity is the one that is given
            fine[:, 1] = speeds.ravel()
        result = runner.run(len(fine), fine, {PERIOD.name: period / pieces}, every=pieces)
        if not result.finished:
            # The clock of the tick counts rows.
            told = replace(result, stopped_at=(result.stopped_at or 0.0) * period / pieces)
            raise SolveError(f"{kind}.respond: {told.message}; give a higher rate or more substeps")
        forces.append(result.channels["force"])
    return np.concatenate(forces)
