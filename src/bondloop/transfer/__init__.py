"""Actuator models, and the process models that stand for them."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "BallScrew",
    "CascadedLoops",
    "Cylinder",
    "ElectroMechanical",
    "MassSpringDamper",
    "Process",
    "ProcessMatrix",
    "SerialPID",
    "ServoHydraulic",
    "ServoMotor",
    "ServoValve",
    "first_order",
    "second_order",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
