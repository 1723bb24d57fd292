"""A model of its own as the physical half of a test: mounted at a port, rigidly or on a bracket."""

from __future__ import annotations

import math

from bondloop.bondgraph import INTERFACE, Model, One, Port, Zero, bond, name_or_kind
from bondloop.bondgraph.elements import SS, C, I, R, check_number
from bondloop.devices import OdeSpecimen
from bondloop.engine.data import describable
from bondloop.errors import ModelError


def mounted(specimen: Model | OdeSpecimen, port: str | None = None) -> Model:
    """Return a model as a physical half, as if it had been cut off at one of its ports.

    Parameters
    ----------
    specimen
        Any model with a port, or a specimen written as a differential equation. The half is a copy of it, so
        its parameters keep their paths.
    port
        Name of the port that the transfer system moves; not needed where there is only one. Every port of an
        `OdeSpecimen` is moved.

    Examples
    --------
    >>> from bondloop.rigs import Emulated, OrificeDamper
    >>> from bondloop.transfer import ServoHydraulic
    >>> rig = Emulated(mounted(OrificeDamper.standard()), ServoHydraulic())
    >>> len(rig.system().system.states)
    10
    """
    if isinstance(specimen, OdeSpecimen):
        return _on_every_port(specimen.model())
    if not isinstance(specimen, Model):
        raise ModelError(
            f"mounted: expected a model with a port, or an OdeSpecimen(); found {specimen!r:.60}"
        )
    ports = list(specimen.ports)
    if port is None and len(ports) == 1:
        port = ports[0]
    if port not in ports:
        found = f"its ports are {', '.join(ports)}" if ports else "it has no ports"
        asked = "name the port at which to mount" if port is None else f"there is no port '{port}' at"
        raise ModelError(f"{asked} {name_or_kind(specimen)}; {found}")
    half = specimen.copy()
    setattr(half, INTERFACE, SS())
    bond(getattr(half, INTERFACE), half.ports[port])
    return half


def _on_every_port(half: Model) -> Model:
    ends = [SS() for _ in half.ports]
    setattr(half, INTERFACE, ends if len(ends) > 1 else ends[0])
    for end, port in zip(ends, half.ports.values(), strict=True):
        bond(end, port)
    return half


def nothing_mounted() -> Model:
    """Return the physical half of an empty rig: its force is zero.

    >>> nothing_mounted().compile().inputs
    ('interface.flow',)
    """
    free = Model("nothing")
    free.end, free.v = Port(), One()
    free.end >> free.v >> R(damping=0.0)
    return mounted(free, "end")


@describable("model")
class OnBracket(Model):
    """A specimen between the transfer system and a bracket that is a mass on a spring and a dashpot.

    The transfer system moves the port ``rod`` by v. The specimen is stretched by v - v_b, where v_b is the
    velocity of the bracket, and its force moves the bracket::

        m dv_b/dt + 2 ζ ω m v_b + m ω² ∫v_b dt = F(v - v_b)

    So the specimen is moved less than the displacement transducer of the transfer system says, and resonates
    with the frame. What the specimen has of inertia counts with its motion relative to the bracket.

    Parameters
    ----------
    specimen
        A model with one port, such as `OrificeDamper`.
    mass
        Of the frame, as far as it moves, kg.
    frequency
        Of the frame without a specimen, Hz.
    damping
        Its damping ratio.

    Examples
    --------
    >>> from bondloop.rigs import OrificeDamper, mounted
    >>> half = mounted(OnBracket(OrificeDamper.standard(), mass="500 kg", frequency="40 Hz"))
    >>> f = abs(half.compile().linearise().poles().imag).max() / 6.283185
    >>> print(f"{f:.0f} Hz with the damper")
    56 Hz with the damper
    """

    def __init__(
        self, specimen: Model, mass: float | str, frequency: float | str, damping: float | str = 0.03
    ) -> None:
        super().__init__("on_bracket")
        part: object = specimen
        ports = list(part.ports) if isinstance(part, Model) else []
        if len(ports) != 1:
            raise ModelError(
                "OnBracket(specimen): expected a model with one port; found "
                + (f"ports {', '.join(ports)}" if ports else f"{specimen!r:.60}, which has none")
            )
        m = check_number(mass, "OnBracket(mass)", units=("kg",))
        omega = 2 * math.pi * check_number(frequency, "OnBracket(frequency)", units=("Hz",))
        ratio = check_number(damping, "OnBracket(damping)", units=("1",))
        if m <= 0 or omega <= 0 or ratio < 0:
            raise ModelError(
                "OnBracket: mass and frequency must be positive, the damping ratio at least 0; found "
                f"{m:g} kg, {omega / (2 * math.pi):g} Hz, {ratio:g}"
            )
        self.rod, self.force, self.v = Port(), Zero(), One()
        self.specimen = specimen.copy()
        self.mass, self.spring = I(mass=m), C(stiffness=m * omega**2)
        self.damper = R(damping=2 * ratio * omega * m)
        self.rod >> self.force >> self.v >> [self.mass, self.spring, self.damper]
        bond(self.force, self.specimen.ports[ports[0]])
