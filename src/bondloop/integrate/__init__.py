"""Time-stepping schemes."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "RK4",
    "Discretised",
    "Exact",
    "ForwardEuler",
    "Integrator",
    "Modal",
    "NewmarkAverage",
    "SubStep",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
