"""The rig of du Bois, Titurus and Lieven 2010 and the structure that it is bonded to, with values of our own.

The numerical half are two masses (Figure 8) on a moving base; the physical one is the orifice damper on its
servo-hydraulic actuator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.data import Parameter, describable, number
from bondloop.engine.ir import Const, Expr, function
from bondloop.errors import InputError, unknown_name
from bondloop.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.bondgraph import Model
    from bondloop.control import Controller
    from bondloop.control.feedforward import InverseModel
    from bondloop.hybrid import HybridTest, Switches
    from bondloop.rigs import Emulated
    from bondloop.safety import Interlock
    from bondloop.structures import Matrices
    from bondloop.transfer import Process


# ruff: noqa: RUF009 - the defaults of a signal's parameters are descriptors, one for a class


@dataclass(frozen=True)
class Structure:
    """The numerical half (Figure 8): x0 -k1- m1 -k2- m2, a damper beside each spring, C = beta K.

    The paper prints none of its values. These give a hybrid system with both modes below 10 Hz, the second
    near 6.3 Hz, as section 4.5 says.
    """

    mass1: float = 20e3
    mass2: float = 20e3
    stiffness1: float = 8.3e6
    stiffness2: float = 12.5e6
    beta: float = 5e-4

    def matrices(self) -> Matrices:
        """Return mass, damping and stiffness matrices of the two free degrees of freedom (eqs. 10-11)."""
        from bondloop.structures import Matrices

        k1, k2 = self.stiffness1, self.stiffness2
        K = np.array([[k1 + k2, -k2], [-k2, k2]])
        M = np.diag([self.mass1, self.mass2])
        return Matrices(M, self.beta * K, K, ("mass1.ux", "mass2.ux"))

    def transfer(self, frequency: ArrayLike, damping: float, stiffness: float) -> NDArray[np.complex128]:
        """Return x2/x0 and x1/x0 with a linear damper c_d, k_d, shape (2, n) (eq. 24).

        Parameters
        ----------
        frequency
            In Hz, shape (n,).
        damping, stiffness
            c_d in N s/m and k_d in N/m of the damper; no damping for the structure by itself.
        """
        s = 2j * np.pi * np.asarray(frequency, dtype=float)
        m1, m2, k1, k2, b, cd, kd = (
            *(self.mass1, self.mass2, self.stiffness1, self.stiffness2, self.beta, damping, stiffness),
        )
        one, two, damper = k1 * (1 + b * s), k2 * (1 + b * s), cd * s + kd
        first = m1 * s**2 + one + two
        below = first * ((m2 * s**2 + two) * damper + cd * kd * s) - two**2 * damper
        x2 = one * two * damper / below
        return np.array([x2, (two * x2 + one) / first])

    def poles(self, damping: float, stiffness: float) -> NDArray[np.complex128]:
        """Return the five poles of the hybrid system in rad/s, slowest first: where eq. 24 is infinite."""
        m1, m2, k1, k2, b = self.mass1, self.mass2, self.stiffness1, self.stiffness2, self.beta
        two, damper = np.array([b * k2, k2]), np.array([damping, stiffness])
        first = np.array([m1, b * (k1 + k2), k1 + k2])
        inner: Any = np.polyadd(np.polymul([m2, b * k2, k2], damper), [damping * stiffness, 0.0])
        coupling: Any = np.polymul(np.polymul(two, two), damper)
        roots = np.asarray(np.roots(np.polysub(np.polymul(first, inner), coupling)), dtype=complex)
        return np.asarray(roots[np.lexsort((roots.imag, np.abs(roots)))])


STRUCTURE = Structure()


@dataclass(frozen=True)
class FadingSine(Signal):
    """The motion x0 of the base: amplitude (1 - e^(-t/rise))^4 sin(2 pi frequency t).

    A sine that began at once would shake the structure at its own frequencies for seconds: above them mass 2
    moves by a thousandth of the base.

    >>> base = FadingSine(0.001, 5.0)
    >>> round(1e3 * base(6.05), 6), round(1e3 * base(0.05), 6)  # mm
    (1.0, 0.000555)
    """

    amplitude: Parameter = Parameter()
    frequency: Parameter = Parameter(above=0, unit="Hz")
    rise: Parameter = Parameter(0.3, above=0, unit="s")

    def expression(self, t: Expr) -> Expr:
        """Return the displacement as an expression of the time."""
        risen = 1 - function("exp", t * Const(-1 / self.rise))
        wave = function("sin", Const(2 * np.pi * self.frequency) * t)
        return Const(self.amplitude) * risen * risen * risen * risen * wave


CUT = "structure.mass2.ux >> damper.rod"
"""The cut bond: what lies behind it, the damper, is physical."""
RATE = 1000.0
"""Samples a second (section 2.2)."""
LATENCY = 3e-3
"""s, of command and converters: ours, so that the fitted delay is near the 5 ms of the paper."""
PLAY = 1e-4
"""m: whole free travel of the worn bearings; ours."""
VALVE = 90.0
"""Hz: of the servovalve's spool; ours."""
FRAME_MASS = 500.0
"""kg: of the frame behind the damper, where it is not rigid; ours."""
SECONDS = 8.0
"""Default length; both switches are closed after 3.5 s."""
MODELS = ("G1", "G2", "G1D", "G2D")
"""The process models (eq. 1)."""
OUTLOOK = ("scheduled", "scheduled by force", "scheduled within the stroke", "adaptive", "empty", "load")
"""Of section 5: gain scheduling, adaption, and a state that is observed (`outlook_controller`)."""
PREDICTIONS = {"long": (0.1, 20), "short": (0.01, 10)}
"""T_s in s and n_s of the prediction: as in the tests of section 4.5, and as found best at its end."""
FITTED_TO = 100.0
"""Hz: the process models are fitted up to here, as in the paper."""
POWER = 50.0
"""W: threshold of the power trip, about twice what is seen with a good controller at 8.6 Hz."""
DISPLACEMENT_CLOSED, FORCE_CLOSED, RAMP = 2.0, 3.0, 0.5
"""s: when the switches begin to close, and how long that takes."""


