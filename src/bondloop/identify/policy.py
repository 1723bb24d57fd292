"""Thresholds by which identification judges models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IdentificationPolicy:
    """Thresholds of judgement: what counts as a reason for a larger model, and how linear a system is.

    They were set on the records of the ready-made tests, measured ones among them, and on drawn data with
    known faults. A function with a ``policy`` takes another one.

    Parameters
    ----------
    close
        Differences of Akaike's criterion up to this are no evidence for more parameters: a factor of
        e^3 = 20 in likelihood.
    similar_error
        Where no model explains the data, one whose rms error is greater by at most this factor will do.
    cancelling
        A pole and a zero nearer to each other than this part of their frequency nearly cancel.
    close_specimen
        A specimen's law with fewer parameters is taken if its error on measurements that were left out is
        greater by no more than this factor.
    slight, strong
        Distortion, change of gain and change of phase in degrees, up to which a system passes for linear, and
        beyond which one linear model does not do. A compensator that is off by the first leaves 2 to 4 % of
        tracking error.
    separable
        Least part of an input's power at a frequency that the other inputs may not explain; else its effect
        is not told.
    poor_error
        Error of a record, as a part of the force's rms, from which on its sensors may have been off zero.
    offset
        Mean of a channel, as a part of its amplitude, that may well be an offset.

    Examples
    --------
    >>> IdentificationPolicy(close=2.0).close
    2.0
    """

    close: float = 6.0
    similar_error: float = 1.02
    cancelling: float = 0.1
    close_specimen: float = 1.05
    slight: tuple[float, float, float] = (0.01, 0.02, 2.0)
    strong: tuple[float, float, float] = (0.1, 0.15, 15.0)
    separable: float = 1e-4
    poor_error: float = 0.1
    offset: float = 0.2


POLICY = IdentificationPolicy()
"""The thresholds unless others are given."""
