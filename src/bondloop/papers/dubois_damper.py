"""Transfer dynamics cancellation of du Bois, Titurus and Lieven 2010, on an emulated rig.

A structure of two degrees of freedom on a moving base (Figure 8) is computed by its modal transfer
functions. The orifice damper at its second mass is physical, moved by a servo-hydraulic actuator whose
dynamics are identified by stepped sines and cancelled by the inverse of a process model, with polynomial
prediction where the model has a delay.

The rig of the paper is confidential and its figures are not part of the text: actuator, damper and structure
have values of our own (docs/actuators.md, docs/papers/du-bois-2010.md). What is computed from them, the
process models above all, is identified each time, never typed in. The paper's programme on this rig is
``examples/papers/dubois_programme.py``.

References
----------
Du Bois, J. L., Titurus, B., Lieven, N. A. J. (2010). Transfer dynamics cancellation in real-time dynamic
substructuring. Proceedings of ISMA 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.data import Parameter, describable, number
from bondloop.engine.ir import Const, Expr, function
from bondloop.errors import InputError, unknown_name
from bondloop.safety import POWER as POWER_CHANNEL
from bondloop.signals import Signal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from bondloop.bondgraph import Model
    from bondloop.control import Compensator, Controller, InverseModel
    from bondloop.hybrid import HybridTest, Switches
    from bondloop.identify import Data, SteppedSine, SteppedSinePlan
    from bondloop.identify.process import ProcessFit
    from bondloop.rehearsal import Run
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
    from bondloop.control import InverseModel, PolynomialPrediction

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
    from bondloop.safety import RampedSwitch
    from bondloop.signals import Step

    return Switches(
        displacement=RampedSwitch(Step(1.0, at=DISPLACEMENT_CLOSED), ramp=RAMP),
        force=RampedSwitch(Step(1.0, at=FORCE_CLOSED), ramp=RAMP),
        simulated=model(play=0.0, damper=damper).cut(CUT)[1],
    )


def guard(power: float) -> Interlock:
    """Return limits of the rig and the power trip of section 4.4."""
    from bondloop.safety import Interlock, Limits, PowerTrip

    limits = Limits(displacement="10 mm", force="20 kN", command="20 mm")
    return Interlock(limits, power=PowerTrip(power, cutoff=0.5), release=0.05, retreat=0.5)


FREQUENCIES = (1, 2, 3, 4, 5, 6.3, 8, 10, 12.5, 16, 20, 25, 31.5, 40, 50, 63, 80, 100)
"""Hz."""


AMPLITUDES = (1.25e-4, 2.5e-4, 3.75e-4, 5e-4)
"""m: four, over half of the range of the surfaces, so that the valves' regime is avoided (section 3.1)."""


MIDDLE = (5.0, 5e-4)
"""Hz and m: the operating conditions about which the damper is linearised (section 4.3)."""


@dataclass(frozen=True, eq=False)
class Identified:
    """What was measured of the rig, and the models fitted to it.

    Attributes
    ----------
    plan, data
        The stepped sines, and the record.
    surface
        Measured displacement over command, by amplitude and frequency.
    fits
        The four process models.
    """

    plan: SteppedSinePlan
    data: Data
    surface: SteppedSine
    fits: dict[str, ProcessFit]


def stepped(physical: Model, plan: SteppedSinePlan, *, tuned: bool = True, bench: Bench = STANDARD) -> Data:
    """Drive a specimen on the rig through a plan of stepped sines."""
    from bondloop.identify import Experiment

    return Experiment(bench.rig(physical, tuned=tuned), RATE).stepped(plan)


Sweep = tuple["SteppedSinePlan", "Data", "SteppedSine"]


def _swept(physical: Model, amplitudes: Sequence[float], bench: Bench) -> Sweep:
    """Drive the rig with the tuned gains through all frequencies."""
    from bondloop.identify import stepped_sine, stepped_sine_plan

    plan = stepped_sine_plan(FREQUENCIES, amplitudes, 0.5, 10, RATE)
    data = stepped(physical, plan, bench=bench)
    return plan, data, stepped_sine(data.select("command", "displacement"), plan)


