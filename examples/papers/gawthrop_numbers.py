"""What the page about Gawthrop, Wallace and Wagg 2005 says in numbers beside its tables and figures.

Run: python examples/papers/gawthrop_numbers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gawthrop_rig as section
import numpy as np
import scipy.signal as sg
from gawthrop_rig import Rig

from bondloop.bondgraph import I, Input, Model, MSe, One, Port, R, Se
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.identify import Experiment
from bondloop.papers import gawthrop_three_mass as three
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated, nothing_mounted
from bondloop.signals import Sine
from bondloop.transfer.parts import clipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AMPLIFIERS", "Drive", "departure", "numbers", "position_loop_off", "sizes"]

SMALL, TIMES = 1e-3, 4.0
"""m and 1: the input of the smaller record, and how many times as large the other one is."""


def numbers() -> dict[str, float]:
    """Return the numbers, by what they are."""
    found = _three_masses() | _late() | _held()
    for gain in section.GAINS:
        found[f"(11), off the closed form at g = {gain:g}"] = position_loop_off(gain)
    kinds = {name: Drive(law) for name, law in AMPLIFIERS.items()}
    kinds["5 N of friction"] = Rig(friction=5.0).drives()[0]
    for name, drive in kinds.items():
        for frequency in (3.0, 10.0):
            for word, value in departure(drive, frequency).items():
                found[f"departure from proportion at {frequency:g} Hz, {name}, {word} loop [%]"] = 100 * value
    for i, (_, stiffness) in enumerate(two.TABLE_I, 1):
        # (h/2) [1 + (1 + m_t/m_N) k_E/k_t]; both masses are 2.2 kg.
        late = section.PERIOD / 2 * (1 + 2 * two.STIFFNESS / stiffness)
        found[f"delay of actuator {i} by the formula of the hold [ms]"] = 1e3 * late
    for i, (force, speed) in enumerate(sizes(), 1):
        found[f"sizing at 5/5 Hz, 1 mm: force of drive {i} [N]"] = force
        found[f"sizing at 5/5 Hz, 1 mm: speed of drive {i} [mm/s]"] = 1e3 * speed
    return found


def _three_masses() -> dict[str, float]:
    """Figure 7: the command, the transfer system's own error, and what makes the chain chaotic."""
    run = three.test().run(three.SECONDS)
    first = run.time <= 20
    off = np.abs(run["actual.displacement"] - run["desired.displacement"])
    return {
        "Figure 7 (b): largest command in the first 20 s [N]": float(np.abs(run["command"][first]).max()),
        "Figure 7: largest error of the transfer system [mm]": 1e3 * float(off.max()),
        "Figure 7: the same after 10 s [mm]": 1e3 * float(off[run.time >= 10].max()),
        "double well about its middle, fastest pole [1/s]": float(
            three.model().compile().linearise().poles().real.max()
        ),
    }


def _late() -> dict[str, float]:
    """Two samples of latency: unstable, and stopped at the stroke."""
    test = two.test(latency_samples=2)
    run = test.run(two.SECONDS)
    early = two.test(latency_samples=2).run(1.0)
    return {
        "two samples late, growth [1/s]": one_step(test.tick).growth,
        "two samples late, larger error in 1 s [%]": 100 * max(two.findings(early).values()),
        "two samples late, stroke reached after [s]": np.inf if run.completed else float(run.time[-1]),
    }


# ---------------------------------------------------------------- section 5.1


def _held() -> dict[str, float]:
    """Return how each side of the loop without virtual junction grows with the middle mass held fast."""
    held = two.test(controller="direct").with_values({"rig.specimen.m3.I.mass": 1e7})
    step = one_step(held.tick)
    growth = np.log(np.abs(step.eigenvalues)) / step.period
    sides = sorted({round(float(g), 6) for g in growth if g > 1}, reverse=True)
    return {f"middle mass held, growth of side {i} [1/s]": g for i, g in enumerate(sides, 1)}


def position_loop_off(gain: float) -> float:
    """Return how far the emulated loop is from the closed form of the sampled one, over the largest motion.

    A force that is held over a sample on a mass with a damper, closed by -g k x: by SciPy.
    """
    demand = section.set_points(seconds=2.0)
    rig = Emulated(nothing_mounted(), section.table_drive(1), substeps=8)
    data = Experiment(rig, 1000.0, section.position_loop(gain)).run(demand, 2.0)
    c, k = two.TABLE_I[0]
    plant = sg.StateSpace([[0, 1], [0, -(c + k * 5e-4) / 2.2]], [[0], [k / 2.2]], [[1, 0]], [[0]])
    plant = plant.to_discrete(1e-3)
    closed = sg.dlti(plant.A - gain * plant.B @ plant.C, gain * plant.B, plant.C, 0, dt=1e-3)
    _, expected, _ = sg.dlsim(closed, data["demand"][:, None])
    return float(np.abs(data["displacement"] - expected[:, 0]).max() / np.abs(expected).max())


