"""Simulation of a system that switches: from event to event, each located on the solver's dense output."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.simulation.inputs import Sampled
from bondloop.engine.analysis.simulation.settling import Settling, check_gaps, mode_at
from bondloop.engine.analysis.simulation.stepping import StateSizes, Stepping, first_sizes
from bondloop.engine.analysis.simulation.trajectory import Event, SwitchingTrajectory
from bondloop.engine.ir import SLACK, Expr, Var, evaluator, variables, without_loops
from bondloop.engine.passes import mode_slopes, scheduled
from bondloop.errors import AccuracyWarning, BondloopError, SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation.inputs import Inputs, InputValue
    from bondloop.engine.analysis.simulation.settling import Key
    from bondloop.engine.analysis.simulation.stepping import Coupling
    from bondloop.engine.ir import SystemData

# When the commands of switches change, where time alone decides: known before anything is integrated.
#
# A solver does not see an input that acts on a switch alone, so its steps say nothing of how often to look.


class CommandTimes:
    """The instants at which commands of switches change.

    Parameters
    ----------
    run
        Tells rules and inputs.
    longest
        Step that the caller asks for, in s; infinite where that is not said.
    """

    def __init__(self, run: Settling, longest: float) -> None:
        self._run = run
        start, end = run.inputs.span
        self.rules: list[int] = []
        """Places of the rules that time alone decides."""
        self._ahead: list[_Changes] = []
        for place, rule in enumerate(run.rules.rules):
            names = _deciding(run, rule.terms) if rule.commanded else None
            if names is None:
                continue
            self.rules.append(place)
            varying = {n: v for n in names if callable(v := run.inputs.value(n)) or isinstance(v, tuple)}
            if varying:
                command = _Command(run, rule.terms, varying)
                fewest = (
                    tolerances.FEWEST_COMMAND_SAMPLES
                    if not np.isfinite(longest)
                    else max(tolerances.FEWEST_COMMAND_SAMPLES, 8 * (end - start) / longest)
                )
                times, signs, seen = command.seen((start, end), int(fewest))
                if not seen:
                    warnings.warn(_unseen(run, rule.path, times, signs), AccuracyWarning, stacklevel=6)
                self._ahead.append(_Changes(command, times, signs))

    def after(self, t: float) -> float:
        """Return when a command next changes after a time, just after it has; infinite where none does."""
        following = [changes.after(t) for changes in self._ahead]
        first = min(following, default=np.inf)
        return max(
            (f for f in following if f - first <= tolerances.SIMULTANEOUS_COMMANDS * self._run.window),
            default=np.inf,
        )


def _deciding(run: Settling, terms: Sequence[Expr]) -> list[str] | None:
    """Return the names of the inputs that decide some terms; None where something else does, too."""
    system = run.system
    names = dict(zip(system.input_vars, system.inputs, strict=True))
    try:
        statements = without_loops(scheduled(system, terms))
    except KeyError:
        return None
    if statements is None:
        return None
    needed = {v for e in (*terms, *(s.expr for s in statements)) for v in variables(e)}
    needed -= {s.target for s in statements}
    if not needed <= {*names, *system.parameters_by_var}:
        return None
    return [name for v, name in names.items() if v in needed]


class _Command:
    """A command as a sign by time: above its threshold, or below."""

    def __init__(self, run: Settling, terms: Sequence[Expr], varying: Mapping[str, InputValue]) -> None:
        system = run.system
        self._run, self._varying = run, varying
        self._places = [system.inputs.index(name) for name in varying]
        self._constant = [
            0.0 if name in varying else s(0.0)
            for name, s in zip(system.inputs, run.inputs.signals, strict=True)
        ]
        arguments: list[Sequence[Var]] = [system.input_vars, tuple(system.parameters_by_var)]
        self._f = evaluator(scheduled(system, terms), arguments, [terms[0] - terms[1]])
        values = dict(zip(system.parameters_by_var, run.parameters, strict=True))
        is_input = terms[0] in system.input_vars
        threshold = terms[1]
        # Where an input is compared as it is, its threshold.
        self._direct = values.get(threshold) if is_input and isinstance(threshold, Var) else None
        # Between the instants of one interpolated row the command is straight.
        self.straight = is_input and not any(map(callable, varying.values()))

    def sign(self, t: float) -> float:
        """Return 1 above the threshold, -1 below, 0 on it."""
        return float(self._signs([self._run.inputs.signals[i](t)] for i in self._places)[0])

    def signs(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the signs at many times."""
        return self._signs(
            self._values(v, i, times) for v, i in zip(self._varying.values(), self._places, strict=True)
        )

    def _values(self, value: InputValue, place: int, times: NDArray[np.float64]) -> Sequence[float]:
        if isinstance(value, tuple):
            return [float(y) for y in np.interp(times, *value)]
        if isinstance(value, Sampled):
            return [float(y) for y in value(times)]
        signal = self._run.inputs.signals[place]
        return [signal(t) for t in times.tolist()]

    def _signs(self, columns: Iterable[Sequence[float]]) -> NDArray[np.float64]:
        if self._direct is not None:
            return np.asarray(np.sign(np.array(next(iter(columns))) - self._direct), dtype=float)
        u = list(self._constant)
        results = []
        for row in zip(*columns, strict=True):
            for place, value in zip(self._places, row, strict=True):
                u[place] = value
            results.append(self._f(u, self._run.parameters)[0])
        return np.asarray(np.sign(results), dtype=float)

    def seen(
        self, span: tuple[float, float], fewest: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """Return times, the signs there, and whether the command is known by them.

        It is looked at twice as often until no more changes appear, and several looks lie between them.
        """
        start, end = span
        rows = [np.asarray(v[0], dtype=float) for v in self._varying.values() if isinstance(v, tuple)]
        times = np.asarray(np.unique(np.clip(np.concatenate([[start, end], *rows]), start, end)), dtype=float)
        signs = self.signs(times)
        if self.straight:
            return *_decided(times, signs), True
        count, changes = 0, -1
        more = fewest // 2
        while True:
            places = (tolerances.GOLDEN_RATIO * np.arange(count + 1, count + more + 1)) % 1.0
            fresh = np.asarray(start + (end - start) * places, dtype=float)
            times, signs = np.concatenate([times, fresh]), np.concatenate([signs, self.signs(fresh)])
            order = np.argsort(times, kind="stable")
            times, signs = times[order], signs[order]
            count, more = count + more, count + more
            decided = _decided(times, signs)
            at = np.flatnonzero(np.diff(decided[1]))
            settled = len(at) == changes and (np.diff(at) >= tolerances.SAMPLES_BETWEEN_CHANGES).all()
            if settled or count >= max(tolerances.MOST_COMMAND_SAMPLES, fewest):
                return *decided, bool(settled)
            changes = len(at)


def _decided(
    times: NDArray[np.float64], signs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leave out where a command is on its threshold: there it changes nothing."""
    return times[signs != 0], signs[signs != 0]


class _Changes:
    """The changes of one command, each located when it is asked for."""

    def __init__(self, command: _Command, times: NDArray[np.float64], signs: NDArray[np.float64]) -> None:
        at = np.flatnonzero(np.diff(signs))
        self._sign: Callable[[float], float] = command.sign
        self._between = list(
            zip(times[at].tolist(), times[at + 1].tolist(), signs[at + 1].tolist(), strict=True)
        )
        self._next, self._time = 0, -np.inf

    def after(self, t: float) -> float:
        """Return the first change after a time."""
        while self._time <= t:
            if self._next == len(self._between):
                return np.inf
            low, high, sign = self._between[self._next]
            self._next += 1
            while low < (middle := 0.5 * (low + high)) < high:
                low, high = (low, middle) if self._sign(middle) == sign else (middle, high)
            self._time = high
        return self._time


def _unseen(run: Settling, path: str, times: NDArray[np.float64], signs: NDArray[np.float64]) -> str:
    at = np.flatnonzero(np.diff(signs))
    shortest = min((b - a for a, b in pairwise(times[at].tolist())), default=0.0)
    return (
        f"{run.system.name}: the command of {path} was looked at {len(times)} times and changes within "
        f"{shortest:.3g} s, so changes may be missed; simulate a shorter time, give as max_step the shortest "
        "pulse, or give its input as a pair (times, values)"
    )


# When a mode is first wrong within a step of a solver, whatever the length of that step.
#
# A rule is wrong only where one of its *edges*, smooth functions of the motion, is above zero. Along a step
# an edge is looked at in nine points and taken for the polynomial through them (along DOP853's dense output,
# of degree seven, every edge that is linear in the states is one). Its Bernstein coefficients bound it from
# above; where that bound is above zero its peaks tell whether it is, even if it rises and falls between two
# points. Where nine points are too few for that, shown by the polynomial's last coefficients, the step is
# halved.


Dense = Callable[["NDArray[np.float64] | float"], "NDArray[np.float64]"]


@cache
def _nodes() -> NDArray[np.float64]:
    """Return Chebyshev's points, -1 to 1: uneven, so that what repeats itself is not alike at all of them."""
    return np.asarray(-np.cos(np.pi * np.arange(tolerances.EDGE_DEGREE + 1) / tolerances.EDGE_DEGREE))


@cache
def _matrices() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what turns values at the nodes into Bernstein's coefficients, and into Chebyshev's."""
    from scipy.special import binom

    k = np.arange(tolerances.EDGE_DEGREE + 1)
    s = 0.5 * (1 + _nodes()[:, None])
    bernstein = binom(tolerances.EDGE_DEGREE, k) * s**k * (1 - s) ** (tolerances.EDGE_DEGREE - k)
    chebyshev = np.polynomial.chebyshev.chebvander(_nodes(), tolerances.EDGE_DEGREE)
    turned = (np.asarray(np.linalg.inv(V).T, dtype=float) for V in (bernstein, chebyshev))
    return next(turned), next(turned)


class EventSearch:
    """Finds the first event of steps.

    Parameters
    ----------
    run
        Tells edges and margins of the rules.
    rules
        Places of the rules that are looked at.
    """

    def __init__(self, run: Settling, rules: list[int]) -> None:
        self.run = run
        owners = run.rules.owners
        self._edges = [i for i, rule in enumerate(owners) if rule in rules]
        self._owners = [owners[i] for i in self._edges]
        self._known: tuple[float, NDArray[np.float64]] | None = None
        self.missed: float | None = None
        """When a step could not be divided any further, though an edge changes faster."""

    def enter(self) -> None:
        """Forget what is known of the last step: another mode begins."""
        self._known = None

    def first(self, dense: Dense, start: float, end: float) -> float | None:
        """Return when a mode is first found wrong within a step, just after it became so; None if never."""
        if not end > start:
            return None
        panels, pieces = 1, [(start, end)]
        while pieces:
            low, high = pieces.pop()
            middle = 0.5 * (low + high)
            may_split = high - low > self.run.window and low < middle < high
            hit = self._in_piece(dense, low, high, may_split=may_split and panels < tolerances.MOST_PANELS)
            if hit == "split":
                panels += 1
                pieces += [(middle, high), (low, middle)]
                if panels == tolerances.MOST_PANELS:
                    self.missed = low
            elif hit is not None:
                return float(hit)
        self.run.learn(end, dense(end).tolist())
        return None

    def _in_piece(self, dense: Dense, start: float, end: float, *, may_split: bool) -> float | str | None:
        if not self._edges:
            return None
        times = start + 0.5 * (end - start) * (1 + _nodes())
        times[-1] = end
        values = self._values(dense, times)
        if not np.isfinite(values).all():  # a law that has no value here: signs are all there is
            values = np.nan_to_num(values, nan=-1.0, posinf=1.0, neginf=-1.0)
        to_bernstein, to_chebyshev = _matrices()
        bernstein, chebyshev = values @ to_bernstein, values @ to_chebyshev
        doubt = np.abs(chebyshev[:, -2:]).sum(axis=1)
        above = bernstein.max(axis=1) + doubt > 0
        if not above.any():
            return None
        enough = -tolerances.EDGE_SLACKS * self._at_zero(dense(end))
        ranges = np.ptp(values, axis=1)
        peaks = {int(i): _peaks(bernstein[i], chebyshev[i]) for i in np.flatnonzero(above)}
        if may_split:
            for i, (_, heights) in peaks.items():
                unsure = (
                    doubt[i] > tolerances.EDGE_RESOLUTION * ranges[i] or (np.abs(heights) <= doubt[i]).any()
                )
                if unsure and doubt[i] > max(enough[i], 1e-9 * ranges[i]):
                    return "split"
        # A peak that is no higher than rounding is none.
        seen = {i: heights > SLACK * ranges[i] for i, (_, heights) in peaks.items()}
        peaks = {i: (places[seen[i]], heights[seen[i]]) for i, (places, heights) in peaks.items()}
        return self._earliest(dense, (start, end), values, peaks)

    def _earliest(
        self,
        dense: Dense,
        span: tuple[float, float],
        values: NDArray[np.float64],
        peaks: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]],
    ) -> float | None:
        """Return when the first margin becomes positive, by the edges between their nodes and peaks."""
        start, end = span
        earliest: float | None = None
        known: dict[float, list[float]] = {}
        for i, (places, heights) in peaks.items():
            rule = self._owners[i]

            def margin(t: float, rule: int = rule) -> float:
                if t not in known:
                    known[t] = self.run.margins(t, dense(t).tolist())
                return known[t][rule]

            s = np.concatenate([_nodes(), places])
            order = np.argsort(s, kind="stable")
            times = start + 0.5 * (end - start) * (1 + s[order])
            curve = np.concatenate([values[i], heights])[order]
            for k in np.flatnonzero(curve[1:] > 0).tolist():
                low, high = float(times[k]), float(min(times[k + 1], end))
                if earliest is not None and low >= earliest:
                    break
                wrong = _wrong(margin, low, high, float(curve[k]), float(curve[k + 1]))
                if wrong is None:
                    continue
                if earliest is not None and wrong > earliest:
                    if not margin(earliest) > 0:
                        break
                    wrong = earliest
                earliest = _located(margin, low, wrong, 1e-8 * self.run.window)
                break
        return earliest

    def _values(self, dense: Dense, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the edges at some times, an edge a row; those at the end of the last piece are known."""
        known = self._known is not None and self._known[0] == times[0]
        first = 1 if known else 0
        columns = [
            self.run.edges(t, x)
            for t, x in zip(times[first:].tolist(), dense(times[first:]).T.tolist(), strict=True)
        ]
        values = np.array(columns)[:, self._edges].T
        if known:
            assert self._known is not None
            values = np.column_stack([self._known[1], values])
        self._known = (float(times[-1]), values[:, -1])
        return values

    def _at_zero(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the edges where all that they compare is zero: less than that by their slacks."""
        return np.array(self.run.edges_at_zero(x.tolist()))[self._edges]


def _peaks(
    bernstein: NDArray[np.float64], chebyshev: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a polynomial turns between -1 and 1, and its values there."""
    turns = np.diff(bernstein)
    if (turns >= 0).all() or (turns <= 0).all():
        return np.zeros(0), np.zeros(0)
    # Coefficients that are rounding alone would put roots of their own anywhere.
    slope = np.polynomial.chebyshev.chebder(chebyshev)
    slope = np.polynomial.chebyshev.chebtrim(slope, 1e-15 * float(np.abs(slope).max()))
    roots = np.polynomial.chebyshev.chebroots(slope)
    # Two turns that rounding has joined are a little off the real line.
    places = np.sort(roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1)])
    return places, np.asarray(np.polynomial.chebyshev.chebval(places, chebyshev), dtype=float)


def _wrong(
    margin: Callable[[float], float], low: float, high: float, f_low: float, f_high: float
) -> float | None:
    """Return a time after low at which a margin is above zero, where its edge rises above it; else None."""
    # At the peak of a stop's displacement the flow is zero, and so is the margin; before it both are above.
    rise = low if f_low > 0 else low + (high - low) * _share(f_low, f_high)
    for t in (high, 0.5 * (rise + high), rise + 0.1 * (high - rise)):
        if margin(t) > 0:
            return t
    return None


def _share(f_low: float, f_high: float) -> float:
    """Return where, at most, a curve that rises to a peak passes zero: as a parabola does."""
    return 1 - math.sqrt(f_high / (f_high - f_low))


def _located(margin: Callable[[float], float], low: float, high: float, least: float) -> float:
    """Return a time at which a margin is positive and before which, by the least that can be told, it is not.

    By Brent's method; margins may jump.
    """
    from scipy.optimize import brentq

    def finite(t: float) -> float:
        f = margin(t)
        return f if np.isfinite(f) else 1.0 if f > 0 else -1.0

    near = 4 * float(np.finfo(float).eps)
    if finite(low) > 0:
        return low
    t = float(brentq(finite, low, high, xtol=least, rtol=near, disp=False))
    step = least + near * abs(t)
    while not margin(t) > 0:
        t, step = t + step, 2 * step
        if t >= high:
            return high
    return t


def simulate_switching(
    system: SystemData,
    inputs: Inputs,
    parameters: list[float],
    x0: NDArray[np.float64],
    instants: NDArray[np.float64],
    options: Mapping[str, Any],
) -> SwitchingTrajectory:
    """Integrate a system that switches; see :func:`bondloop.engine.analysis.simulation.simulation.simulate`.

    Parameters
    ----------
    system
        What to integrate.
    inputs
        As functions of time.
    parameters
        Values of all parameters.
    x0
        Initial states.
    instants
        When to report.
    options
        ``method``, ``rtol``, ``atol`` and ``max_step``; ``evaluations``, the most that the rates may be
        computed.
    """
    start, end = inputs.span
    window = tolerances.EVENT_WINDOW * (end - start)
    run = Settling(system, inputs, parameters, window)
    run.evaluations_left = options.get("evaluations", np.inf)
    stepping = _Stepping(run, options)
    commands = CommandTimes(run, options["max_step"])
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
        fresh = _events_between(run, t, old, np.array(x), settled.struck)
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
    sampled = run.inputs.sampled(instants)
    trajectory = SwitchingTrajectory(run.system, instants, states, *sampled, run.parameters)
    trajectory.events, trajectory._modes = tuple(events), run.modes
    return trajectory


class _Stepping(Stepping):
    """Steps in one mode after another; what is known of a mode is kept."""

    def __init__(self, run: Settling, options: Mapping[str, Any]) -> None:
        start, end = run.inputs.span
        max_step = options["max_step"]
        if not np.isfinite(max_step):
            max_step = (end - start) / (
                tolerances.CONSTANT_INPUT_STEPS if run.inputs.steady else tolerances.INPUT_STEPS
            )
        atol = options["atol"]
        if atol is None:
            atol = StateSizes(len(run.system.states), end - start)
        super().__init__(end, options["method"], options["rtol"], atol, max_step)
        self.run = run
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

        first_sizes(sizes, rates, slopes, (t, x), run.inputs)
        self._known[modes] = sizes.coupling


def _too_fast(system: SystemData, t: float) -> str:
    return (
        f"{system.name}: what the elements that switch react to changes so fast, after t = {t:.6g} s, that "
        "events may be missed; give a shorter max_step, or smoother inputs"
    )


def _events_between(
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
    if len(events) >= tolerances.MOST_EVENTS or (
        len(events) >= many and events[-1].time - events[-many].time < window
    ):
        names = ", ".join(sorted({e.path for e in events[-many:]}))
        raise SolveError(
            f"{system.name}: {names} change without end at t = {events[-1].time:.9g} s "
            f"({len(events)} events); put a resistor or a storage beside them, or give the signals that "
            "switch them a hysteresis"
        )
