"""Dampers: viscous and viscoelastic ones, inerters, and tuned masses and liquid columns."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import DAMPING, FORCE, STIFFNESS, VELOCITY, Device
from bondloop.engine.data import POSITIVE, Parameter
from bondloop.errors import InputError
from bondloop.math import sign, tanh
from bondloop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class FluidViscousDamper(Device):
    """A dashpot whose force is a power of its velocity, on a spring (the oil, the brace): ``ViscousDamper``.

    The spring's elongation u goes as u' = v - (|k u|/c)^(1/α) sign u, so the dashpot's force is c |v_d|^α.
    The inverse of the power is smooth where α is at most 1: nothing needs to be rounded off.

    Parameters
    ----------
    stiffness
        k of the spring, N/m.
    coefficient
        c, N (s/m)^α: the force at 1 m/s.
    exponent
        α, from 0.1 to 1: the smaller, the stiffer the equation.

    Examples
    --------
    >>> from bondloop.devices import FluidViscousDamper, Imposed
    >>> damper = FluidViscousDamper(stiffness=1e7, coefficient=2e4, exponent=0.5)
    >>> damper.at_states(elongation=1e-3).rates(Imposed(velocity=0.25))  # it has settled at c √0.25
    {'elongation': 0.0}
    """

    source = "Constantinou and Symans (1993), Struct. Design Tall Build. 2; Akcelyan et al. (2018)"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e7, above=0, unit=STIFFNESS)
    coefficient: Parameter = Parameter(2e4, above=0)
    exponent: Parameter = Parameter(0.5, least=0.1, most=1, unit="1")
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the spring is drawn out."""
        pull = self.stiffness * self.elongation
        flow = sign(pull) * (abs(pull) / self.coefficient) ** (1 / self.exponent)
        return {"elongation": motion.velocity - flow}

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - it follows from the spring
        """Return the spring's force."""
        return self.stiffness * self.elongation


class PowerDamper(Device):
    """A viscous damper whose force is a power of its velocity: c |v|^α sign v.

    Below a small velocity w it is linear, as a slope without end could not be stepped: c v (v² +
    w²)^((α-1)/2), which differs from the power by less than (w/v)² of it.

    Parameters
    ----------
    coefficient
        c, N (s/m)^α: the force at 1 m/s.
    exponent
        α; 0.2 to 1 in buildings.
    width
        w, m/s.

    Examples
    --------
    >>> from bondloop.devices import Imposed, PowerDamper
    >>> round(PowerDamper(coefficient=2e4, exponent=0.5).force(Imposed(velocity=0.25)), 3)
    9999.96
    """

    source = "Constantinou and Symans (1993), Struct. Design Tall Build. 2"
    mass_is = "none"

    coefficient: Parameter = Parameter(2e4, above=0)
    exponent: Parameter = Parameter(0.5, above=0, most=3, unit="1")
    width: Parameter = Parameter(1e-3, above=0, unit=VELOCITY)

    def force(self, motion: Imposed) -> Value:
        """Return the force."""
        v = motion.velocity
        return self.coefficient * v * (v * v + self.width * self.width) ** ((self.exponent - 1) / 2)


class KelvinVoigt(Device):
    """A spring and a dashpot side by side: k x + c v.

    Parameters
    ----------
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import Imposed, KelvinVoigt
    >>> KelvinVoigt(stiffness=1e5, damping=2e3).force(Imposed(0.01, 0.1))
    1200.0
    """

    source = "Voigt (1892), Ann. Phys. 283"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e5, least=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e4, least=0, unit=DAMPING)

    def force(self, motion: Imposed) -> Value:
        """Return the sum of both forces."""
        return self.stiffness * motion.displacement + self.damping * motion.velocity


