"""Signals: what excites a test, as functions of time.

A signal is evaluated with NumPy, written as an expression of time into the generated code where it has a
closed form, added to others, scaled, shifted, differentiated, and described so that a run can be repeated.

>>> from bondloop.program import signals
>>> wall = signals.Sine(amplitude="5 mm", frequency=5) + signals.Step(0.001, at=1)
>>> round(wall(0.05), 6)
0.005
>>> signals.signal_from(wall.describe()) == wall
True
"""

from bondloop.program.signals.base import Constant, Derivative, Scaled, Shifted, Signal, Sum, signal_from
from bondloop.program.signals.earthquake import Earthquake
from bondloop.program.signals.envelopes import Envelope, Flat, Gamma, Jennings, Trapezoid
from bondloop.program.signals.noise import Noise
from bondloop.program.signals.pulses import HalfSine, Pulse, Ramp, Rise, Step
from bondloop.program.signals.recorded import Recorded
from bondloop.program.signals.sines import Chirp, Sine, SumOfSines, Sweep
from bondloop.program.signals.table import Table

__all__ = [
    "Chirp", "Constant", "Derivative", "Earthquake", "Envelope", "Flat", "Gamma", "HalfSine", "Jennings",
    "Noise", "Pulse", "Ramp", "Recorded", "Rise", "Scaled", "Shifted", "Signal", "Sine", "Step", "Sum",
    "SumOfSines", "Sweep", "Table", "Trapezoid", "signal_from",
]  # fmt: skip
