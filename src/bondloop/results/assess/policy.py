"""What the assessment of a run goes by, beside the scales of its grades."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AssessmentPolicy:
    """Where the comparison of forces has its floor, and what counts as chatter.

    Parameters
    ----------
    noise
        Forces below this many times the sensor's rms noise are compared with that level instead of
        themselves (no unit). Noise alone then comes to 7 % at most, which is well, and not poorly, by the
        scales of force: it is no fault of the loop, and a force so little above it is not measured better.
    slight
        Forces below this part of the largest one of their unit, at any interface or at rest, are compared
        with that part of it (no unit). One per cent of the forces that act is less than anyone knows of a
        specimen.
    idle
        Forces whose power at the interface is below this part of what the excitation supplies are compared
        with one of that power (no unit). A millionth changes no motion; what is left of two forces that
        cancel is rounding.
    carried
        Part of a motion's power that lies in its band (no unit). The rest, one per cent, is noise and
        leakage of the spectrum.
    above
        Times the highest frequency of the motion's band from which on a force is no answer to it (no unit).
        Dry friction, the law with the most overtones, has 4 % of a force's power beyond ten times its
        frequency.
    samples
        Samples in a period below which no test resolves a motion (no unit): a scheme of second order is then
        wrong by several per cent in frequency. Faster content counts as above the band, but for `apart`.
    apart
        Times the highest frequency of the band of displacement below which nothing counts as above the band
        (no unit).
    width
        Half the width of an oscillation, as a part of its frequency (no unit): the third of an octave.
    lone
        Part of the power above the band that lies within that width where the loop oscillates (no unit).
        White noise has less than a quarter there, an impact hardly a tenth. It decides where no reference
        says how much power the structure itself has there.

    Examples
    --------
    >>> AssessmentPolicy(above=5.0).above
    5.0
    """

    noise: float = 15.0
    slight: float = 0.01
    idle: float = 1e-6
    carried: float = 0.99
    above: float = 10.0
    samples: float = 10.0
    apart: float = 2.0
    width: float = 0.12
    lone: float = 0.5


ASSESSMENT = AssessmentPolicy()
"""What is in force unless other values are given."""
