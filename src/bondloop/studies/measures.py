"""What a study measures in every case."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief, telling
from bondloop.engine.analysis.spectrum import OneStep, one_step, within
from bondloop.engine.codegen import Runner
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.signals import now_and_next
from bondloop.studies.tolerances import FREE_VIBRATION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bondloop.engine.codegen import Result
    from bondloop.engine.ir import Tick
    from bondloop.hybrid import Rehearsable
    from bondloop.rehearsal import Run
    from bondloop.signals import Signal


@dataclass(frozen=True)
class Simulated:
    """What a simulation says about stability.

    Attributes
    ----------
    stable
        Whether nothing grows.
    growth
        Rate in 1/s between the second and the last quarter of the run; infinite where it was stopped.
    """

    stable: bool
    growth: float

    __repr__ = brief


@telling("looking for the border of stability")
def simulated_stability(
    tick: Tick,
    seconds: float | str,
    *,
    linear: bool,
    tables: Mapping[str, Signal] | None = None,
    backend: str = "auto",
    runner: Runner | None = None,
    parameters: Mapping[str, float] | None = None,
    seed: int = 2000,
) -> Simulated:
    """Run a tick and see whether its motion grows.

    A linear tick is run twice, from its own start and from another one. The difference of the two is its free
    vibration, whatever the excitation, and its rms in the second and in the last quarter of the run are
    compared, in each channel without mean and trend: a drift of the rig is no vibration. A tick that is not
    linear is run once, and what it records is compared in the same way; growth by less than a factor of three
    is put down to the excitation. A run that leaves its bounds is unstable.

    Parameters
    ----------
    tick
        What runs.
    seconds
        For how long; slow growth needs long runs.
    linear
        Whether the tick is linear (`OneStep.linear`).
    tables
        Signals by name for the tick's inputs, in the order of its tables.
    backend, runner
        Where it runs; a runner that was made for this tick, to use it again.
    parameters
        Values by name instead of the tick's own.
    seed
        Of the other start.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick, Update
    >>> x, v = Var("x"), Var("v")
    >>> swing = Update(((x, x + 0.1 * v), (v, v - 0.4 * x)))
    >>> tick = Tick("swing", 0.1, Var("t"), Var("k"), (), {x: 0.0, v: 1.0}, {}, (swing,), (Channel("x", x),))
    >>> found = simulated_stability(tick, 50, linear=True, backend="numpy")
    >>> found.stable, round(found.growth, 1)  # the eigenvalues say log(1.04)/2/0.1 = 0.196
    (False, 0.2)
    """
    steps = max(round(POSITIVE.check(seconds, "seconds", "s") / tick.period), 8)
    runner = runner or Runner(tick, backend)
    inputs = now_and_next((tables or {}).values(), steps, tick.period) if tick.inputs else None
    runner.reset()
    first = runner.run(steps, inputs, parameters)
    if not first.finished:
        return Simulated(False, np.inf)
    own = _recorded(first)
    if not linear:
        growth = _growth(own, first.time, np.abs(own).max(axis=0))
        return Simulated(bool(growth * steps * tick.period / 2 < np.log(3)), growth)
    rng = np.random.default_rng(seed)
    reach = np.abs(own).max(initial=0.0) or 1.0
    runner.reset({n: x + 1e-3 * reach * rng.standard_normal() for n, x in _states(tick).items()})
    second = runner.run(steps, inputs, parameters)
    if not second.finished:
        return Simulated(False, np.inf)
    growth = _growth(_recorded(second) - own, first.time, np.abs(own).max(axis=0))
    return Simulated(growth <= 0, growth)


def _states(tick: Tick) -> dict[str, float]:
    return {v.name: x for v, x in tick.states.items() if not within(v.name, "reference")}


def _recorded(result: Result) -> NDArray[np.float64]:
    kept = [x for name, x in result.channels.items() if not within(name, "reference")]
    return np.column_stack(kept)


def _growth(values: NDArray[np.float64], time: NDArray[np.float64], size: NDArray[np.float64]) -> float:
    """Rate between the second and the last quarter, of the channel that grows most."""
    n = len(values)
    early, late = (_wobble(values[a:b], time[a:b]) for a, b in ((n // 4, n // 2), (3 * n // 4, n)))
    floor = FREE_VIBRATION * np.maximum(size, np.abs(values).max(axis=0))
    heard = late > floor
    if not heard.any():
        return -np.inf
    rates = np.log(late[heard] / np.maximum(early[heard], 1e-3 * floor[heard])) / (time[-1] / 2)
    return float(rates.max())


def _wobble(values: NDArray[np.float64], time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rms of every column about its straight line."""
    basis = np.column_stack([np.ones_like(time), (time - time.mean()) / np.ptp(time)])
    rest = values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]
    return np.asarray(np.sqrt(np.mean(rest**2, axis=0)))