@lru_cache(maxsize=8)
def measured(bench: Bench = STANDARD, amplitudes: tuple[float, ...] = AMPLITUDES) -> Sweep:
    """Drive the rig with a damper mounted, with the tuned gains, through stepped sines (section 3.1)."""
    from bondloop.rigs import mounted

    return _swept(mounted(bench.specimen()), amplitudes, bench)


@lru_cache(maxsize=8)
def identified(bench: Bench = STANDARD, highest: float = FREQUENCIES[-1]) -> Identified:
    """Fit the four process models to what was measured (section 3.1).

    All four amplitudes take part at once. The paper's cost is an error over time: by Parseval a point then
    weighs with its amplitude, as here.

    Parameters
    ----------
    bench
        What stands in the laboratory.
    highest
        Highest frequency in Hz that takes part in the fits.
    """
    from bondloop.identify.process import fit_frequency

    plan, data, found = measured(bench)
    inside = found.frequency <= highest
    f = np.tile(found.frequency[inside], len(found.amplitude))
    weight = np.repeat(found.amplitude / found.amplitude.max(), inside.sum())
    response = found.response[:, inside].ravel()
    fits = {name: fit_frequency(f, response, name, weight=weight) for name in MODELS}
    return Identified(plan, data, found, fits)


@lru_cache(maxsize=4)
def linearised(damper: str = "standard") -> tuple[float, float]:
    """Return c_d in N s/m and k_d in N/m of the damper at mid-range (section 4.3, eqs. 20-23).

    The rod is moved exactly; the first harmonic of the force over the displacement is a spring and a dashpot
    in series: x/F = 1/k_d + 1/(j omega c_d).
    """
    from bondloop.rigs import mounted

    frequency, amplitude = MIDDLE
    omega = 2 * np.pi * frequency
    half = mounted(specimen(damper, 0.0)).compile(outputs=["interface.effort"])
    times = np.linspace(0.0, 4 / frequency, 4 * 200 + 1)

    def velocity(t: float) -> float:
        return float(amplitude * omega * np.cos(omega * t))

    moved = half.simulate(times[-1], {"interface.flow": velocity}, times=times, max_step=1e-3)
    last = slice(-201, -1)
    wave = np.exp(-1j * omega * times[last])
    force = 2 * np.mean(moved["interface.effort"][last] * wave)
    give = (-1j * amplitude) / force
    return float(-1 / (omega * give.imag)), float(1 / give.real)


LEVELS = (5e-5, *AMPLITUDES)
"""m: amplitudes of the schedule; the smallest is what mass 2 has at the highest tones."""


FORCES = (200.0, 2000.0)
"""N: below the first the rig is taken for empty, beyond the second for loaded."""


@lru_cache(maxsize=8)
def empty_process(bench: Bench = STANDARD, highest: float = FITTED_TO) -> Process:
    """Fit G1D to the rig with nothing mounted, at the amplitudes of the identification."""
    from bondloop.identify.process import fit_frequency
    from bondloop.rigs import nothing_mounted

    surface = _swept(nothing_mounted(), AMPLITUDES[1::2], bench)[2]
    inside = surface.frequency <= highest
    f = np.tile(surface.frequency[inside], len(surface.amplitude))
    return fit_frequency(f, surface.response[:, inside].ravel(), "G1D").process


@lru_cache(maxsize=8)
def _processes(bench: Bench, highest: float) -> tuple[Process, ...]:
    """Fit G2D to each level by itself."""
    from bondloop.identify.process import fit_frequency

    surface = measured(bench)[2]
    inside = surface.frequency <= highest
    rows = (measured(bench, LEVELS[:1])[2].response[0], *surface.response)
    return tuple(fit_frequency(surface.frequency[inside], row[inside], "G2D").process for row in rows)


