"""Which mode is in force at an instant of a simulation: the passes of the tick, until nothing changes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation.switching_functions import Key, ModeFunctions, RuleFunctions
from bondloop.engine.ir import HIT, IMPULSE_SLACK, MODE_COMBINATIONS, QUIET, REBOUNDING, SLACK
from bondloop.errors import SolveError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.ir import SystemData


@dataclass
class Settled:
    """What a search for the modes ends with."""

    x: list[float]
    struck: list[int]
    """Elements that were hit."""


class Settling:
    """Finds the modes of a system at any instant, and the functions that hold in them.

    Parameters
    ----------
    system
        What switches.
    signals, rate_signals
        Its inputs, and rates of inputs, as functions of time.
    parameters
        Values of all its parameters.
    window
        Seconds within which events are one instant.
    """

    def __init__(
        self,
        system: SystemData,
        signals: Sequence[Callable[[float], float]],
        rate_signals: Sequence[Callable[[float], float]],
        parameters: list[float],
        window: float,
    ) -> None:
        self.system, self.parameters, self.window = system, parameters, window
        self.signals, self.rate_signals = signals, rate_signals
        self.failure: SolveError | None = None  # the last one of a step that was tried
        self.evaluations_left: float = math.inf
        self.modes, self.rules = ModeFunctions(system), RuleFunctions(system)
        self.count = len(self.rules.rules)
        contents = [v for part in system.switching for v in part.after]
        places = {v: i for i, v in enumerate(system.state_vars)}
        self.jumping = [(i, places[v]) for i, v in enumerate(contents) if v in places]
        self.carried = [contents.index(v) for v in self.modes.carried]
        self.contents = len(contents)
        self.slacks = [[0.0, 0.0, 0.0] for _ in range(self.count)]  # of effort, flow and first term
        # Only passes by the rules send a stop's flow back: where there are stops, more of them.
        stops = bool(self.modes.rebounds)
        self.most_passes = 16 + 4 * (min(2**self.count, 256) if stops else self.count)

    def inputs(self, t: float) -> tuple[list[float], list[float]]:
        """Return inputs and rates of inputs at a time."""
        return [s(t) for s in self.signals], [s(t) for s in self.rate_signals]

    def rates(self, modes: Key) -> Callable[[float, NDArray[np.float64]], list[float]]:
        """Return the rates of the states in some modes, for a solver."""
        f = self.modes.function(modes, self.system.rate_exprs, "rates")

        def rates(t: float, x: NDArray[np.float64]) -> list[float]:
            self.evaluations_left -= 1
            if self.evaluations_left < 0:
                raise SolveError(f"too many steps are needed, t = {t:.6g} s was reached")
            try:
                return f(x.tolist(), *self.inputs(t), self.parameters)
            except SolveError as error:
                # A step that is tried may lead where no solution can be written: the solver takes a shorter
                # one then; where none is short enough, this error is the reason.
                self.failure = SolveError(f"{self.system.name} at t = {t:.6g} s: {error}")
                return [math.nan] * len(x)

        return rates

    def ports(self, t: float, x: list[float]) -> tuple[list[float], list[float], list[list[float]]]:
        """Return efforts, flows and terms of the elements that switch."""
        n = self.count
        f = self.modes.function(self.modes.of(x), self.modes.port_goals, "ports")
        values = f(x, *self.inputs(t), self.parameters)
        terms, at = [], 2 * n
        for rule in self.rules.rules:
            terms.append(values[at : at + len(rule.terms)])
            at += len(rule.terms)
        return values[:n], values[n : 2 * n], terms

    def looks(
        self,
        x: list[float],
        ports: tuple[list[float], list[float], list[list[float]]],
        impulses: Sequence[float],
        stages: Sequence[float],
        before: Sequence[float],
    ) -> list[list[float]]:
        """Return what each rule sees, as `RuleFunctions` takes it."""
        n = self.count
        modes, slacks = self.modes.of(x), self.slacks
        efforts, flows, terms = ports
        columns = zip(modes, efforts, flows, impulses[:n], impulses[n:], stages, before, strict=True)
        return [[*seen, *slacks[i], *terms[i]] for i, seen in enumerate(columns)]

    def margins(self, t: float, x: list[float]) -> list[float]:
        """Return how wrong each mode is as the motion goes on."""
        return self.rules.margins(self.window, self._moving(t, x))

    def edges(self, t: float, x: list[float]) -> list[float]:
        """Return the edges of all rules as the motion goes on."""
        return self.rules.edges(self.window, self._moving(t, x))

    def edges_at_zero(self, x: list[float]) -> list[float]:
        """Return the edges in the modes of a point where efforts, flows and terms are all zero."""
        none = [0.0] * self.count
        nothing = none, none, [[0.0] * len(rule.terms) for rule in self.rules.rules]
        return self.rules.edges(self.window, self.looks(x, nothing, 2 * none, none, none))

    def _moving(self, t: float, x: list[float]) -> list[list[float]]:
        none = [0.0] * self.count
        return self.looks(x, self.ports(t, x), 2 * none, none, none)

    def learn(self, t: float, x: list[float]) -> None:
        """Take note of how large efforts, flows and displacements are, before they cancel."""
        sizes = self.modes.sizes(self.modes.of(x))(x, *self.inputs(t), self.parameters)
        for i, slacks in enumerate(self.slacks):
            for j, size in enumerate(sizes[3 * i : 3 * i + 3]):
                slacks[j] = max(slacks[j], SLACK * size)

    def present(self, t: float, x: list[float]) -> list[float]:
        """Return states whose dependent contents follow from the others, as they do in the present modes.

        What integration has left between the two would otherwise count as an impulse.
        """
        values = self._contents(t, x)
        x = list(x)
        for i, place in self.jumping:
            x[place] = values[i]
        return x

    def _contents(self, t: float, x: list[float]) -> list[float]:
        f = self.modes.function(self.modes.of(x), self.modes.present_goals, "present")
        return f(x, *self.inputs(t), self.parameters)

    def settle(self, t: float, x: list[float]) -> Settled:
        """Find the modes in force, and make the jumps that lead there."""
        base, now = list(x), list(x)
        values = self._contents(t, x)
        carried = [values[i] for i in self.carried]
        stages, before, rebounds = ([0.0] * self.count for _ in range(3))
        struck: set[int] = set()
        stop_places = [i for i, r in enumerate(self.rules.rules) if r.rebound is not None]
        for number in range(self.most_passes):
            modes = self.modes.of(now)
            jump = self.modes.function(modes, self.modes.jump_goals, "jump")
            sent_back = [rebounds[i] for i in stop_places]
            values = jump(base, *self.inputs(t), self.parameters, sent_back, carried)
            for i, place in self.jumping:
                now[place] = values[i]
            if number:  # at first by the slacks with which the event was located
                self.learn(t, now)
            looks = self.looks(now, self.ports(t, now), values[self.contents :], stages, before)
            wrong = [float(m > 0) for m in self.rules.margins(self.window, looks)]
            busy = any(QUIET < s < HIT for s in stages)
            if not any(wrong) and not busy:
                return Settled(now, sorted(struck))
            if number >= self.most_passes // 2 and any(wrong):
                wrong = [float(i == wrong.index(1.0)) for i in range(self.count)]
            if REBOUNDING in stages:
                base, carried = list(now), [values[i] for i in self.carried]
            new, stages, before, rebounds = self.rules.outcomes(self.window, looks, wrong)
            struck |= {i for i, s in enumerate(stages) if s > QUIET}
            for place, mode in zip(self.modes.places, new, strict=True):
                now[place] = base[place] = mode
        found = self._search(t, x, base, carried)
        if found is None:
            raise SolveError(self._unsettled(t, now))
        return Settled(found, sorted(struck))

    def _search(
        self, t: float, x: list[float], base: list[float], carried: list[float]
    ) -> list[float] | None:
        """Try every combination of modes that has a causality, those first that change least.

        Where some combinations have none, the passes may go in circles; see `mode_resolution`.
        """
        n, none, known = self.count, [0.0] * self.count, self.slacks
        for modes in self._combinations(self.modes.of(x)):
            now, values, sizes = self._changed(t, base, carried, modes)
            self.slacks = [list(of_rule) for of_rule in known]
            self.learn(t, now)
            seen = self.slacks
            # What rounding leaves of an impulse is no impulse.
            spread = [IMPULSE_SLACK * size / self.window for size in sizes[self.contents :]]
            self.slacks = [[e + spread[i], f + spread[n + i], d] for i, (e, f, d) in enumerate(seen)]
            looks = self.looks(now, self.ports(t, now), values[self.contents :], none, none)
            if max(self.rules.margins(self.window, looks)) <= 0:
                self.slacks = seen
                return now
        self.slacks = known
        return None

    def _changed(
        self, t: float, base: list[float], carried: list[float], modes: Key
    ) -> tuple[list[float], list[float], list[float]]:
        """Change into some modes; return the states, what the jump computes, and the sizes of that."""
        now = list(base)
        for place, mode in zip(self.modes.places, modes, strict=True):
            now[place] = mode
        arguments = (now, *self.inputs(t), self.parameters, [0.0] * len(self.modes.rebounds), carried)
        values = self.modes.function(modes, self.modes.jump_goals, "jump")(*arguments)
        sizes = self.modes.jump_sizes(modes)(*arguments)
        after = list(now)
        for i, place in self.jumping:
            after[place] = values[i]
        return after, values, sizes

    def entered(self, t: float, x: list[float], modes: Key) -> list[float]:
        """Return the states after a change into some modes, whether or not they hold."""
        values = self._contents(t, x)
        return self._changed(t, x, [values[i] for i in self.carried], modes)[0]

    def exists(self, modes: Sequence[float]) -> bool:
        """Whether modes have a causality."""
        first = 0
        for part in self.system.switching:
            own = modes[first : first + len(part.rules)]
            if tuple(int(m != 0) for m in own) in part.refused:
                return False
            first += len(part.rules)
        return True

    def _combinations(self, old: Key) -> list[Key]:
        """Return the combinations of modes that have a causality, those first that change least."""
        parts = [
            [
                modes
                for modes in itertools.product(*(map(float, rule.words) for rule in part.rules))
                if tuple(int(m != 0) for m in modes) in part.modes
            ]
            for part in self.system.switching
        ]
        every = (tuple(itertools.chain(*of_parts)) for of_parts in itertools.product(*parts))
        several = list(itertools.islice(every, MODE_COMBINATIONS))
        return sorted(several, key=lambda modes: sum(a != b for a, b in zip(modes, old, strict=True)))

    def _unsettled(self, t: float, x: list[float]) -> str:
        modes = self.modes.of(x)
        words, reasons, first = [], [], 0
        for part in self.system.switching:
            own = modes[first : first + len(part.rules)]
            words.append(part.told(own))
            reasons += [f"{part.told(bits)}: {why}" for bits, why in list(part.refused.items())[:1]]
            first += len(part.rules)
        why = f"; a mode that has no causality is {reasons[0]}" if reasons else ""
        return (
            f"{self.system.name}: no consistent mode was found at t = {t:.9g} s "
            f"(last tried: {', '.join(words)}){why}; look for sources that are joined "
            "with neither a resistor nor a storage between them"
        )