@dataclass
class Case:
    """One test of a study; what is measured in it is computed when it is first asked for.

    Parameters
    ----------
    test
        A `HybridTest`, `PseudoDynamicTest` or `Simulation`.
    seconds
        Length of its runs.
    findings
        The test's own ``findings(run)``, if it has one.
    backend
        Where it runs.
    """

    test: Rehearsable
    seconds: float | str
    findings: Callable[[Run], dict[str, float]] | None = None
    backend: str = "auto"
    _run: Run | None = field(default=None, init=False, repr=False, compare=False)
    _found: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    __repr__ = brief

    @cached_property
    def step(self) -> OneStep:
        """One step of its tick, from the derivatives of the tick's statements."""
        return one_step(self.test.tick)

    @cached_property
    def simulated(self) -> Simulated:
        """Stability by simulation."""
        return simulated_stability(
            self.test.tick,
            self.seconds,
            linear=self.step.linear,
            tables=self.test.tables,
            backend=self.backend,
        )

    @property
    def run(self) -> Run:
        """The test, run."""
        # Before Python 3.12 a cached property holds a lock: all cases would wait for one that compiles.
        if self._run is None:
            self._run = self.test.run(self.seconds, backend=self.backend)
        return self._run

    @property
    def found(self) -> dict[str, float]:
        """What the test itself finds in its run, and the measures of the first interface."""
        if not self._found:
            self._found = self._find()
        return self._found

    def _find(self) -> dict[str, float]:
        enough = len(self.run.time) > 3
        own = self.findings(self.run) if self.findings is not None and enough else {}
        metrics = self.run.metrics if enough else []
        return {**(dict(metrics[0].items()) if metrics else {}), **own}

    @property
    def stable(self) -> bool:
        """Stability: by the spectral radius where the tick is linear, otherwise by simulation."""
        return self.step.stable if self.step.linear else self.simulated.stable

    @property
    def error(self) -> float:
        """The test's ``rms_error``, or else the normalised rms error of the first transfer system."""
        for name in ("rms_error", "normalised_rms_error"):
            if name in self.found:
                return float(self.found[name])
        raise InputError(
            "'error' needs a test that finds an rms_error, or that has an interface to follow; "
            f"this one finds {', '.join(self.found) or 'nothing'}"
        )

    def measure(self, name: str) -> float | bool:
        """Return a measure by name: one of `MEASURES`, or anything that the test finds."""
        if name in MEASURES:
            return MEASURES[name](self)
        if name in self.found:
            value = self.found[name]
            return bool(value) if isinstance(value, (bool, np.bool_)) else float(value)
        raise InputError(unknown_name("measure", name, [*MEASURES, *self.found]))


MEASURES: dict[str, Callable[[Case], float | bool]] = {
    "stable": lambda c: c.stable,
    "stable_simulated": lambda c: c.simulated.stable,
    "error": lambda c: c.error,
    "spectral_radius": lambda c: c.step.spectral_radius,
    "growth": lambda c: c.step.growth,
    "frequency": lambda c: c.step.frequency,
    "linear": lambda c: c.step.linear,
    "completed": lambda c: c.run.completed,
}
"""Of any test. ``stable``, ``spectral_radius``, ``growth`` [1/s] and ``frequency`` [Hz] are of the tick's
one-step matrix, linearised at the start where the tick is not linear (``stable`` is then by simulation)."""
