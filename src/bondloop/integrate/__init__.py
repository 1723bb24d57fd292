"""Time-stepping schemes, one per file."""

from __future__ import annotations

from bondloop.integrate.base import Discretised, Integrator
from bondloop.integrate.euler import ForwardEuler
from bondloop.integrate.exact import Exact
from bondloop.integrate.modal import Modal
from bondloop.integrate.newmark import NewmarkAverage
from bondloop.integrate.rk4 import RK4
from bondloop.integrate.stepped_fmu import write_stepped_fmu
from bondloop.integrate.substep import SubStep

__all__ = [
    "RK4",
    "Discretised",
    "Exact",
    "ForwardEuler",
    "Integrator",
    "Modal",
    "NewmarkAverage",
    "SubStep",
    "write_stepped_fmu",
]
