"""What every device of the package is: a law with parameters that are checked, and states of its own."""

from __future__ import annotations

from typing import ClassVar

from bondloop.devices.ode_specimen import OdeSpecimen

__all__ = ["DAMPING", "FORCE", "LENGTH", "STIFFNESS", "VELOCITY", "Device"]

FORCE, LENGTH, VELOCITY = ("N", "N m"), ("m", "rad"), ("m/s", "rad/s")
STIFFNESS, DAMPING = ("N/m", "N m/rad"), ("N s/m", "N m s/rad")
"""What the parameters of a device measure, along an axis or about it."""


class Device(OdeSpecimen, family="device"):
    """Base of dampers, bearings, braces and hinges; a specimen, or a part of any bond graph.

    It is moved at its end and answers with a force, by ``force`` of displacement, velocity and its states.
    States change at ``rates``, or are a ``memory``, which is renewed at the beginning of every step.
    """

    source: ClassVar[str] = ""
    """Where the law comes from."""

    not_fitted: ClassVar[tuple[str, ...]] = ()
    """Parameters that a fit leaves as they are unless it is told to free them."""
