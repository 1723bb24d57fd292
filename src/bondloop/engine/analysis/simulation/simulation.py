"""Simulation with SciPy's adaptive solvers: the reference against which everything faster is checked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.simulation.inputs import Inputs, with_rates
from bondloop.engine.analysis.simulation.stepping import StateSizes, Stepping, first_sizes
from bondloop.engine.analysis.simulation.trajectory import Trajectory
from bondloop.engine.data import instant, number
from bondloop.engine.passes import slopes
from bondloop.errors import AccuracyWarning, BondloopError, InputError, SolveError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation.inputs import InputValue
    from bondloop.engine.ir import Divisor, Expr, Memory, SystemData


def simulate(  # noqa: PLR0913 - what to integrate, and how
    system: SystemData,
    duration: float | str | tuple[float | str, float | str],
    inputs: Mapping[str, InputValue | str] | None = None,
    initial: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
    *,
    times: ArrayLike | None = None,
    method: str | None = None,
    rtol: float = 1e-9,
    atol: float | None = None,
    max_step: float | str = np.inf,
) -> Trajectory:
    """Integrate a system with the solvers of ``scipy.integrate``.

    Parameters
    ----------
    system
        What to integrate.
    duration
        Length in seconds, or (start, end); numbers or texts.
    inputs
        Each input by name: a number, a function of time, or a pair (times, values) that is interpolated.
        Inputs left out keep the model's value, or zero. Where a rate of an input is needed (see
        ``system.notes``), give it under ``"d/dt NAME"``; for numbers and pairs it is worked out.
    initial
        Initial states by name (others as the model says), or a full vector.
    values
        Parameter values that replace the model's own.
    times
        Instants at which to report; by default 1,000 evenly spaced.
    method
        DOP853, RK45, RK23, Radau, BDF or LSODA, as SciPy's ``solve_ivp`` has them; by default DOP853, and
        BDF as long as the motion is stiff: where it is not its accuracy that limits a step.
    rtol
        Relative tolerance.
    atol
        Absolute tolerance in SI units, the same for all states; by default 1e-12 of the size of each: the
        largest that it has been, or that comes of the others and of the inputs.
    max_step
        In s, or text. Events of a system that switches are found in any case. Of a command to a switch that
        is a function of time, a pulse that comes but once may be missed where it is shorter than an eighth of
        this, or without it than 1/8,000 of the duration.
    """
    pair = (0.0, duration) if isinstance(duration, str) or np.isscalar(duration) else duration
    start, end = (number(instant, "duration", "s") for instant in pair)  # type: ignore[union-attr]
    if not end > start:
        raise InputError(f"duration: the end {end} s is not after the start {start} s")
    system.refuse_memory("a solver of differential equations")
    given = system.in_si({**system.input_defaults, **with_rates(system, inputs)})
    names = [*system.inputs, *(v.name for v in system.input_rates.values())]
    for key in given:
        if key not in names:
            raise InputError(unknown_name("input", key, names, where=system.name))
    inputs_at = Inputs.of(system, given, (float(start), float(end)))
    parameters = list(system.values(values).values())
    f = system.rates
    failure: list[SolveError] = []
    memory: Memory = {}  # loops start from their last solution, and from zero again in every simulation

    def rates(t: float, x: NDArray[np.float64], memory: Memory | None = memory) -> list[float]:
        u, r = inputs_at(t)
        try:
            return f(x.tolist(), u, r, parameters, memory=memory)
        except SolveError as error:
            failure[:] = [SolveError(f"{system.name} at t = {t:.6g} s: {error}")]
            if memory is not None and (t == start or method == "LSODA"):
                raise failure[0] from error
            # A step that is tried may lead where no solution can be written (a diode at 20 V). The solvers
            # take a shorter one then; where none is short enough, this error is the reason.
            return [np.nan] * len(x)

    instants = _instants(times, start, end)
    x0 = system.initial(initial)
    options = {"method": method, "rtol": rtol, "atol": atol, "max_step": instant(max_step, "max_step")}
    if system.switching:
        from bondloop.engine.analysis.simulation.switching_simulation import simulate_switching

        return simulate_switching(system, inputs_at, parameters, x0, instants, options)
    if not len(x0):
        states = np.zeros((len(instants), 0))
    else:

        def local(t: float, x: NDArray[np.float64]) -> sparse.csr_array[np.float64]:
            return slopes(system, x.tolist(), inputs_at(t)[0], values)

        stepping = _stepping(system, rates, local, x0, options, inputs_at)
        failure.clear()
        crossings = _crossings(system, inputs_at, parameters)
        states, passed, message = _followed(stepping, inputs_at.span[0], instants, crossings)
        divisors = system.annotations.divisors
        for divisor, moments in zip(divisors, passed, strict=True):
            if moments:
                warnings.warn(_passes_zero(system, divisor, moments), AccuracyWarning, stacklevel=4)
        if message is not None:
            if failure:
                raise failure[0]
            divided = ", ".join(map(str, divisors))
            raise SolveError(
                f"the simulation of {system.name} stopped at t = {stepping.solver.t:.6g} s: {message}"
                + (f" The causality divides by {divided}: see whether it passes zero." if divided else "")
            )
        if not np.isfinite(states).all():
            raise SolveError(
                f"the simulation of {system.name} gave numbers that are not finite; check its inputs"
            )
    return Trajectory(system, instants, states, *inputs_at.sampled(instants), parameters)


def _stepping(
    system: SystemData,
    rates: Callable[..., list[float]],
    local: Callable[[float, NDArray[np.float64]], sparse.csr_array[np.float64]],
    x0: NDArray[np.float64],
    options: Mapping[str, Any],
    inputs_at: Inputs,
) -> Stepping:
    """Return the integration at its start, with the tolerances asked for or those that suit the states."""
    start, end = inputs_at.span
    try:
        first = local(start, x0)
    except (BondloopError, ArithmeticError):  # a slope that does not exist just there
        first = None
    atol = options["atol"]
    if atol is None:
        atol = StateSizes(len(x0), end - start)
        # Without the memory of its loops: what is tried here is no motion.
        first_sizes(atol, partial(rates, memory=None), first, (start, x0), inputs_at)
    stepping = Stepping(
        end, options["method"], options["rtol"], atol, options["max_step"],
        see_inputs=np.inf if inputs_at.steady else (end - start) / tolerances.STIFF_STEPS,
    )  # fmt: skip
    stepping.begin(rates, start, x0, local, constant=first if system.is_linear else None)
    return stepping


def _followed(
    stepping: Stepping,
    start: float,
    instants: NDArray[np.float64],
    crossings: list[Callable[[float, NDArray[np.float64]], float]],
) -> tuple[NDArray[np.float64], list[list[float]], str | None]:
    """Integrate to the end; return the states at the instants, when each crossing was, and why it failed."""
    from scipy.optimize import brentq

    states = np.zeros((len(instants), len(stepping.solver.y)))
    at_start = int(np.searchsorted(instants, start, side="right"))
    states[:at_start], reported = stepping.solver.y, at_start
    passed: list[list[float]] = [[] for _ in crossings]
    values = [g(start, stepping.solver.y) for g in crossings]
    while stepping.solver.status == "running":
        message = stepping.step()
        solver = stepping.solver
        if solver.status == "failed":
            return states, passed, message or "the solver failed"
        until = int(np.searchsorted(instants, solver.t, side="right"))
        if until > reported or crossings:
            dense = solver.dense_output()
        if until > reported:
            states[reported:until] = dense(instants[reported:until]).T
            reported = until
        for k, g in enumerate(crossings):
            old, values[k] = values[k], g(solver.t, solver.y)
            if old <= 0.0 <= values[k] or old >= 0.0 >= values[k]:

                def value(
                    t: float,
                    g: Callable[..., float] = g,
                    dense: Callable[[float], NDArray[np.float64]] = dense,
                ) -> float:
                    return g(t, dense(t))

                ends = solver.t_old, solver.t
                both = old and values[k] and np.sign(value(ends[0])) * np.sign(value(ends[1])) < 0
                passed[k].append(float(brentq(value, *ends)) if both else ends[0] if not old else ends[1])
        stepping.look()
    return states, passed, None


def _instants(times: ArrayLike | None, start: float, end: float) -> NDArray[np.float64]:
    """Return when to report: as asked, or at 1,000 evenly spaced instants."""
    instants = np.linspace(start, end, 1001) if times is None else np.asarray(times, dtype=float)
    if instants.ndim != 1 or not len(instants) or np.any(np.diff(instants) <= 0):
        raise InputError("times: expected instants in increasing order")
    if instants[0] < start or instants[-1] > end:
        raise InputError(f"times: {instants[0]} to {instants[-1]} s do not lie within {start} to {end} s")
    return instants


def _crossings(
    system: SystemData, inputs_at: Inputs, parameters: list[float]
) -> list[Callable[[float, NDArray[np.float64]], float]]:
    """Return functions of time and states that are zero where something that is divided by is."""

    def watched(divisor: Expr) -> Callable[[float, NDArray[np.float64]], float]:
        f = system.function([divisor])

        def value(t: float, x: NDArray[np.float64]) -> float:
            try:
                return f(x.tolist(), *inputs_at(t), parameters)[0]
            except SolveError:
                return np.nan

        return value

    return [watched(divisor.value) for divisor in system.annotations.divisors]


def _passes_zero(system: SystemData, divisor: Divisor, passed: list[float]) -> str:
    # No count: a modulus that stays at zero is zero in every step, not so many times.
    again = f" and again, the last time at {passed[-1]:.6g} s" if passed[-1] > passed[0] else ""
    return (
        f"{system.name}: {divisor} is zero at t = {passed[0]:.6g} s{again}, and the causality divides by it: "
        "near there a finite value is computed as zero by zero, so far fewer digits are right than the "
        f"tolerance asks for; {divisor.advice} (a source bonded straight to it needs a "
        "junction for that between the two): see 'A modulus that passes zero' in docs/bondgraphs.md"
    )
