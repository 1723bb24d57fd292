"""A rig whose actuators and sensors are off by stated amounts, as parameters of the tick: one lane a draw."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Const, Expr
from bondloop.engine.passes import Statements
from bondloop.rigs import MEASURED, SEED, Imperfection, Sensor
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check import CheckPolicy
    from bondloop.engine.passes import Applied, Context
    from bondloop.hybrid import HybridTest
    from bondloop.transfer import Process


class _Weights(Imperfection):
    """Weights of the last values, then sections of second order; all weights are parameters of the tick.

    y = w0 u[k] + w1 u[k-1] + ..., through (b0 + b1/z + b2/z²)/(1 + a1/z + a2/z²), in the transposed direct
    form II, whose rounding is least.

    Parameters
    ----------
    weights
        Of the last values, the latest first.
    sections
        How many; they let everything through at first.
    """

    def __init__(self, weights: tuple[float, ...], sections: int = 0) -> None:
        self.count = len(weights)
        self.first = (*weights, *(1.0, 0.0, 0.0, 0.0, 0.0) * sections)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the weighted value."""
        body = Statements(context.name)
        weights = [body.var(f"weight[{i}]") for i in range(len(self.first))]
        body.parameters.update(zip(weights, self.first, strict=True))
        last = [body.once("now", value), *(body.state(f"last[{i}]") for i in range(1, self.count))]
        out: Expr = Const(0.0)
        for weight, x in zip(weights, last, strict=False):
            out += weight * x
        out = body.put("weighted", out)
        if self.count > 1:
            body.update({after: x for x, after in pairwise(last)})  # type: ignore[misc]
        for i, at in enumerate(range(self.count, len(weights), 5)):
            b0, b1, b2, a1, a2 = weights[at : at + 5]
            one, two = body.state(f"one[{i}]"), body.state(f"two[{i}]")
            y = body.put(f"section[{i}]", b0 * out + one)
            body.update({one: b1 * out - a1 * y + two, two: b2 * out - a2 * y})
            out = y
        return body.applied(out)


class UncertainRig:
    """A test whose rig can differ from its model without being compiled anew.

    Gain and bandwidth of every actuator are off by up to `actuator_error` of the check's policy, its delay by
    `latency_error` samples, the gain of every sensor by `sensor_error`: each drawn evenly in between. A
    bandwidth that is b times the model's puts the process P(s/b) for P(s), poles only: its zeros may be such
    as cannot be divided out. A delay below one sample can only become longer.

    Parameters
    ----------
    test
        The test, as its rig is modelled.
    process
        Model of its actuators.
    errors
        By how much they may be off.

    Attributes
    ----------
    test
        The test with weights in its rig.
    """

    def __init__(self, test: HybridTest, process: Process, errors: CheckPolicy) -> None:
        rig, self._process, self._errors, self._period = test.rig, process, errors, test.period
        # One sample of the latency, where there is one, is given by weights that can make it shorter.
        self._ahead = rig.latency >= test.period
        self._sections = -(-process.order // 2)
        delay = _Weights((0.0, 1.0, 0.0) if self._ahead else (1.0, 0.0, 0.0), self._sections)
        sensors = {word: _sensor(rig.sensors.get(word)) for word in MEASURED}
        self.test = test.replaced(
            rig=replace(
                rig,
                drive=(*rig.drive, delay),
                latency=rig.latency - self._ahead * test.period,
                sensors={
                    n: replace(s, imperfections=(*s.imperfections, _Weights((1.0,))))
                    for n, s in sensors.items()
                },
            )
        )
        count = test.interfaces
        self._drives = [f"rig.drive[{i}].{len(rig.drive)}" for i in range(count)]
        self._sensors = [
            f"{name}.{len(sensor.imperfections)}"
            for word, sensor in sensors.items()
            for name in indexed(f"measured.{word}", count)
        ]
        self._draws: dict[tuple[int, int], NDArray[np.float64]] = {}
        self._as_modelled = {
            **{f"{name}.weight[{j}]": w for name in self._drives for j, w in enumerate(delay.first)},
            **{f"{name}.weight[0]": 1.0 for name in self._sensors},
        }

    def names(self, *, noisy: bool) -> tuple[str, ...]:
        """Return the names of the parameters that differ from lane to lane."""
        return (*self._as_modelled, *([SEED] if noisy else []))

    def as_modelled(self) -> NDArray[np.float64]:
        """Return their values with the rig as it is modelled, without that of the seed."""
        return np.array(list(self._as_modelled.values()))

    def drawn(self, count: int, seed: int) -> NDArray[np.float64]:
        """Return their values for drawn rigs, (rigs, names), without those of the seed.

        Parameters
        ----------
        count
            How many.
        seed
            Of the draw.
        """
        if (count, seed) not in self._draws:
            self._draws[count, seed] = self._draw(count, np.random.default_rng(seed))
        return self._draws[count, seed]

    def _draw(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return values for drawn rigs."""
        errors, actuators = self._errors, len(self._drives)
        part = errors.actuator_error
        columns: list[NDArray[np.float64]] = []
        for _ in range(actuators):
            gain, bandwidth = 1 + part * rng.uniform(-1, 1, (2, count))
            late = self._ahead + errors.latency_error * rng.uniform(-1 if self._ahead else 0, 1, count)
            # The parabola through three values, read off between them.
            delay = [(late - 1) * (late - 2) / 2, late * (2 - late), late * (late - 1) / 2]
            columns += [gain * w for w in delay]
            columns += list(np.array([self._slower(b) for b in bandwidth]).reshape(count, -1).T)
        columns += list(1 + errors.sensor_error * rng.uniform(-1, 1, (len(self._sensors), count)))
        return np.column_stack(columns)

    def _slower(self, factor: float) -> NDArray[np.float64]:
        """Return the weights of D(s)/D(s/factor) for the process N(s)/D(s), discrete by Tustin's rule."""
        from scipy.signal import bilinear_zpk, zpk2sos

        if not self._sections:
            return np.zeros(0)
        poles = self._process.poles()
        zeros, bases, gain = bilinear_zpk(poles, factor * poles, factor ** len(poles), 1 / self._period)
        sections = np.asarray(zpk2sos(zeros, bases, gain))  # type: ignore[arg-type]
        return np.delete(sections, 3, axis=1).ravel()  # a0 is 1


def _sensor(given: object) -> Sensor:
    """Return a rig's sensor, or an ideal one where it has none."""
    return given if isinstance(given, Sensor) else Sensor()