@dataclass(frozen=True)
class Bench:
    """What stands in the laboratory.

    Parameters
    ----------
    damper
        ``standard`` or ``large``: the orifice.
    valve
        Frequency of the servovalve's spool, Hz.
    frame
        Frequency in Hz of the frame that holds the damper's far end; 0 for a rigid one.
    """

    damper: str = "standard"
    valve: float = VALVE
    frame: float = 0.0

    def specimen(self) -> Model:
        """Return the damper as it is mounted."""
        return specimen(self.damper, PLAY, self.frame)

    def rig(self, physical: Model, latency: float = LATENCY, *, tuned: bool = True) -> Emulated:
        """Return the rig with a specimen on it."""
        return emulated_rig(physical, latency, tuned=tuned, valve=self.valve)


STANDARD = Bench()
"""The bench of the paper's programme."""


@describable("model", "dubois-damper")
def model(play: float = PLAY, damper: str = "standard", frame: float = 0.0) -> Model:
    """Return the complete system: two modes (eqs. 12-14) bonded to the damper."""
    from bondloop.bondgraph import Model, bond
    from bondloop.structures import modal_form, modes

    whole = Model("dubois_damper")
    shapes = modes(STRUCTURE.matrices(), 2)
    whole.structure = modal_form(shapes, name="structure", forces={"mass1.ux": "base_force"})
    whole.damper = specimen(damper, number(play, "play", "m"), number(frame, "frame", "Hz"))
    bond(whole.structure.mass2.ux, whole.damper.rod)
    return whole


def specimen(damper: str = "standard", play: float = PLAY, frame: float = 0.0) -> Model:
    """Return a damper by its orifice, ``standard`` or ``large``; ``frame`` in Hz, 0 for a rigid one."""
    from bondloop.rigs import OnBracket, OrificeDamper

    kinds = {"standard": OrificeDamper.standard, "large": OrificeDamper.large}
    if damper not in kinds:
        raise InputError(unknown_name("damper", damper, kinds))
    mounted = kinds[damper](play=play or None)
    return OnBracket(mounted, FRAME_MASS, frame) if frame else mounted


def emulated_rig(
    physical: Model, latency: float = LATENCY, *, tuned: bool = True, seed: int = 0, valve: float = VALVE
) -> Emulated:
    """Return the rig: a 25 kN actuator with the gains of section 3.1 (or 2.1), its sensors, latency."""
    from bondloop.rigs import LVDT, Emulated, LoadCell
    from bondloop.transfer import SerialPID, ServoHydraulic, ServoValve

    gains = SerialPID(30, 0.2, "3.6 ms") if tuned else SerialPID.untuned()
    sensors = {"displacement": LVDT("75 mm"), "force": LoadCell("25 kN")}
    actuator = ServoHydraulic(gains, valve=ServoValve(frequency=valve))
    return Emulated(physical, actuator, sensors=sensors, latency=latency, substeps=4, seed=seed)


def base_force(motion: Signal) -> Signal:
    """Return the force on mass 1 that the motion x0 of the base makes: k1 x0 + c1 dx0/dt (eq. 15)."""
    k = STRUCTURE.stiffness1
    return k * motion + (STRUCTURE.beta * k) * motion.derivative()


def inverse(process: Process, prediction: str) -> InverseModel:
    """Return the inverse of a process model, its delay predicted or, where the demand is known, left out."""
    from bondloop.control.feedforward import InverseModel, PolynomialPrediction

    if not process.delay or prediction == "known":
        return InverseModel(process)
    span, points = PREDICTIONS[prediction]
    return InverseModel(process, PolynomialPrediction(process.delay, span=span, points=points))


def coupled(
    controller: Controller,
    force: Signal,
    *,
    latency: float = LATENCY,
    bench: Bench = STANDARD,
    switches: Switches | None = None,
    interlock: Interlock | None = None,
) -> HybridTest:
    """Return the structure, bonded to the rig by a controller."""
    from bondloop.hybrid import HybridTest

    numerical, physical = model(PLAY, bench.damper, bench.frame).cut(CUT)
    return HybridTest(
        numerical,
        rig=bench.rig(physical, latency),
        controller=controller,
        excitation={"structure.base_force": force},
        rate=RATE,
        switches=switches,
        interlock=interlock,
        name="dubois_damper",
    )


def closing(damper: str = "standard") -> Switches:
    """Return the switches: displacement first, force a second later, the simulated damper alongside (4.4)."""
    from bondloop.hybrid import Switches
    from bondloop.safety import Switch
    from bondloop.signals import Step

    return Switches(
        displacement=Switch(Step(1.0, at=DISPLACEMENT_CLOSED), ramp=RAMP),
        force=Switch(Step(1.0, at=FORCE_CLOSED), ramp=RAMP),
        simulated=model(play=0.0, damper=damper).cut(CUT)[1],
    )


def guard(power: float) -> Interlock:
    """Return limits of the rig and the power trip of section 4.4."""
    from bondloop.safety import Interlock, Limits, PowerTrip

    limits = Limits(displacement="10 mm", force="20 kN", command="20 mm")
    return Interlock(limits, power=PowerTrip(power, cutoff=0.5), release=0.05, retreat=0.5)