def outlook_controller(name: str, prediction: str, bench: Bench, fitted_to: float) -> Compensator:
    """Return a controller of the outlook.

    Parameters
    ----------
    name
        ``scheduled``: G2D of each amplitude, by the demand's amplitude; ``scheduled by force``: G1D of the
        empty and of the loaded rig, by the amplitude of the measured force; ``scheduled within the stroke``:
        by its value of the moment; ``adaptive``: `AdaptiveTimeSeries`, which knows nothing beforehand;
        ``empty``: G1D of the empty rig; ``load``: the same, and what the load's pressure takes away.
    prediction, bench, fitted_to
        As of `compensator`.
    """
    from bondloop.control import AdaptiveTimeSeries, LoadFeedforward, Scheduled

    if name == "scheduled":
        members = tuple(inverse(process, prediction) for process in _processes(bench, fitted_to))
        return Scheduled(members, LEVELS)
    free = inverse(empty_process(bench, fitted_to), prediction)
    if name == "empty":
        return free
    if name == "adaptive":
        return AdaptiveTimeSeries()
    if name.startswith("scheduled"):
        loaded = inverse(identified(bench, fitted_to).fits["G1D"].process, prediction)
        return Scheduled((free, loaded), FORCES, "force", 0.0 if name.endswith("stroke") else 0.5)
    from bondloop.rigs import nothing_mounted

    return LoadFeedforward(free, *bench.rig(nothing_mounted()).actuator_list()[0].give)


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

    if controller == "none":
        return Direct()
    if prediction not in (*PREDICTIONS, "known"):
        raise InputError(unknown_name("prediction", prediction, (*PREDICTIONS, "known")))
    if controller in OUTLOOK:
        return outlook_controller(controller, prediction, bench, fitted_to)
    if controller not in MODELS:
        raise InputError(unknown_name("controller", controller, (*MODELS, *OUTLOOK, "none")))
    return inverse(identified(bench, fitted_to).fits[controller].process, prediction)


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
    bench = Bench(damper, valve, frame)

    if not 0 < frequency < 0.25 * RATE:
        raise InputError(f"the frequency must lie between 0 and {0.25 * RATE:g} Hz; found {frequency:g}")
    response = STRUCTURE.transfer([frequency], *linearised(damper))[0, 0]
    base = FadingSine(amplitude / abs(response), frequency)
    return coupled(
        compensator(controller, prediction, bench, fitted_to), base_force(base), latency=latency,
        bench=bench, switches=closing(damper), interlock=guard(trip),
    )  # fmt: skip


def findings(run: Run) -> dict[str, float]:
    """Return how the rig followed in one run, and what the power trip saw."""
    from bondloop.identify import fourier_point

    part = run.coupled
    found = {"largest_displacement_mm": 1e3 * float(np.abs(run["actual.displacement"]).max())}
    frequency = _frequency(run)
    if POWER_CHANNEL in run.record:
        found["largest_power_discrepancy_W"] = float(run[POWER_CHANNEL].max())
    if run.trip is not None:
        found["tripped_at_s"] = run.trip[0]
    if frequency and len(part.time) > 2 * RATE / frequency:
        pair = part["desired.displacement"], part["measured.displacement"]
        last = round(np.floor(0.5 * len(part.time) * frequency / RATE) * RATE / frequency) or len(part.time)
        point = fourier_point(pair[0][-last:], pair[1][-last:], frequency, 1 / RATE)
        found["gain"] = point.gain
        found["phase_degrees"] = float(np.degrees(point.phase))
        found["harmonic_error"] = abs(point.response - 1)
    return found


def _frequency(run: Run) -> float | None:
    """Return the frequency of the base's motion, from the description of the test."""
    found = run.record.description.get("excitation", {}).get("structure.base_force", {})
    stack = [found]
    while stack:
        entry = stack.pop()
        if isinstance(entry, dict):
            if "frequency" in entry:
                return float(entry["frequency"])
            stack += entry.values()
        elif isinstance(entry, (list, tuple)):
            stack += entry
    return None
