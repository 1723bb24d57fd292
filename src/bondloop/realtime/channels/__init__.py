"""The laboratory's channels: what is at which physical channel, and what its volts and counts mean.

>>> from bondloop.realtime.channels import Calibration, LabChannel
>>> LabChannel("command", "output", "mm", "V", "0", Calibration((0.0, 0.005))).raw_of(0.02)
4.0
"""

from __future__ import annotations

from bondloop.realtime.channels.calibration import Calibration
from bondloop.realtime.channels.channel import Channels, ControllerFault, LabChannel, Zeroing
from bondloop.realtime.channels.packet import Packet, PacketField, PacketSide

__all__ = [
    "Calibration",
    "Channels",
    "ControllerFault",
    "LabChannel",
    "Packet",
    "PacketField",
    "PacketSide",
    "Zeroing",
]
