"""Simulation of a system that switches: from event to event, each located on the solver's dense output."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis.simulation.command_times import CommandTimes
from bondloop.engine.analysis.simulation.event_search import EventSearch
from bondloop.engine.analysis.simulation.mode_at_point import check_gaps, mode_at
from bondloop.engine.analysis.simulation.settling import Settling
from bondloop.engine.analysis.simulation.state_sizes import StateSizes, first_sizes
from bondloop.engine.analysis.simulation.stepping import Stepping
from bondloop.engine.analysis.simulation.trajectory import Event, SwitchingTrajectory
from bondloop.engine.ir import CONSTANT_INPUT_STEPS, EVENT_WINDOW, INPUT_STEPS, MOST_EVENTS
from bondloop.engine.passes import mode_slopes
from bondloop.errors import AccuracyWarning, BondloopError, SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation.inputs import Inputs
    from bondloop.engine.analysis.simulation.state_sizes import Coupling
    from bondloop.engine.analysis.simulation.switching_functions import Key
    from bondloop.engine.ir import SystemData


def simulate_switching(
    system: SystemData,
    signals: Sequence[Callable[[float], float]],
    rate_signals: Sequence[Callable[[float], float]],
    parameters: list[float],
    x0: NDArray[np.float64],
    instants: NDArray[np.float64],
    options: Mapping[str, Any],
    inputs_at: Inputs,
) -> SwitchingTrajectory:
    """Integrate a system that switches; see :func:`bondloop.engine.analysis.simulation.simulation.simulate`.

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
    options
        ``method``, ``rtol``, ``atol`` and ``max_step``; ``evaluations``, the most that the rates may be
        computed.
    inputs_at
        Start and end, when the inputs are largest, and whether they are constant.
    """
    start, end = inputs_at.span
    window = EVENT_WINDOW * (end - start)
    run = Settling(system, signals, rate_signals, parameters, window)
    run.evaluations_left = options.get("evaluations", np.inf)
    stepping = _Stepping(run, options, inputs_at)
    commands = CommandTimes(run, inputs_at, options["max_step"])
    search = EventSearch(run, [i for i in range(run.count) if i not in commands.rules])
    events: list[Event] = []
    states = np.zeros((len(instants), len(x0)))
    reported, ignored = 0, start
    check_gaps(run, x0.tolist(), start)
    t, x = start, mode_at(run, x0.tolist(), start)
    while True:
        command = commands.after(t)
        stepping.enter(t, np.array(x), min(command, end))
        search.enter()
        hit = None
        while hit is None and stepping.solver.status == "running":
            message = stepping.step()
            solver = stepping.solver
            if solver.status == "failed":
                raise run.failure or SolveError(
                    f"the simulation of {system.name} stopped at t = {solver.t:.6g} s: {message}"
                )
            dense = solver.dense_output()
            hit = search.first(dense, max(solver.t_old, ignored), solver.t)
            until = solver.t if hit is None else hit
            while reported < len(instants) and instants[reported] < until:
                states[reported] = dense(instants[reported])
                reported += 1
            if hit is None:
                stepping.look()
        if hit is None and command <= end:
            hit = command
        if hit is None:
            x = stepping.solver.y.tolist()
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
    if search.missed is not None:
        warnings.warn(_too_fast(system, search.missed), AccuracyWarning, stacklevel=5)
    return _reported(run, instants, states, events)


def _reported(
    run: Settling, instants: NDArray[np.float64], states: NDArray[np.float64], events: Sequence[Event]
) -> SwitchingTrajectory:
    """Return what is reported of states at some instants, and of events."""
    states[:, run.modes.places] = np.round(states[:, run.modes.places])
    if not np.isfinite(states).all():
        raise SolveError(
            f"the simulation of {run.system.name} gave numbers that are not finite; check its inputs"
        )
    u, r = (
        np.array([[s(time) for s in group] for time in instants]).reshape(len(instants), len(group))
        for group in (run.signals, run.rate_signals)
    )
    trajectory = SwitchingTrajectory(run.system, instants, states, u, r, run.parameters)
    trajectory.events, trajectory._modes = tuple(events), run.modes
    return trajectory


class _Stepping(Stepping):
    """Steps in one mode after another; what is known of a mode is kept."""

    def __init__(self, run: Settling, options: Mapping[str, Any], inputs_at: Inputs) -> None:
        start, end = inputs_at.span
        max_step = options["max_step"]
        if not np.isfinite(max_step):
            max_step = (end - start) / (CONSTANT_INPUT_STEPS if inputs_at.steady else INPUT_STEPS)
        atol = options["atol"]
        if atol is None:
            atol = StateSizes(len(run.system.states), end - start)
        super().__init__(end, options["method"], options["rtol"], atol, max_step)
        self.run, self.inputs_at = run, inputs_at
        names = [v.name for v in run.system.parameters_by_var]
        self._values = dict(zip(names, run.parameters, strict=True))
        self._known: dict[Key, Coupling] = {}

    def enter(self, t: float, x: NDArray[np.float64], until: float) -> None:
        """Go on from a point in the mode that is among its states, to some time at the latest."""
        self.bound = until
        modes = self.run.modes.of(x.tolist())
        if self.sizes is not None:
            if modes in self._known:
                self.sizes.resume(self._known[modes])
            else:
                self._meet(self.sizes, modes, t, x)
        self.begin(self.run.rates(modes), t, x, partial(self._slopes_in, modes))

    def _slopes_in(self, modes: Key, t: float, x: NDArray[np.float64]) -> sparse.csr_array[np.float64]:
        return mode_slopes(self.run.system, modes, x.tolist(), self.run.inputs(t)[0], self._values)

    def _meet(self, sizes: StateSizes, modes: Key, t: float, x: NDArray[np.float64]) -> None:
        """Let sizes know a mode that is entered for the first time."""
        try:
            slopes = self._slopes_in(modes, t, x)
        except (BondloopError, ArithmeticError):  # a slope that does not exist just there
            slopes = None
        run = self.run
        # Without the memory of its loops: what is tried here is no motion.
        f = run.modes.made(modes, run.system.rate_exprs)

        def rates(at: float, states: NDArray[np.float64]) -> list[float]:
            try:
                return f(states.tolist(), *run.inputs(at), run.parameters)
            except SolveError:
                return [np.nan] * len(states)

        first_sizes(sizes, rates, slopes, (t, x), self.inputs_at)
        self._known[modes] = sizes.coupling


def _too_fast(system: SystemData, t: float) -> str:
    return (
        f"{system.name}: what the elements that switch react to changes so fast, after t = {t:.6g} s, that "
        "events may be missed; give a shorter max_step, or smoother inputs"
    )


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


def _check_chatter(system: SystemData, events: Sequence[Event], window: float) -> None:
    many = 200
    if len(events) >= MOST_EVENTS or (len(events) >= many and events[-1].time - events[-many].time < window):
        names = ", ".join(sorted({e.path for e in events[-many:]}))
        raise SolveError(
            f"{system.name}: {names} change without end at t = {events[-1].time:.9g} s "
            f"({len(events)} events); put a resistor or a storage beside them, or give the signals that "
            "switch them a hysteresis"
        )
