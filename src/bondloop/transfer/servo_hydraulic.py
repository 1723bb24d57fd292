"""A servo-hydraulic actuator: servovalve, oil column, piston, and its displacement loop."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import TF, C, De, Df, Function, I, Input, MSf, R, SignalIntegrator
from bondloop.engine.data import Described, Parameter, describable, ranges_of
from bondloop.errors import InputError
from bondloop.transfer.parts import PIDModel, SerialPID, clipped, guide_friction
from bondloop.transfer.tolerances import SMOOTH_ROOT, SMOOTH_SIGN


@dataclass(frozen=True)
class _Hydraulic(Described, family="hydraulic"):
    """Base of the parts of a servo-hydraulic actuator."""


@dataclass(frozen=True)
class ServoValve(_Hydraulic):
    """A four-way servovalve; the defaults are those of a common 19 l/min valve.

    Parameters
    ----------
    rated_flow
        Flow in m³/s at full drive with the rated pressure drop over both edges.
    rated_drop
        That pressure drop in Pa, by custom 70 bar.
    frequency, damping
        Of the spool, X/U = ω²/(s² + 2ζωs + ω²); the frequency in Hz, with 90° of lag.

    Examples
    --------
    A valve of twice the flow makes the actuator twice as fast:

    >>> fast = ServoHydraulic(valve=ServoValve(rated_flow="38 l/min"))
    >>> print(f"{fast.top_speed:.3f} m/s, {fast.top_speed / ServoHydraulic().top_speed:.3f}")
    0.914 m/s, 2.000
    """

    rated_flow: Parameter = Parameter(19e-3 / 60, above=0, unit="m^3/s")
    rated_drop: Parameter = Parameter(70e5, above=0, unit="Pa")
    frequency: Parameter = Parameter(90.0, above=0, unit="Hz")
    damping: Parameter = Parameter(0.8, above=0, unit="1")


@dataclass(frozen=True)
class Cylinder(_Hydraulic):
    """A symmetric cylinder; the defaults stand for a 25 kN actuator of 150 mm stroke.

    Parameters
    ----------
    supply_pressure
        Of the power pack, Pa; the tank is at zero.
    area
        Of the piston, m²: 12 cm² at 210 bar stall at 25.2 kN.
    stroke
        Half of the travel, m: full scale of the displacement transducer.
    volume
        Oil in both chambers and the valve's manifold together, m³: 180 cm³ of travel and a third more.
    bulk_modulus
        Effective, with hoses and entrained air, Pa.
    mass
        Of piston, rod, load cell and clevis, kg.
    viscous, coulomb, width
        Friction of the seals: N s/m, N, and the velocity over which the dry part changes sign, m/s.
    leakage
        Flow across the piston and the valve's flow-pressure coefficient at rest, m³/(s Pa): 1.3 l/min at
        full supply pressure.
    bandwidth
        Of the displacement transducer's amplifier, first order, Hz.

    Examples
    --------
    >>> strong = ServoHydraulic(cylinder=Cylinder(area="24 cm^2", volume="480 cm^3"))
    >>> print(f"{strong.stall_force / 1e3:.1f} kN, {strong.top_speed:.3f} m/s")
    50.4 kN, 0.229 m/s
    """

    supply_pressure: Parameter = Parameter(210e5, above=0, unit="Pa")
    area: Parameter = Parameter(12e-4, above=0, unit="m^2")
    stroke: Parameter = Parameter(0.075, above=0, unit="m")
    volume: Parameter = Parameter(240e-6, above=0, unit="m^3")
    bulk_modulus: Parameter = Parameter(1.2e9, above=0, unit="Pa")
    mass: Parameter = Parameter(12.0, above=0, unit="kg")
    viscous: Parameter = Parameter(4e3, least=0, unit="N s/m")
    coulomb: Parameter = Parameter(120.0, least=0, unit="N")
    width: Parameter = Parameter(5e-3, above=0, unit="m/s")
    leakage: Parameter = Parameter(1e-12, above=0, unit="m^3/s/Pa")
    bandwidth: Parameter = Parameter(1e3, above=0, unit="Hz")


@describable("transfer")
class ServoHydraulic(Model):
    """A displacement-controlled hydraulic actuator, from its set point in metres to its port ``out``.

    With the load pressure p, the spool x (a fraction of its stroke), the flow Q and the piston's velocity v::

        V/(4B) dp/dt = Q - A v - leakage p                    oil column (Merritt 1967, section 6-6)
        m dv/dt      = A p - viscous v - coulomb tanh(v/width) - F
        Q            = Q_0 x √(1 - sign(x) p/p_s),  |x| ≤ 1    Q_0 = rated_flow √(p_s/rated_drop)
        x            from the drive by a second-order lag, the drive from `SerialPID`

    V is the oil on both sides together, so the oil column's stiffness is 4 B A²/V. Sign and root are made
    smooth near zero, so that the model can be linearised at rest. The oil gives way to the load, so what the
    specimen does changes the response (du Bois 2010, section 2.2).

    Parameters
    ----------
    controller
        Gains of the displacement loop.
    valve, cylinder
        Parameters of the hydraulic parts.
    linear
        True for the small-signal model: flow Q_0 x, no limits, no dry friction.

    Examples
    --------
    >>> actuator = ServoHydraulic()
    >>> print(f"{actuator.top_speed:.3f} m/s, {actuator.stall_force / 1e3:.1f} kN")
    0.457 m/s, 25.2 kN
    >>> print(f"oil column {actuator.oil_frequency:.0f} Hz, velocity gain {actuator.velocity_gain:.0f} 1/s")
    oil column 247 Hz, velocity gain 193 1/s

    References
    ----------
    Merritt, H. E. (1967). Hydraulic Control Systems. Wiley.
    """

    def __init__(
        self,
        controller: SerialPID | None = None,
        *,
        valve: ServoValve | None = None,
        cylinder: Cylinder | None = None,
        linear: bool = False,
    ) -> None:
        super().__init__("servo_hydraulic")
        self.gains = controller or SerialPID()
        self.valve_data, self.cylinder_data = valve or ServoValve(), cylinder or Cylinder()
        for given, kind in (
            (self.gains, SerialPID), (self.valve_data, ServoValve), (self.cylinder_data, Cylinder),
        ):  # fmt: skip
            if not isinstance(given, kind):
                raise InputError(f"ServoHydraulic: expected a {kind.__name__}; found {given!r}")
        self._hydraulics(linear)
        self._loop(linear)

    def _hydraulics(self, linear: bool) -> None:
        given, valve = self.cylinder_data, self.valve_data
        self.pressure, self.v, self.out = Zero(domain="hydraulic"), One(), Port()
        ranges = ranges_of(Cylinder, "bulk_modulus", "volume")
        self.oil = C(_oil, ranges=ranges, bulk_modulus=given.bulk_modulus, volume=given.volume)
        self.leakage = R(conductance=given.leakage, ranges=ranges_of(Cylinder, conductance="leakage"))
        self.piston = TF(modulus=1 / given.area, ranges=ranges_of(Cylinder, modulus="area"))
        self.mass = I(mass=given.mass)
        if linear:
            self.friction = R(damping=given.viscous, ranges=ranges_of(Cylinder, damping="viscous"))
        else:
            self.friction = guide_friction(given.viscous, given.coulomb, given.width)
        self.pressure >> [self.oil, self.leakage]
        self.pressure >> self.piston >> self.v >> [self.mass, self.friction, self.out]
        self.flow = Function(
            _linear_flow if linear else _flow,
            ranges=ranges_of(ServoValve, "rated_flow", "rated_drop") | ranges_of(Cylinder, "supply_pressure"),
            rated_flow=valve.rated_flow,
            rated_drop=valve.rated_drop,
            supply_pressure=given.supply_pressure,
        )
        self.valve = MSf()
        self.flow >> self.valve >> self.pressure

    def _loop(self, linear: bool) -> None:
        given, valve = self.cylinder_data, self.valve_data
        self.set_point = Input("set_point", unit="m")
        self.velocity, self.position, self.lvdt = Df(), SignalIntegrator(), SignalIntegrator()
        self.v >> self.velocity >> self.position
        ranges = ranges_of(Cylinder, "bandwidth")
        self.amplifier = Function(_amplifier, unit="m/s", ranges=ranges, bandwidth=given.bandwidth)
        [self.position, self.lvdt] >> self.amplifier >> self.lvdt
        self.error = Function(_error, unit="", ranges=ranges_of(Cylinder, "stroke"), stroke=given.stroke)
        [self.set_point, self.lvdt] >> self.error
        self.pid = PIDModel(self.gains, linear=linear)
        self.pid.take(self.error)
        self.spool, self.spool_velocity = SignalIntegrator(), SignalIntegrator()
        ranges = ranges_of(ServoValve, "frequency", "damping")
        self.spool_force = Function(
            _spool, unit="1/s^2", ranges=ranges, frequency=valve.frequency, damping=valve.damping
        )
        [self.pid.drive, self.spool, self.spool_velocity] >> self.spool_force
        self.spool_force >> self.spool_velocity >> self.spool >> self.flow
        if not linear:
            self.load_pressure = De()
            self.pressure >> self.load_pressure >> self.flow

    @property
    def top_speed(self) -> float:
        """Velocity in m/s with the valve fully open and no load: flow over area."""
        valve, cylinder = self.valve_data, self.cylinder_data
        ratio = cylinder.supply_pressure / valve.rated_drop
        return valve.rated_flow * math.sqrt(ratio) / cylinder.area

    @property
    def stall_force(self) -> float:
        """Force in N at which it stands still: supply pressure times area."""
        return self.cylinder_data.supply_pressure * self.cylinder_data.area

    @property
    def capacity(self) -> dict[str, float]:
        """What it can do at most: displacement in m, velocity in m/s, force in N."""
        return {
            "displacement": self.cylinder_data.stroke,
            "velocity": self.top_speed,
            "force": self.stall_force,
        }

    @property
    def oil_stiffness(self) -> float:
        """Stiffness 4 B A²/V of the oil column in N/m, in the middle of the stroke."""
        c = self.cylinder_data
        return 4 * c.bulk_modulus * c.area**2 / c.volume

    @property
    def oil_frequency(self) -> float:
        """Frequency in Hz at which the piston bounces on the oil, without a specimen."""
        return math.sqrt(self.oil_stiffness / self.cylinder_data.mass) / (2 * math.pi)

    @property
    def velocity_gain(self) -> float:
        """Velocity gain of the loop in 1/s: the lag at low frequency is its reciprocal."""
        return self.gains.gain * self.top_speed / self.cylinder_data.stroke

    @property
    def give(self) -> tuple[float, float]:
        """How far the loop gives way to a load: m/N and m s/N, by leakage and by the oil column.

        The load takes leakage F/A² + (dF/dt)/oil_stiffness from the piston's velocity; the loop makes a
        displacement of it, 1/velocity_gain times as large. The integral part of the loop is left out.
        """
        slow = self.cylinder_data.leakage / self.cylinder_data.area**2
        return slow / self.velocity_gain, 1 / (self.oil_stiffness * self.velocity_gain)


def _oil(compressed: Any, bulk_modulus: Any, volume: Any) -> Any:
    return 4 * bulk_modulus / volume * compressed


def _linear_flow(spool: Any, rated_flow: Any, rated_drop: Any, supply_pressure: Any) -> Any:
    import sympy as sp

    return rated_flow * sp.sqrt(supply_pressure / rated_drop) * spool


def _flow(spool: Any, pressure: Any, rated_flow: Any, rated_drop: Any, supply_pressure: Any) -> Any:
    """Flow of a matched valve without overlap; a load beyond the supply pressure drives it backwards."""
    import sympy as sp

    opening = clipped(spool)
    side = spool / sp.sqrt(spool**2 + SMOOTH_SIGN**2)
    drop = 1 - side * pressure / supply_pressure
    root = drop * ((1 + SMOOTH_ROOT**2) / (drop**2 + SMOOTH_ROOT**2)) ** sp.Rational(1, 4)
    return rated_flow * sp.sqrt(supply_pressure / rated_drop) * opening * root


def _amplifier(position: Any, measured: Any, bandwidth: Any) -> Any:
    return 2 * math.pi * bandwidth * (position - measured)


def _error(set_point: Any, measured: Any, stroke: Any) -> Any:
    return (set_point - measured) / stroke


def _spool(drive: Any, spool: Any, velocity: Any, frequency: Any, damping: Any) -> Any:
    omega = 2 * math.pi * frequency
    return omega**2 * (drive - spool) - 2 * damping * omega * velocity
