"""What a test is expected to do to a rig: the largest of everything that is limited, from a dry run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Role, channels_of
from bondloop.errors import InputError
from bondloop.rehearsal import CHUNK, Rehearsal, steps_of
from bondloop.safety import DISPLACEMENT_SWITCH, PowerTrip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick
    from bondloop.hybrid import HybridTest


@dataclass(frozen=True)
class Expected:
    """Largest magnitudes of a rehearsal, over all interfaces.

    Attributes
    ----------
    displacement, velocity, force
        As measured, in m, m/s, N.
    command, command_rate
        In the command's own unit, and that a second.
    tracking_error
        What the rig is to follow less the measured displacement, in m.
    power
        Root of the filtered square of the power discrepancy, in W: what a `PowerTrip` compares.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_two_actuators
    >>> seen = expected(gawthrop_two_actuators.test(), 1.0)
    >>> 0 < seen.tracking_error < 0.1 * seen.displacement
    True
    """

    displacement: float = 0.0
    velocity: float = 0.0
    force: float = 0.0
    command: float = 0.0
    command_rate: float = 0.0
    tracking_error: float = 0.0
    power: float = 0.0


def expected(test: HybridTest, seconds: float) -> Expected:
    """Rehearse a test and return the largest of what is limited on a rig.

    Parameters
    ----------
    test
        The test, with the interlock whose safe position and power filter count.
    seconds
        Its length.
    """
    steps = steps_of(seconds, test.period)
    rehearsal = Rehearsal(test, steps)
    log = _Largest(test)
    while rehearsal.runner.count < steps:
        result = rehearsal.run(min(CHUNK, steps - rehearsal.runner.count))
        if not result.finished:
            raise InputError("the rehearsal stopped before its end, so nothing can be expected from it")
        log.take(result.channels)
    return Expected(**log.most)


class _Largest:
    """Takes a rehearsal part by part."""

    def __init__(self, test: HybridTest) -> None:
        tick, count = test.tick, test.interfaces
        self.position = _sensed(tick, count, "displacement")
        self.velocity = _sensed(tick, count, "flow")
        self.force = _sensed(tick, count, "effort")
        self.desired = channels_of(tick.channels, Role.DESIRED, kind="displacement")[:count]
        self.desired_velocity = channels_of(tick.channels, Role.DESIRED, kind="flow")[:count]
        self.command = channels_of(tick.channels, Role.COMMAND)
        interlock = test.interlock
        self.safe = 0.0 if interlock is None else float(interlock.safe_position)
        trip = PowerTrip(1.0) if interlock is None or interlock.power is None else interlock.power
        self.decay, self.period = trip.decay(test.period), test.period
        self.most: dict[str, float] = {}
        self._filtered = np.zeros(count)
        self._last: NDArray[np.float64] | None = None

    def take(self, channels: Mapping[str, NDArray[np.float64]]) -> None:
        """Take a part of the run."""

        def together(names: list[str]) -> NDArray[np.float64]:
            return np.stack([channels[n] for n in names], axis=1)

        switch = channels.get(DISPLACEMENT_SWITCH)
        delta = 1.0 if switch is None else switch[:, None]
        position, velocity, force = (together(n) for n in (self.position, self.velocity, self.force))
        command = together(self.command)
        before = command[:1] if self._last is None else self._last
        changes = np.diff(np.concatenate([before, command]), axis=0)
        self._last = command[-1:]
        target = self.safe + delta * (together(self.desired) - self.safe)
        power = force * (velocity - delta * together(self.desired_velocity))
        for name, values in (
            ("displacement", position),
            ("velocity", velocity),
            ("force", force),
            ("command", command),
            ("command_rate", changes / self.period),
            ("tracking_error", target - position),
            ("power", np.sqrt(self._smoothed(power * power))),
        ):
            self.most[name] = max(self.most.get(name, 0.0), float(np.abs(values).max(initial=0.0)))

    def _smoothed(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y(k) = a y(k-1) + (1 - a) P(k)^2, as in the interlock."""
        from scipy.signal import lfilter

        a = self.decay
        smooth, _ = lfilter([1 - a], [1, -a], squares, axis=0, zi=a * self._filtered[None, :])
        self._filtered = smooth[-1]
        return np.maximum(smooth, 0.0)


def _sensed(tick: Tick, count: int, kind: str) -> list[str]:
    """Return what the sensors show of each interface; the motion itself where it is not recorded."""
    for role in (Role.MEASURED, Role.ACTUAL):
        names = {
            c.meaning.interface: c.name
            for c in tick.channels
            if c.meaning.role is role and c.meaning.kind == kind
        }
        if all(i in names for i in range(count)):
            return [names[i] for i in range(count)]
    raise InputError(f"the test records no {kind} of its {count} interfaces")


def rounded_up(value: float) -> float:
    """Return a number with two figures that is not less than one.

    >>> rounded_up(0.01234), rounded_up(98.1), rounded_up(0.0)
    (0.013, 99.0, 0.0)
    """
    if not value > 0:
        return 0.0
    size = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / size * (1 - 1e-12)) * size:.3g}")
