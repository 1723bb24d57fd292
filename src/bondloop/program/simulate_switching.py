"""Simulation of a system that switches: from event to event, each located on the solver's dense output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, SolveError
from bondloop.program.settling import Settling
from bondloop.program.simulate import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.expr import Expr
    from bondloop.program.switching_functions import Key, ModeFunctions
    from bondloop.program.system import System

__all__ = ["Event", "SwitchingTrajectory", "simulate_switching"]

WINDOW = 1e-8
"""Events within this share of the duration are one instant, and a rebound that is shorter is none."""

LOOKS = 8
"""How often the rules are looked at in a step."""

STEPS, STEPS_AT_REST = 1000, 100
"""Steps into which the duration is divided at least: a solver does not see an input that acts on a switch
alone. Fewer where all inputs are constant."""

MOST_EVENTS = 1_000_000
"""Events of one simulation; more are taken for a model that chatters."""


@dataclass(frozen=True)
class Event:
    """A change of mode, or a blow.

    Attributes
    ----------
    time
        In s.
    path
        Of the element.
    mode
        Its mode afterwards, in words; ``"rebound"`` where a stop sends the flow back and stays free.
    before, after
        All states before and after, by name.
    """

    time: float
    path: str
    mode: str
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)


class SwitchingTrajectory(Trajectory):
    """A simulated response with events; a mode is a variable like any other: ``run["diode.mode"]``."""

    _modes: ModeFunctions

    def evaluate(self, goals: list[Expr]) -> NDArray[np.float64]:
        """Evaluate expressions at every instant, each in the mode that was in force."""
        values = np.zeros((len(self.time), len(goals)))
        made: dict[Key, Callable[..., list[float]]] = {}
        rows = zip(self.states.tolist(), self.inputs.tolist(), self._rates.tolist(), strict=True)
        for i, (x, u, r) in enumerate(rows):
            modes = self._modes.of(x)
            if modes not in made:
                made[modes] = partial(self._modes.made(modes, goals), memory={})
            values[i] = made[modes](x, u, r, self._parameters)
        return values


def simulate_switching(  # noqa: PLR0913 - what `simulate` has worked out, and how to integrate
    system: System,
    signals: Sequence[Callable[[float], float]],
    rate_signals: Sequence[Callable[[float], float]],
    parameters: list[float],
    x0: NDArray[np.float64],
    instants: NDArray[np.float64],
    span: tuple[float, float],
    options: Mapping[str, Any],
    *,
    steady: bool,
) -> SwitchingTrajectory:
    """Integrate a system that switches; see :func:`bondloop.program.simulate.simulate`.

    Parameters
    ----------
    system
        What to integrate.
    signals, rate_signals
        Inputs, and rates of inputs, as functions of time.
    parameters
        Values of all parameters.
    x0
        Initial states.
    instants
        When to report.
    span
        Start and end.
    options
        ``method``, ``rtol``, ``atol`` and ``max_step`` of SciPy's solver; ``evaluations``, the most that the
        rates may be computed.
    steady
        Whether all inputs are constant, so that nothing happens but by the motion itself.
    """
    start, end = span
    window = WINDOW * (end - start)
    run = Settling(system, signals, rate_signals, parameters, window)
    run.evaluations_left = options.get("evaluations", np.inf)
    solver_class = _solver_class(options["method"])
    max_step = options["max_step"]
    if not np.isfinite(max_step):
        max_step = (end - start) / (STEPS_AT_REST if steady else STEPS)
    events: list[Event] = []
    states = np.zeros((len(instants), len(x0)))
    reported, ignored = 0, start
    t, x = start, run.settle(start, x0.tolist()).x
    while True:
        rates = run.rates(run.modes.of(x))
        solver = solver_class(
            rates, t, np.array(x), end, rtol=options["rtol"], atol=options["atol"], max_step=max_step
        )
        hit = None
        while hit is None and solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise run.failure or SolveError(
                    f"the simulation of {system.name} stopped at t = {solver.t:.6g} s: {message}"
                )
            dense = solver.dense_output()
            hit = _first_event(run, dense, max(solver.t_old, ignored), solver.t)
            until = solver.t if hit is None else hit
            while reported < len(instants) and instants[reported] < until:
                states[reported] = dense(instants[reported])
                reported += 1
        if hit is None:
            x = solver.y.tolist()
            break
        t, old = hit, dense(hit)
        settled = run.settle(t, run.present(t, old.tolist()))
        x = settled.x
        fresh = _told(run, t, old, np.array(x), settled.struck)
        if not fresh:  # by rounding alone: look again when it is past that
            ignored = t + window
        events += fresh
        _check_chatter(system, events, window)
        if t >= end:
            break
    states[reported:] = x
    states[:, run.modes.places] = np.round(states[:, run.modes.places])
    if not np.isfinite(states).all():
        raise SolveError(
            f"the simulation of {system.name} gave numbers that are not finite; check its inputs"
        )
    u, r = (
        np.array([[s(time) for s in group] for time in instants]).reshape(len(instants), len(group))
        for group in (signals, rate_signals)
    )
    trajectory = SwitchingTrajectory(system, instants, states, u, r, parameters)
    trajectory.events, trajectory._modes = tuple(events), run.modes
    return trajectory


def _solver_class(method: str) -> Any:
    import scipy.integrate

    known = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")
    if method not in known:
        raise InputError(f"method: expected one of {', '.join(known)}; found {method!r}")
    return getattr(scipy.integrate, method)


def _first_event(run: Settling, dense: Any, t_old: float, t_new: float) -> float | None:
    """Return when a mode is first found wrong within a step, just after it became so; None if never."""

    def worst(t: float) -> float:
        return run.worst(t, dense(t).tolist())

    if not t_new > t_old:
        return None
    times = np.linspace(t_old, t_new, LOOKS + 1)
    for last, t, x in zip(times[:-1].tolist(), times[1:].tolist(), dense(times[1:]).T.tolist(), strict=True):
        if run.worst(t, x) > 0:
            return _located(worst, last, t, 1e-8 * run.window)
    run.learn(t, x)
    return None


def _located(worst: Callable[[float], float], low: float, high: float, least: float) -> float:
    """Return the end of the shortest interval within which a margin becomes positive.

    Regula falsi with halved weights (Illinois), a bisection every third time: margins may jump.
    """
    f_low, f_high = worst(low), worst(high)
    for turn in range(200):
        if high - low <= least:
            break
        middle = 0.5 * (low + high)
        if turn % 3 and f_low < 0 and np.isfinite(f_low) and np.isfinite(f_high):
            middle = min(max(low + (high - low) * f_low / (f_low - f_high), low), high)
        if middle in (low, high):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
        f = worst(middle)
        if f > 0:
            high, f_high, f_low = middle, f, 0.5 * f_low
        else:
            low, f_low, f_high = middle, f, 0.5 * f_high
    return high


def _told(
    run: Settling, t: float, before: NDArray[np.float64], after: NDArray[np.float64], struck: Sequence[int]
) -> list[Event]:
    events = []
    named = [dict(zip(run.system.states, x.tolist(), strict=True)) for x in (before, after)]
    for i, rule in enumerate(run.rules.rules):
        place = run.modes.places[i]
        mode, same = round(after[place]), before[place] == after[place]
        if not same or i in struck:
            # A stop that was struck and is free all the same.
            events.append(Event(t, rule.path, "rebound" if same and mode else rule.words[mode], *named))
    return events


def _check_chatter(system: System, events: Sequence[Event], window: float) -> None:
    many = 200
    if len(events) >= MOST_EVENTS or (len(events) >= many and events[-1].time - events[-many].time < window):
        names = ", ".join(sorted({e.path for e in events[-many:]}))
        raise SolveError(
            f"{system.name}: {names} change without end at t = {events[-1].time:.9g} s "
            f"({len(events)} events); put a resistor or a storage beside them, or give the signals that "
            "switch them a hysteresis"
        )
