"""Files of measurements, of whatever make: read, or refused in a sentence that says every fault.

>>> from bondloop.readers import Measurements
>>> found = Measurements("rig.csv", "text", {}, {})
>>> found
<Measurements: text, 0 channels: >
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Measurements", "read_measurements"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
