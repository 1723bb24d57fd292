"""Files of measurements, of whatever make: read, or refused in a sentence that says every fault.

>>> found = Measurements("rig.csv", "text", {}, {})
>>> found
<Measurements: text, 0 channels: >
"""

from bondloop.measurements.measured import Measurements
from bondloop.measurements.reading import read_measurements
from bondloop.measurements.sampling import Sampling, sampling_of

__all__ = ["Measurements", "Sampling", "read_measurements", "sampling_of"]
