"""An electro-mechanical actuator: servomotor, ball screw, carriage, and its cascaded loops."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bondloop.bondgraph import Model, One, Part, Port, Zero
from bondloop.bondgraph.elements import GY, TF, C, Df, Function, I, Input, MSe, R, SignalIntegrator
from bondloop.engine.data import POSITIVE, Described, Parameter, Range, describable, ranges_of
from bondloop.errors import InputError
from bondloop.transfer.parts import clipped, guide_friction, unwound

FEEDBACKS = ("motor", "carriage")
_UNITS = {
    "radius": ("m/rad",), "top_speed": ("m/s",), "reset_time": ("s",), "peak_current": ("A",),
    "bandwidth": ("Hz",), "torque_constant": ("N m/A",), "inductance": ("H",), "voltage": ("V",),
}  # fmt: skip
"""What the parameters of the loops measure; the gains of two of them differ in that."""


@dataclass(frozen=True)
class _Electric(Described, family="electro_mechanical"):
    """Base of the parts of an electro-mechanical actuator."""


@dataclass(frozen=True)
class ServoMotor(_Electric):
    """A permanent-magnet servomotor seen as a direct-current one; the defaults are of the 2 kW class.

    Parameters
    ----------
    torque_constant
        N m/A, and V s/rad.
    inertia
        Of rotor, coupling and screw, kg m².
    friction
        Viscous, of the bearings, N m s/rad.
    peak_current
        A.
    resistance, inductance
        Of the winding, ohm and H; used where the winding is modelled.
    voltage
        Of the amplifier, V; used where the winding is modelled.

    Examples
    --------
    >>> ServoMotor(peak_current="20 A").peak_current
    20.0
    """

    torque_constant: Parameter = Parameter(0.6, above=0, unit="N m/A")
    inertia: Parameter = Parameter(1.2e-3, above=0, unit="kg m^2")
    friction: Parameter = Parameter(2e-3, least=0, unit="N m s/rad")
    peak_current: Parameter = Parameter(30.0, above=0, unit="A")
    resistance: Parameter = Parameter(0.8, above=0, unit="Ohm")
    inductance: Parameter = Parameter(4e-3, above=0, unit="H")
    voltage: Parameter = Parameter(300.0, above=0, unit="V")


@dataclass(frozen=True)
class BallScrew(_Electric):
    """Screw, nut and guided carriage.

    Parameters
    ----------
    lead
        Travel of one turn, m.
    stiffness, damping
        Of screw, nut and bearings along the axis, N/m and N s/m.
    mass
        Of carriage, load cell and clevis, kg.
    viscous, coulomb, width
        Friction of the guides: N s/m, N, and the velocity over which the dry part changes sign, m/s.

    Examples
    --------
    >>> BallScrew(lead="5 mm").lead
    0.005
    """

    lead: Parameter = Parameter(0.01, above=0, unit="m")
    stiffness: Parameter = Parameter(1e8, above=0, unit="N/m")
    damping: Parameter = Parameter(4e3, least=0, unit="N s/m")
    mass: Parameter = Parameter(20.0, above=0, unit="kg")
    viscous: Parameter = Parameter(200.0, least=0, unit="N s/m")
    coulomb: Parameter = Parameter(40.0, least=0, unit="N")
    width: Parameter = Parameter(5e-3, above=0, unit="m/s")


@dataclass(frozen=True)
class CascadedLoops(_Electric):
    """Position, speed and current loops as in a servo drive.

    Parameters
    ----------
    position_gain
        From following error to demanded speed, 1/s; the lag at low frequency is its reciprocal.
    speed_bandwidth
        Of the speed loop with motor and carriage as one rigid inertia, Hz: it sets the loop's gain.
    reset_time
        Of the speed loop's integral part, s.
    current_bandwidth
        Of the current loop, Hz.
    top_speed
        Largest demanded speed of the carriage, m/s.

    Examples
    --------
    >>> 1 / CascadedLoops(position_gain=50.0).position_gain  # the lag at low frequency, s
    0.02
    """

    position_gain: Parameter = Parameter(80.0, above=0, unit="1/s")
    speed_bandwidth: Parameter = Parameter(60.0, above=0, unit="Hz")
    reset_time: Parameter = Parameter(0.02, above=0, unit="s")
    current_bandwidth: Parameter = Parameter(500.0, above=0, unit="Hz")
    top_speed: Parameter = Parameter(0.5, above=0, unit="m/s")


@describable("transfer")
class ElectroMechanical(Model):
    """A position-controlled screw drive, from its set point in metres to its port ``out``.

    The motor's torque turns rotor and screw; the nut pushes the carriage through the screw's stiffness. The
    position loop demands a speed, the speed loop (proportional and integral) a current, and the current loop
    is a first-order lag, or with ``winding=True`` a proportional-integral controller on the winding's
    L di/dt + R i + k_t ω = u, tuned to the same bandwidth.

    Parameters
    ----------
    loops, motor, screw
        Their parameters.
    feedback
        Where the position is measured: ``"carriage"`` (a scale) or ``"motor"`` (the encoder, behind the
        screw's stiffness). The speed is always the motor's.
    winding
        True to model the winding and the amplifier's voltage limit.
    linear
        True for the small-signal model: no limits, no dry friction.

    Examples
    --------
    >>> print(f"{ElectroMechanical().peak_force / 1e3:.1f} kN")
    11.3 kN
    """

    def __init__(
        self,
        loops: CascadedLoops | None = None,
        *,
        motor: ServoMotor | None = None,
        screw: BallScrew | None = None,
        feedback: str = "carriage",
        winding: bool = False,
        linear: bool = False,
    ) -> None:
        super().__init__("electro_mechanical")
        self.loops_data = loops or CascadedLoops()
        self.motor_data, self.screw_data = motor or ServoMotor(), screw or BallScrew()
        for given, kind in (
            (self.loops_data, CascadedLoops), (self.motor_data, ServoMotor), (self.screw_data, BallScrew),
        ):  # fmt: skip
            if not isinstance(given, kind):
                raise InputError(f"ElectroMechanical: expected {kind.__name__}; found {given!r}")
        if feedback not in FEEDBACKS:
            raise InputError(f"feedback must be 'carriage' or 'motor'; found {feedback!r}")
        self._mechanics(linear)
        self._loops(feedback, linear)
        if winding:
            self._winding(linear)
        else:
            self._current_lag()

    def _mechanics(self, linear: bool) -> None:
        motor, screw = self.motor_data, self.screw_data
        self.shaft, self.force, self.stretch, self.v, self.out = One(), Zero(), One(), One(), Port()
        self.inertia = I(inertia=motor.inertia)
        self.bearing = R(damping=motor.friction, ranges=ranges_of(ServoMotor, damping="friction"))
        self.screw = TF(modulus=self.radius, ranges=ranges_of(BallScrew, modulus="lead"))
        self.spring = C(stiffness=screw.stiffness, ranges=ranges_of(BallScrew, "stiffness"))
        self.damper = R(damping=screw.damping, ranges=ranges_of(BallScrew, "damping"))
        self.mass = I(mass=screw.mass)
        if linear:
            self.guide = R(damping=screw.viscous, ranges=ranges_of(BallScrew, damping="viscous"))
        else:
            self.guide = guide_friction(screw.viscous, screw.coulomb, screw.width)
        self.shaft >> [self.inertia, self.bearing]
        self.shaft >> self.screw >> self.force >> self.v >> [self.mass, self.guide, self.out]
        self.force >> self.stretch >> [self.spring, self.damper]

    def _loops(self, feedback: str, linear: bool) -> None:
        loops = self.loops_data
        self.set_point = Input("set_point", unit="m")
        self.speed, self.position = Df(), SignalIntegrator()
        self.shaft >> self.speed
        if feedback == "carriage":
            self.velocity = Df()
            self.v >> self.velocity >> self.position
        else:
            self.nut = _positive(_nut, "m/s", radius=self.radius)
            self.speed >> self.nut >> self.position
        self.speed_demand = _positive(
            _linear_speed_demand if linear else _speed_demand,
            "rad/s",
            gain=loops.position_gain,
            **({} if linear else {"top_speed": loops.top_speed}),
            radius=self.radius,
        )
        [self.set_point, self.position] >> self.speed_demand
        self.speed_error, self.speed_integral = Function(_difference, unit="rad/s"), SignalIntegrator()
        [self.speed_demand, self.speed] >> self.speed_error
        self.speed_total = _positive(_total, "rad/s", reset_time=loops.reset_time)
        self.current_output = _positive(_times, "A", gain=self.speed_gain)
        [self.speed_error, self.speed_integral] >> self.speed_total >> self.current_output
        limit = {} if linear else {"peak_current": self.motor_data.peak_current}
        self.current_demand = _positive(_same if linear else _clip_current, "A", **limit)
        self.current_output >> self.current_demand
        if linear:
            self.speed_error >> self.speed_integral
        else:
            self.speed_gate = Function(unwound, unit="rad/s")
            [self.speed_error, self.speed_total, self.current_output, self.current_demand] >> self.speed_gate
            self.speed_gate >> self.speed_integral

    def _current_lag(self) -> None:
        self.current: Part = SignalIntegrator()
        self.torque = MSe()
        self.current_rate = _positive(_lag, "A/s", bandwidth=self.loops_data.current_bandwidth)
        [self.current_demand, self.current] >> self.current_rate >> self.current
        self.motor: Part = _positive(_torque, "N m", torque_constant=self.motor_data.torque_constant)
        self.current >> self.motor >> self.torque >> self.shaft

    def _winding(self, linear: bool) -> None:
        motor, bandwidth = self.motor_data, self.loops_data.current_bandwidth
        self.circuit, self.amplifier = One(), MSe()
        self.inductance = I(inductance=motor.inductance)
        self.resistance = R(resistance=motor.resistance, ranges=ranges_of(ServoMotor, "resistance"))
        self.motor = GY(ratio=motor.torque_constant, ranges=ranges_of(ServoMotor, ratio="torque_constant"))
        self.amplifier >> self.circuit >> [self.inductance, self.resistance]
        self.circuit >> self.motor >> self.shaft
        self.current, self.current_error = Df(), Function(_difference, unit="A")
        self.current_integral = SignalIntegrator()
        self.circuit >> self.current
        [self.current_demand, self.current] >> self.current_error
        # Its zero cancels the winding's pole: the closed loop is a lag of the bandwidth.
        reset_time = motor.inductance / motor.resistance
        self.current_total = _positive(_total, "A", reset_time=reset_time)
        self.voltage_output = _positive(_voltage, "V", bandwidth=bandwidth, inductance=motor.inductance)
        [self.current_error, self.current_integral] >> self.current_total >> self.voltage_output
        if linear:
            self.voltage_output >> self.amplifier
            self.current_error >> self.current_integral
            return
        self.voltage_limit = _positive(_clip_voltage, "V", voltage=motor.voltage)
        self.voltage_output >> self.voltage_limit >> self.amplifier
        self.current_gate = Function(unwound, unit="A")
        [self.current_error, self.current_total, self.voltage_output, self.voltage_limit] >> self.current_gate
        self.current_gate >> self.current_integral

    @property
    def radius(self) -> float:
        """Travel in m for one radian of the screw."""
        return self.screw_data.lead / (2 * math.pi)

    @property
    def peak_force(self) -> float:
        """Force in N at peak current, without friction."""
        return self.motor_data.torque_constant * self.motor_data.peak_current / self.radius

    @property
    def capacity(self) -> dict[str, float]:
        """What it can do at most: velocity in m/s, force in N."""
        return {"velocity": self.loops_data.top_speed, "force": self.peak_force}

    @property
    def speed_gain(self) -> float:
        """Gain of the speed loop in A s/rad: bandwidth times rigid inertia over torque constant."""
        inertia = self.motor_data.inertia + self.screw_data.mass * self.radius**2
        omega = 2 * math.pi * self.loops_data.speed_bandwidth
        return omega * inertia / self.motor_data.torque_constant


def _positive(function: Callable[..., Any], unit: str, **parameters: float) -> Function:
    """Return a part of the loops: all its parameters are made of data that are positive."""
    ranges = {name: POSITIVE & Range(units=_UNITS.get(name, ())) for name in parameters}
    return Function(function, unit=unit, ranges=ranges, **parameters)


def _nut(speed: Any, radius: Any) -> Any:
    return radius * speed


def _linear_speed_demand(set_point: Any, position: Any, gain: Any, radius: Any) -> Any:
    return gain * (set_point - position) / radius


def _speed_demand(set_point: Any, position: Any, gain: Any, top_speed: Any, radius: Any) -> Any:
    return clipped(gain * (set_point - position), top_speed) / radius


def _difference(demand: Any, actual: Any) -> Any:
    return demand - actual


def _total(error: Any, integral: Any, reset_time: Any) -> Any:
    return error + integral / reset_time


def _times(total: Any, gain: Any) -> Any:
    return gain * total


def _same(value: Any) -> Any:
    return value


def _clip_current(value: Any, peak_current: Any) -> Any:
    return clipped(value, peak_current)


def _clip_voltage(value: Any, voltage: Any) -> Any:
    return clipped(value, voltage)


def _lag(demand: Any, current: Any, bandwidth: Any) -> Any:
    return 2 * math.pi * bandwidth * (demand - current)


def _torque(current: Any, torque_constant: Any) -> Any:
    return torque_constant * current


def _voltage(total: Any, bandwidth: Any, inductance: Any) -> Any:
    return 2 * math.pi * bandwidth * inductance * total