class Maxwell(Device):
    """A spring and a dashpot in series; the spring's elongation u goes as u' = v - k u/c.

    Parameters
    ----------
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import Imposed, Maxwell
    >>> Maxwell(stiffness=1e6).at_states(elongation=0.01).force(Imposed())
    10000.0
    """

    source = "Maxwell (1867), Phil. Trans. 157"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e6, above=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e5, above=0, unit=DAMPING)
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the spring is drawn out."""
        return {"elongation": motion.velocity - self.stiffness * self.elongation / self.damping}

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - it follows from the spring
        """Return the spring's force."""
        return self.stiffness * self.elongation


class Inerter(Device):
    """A flywheel that is driven by a screw, so that the force goes with the acceleration (Smith 2002).

    The screw's flexibility lies between the end and the flywheel: elongation u' = v - w, inertance times w'
    = k u + c u' - friction, and the force is k u + c u'. An ideal inerter is ``I(mass=b)`` on the relative
    velocity.

    Parameters
    ----------
    inertance
        b, kg: (2 π/pitch)² times the flywheel's inertia.
    stiffness, damping
        k and c of the screw and its mounting, N/m and N s/m.
    friction, width
        Dry friction of the screw in N, and the velocity over which it changes sign in m/s.

    Examples
    --------
    >>> from bondloop.devices import Imposed, Inerter
    >>> Inerter(inertance=500, stiffness=1e6, damping=0).at_states(elongation=1e-3).rates(Imposed())
    {'elongation': 0.0, 'speed': 2.0}
    """

    source = "Smith (2002), IEEE Trans. Autom. Control 47; Papageorgiou, Houghton and Smith (2009)"
    mass_is = "none"

    inertance: Parameter = Parameter(500.0, above=0, unit=("kg", "kg m^2"))
    stiffness: Parameter = Parameter(1e6, above=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e3, least=0, unit=DAMPING)
    friction: Parameter = Parameter(0.0, least=0, unit=FORCE)
    width: Parameter = Parameter(1e-3, above=0, unit=VELOCITY)
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0, "speed": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m", "speed": "m/s"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the screw is drawn out and the flywheel sped up."""
        rubs = self.friction * tanh(self.speed / self.width)
        return {
            "elongation": motion.velocity - self.speed,
            "speed": (self.force(motion) - rubs) / self.inertance,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the force of the screw."""
        return self.stiffness * self.elongation + self.damping * (motion.velocity - self.speed)


class TunedMass(Device):
    """A mass on a spring and a dashpot, carried by what its end moves with (Den Hartog 1956).

    With the mass at y, m y'' = k (x - y) + c (x' - y'), and that is the force.

    Parameters
    ----------
    mass
        m, kg.
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import TunedMass
    >>> damper = TunedMass.tuned(mass=100, frequency=1.5, ratio=0.02)
    >>> round(damper.stiffness), round(damper.damping)
    (8538, 158)
    """

    source = "Den Hartog (1956), Mechanical Vibrations, section 3.3"
    mass_is = "carried"

    mass: Parameter = Parameter(100.0, above=0, unit="kg")
    stiffness: Parameter = Parameter(4e3, least=0, unit=STIFFNESS)
    damping: Parameter = Parameter(100.0, least=0, unit=DAMPING)
    states: ClassVar[Mapping[str, float]] = {"position": 0.0, "speed": 0.0}
    units: ClassVar[Mapping[str, str]] = {"position": "m", "speed": "m/s"}

    @classmethod
    def tuned(cls, mass: float | str, frequency: float | str, ratio: float | str) -> TunedMass:
        """Return the damper that is best for an undamped structure under a harmonic force (Den Hartog 1956).

        Parameters
        ----------
        mass
            Of the damper, kg.
        frequency
            Of the structure without it, Hz.
        ratio
            Mass of the damper over that of the structure.
        """
        m = POSITIVE.check(mass, "TunedMass.tuned(mass)", "kg")
        natural = 2 * pi * POSITIVE.check(frequency, "TunedMass.tuned(frequency)", "Hz")
        mu = POSITIVE.check(ratio, "TunedMass.tuned(ratio)", "1")
        omega = natural / (1 + mu)
        damping = 2 * m * natural * (3 * mu / (8 * (1 + mu) ** 3)) ** 0.5
        return cls(m, m * omega**2, damping)

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the mass moves."""
        return {"position": self.speed, "speed": self.force(motion) / self.mass}

    def force(self, motion: Imposed) -> Value:
        """Return the force of spring and dashpot."""
        apart, speed = motion.displacement - self.position, motion.velocity - self.speed
        return self.stiffness * apart + self.damping * speed


GRAVITY = quantity("1 gn", "m/s^2")


class TunedLiquidColumn(Device):
    """Water in a U-shaped tube that is moved sideways (Sakai et al. 1989).

    With the level y, ρ A L y'' + ρ A ξ |y'| y'/2 + 2 ρ A g y = -ρ A B x''. Instead of the acceleration x''
    the state is the momentum p = ρ A (L y' + B x'), so the force is (B/L) p' besides that of a mass that
    moves with the end, `carried_mass`: bond an ``I(mass=column.carried_mass)``, and the tube's own, beside
    it.

    Parameters
    ----------
    area
        A of the tube, m².
    length
        L of the water, m.
    width
        B of the horizontal part, m; below L.
    head_loss
        ξ of the orifice in it.
    density
        ρ, kg/m³.

    Examples
    --------
    >>> from bondloop.devices import TunedLiquidColumn
    >>> column = TunedLiquidColumn(area=0.2, length=4.0, width=3.0)
    >>> print(f"{column.carried_mass:.0f} kg of {column.mass:.0f} kg, {column.frequency:.3f} Hz")
    350 kg of 800 kg, 0.352 Hz
    """

    source = "Sakai, Takaeda and Tamaki (1989); Gao, Kwok and Samali (1997), Eng. Struct. 19"
    mass_is = "carried"

    area: Parameter = Parameter(0.2, above=0, unit="m^2")
    length: Parameter = Parameter(4.0, above=0, unit="m")
    width: Parameter = Parameter(3.0, above=0, unit="m")
    head_loss: Parameter = Parameter(5.0, least=0, unit="1")
    density: Parameter = Parameter(1000.0, above=0, unit="kg/m^3")
    states: ClassVar[Mapping[str, float]] = {"level": 0.0, "momentum": 0.0}
    units: ClassVar[Mapping[str, str]] = {"level": "m", "momentum": "N s"}

    def __post_init__(self) -> None:
        """Refuse a tube without arms."""
        super().__post_init__()
        if self.width >= self.length:
            raise InputError(
                "TunedLiquidColumn: expected a width below the length of the water, which fills arms too; "
                f"found {self.width:g} m and {self.length:g} m"
            )

    @property
    def mass(self) -> float:
        """Of the water, kg."""
        return self.density * self.area * self.length

    @property
    def carried_mass(self) -> float:
        """Mass that moves with the end, kg: ρ A (L - B²/L)."""
        return self.density * self.area * (self.length - self.width**2 / self.length)

    @property
    def frequency(self) -> float:
        """Of the column, Hz: √(2 g/L)/(2 π)."""
        return float((2 * GRAVITY / self.length) ** 0.5 / 6.283185307179586)

    @property
    def stroke(self) -> float:
        """A tenth of the length."""
        return self.length / 10

    def _speed(self, motion: Imposed) -> Value:
        """Return how fast the level rises."""
        carried = self.width * motion.velocity
        return (self.momentum / (self.density * self.area) - carried) / self.length

    def _push(self, motion: Imposed) -> Value:
        """Return the rate of the momentum: gravity and the orifice."""
        speed = self._speed(motion)
        return (
            -self.density * self.area * (2 * GRAVITY * self.level + 0.5 * self.head_loss * abs(speed) * speed)
        )

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how level and momentum change."""
        return {"level": self._speed(motion), "momentum": self._push(motion)}

    def force(self, motion: Imposed) -> Value:
        """Return the force of the water, less that of the carried mass."""
        return self.width / self.length * self._push(motion)
