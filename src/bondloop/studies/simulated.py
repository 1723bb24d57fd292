"""Stability by simulation: whether the motion of a run grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile import Runner
from bondloop.data.ranges import POSITIVE
from bondloop.display import brief, telling
from bondloop.program.paths import within
from bondloop.program.signals.in_tick import now_and_next

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.compile import Result
    from bondloop.program.signals import Signal
    from bondloop.program.tick import Tick

__all__ = ["Simulated", "simulated_stability"]

SEED = 2000
ROUNDING = 1e-9
"""A difference this small beside the run itself is rounding."""


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

    Examples
    --------
    >>> from bondloop.program.expr import Var
    >>> from bondloop.program.tick import Channel, Tick, Update
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
    rng = np.random.default_rng(SEED)
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
    floor = ROUNDING * np.maximum(size, np.abs(values).max(axis=0))
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
