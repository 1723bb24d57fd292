"""How far a search for a compensator goes, what it aims at, and what it counts as equal."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass, field

from bondloop.check import CheckPolicy
from bondloop.engine.data import Parameter


@dataclass(frozen=True)
class TuningPolicy:
    """How far `recommend` searches: sizes, shares of its time, and what counts as equal.

    Sizes and shares were set with `benchmarks/recommend.py`, which compares a search with brute force. Shares
    are plain numbers.

    Parameters
    ----------
    target
        Rms error against the complete structure, as a share, that is good enough. Below it the more robust
        compensator is worth more than the more exact one. The check doubts a result from 10 % on: half of
        that is left to what is not rehearsed, such as specimen and fixtures.
    errors
        The laboratory's policy of the check: by how much actuators, latency and sensors may be off, which is
        what a compensator has to stand, and the limits by which the best few are checked.
    lanes
        Rehearsals of a setting in the search: one as modelled, the others with drawn rigs. 32 fill a
        processor's lanes, and the largest of 31 errors bounds 90 % of all at 95 % of confidence.
    promised
        Rehearsals by which the best few are judged, with fresh draws, which know nothing of the search. At
        least 59 of 64 are drawn rigs, and the largest of 59 errors bounds 95 % of all at 95 % of confidence.
    repeats
        Further rehearsals of the best few as modelled, with other noise, where the rig has noise; the worst
        of them is what has to meet the target.
    lost
        Error from which a rehearsal counts as unstable. With errors as large as the motion nothing is tested.
    sensor_noise
        Noise of demand and displacement sensor against the rms of the motion. A sensor has some 0.01 % of its
        full scale, and a test uses a fifth of that.
    noise_limit
        Largest noise of a command, against the rms of the motion, that is counted. More is no better, but
        comparisons go on.
    most_ticks
        Ticks of a rehearsal at most. A longer test is tried on its beginning, and checked in full.
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
        A family whose best about the middle has so many times the cost of the best, and so many times the
        target's error, is dropped.
    refined, refined_of_each
        How many are refined, each with other choices (order, span, kind), and how many of one family at most
        with the force held, and as many with the force carried on: each way wants other numbers.
    tries, least_gain
        In each round over the settings of all that is refined, tries for each scale, its ends not counted;
        and what gains less than this factor in a round is not refined any more.
    checked, most_checked
        Of the best of each family, as many are checked in full; and until one passes, at most so many.
    close
        Costs within this factor of the least count as equal: then that which needs no care is taken.

    Examples
    --------
    >>> TuningPolicy(target="3 %").target
    0.03
    """

    target: Parameter = Parameter(0.05, above=0, most=1, unit="1")
    errors: CheckPolicy = field(default_factory=CheckPolicy)
    lanes: int = 32
    promised: int = 64
    repeats: int = 4
    lost: float = 1.0
    sensor_noise: float = 5e-4
    noise_limit: float = 1.0
    most_ticks: int = 200_000
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
    hopeless: float = 2.0
    refined: int = 8
    refined_of_each: int = 2
    tries: tuple[int, ...] = (2, 4)
    least_gain: float = 0.99
    checked: int = 4
    most_checked: int = 10
    close: float = 1.1


POLICY = TuningPolicy()
"""As it is unless given."""
