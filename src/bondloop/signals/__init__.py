"""Signals: what excites a test, as functions of time.

A signal is evaluated with NumPy, written as an expression of time into the generated code where it has a
closed form, added to others, scaled, shifted, differentiated, and described so that a run can be repeated.

>>> from bondloop import signals
>>> wall = signals.Sine(amplitude="5 mm", frequency=5) + signals.Step(0.001, at=1)
>>> round(wall(0.05), 6)
0.005
>>> signals.signal_from(wall.describe()) == wall
True
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Chirp",
    "Constant",
    "Earthquake",
    "Flat",
    "Gamma",
    "HalfSine",
    "Jennings",
    "Noise",
    "Pulse",
    "Ramp",
    "Recorded",
    "Rise",
    "Signal",
    "Sine",
    "Step",
    "SumOfSines",
    "Sweep",
    "Table",
    "Trapezoid",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