def _compressed(u: Any, stiffness: Any) -> Any:
    """Return a force whose gain falls with the input: to a half at 4 mm."""
    return stiffness * u / (1 + (u**2 + 1e-12) ** 0.5 / 4e-3)


def _saturated(u: Any, stiffness: Any) -> Any:
    """Return a force that ends at 30 N, what 2.2 mm make."""
    return clipped(stiffness * u, 30.0)


AMPLIFIERS = {"gain that falls": _compressed, "saturation": _saturated}
"""Nonlinearities of a drive's amplifier."""


class Drive(Model):
    """The drive of table I for actuator 1 with an amplifier of any law.

    Parameters
    ----------
    law
        Force of the input u and of the stiffness.
    """

    def __init__(self, law: Any) -> None:
        super().__init__("drive")
        c, k = two.TABLE_I[0]
        self.command, self.push = Input("u", unit="m"), MSe(law, stiffness=k)
        self.v, self.out = One(), Port()
        self.mass, self.guide = I(mass=two.MASS), R(damping=c + k * section.PERIOD / 2)
        self.command >> self.push
        self.push >> self.v >> [self.mass, self.guide, self.out]


def departure(drive: Model, frequency: float) -> dict[str, float]:
    """Return how far a drive departs from proportion in its loop and without, driven by sines in Hz.

    Sines of 1 mm and of four times as much: the rms difference of the responses, each over its input and
    about its mean, as a share of the smaller.
    """
    found = {}
    rig, seconds = Emulated(nothing_mounted(), drive), 4 / frequency
    for word, controller in {"open": None, "closed": section.position_loop()}.items():
        small, large = (
            Experiment(rig, 1000.0, controller).run(Sine(factor * SMALL, frequency), seconds)["displacement"]
            / factor
            for factor in (1.0, TIMES)
        )
        settled = slice(len(small) // 2, None)
        apart, size = (x[settled] - x[settled].mean() for x in (large - small, small))
        found[word] = float(np.sqrt(np.mean(apart**2) / np.mean(size**2)))
    return found


# ---------------------------------------------------------------- section 6, actuator sizing


def sizes() -> list[tuple[float, float]]:
    """Return force in N and speed in m/s that both drives need at 5/5 Hz, walls of 1 mm, by the inverse.

    The specimen with both moving masses and the drives' own friction is turned round: the motion that the
    complete structure has goes in, the forces come out.
    """
    rig = Model("sizing")
    rig.link1, rig.link2 = (two.Link(two.STIFFNESS, two.DAMPING) for _ in range(2))
    rig.m3, rig.mt1, rig.mt2 = (two.PointMass(two.MASS) for _ in range(3))
    rig.F1, rig.F2 = Se("F1"), Se("F2")
    friction = [c + k * section.PERIOD / 2 for c, k in two.TABLE_I]
    rig.r1, rig.r2 = (R(damping=c) for c in friction)
    rig.F1 >> rig.mt1.v >> rig.r1
    rig.F2 >> rig.mt2.v >> rig.r2
    rig.mt1.right >> rig.link1.left
    rig.link1.right >> rig.m3.left
    rig.m3.right >> rig.link2.left
    rig.link2.right >> rig.mt2.left
    motion = _structure()
    needed = rig.compile().inverse(["mt1.v.flow", "mt2.v.flow"], ["F1", "F2"])
    times, velocities = motion
    inputs = {f"mt{i + 1}.v.flow": (times, v) for i, v in enumerate(velocities)}
    run = needed.simulate(float(times[-1]), inputs, times=times)
    last = times > times[-1] - 1.0
    return [
        (float(np.abs(run[f"F{i + 1}"][last]).max()), float(np.abs(v[last]).max()))
        for i, v in enumerate(velocities)
    ]


def _structure() -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return times and velocities of the two outer masses of the complete structure."""
    system = two.model().compile(outputs=["mn1.v.flow", "mn2.v.flow"])
    times = np.linspace(0, 10, 10001)
    walls = two.excitations("5/5", 1e-3)
    run = system.simulate(10.0, walls, times=times)
    return times, [run[f"mn{i}.v.flow"] for i in (1, 2)]


if __name__ == "__main__":
    for name, value in numbers().items():
        print(f"{name:72s} {value:.4g}")
