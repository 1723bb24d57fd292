"""Transfer dynamics cancellation of du Bois, Titurus and Lieven 2010, on an emulated rig.

A structure of two degrees of freedom is computed by its modal transfer functions; the orifice damper at its
second mass is physical, moved by a servo-hydraulic actuator whose dynamics are identified by stepped sines
and cancelled by the inverse of a process model, with polynomial prediction where the model has a delay.

The rig of the paper is confidential and its figures are not part of the text: actuator, damper and structure
have values of our own (docs/actuators.md, docs/papers/du-bois-2010.md). What is computed from them, the
process models above all, is identified each time, never typed in.

References
----------
Du Bois, J. L., Titurus, B., Lieven, N. A. J. (2010). Transfer dynamics cancellation in real-time dynamic
substructuring. Proceedings of ISMA 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.data.kinds import describable
from bondloop.data.ranges import number
from bondloop.errors import InputError, unknown_name
from bondloop.papers.dubois_structure import STRUCTURE, FadingSine

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.control import InverseModel
    from bondloop.control.base import Controller
    from bondloop.hybrid import HybridTest, Run, Switches
    from bondloop.program.signals import Signal
    from bondloop.rigs import Emulated
    from bondloop.safety import Interlock
    from bondloop.transfer.process import Process

__all__ = [
    "CUT", "FRAME_MASS", "LATENCY", "MODELS", "OUTLOOK", "PLAY", "PREDICTIONS", "RATE", "SECONDS", "STANDARD",
    "STRUCTURE", "VALVE", "Bench", "FadingSine", "base_force", "compensator", "coupled", "emulated_rig",
    "findings", "inverse", "model", "specimen", "test", "words",
]  # fmt: skip

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
"""Of section 5: gain scheduling, adaption, and a state that is observed (`dubois_outlook`)."""
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


def compensator(
    controller: str, prediction: str = "short", bench: Bench = STANDARD, fitted_to: float = FITTED_TO
) -> Controller:
    """Return a controller by its name: ``none``, or the inverse of a process model of the rig.

    Parameters
    ----------
    controller
        ``G1``, ``G2``, ``G1D``, ``G2D`` or ``none``; the model is identified on the emulated rig. Or one of
        `OUTLOOK`.
    prediction
        ``long``, ``short``, or ``known``: the delay is left out, for a demand that is given early.
    bench
        On which the model was identified.
    fitted_to
        Highest frequency in Hz of the measured response that the model was fitted to.
    """
    from bondloop.control import Direct
    from bondloop.papers.dubois_identification import identified

    if controller == "none":
        return Direct()
    if prediction not in (*PREDICTIONS, "known"):
        raise InputError(unknown_name("prediction", prediction, (*PREDICTIONS, "known")))
    if controller in OUTLOOK:
        from bondloop.papers.dubois_outlook import outlook_controller

        return outlook_controller(controller, prediction, bench, fitted_to)
    if controller not in MODELS:
        raise InputError(unknown_name("controller", controller, (*MODELS, *OUTLOOK, "none")))
    return inverse(identified(bench, fitted_to).fits[controller].process, prediction)


def inverse(process: Process, prediction: str) -> InverseModel:
    """Return the inverse of a process model, its delay predicted or, where the demand is known, left out."""
    from bondloop.control import InverseModel, PolynomialPrediction

    if not process.delay or prediction == "known":
        return InverseModel(process)
    span, points = PREDICTIONS[prediction]
    return InverseModel(process, PolynomialPrediction(process.delay, span=span, points=points))


def test(  # noqa: PLR0913, PLR0917 - what can be set from the command line
    controller: str = "G1D",
    prediction: str = "short",
    frequency: float = 8.6,
    amplitude: float = 4e-4,
    latency: float = LATENCY,
    damper: str = "standard",
    fitted_to: float = FITTED_TO,
    trip: float = POWER,
    valve: float = VALVE,
    frame: float = 0.0,
) -> HybridTest:
    """Return the substructured test of section 4.5 with one harmonic.

    Parameters
    ----------
    controller
        ``G1``, ``G2``, ``G1D``, ``G2D``: the inverse of that model; ``none``: the demand itself is sent;
        ``scheduled``, ``scheduled by force``, ``load`` and so on: of the paper's outlook.
    prediction
        ``long`` (0.1 s, 20 points) or ``short`` (0.01 s, 10 points), for models with a delay.
    frequency
        Of the base's motion, Hz.
    amplitude
        Amplitude in m that mass 2 would have with the damper linearised: the base moves as much as that
        needs.
    latency
        Of the rig in s. The process models are identified with 3 ms, so more makes the controller lag.
    damper
        ``standard`` or ``large``: the orifice.
    fitted_to
        Highest frequency in Hz of the measured response that the process model was fitted to.
    trip
        Threshold of the power trip, W.
    valve
        Frequency of the servovalve's spool, Hz.
    frame
        Frequency in Hz of the frame that holds the damper; 0 for a rigid one.
    """
    from bondloop.papers.dubois_identification import linearised

    bench = Bench(damper, valve, frame)

    if not 0 < frequency < 0.25 * RATE:
        raise InputError(f"the frequency must lie between 0 and {0.25 * RATE:g} Hz; found {frequency:g}")
    response = STRUCTURE.transfer([frequency], *linearised(damper))[0, 0]
    base = FadingSine(amplitude / abs(response), frequency)
    return coupled(
        compensator(controller, prediction, bench, fitted_to), base_force(base), latency=latency,
        bench=bench, switches=closing(damper), interlock=guard(trip),
    )  # fmt: skip


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
    from bondloop.program.signals import Step
    from bondloop.safety import Switch

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


def findings(run: Run) -> dict[str, float]:
    """Return the numbers of this run, and those of the paper's whole programme on the same rig."""
    from bondloop.papers.dubois_findings import numbers_of, programme

    return {**numbers_of(run), **programme()}


def words(run: Run) -> list[str]:
    """Return the paper's findings as they come out here, a sentence each, with their numbers."""
    from bondloop.papers.dubois_findings import sentences

    return sentences(run)
