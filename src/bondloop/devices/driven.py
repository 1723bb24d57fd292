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
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from bondloop.devices.device import Device


DISPLACEMENT, VELOCITY, NEXT = Var("displacement"), Var("velocity"), Var("displacement_next")
PERIOD = Var("period")
"""A parameter, so that another rate is another value, and not another tick to compile."""
MOVED = NEXT - DISPLACEMENT
"""From a sample to the next."""


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
    body: list[Step] = []
    memories = [(v, goals[i]) for v, i in places["renewal"]]
    if memories:
        now = select(counter > 0, MOVED / PERIOD, VELOCITY)
        start: dict[Var, Expr] = {
            VELOCITY: now, DISPLACEMENT: DISPLACEMENT + MOVED / Const(float(substeps)) * counter
        }  # fmt: skip
        fresh = [(Var(f"{v.name}@new"), e) for v, e in memories]
        body += _evaluated(program, fresh, start, "@renewal")
        body.append(Update(tuple((v, new) for (v, _), (new, _) in zip(memories, fresh, strict=True))))
    if places["rate"]:
        body += _runge_kutta(program, [(v, goals[i]) for v, i in places["rate"]], counter, substeps)
    steps += [Repeat(substeps, counter, tuple(body))] if body else []
    states = {v: x for known in kept.values() for v, x in known}
    return Tick(
        "device", 1.0, Var("t"), Var("k"), (DISPLACEMENT, VELOCITY, NEXT, *inputs.values()), states,
        {PERIOD: period, **{parameters[name]: value for name, value in values.items()}}, tuple(steps),
        (Channel("force", force_now, "N"),),
    )  # fmt: skip


def _runge_kutta(
    program: list[Assign], rates: Sequence[tuple[Var, Expr]], counter: Var, substeps: int
) -> list[Step]:
    """Return a step of the classical Runge-Kutta scheme for states with rates, at a constant velocity."""
    h, along = PERIOD / Const(float(substeps)), MOVED / Const(float(substeps))
    body: list[Step] = []
    slopes: list[list[Var]] = []
    for stage, fraction in enumerate((0.0, 0.5, 0.5, 1.0)):
        at: dict[Var, Expr] = {
            VELOCITY: MOVED / PERIOD, DISPLACEMENT: DISPLACEMENT + along * (counter + Const(fraction))
        }  # fmt: skip
        if stage:
            for (v, _), k in zip(rates, slopes[-1], strict=True):
                moved = Var(f"{v.name}@{stage}")
                body.append(Assign(moved, v + Const(fraction) * h * k))
                at[v] = moved
        slopes.append([Var(f"d/dt {v.name}@{stage}") for v, _ in rates])
        goals = [(k, rate) for k, (_, rate) in zip(slopes[-1], rates, strict=True)]
        body += _evaluated(program, goals, at, f"@{stage}")
    ends = [
        (v, v + h / 6 * (k1 + 2 * (k2 + k3) + k4))
        for (v, _), k1, k2, k3, k4 in zip(rates, *slopes, strict=True)
    ]
    return [*body, Update(tuple(ends))]


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
    fewest: int = 4,
) -> NDArray[np.float64]:
    """Return the force at every sample; see `Device.respond`.

    Parameters
    ----------
    law, displacement, rate, velocity, inputs, substeps, backend
        As for `Device.respond`.
    fewest
        Runge-Kutta steps of a piece of a sample period, where ``substeps`` does not say how many.
    """
    kind = type(law).__name__
    x = in_si(displacement, f"{kind}.respond(displacement)", "m", "rad")
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all():
        raise InputError(
            f"{kind}.respond: expected two finite displacements or more, in a row; found {x!r:.60}"
        )
    period = 1 / POSITIVE.check(rate, f"{kind}.respond(rate)", "Hz")
    asked: object = fewest if substeps is None else substeps
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
        return _settled(runner, rows, period, kind, fewest)
    return _along(runner, rows, period, 1, kind)


def _settled(
    runner: Runner,
    rows: NDArray[np.float64],
    period: float,
    kind: str,
    steps: int,
    *,
    doublings: int = 8,
    tolerance: float = 1e-6,
) -> NDArray[np.float64]:
    """Return forces that steps half as long do not change any more.

    Parameters
    ----------
    runner, rows, period, kind
        What is run, its inputs, seconds between them, and what errors call it.
    steps
        Runge-Kutta steps of a piece of a sample period.
    doublings
        How often a sample period is cut into twice as many pieces.
    tolerance
        Change of the force that counts as none, as a share of the largest.
    """
    last, off = None, np.inf
    for doubled in range(doublings + 1):
        pieces = 2**doubled
        try:
            force = _along(runner, rows, period, pieces, kind)
        except SolveError:
            if doubled == doublings:
                raise
            last, off = None, np.inf
        else:
            largest = float(np.max(np.abs(force)))
            if last is not None:
                off = float(np.max(np.abs(force - last))) / (largest or 1.0)
                if off <= tolerance:
                    return force
            last = force
    raise SolveError(
        f"{kind}.respond: with {steps * 2**doublings} steps between samples the force still changes by "
        f"{off:.1g} of the largest when they are doubled; give a higher rate, or say with substeps how many "
        "will do"
    )


def _along(
    runner: Runner, rows: NDArray[np.float64], period: float, pieces: int, kind: str, most: int = 100_000
) -> NDArray[np.float64]:
    """Return the force at every sample, each period gone in equal pieces; most rows are made at a time."""
    runner.reset()
    forces, part = [], np.arange(pieces) / pieces
    for block in np.split(rows, range(most // pieces, len(rows), most // pieces)):
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
