"""A hydraulic orifice damper with poppet valves and play (du Bois 2010, section 4.2)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import TF, C, De, Function, I, MSf, R, SignalIntegrator, check_number
from bondloop.engine.data import Described, Parameter, describable, ranges_of
from bondloop.errors import InputError
from bondloop.rigs.friction import dead_zone_spring
from bondloop.transfer import guide_friction


@dataclass(frozen=True)
class _Damper(Described, family="damper"):
    """Base of a damper's data."""


@dataclass(frozen=True)
class DamperData(_Damper):
    """Parameters of an orifice damper; by default those of `OrificeDamper.standard`.

    The paper's are confidential and its data normalised. These are ours: a damper that a 25 kN actuator can
    move by a few millimetres, whose valves open at 5.3 kN.

    Parameters
    ----------
    area
        Of the piston, m².
    volume
        Oil in both chambers *together*, m³.
    bulk_modulus
        Effective, with the elasticity of the body, Pa.
    laminar, turbulent
        Coefficients c_1 in Pa s/m³ and c_2 in Pa s²/m⁶ of the orifice: Δp = c_1 q + c_2 q|q|.
    threshold
        Pressure difference at which the poppet valves begin to open, Pa.
    opening_width
        Pressure beyond the threshold at which they are 76 % open, Pa.
    opening_time
        Time constant of their motion, s.
    poppet_laminar, poppet_turbulent
        Coefficients of the path through an open valve.
    seal_friction, seal_width
        Dry friction of the rod's seal in N, and the velocity over which it changes sign in m/s.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(DamperData(), bulk_modulus="0.8 GPa").bulk_modulus
    800000000.0
    """

    area: Parameter = Parameter(15e-4, above=0, unit="m^2")
    volume: Parameter = Parameter(300e-6, above=0, unit="m^3")
    bulk_modulus: Parameter = Parameter(1e9, above=0, unit="Pa")
    laminar: Parameter = Parameter(2.4e11, above=0, unit="Pa s/m^3")
    turbulent: Parameter = Parameter(3e15, least=0, unit="Pa s^2/m^6")
    threshold: Parameter = Parameter(35e5, above=0, unit="Pa")
    opening_width: Parameter = Parameter(5e5, above=0, unit="Pa")
    opening_time: Parameter = Parameter(2e-3, above=0, unit="s")
    poppet_laminar: Parameter = Parameter(5e9, above=0, unit="Pa s/m^3")
    poppet_turbulent: Parameter = Parameter(3e13, least=0, unit="Pa s^2/m^6")
    seal_friction: Parameter = Parameter(0.0, least=0, unit="N")
    seal_width: Parameter = Parameter(5e-3, above=0, unit="m/s")

    @property
    def small_damping(self) -> float:
        """Damping c_d = A² c_1 in N s/m for small velocities (du Bois 2010, eq. 21)."""
        return self.area**2 * self.laminar

    @property
    def stiffness(self) -> float:
        """Stiffness k_d = 4 B A²/V in N/m of its oil (du Bois 2010, eq. 20)."""
        return 4 * self.bulk_modulus * self.area**2 / self.volume


@dataclass(frozen=True)
class PlayData(_Damper):
    """Play in the bearing by which the damper is mounted.

    Parameters
    ----------
    gap
        Whole free travel, m.
    stiffness
        Of the bearing once in contact, N/m.
    damping
        Of the grease in it, N s/m: it acts in the gap too.
    mass
        Of the rod and piston that move freely in the gap, kg.

    Examples
    --------
    >>> PlayData(gap="0.1 mm").gap
    0.0001
    """

    gap: Parameter = Parameter(1e-4, above=0, unit="m")
    stiffness: Parameter = Parameter(1e8, above=0, unit="N/m")
    damping: Parameter = Parameter(4e3, least=0, unit="N s/m")
    mass: Parameter = Parameter(4.0, above=0, unit="kg")


