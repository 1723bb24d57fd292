"""Actuator models, one per file, and the process models that stand for them."""

from __future__ import annotations

from bondloop.transfer.base import Transfer, transfer_system
from bondloop.transfer.coupled import CoupledTransfer, coupled_transfer
from bondloop.transfer.electro_mechanical import BallScrew, CascadedLoops, ElectroMechanical, ServoMotor
from bondloop.transfer.mass_spring_damper import MassSpringDamper
from bondloop.transfer.process import Process, first_order, second_order
from bondloop.transfer.process_matrix import ProcessMatrix
from bondloop.transfer.serial_pid import SerialPID
from bondloop.transfer.servo_hydraulic import Cylinder, ServoHydraulic, ServoValve

__all__ = [
    "BallScrew",
    "CascadedLoops",
    "CoupledTransfer",
    "Cylinder",
    "ElectroMechanical",
    "MassSpringDamper",
    "Process",
    "ProcessMatrix",
    "SerialPID",
    "ServoHydraulic",
    "ServoMotor",
    "ServoValve",
    "Transfer",
    "coupled_transfer",
    "first_order",
    "second_order",
    "transfer_system",
]
