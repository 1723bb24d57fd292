"""The laboratory's channels: what is at which physical channel, and what its volts and counts mean.

>>> from bondloop.realtime.channels import Calibration, LabChannel
>>> LabChannel("command", "output", "mm", "V", "0", Calibration((0.0, 0.005))).raw_of(0.02)
4.0
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