@describable("model")
class OrificeDamper(Model):
    """A symmetric piston that pushes oil through an orifice; its port ``rod`` takes a velocity ẏ.

    Du Bois 2010, eq. 16 with the piston near the middle, V_1 = V_2 = V/2, so (V_1 + V_2)/(V_1 V_2) = 4/V::

        Δp' = (4 B/V) (A ẏ - q(Δp) - opening q_poppet(Δp)),        force = A Δp (+ friction of the seal)
        q(Δp) = sign(Δp)/(2 c_2) (-c_1 + √(c_1² + 4 c_2 |Δp|)),    the inverse of Δp = c_1 q + c_2 q|q|

    The paper's eq. 17 has the same factor, 4 B/V_0, but says V_1 = V_2 = V_0, from which 2 B/V_0 follows: its
    V_0 must be the oil in both chambers together, and so it is here. q is computed as 2 Δp/(c_1 + √...),
    which is the same but loses no digits near zero and has the slope 1/c_1 there.

    A poppet valve for each direction opens as tanh((|z| - threshold)/opening_width) for |z| beyond the
    threshold, where z follows Δp as a first-order lag. That lag lets the pressure overshoot.

    Parameters
    ----------
    data
        Its parameters.
    play
        Play in the bearing; None for none. The rod then has a mass of its own.
    poppets
        False for a damper without poppet valves.

    Examples
    --------
    >>> damper = OrificeDamper.standard(threshold="30 bar")
    >>> print(f"{damper.data.small_damping:.3g} N s/m, {damper.data.stiffness:.3g} N/m")
    5.4e+05 N s/m, 3e+07 N/m
    """

    def __init__(
        self,
        data: DamperData | None = None,
        *,
        play: PlayData | float | str | None = None,
        poppets: bool = True,
    ) -> None:
        super().__init__("orifice_damper")
        self.data = DamperData() if data is None else data
        if not isinstance(self.data, DamperData):
            raise InputError(f"OrificeDamper: expected DamperData; found {data!r}")
        if isinstance(play, (float, int, str)):
            gap = check_number(play, "OrificeDamper(play)", units=("m",))
            play = PlayData(gap) if gap else None
        d = self.data
        self.rod, self.v, self.pressure = Port(), One(), Zero(domain="hydraulic")
        self.piston = TF(modulus=d.area, ranges=ranges_of(DamperData, modulus="area"))
        ranges = ranges_of(DamperData, "bulk_modulus", "volume")
        self.oil = C(_oil, ranges=ranges, bulk_modulus=d.bulk_modulus, volume=d.volume)
        ranges = ranges_of(DamperData, "laminar", "turbulent")
        self.orifice = R(_drop, _orifice_flow, ranges=ranges, laminar=d.laminar, turbulent=d.turbulent)
        self.v >> self.piston >> self.pressure >> [self.oil, self.orifice]
        if d.seal_friction:
            self.seal = guide_friction(0.0, d.seal_friction, d.seal_width)
            self.v >> self.seal
        if poppets:
            self._poppets(d)
        if play is None:
            self.rod >> self.v
        else:
            self._play(play)

    def _poppets(self, d: DamperData) -> None:
        self.difference, self.poppet_position = De(), SignalIntegrator()
        ranges = ranges_of(DamperData, "opening_time")
        self.poppet_velocity = Function(_lag, unit="Pa/s", ranges=ranges, opening_time=d.opening_time)
        of_poppet = {"laminar": "poppet_laminar", "turbulent": "poppet_turbulent"}
        self.poppet_flow = Function(
            _poppet_flow,
            ranges=ranges_of(DamperData, "threshold", "opening_width", **of_poppet),
            laminar=d.poppet_laminar,
            turbulent=d.poppet_turbulent,
            threshold=d.threshold,
            opening_width=d.opening_width,
        )
        self.poppet = MSf()
        self.pressure >> self.difference
        [self.difference, self.poppet_position] >> self.poppet_velocity >> self.poppet_position
        [self.difference, self.poppet_position] >> self.poppet_flow
        # The valve is a resistor whose flow follows from its pressure, and which may be shut: as a flow
        # source that power flows into it needs no division by the opening.
        self.poppet_flow >> self.poppet
        self.pressure >> self.poppet

    def _play(self, play: PlayData) -> None:
        self.bearing, self.gap = Zero(), One()
        self.contact = dead_zone_spring(play.stiffness, play.gap)
        self.grease = R(damping=play.damping, ranges=ranges_of(PlayData, "damping"))
        self.mass = I(mass=play.mass)
        self.rod >> self.bearing >> self.v >> self.mass
        self.bearing >> self.gap >> [self.contact, self.grease]

    @classmethod
    def standard(cls, *, play: PlayData | float | str | None = None, **changes: Any) -> Self:
        """Return the damper with the standard, small orifice; parameters of `DamperData` may be changed.

        Parameters
        ----------
        play
            In its bearing: the whole gap, a number in m or a text with a unit, or `PlayData`; None or 0
            for none.
        **changes
            Parameters of `DamperData` with other values.
        """
        return cls(replace(DamperData(), **changes), play=play)

    @classmethod
    def large(cls, *, play: PlayData | float | str | None = None, **changes: Any) -> Self:
        """Return the damper with the larger orifice: a ninth of the laminar coefficient, and less turbulence.

        Twice the diameter has a sixteenth of both coefficients; this one is between.

        Parameters
        ----------
        play
            In its bearing: the whole gap, a number in m or a text with a unit, or `PlayData`; None or 0
            for none.
        **changes
            Parameters of `DamperData` with other values.
        """
        return cls(replace(DamperData(laminar=2.7e10, turbulent=1e14), **changes), play=play)


def _oil(compressed: Any, bulk_modulus: Any, volume: Any) -> Any:
    return 4 * bulk_modulus / volume * compressed


def _drop(flow: Any, laminar: Any, turbulent: Any) -> Any:
    import sympy as sp

    return laminar * flow + turbulent * flow * sp.Abs(flow)


def _orifice_flow(pressure: Any, laminar: Any, turbulent: Any) -> Any:
    import sympy as sp

    return 2 * pressure / (laminar + sp.sqrt(laminar**2 + 4 * turbulent * sp.Abs(pressure)))


def _lag(pressure: Any, position: Any, opening_time: Any) -> Any:
    return (pressure - position) / opening_time


def _poppet_flow(
    pressure: Any, position: Any, laminar: Any, turbulent: Any, threshold: Any, opening_width: Any
) -> Any:
    import sympy as sp

    opening = sp.tanh(sp.Max(sp.Abs(position) - threshold, 0) / opening_width)
    return opening * _orifice_flow(pressure, laminar, turbulent)
