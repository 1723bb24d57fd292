"""How far a search for a compensator goes, and what it counts as equal."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass

from bondloop.engine.data import Parameter


@dataclass(frozen=True)
class TuningPolicy:
    """How far `recommend` searches: sizes, shares of its time, and what counts as equal.

    The numbers were set with `benchmarks/recommend.py`, which compares a search with brute force.

    Parameters
    ----------
    most_ticks, few_ticks
        Ticks of a rehearsal at most, and of one over the coarse grid. A longer test is tried on its
        beginning, and checked in full.
    coarse_share, fine_share
        Shares of the time after which the coarse grid and the refinement are over; the rest is for checks.
    power, nyquist
        The highest frequency of interest: up to it lies this share of the power of the interface's velocity,
        but never beyond this share of the sample rate, where a compensator can do nothing.
    fitted_band, fitted_error
        How far a model of the actuator is fitted, in highest frequencies of interest, for an inverse acts
        beyond; and the error, against the response of slow motions, up to which a model is good enough.
    noise_share, noise_displacement
        Of a test without excitation: the share of the displacement's limit that noise is to use, and the
        displacement in m where there is no limit.
    duration
        Length of that noise in s.
    force_points, latest_force
        Samples that a carried force's line is fitted to, as calm as the force that is held, or nearly; and
        samples beyond which a late force is not carried on.
    finer
        Steps of the complete structure for each sample that are tried until two of them agree: a specimen
        may be too stiff for the steps of the computer.
    hopeless
        A family whose best about the middle has so many times the least error is dropped.
    full_length
        Of each family, as many of the coarse grid are tried at full length.
    refined, refined_of_each
        How many are refined, each with other choices (order, span, kind), and how many of one family at most
        with the force held, and as many with the force carried on: each way wants other numbers.
    tries, least_gain
        In each round over the settings of all that is refined, tries for each scale, its ends not counted;
        and what gains less than this factor in a round is not refined any more.
    checked, most_checked
        Of the best, as many are checked in full; and until one passes, at most so many.
    close, sure
        Errors within this factor of the least count as equal: then margin decides, and noise. Margins within
        this factor of the largest count as equal.

    Examples
    --------
    >>> TuningPolicy(checked=2).most_checked
    10
    """

    most_ticks: int = 200_000
    few_ticks: int = 40_000
    coarse_share: float = 0.6
    fine_share: float = 0.85
    power: float = 0.99
    nyquist: float = 0.1
    fitted_band: float = 8.0
    fitted_error: float = 0.01
    noise_share: float = 0.2
    noise_displacement: Parameter = Parameter(1e-3, above=0, unit="m")
    duration: Parameter = Parameter(10.0, above=0, unit="s")
    force_points: int = 4
    latest_force: float = 20.0
    finer: tuple[int, ...] = (8, 16, 32, 64)
    hopeless: float = 8.0
    full_length: int = 3
    refined: int = 8
    refined_of_each: int = 2
    tries: tuple[int, ...] = (2, 4)
    least_gain: float = 0.99
    checked: int = 4
    most_checked: int = 10
    close: float = 1.1
    sure: float = 0.95


POLICY = TuningPolicy()
"""As it is unless given."""
