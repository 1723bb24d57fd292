"""Thresholds by which identification judges data and models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IdentificationPolicy:
    """Thresholds of judgement: what counts as a fault of the data, and as a reason for a larger model.

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
    significance
        A test of residuals fails below this probability.
    confidence
        Of the intervals of parameters.
    slight, strong
        Distortion, change of gain and change of phase in degrees, up to which a system passes for linear, and
        beyond which one linear model does not do. A compensator that is off by the first leaves 2 to 4 % of
        tracking error.
    unsettled
        Relative change of a response between the two halves of a record that counts as not settled.
    separable
        Least part of an input's power at a frequency that the other inputs may not explain; else its effect
        is not told.
    poor_error
        Error of a record, as a part of the force's rms, from which on its sensors may have been off zero.
    offset
        Mean of a channel, as a part of its amplitude, that may well be an offset.
    drift
        Wander of a sensor's mean from the first cycle to the last, as a part of the rms.
    returned_work
        Part of what a rigid-plastic loop dissipates: a specimen that gives more back is moved by itself.
    few_levels
        A signal of fewer levels (a step, a square wave, a binary sequence) may well stay at its extremes.
    extreme_run
        Samples in a row at an extreme that a signal may have by chance.
    always_changing
        Part of the holds after which a signal changes, from which on it changes every time.
    frozen
        Samples in a row from which on a signal that otherwise moves stands still, and how many times longer
        that must be than what is usual in the signal.
    few_samples
        Samples under which estimates are said to be uncertain.
    even, jitter
        How far, in sample periods, a stamp may stand off an even grid without a word, and before samples are
        no longer taken for evenly spaced with a shaky clock.
    gap
        Sample periods between two stamps from which on samples are missing.

    Examples
    --------
    >>> IdentificationPolicy(close=2.0).close
    2.0
    """

    close: float = 6.0
    similar_error: float = 1.02
    cancelling: float = 0.1
    close_specimen: float = 1.05
    significance: float = 0.01
    confidence: float = 0.95
    slight: tuple[float, float, float] = (0.01, 0.02, 2.0)
    strong: tuple[float, float, float] = (0.1, 0.15, 15.0)
    unsettled: float = 0.02
    separable: float = 1e-4
    poor_error: float = 0.1
    offset: float = 0.2
    drift: float = 0.03
    returned_work: float = 0.02
    few_levels: int = 12
    extreme_run: int = 4
    always_changing: float = 0.9
    frozen: tuple[int, int] = (50, 20)
    few_samples: int = 200
    even: float = 0.01
    jitter: float = 0.25
    gap: float = 1.5


POLICY = IdentificationPolicy()
"""The thresholds unless others are given."""
