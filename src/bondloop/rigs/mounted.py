"""A model of its own as the physical half of a test: mounted at one of its ports."""

from __future__ import annotations

from bondloop.bondgraph import SS, Model, One, Port, R, bond
from bondloop.bondgraph.cut import INTERFACE
from bondloop.bondgraph.parts import name_or_kind
from bondloop.devices.ode_specimen import OdeSpecimen
from bondloop.errors import ModelError

__all__ = ["mounted", "nothing_mounted"]


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
