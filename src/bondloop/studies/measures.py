"""What a study measures in every case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError, unknown_name
from bondloop.program.one_step import OneStep, one_step
from bondloop.studies.simulated import Simulated, simulated_stability

if TYPE_CHECKING:
    from bondloop.hybrid import Run
    from bondloop.hybrid.rehearsable import Rehearsable

__all__ = ["MEASURES", "Case"]


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
