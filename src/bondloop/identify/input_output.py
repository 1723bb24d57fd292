"""One input and one output, fit for identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.identify.channel_faults import (
    clipping,
    constant,
    describe_constant,
    held,
    slow_rows,
    slowly_held,
)
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.tolerances import FEWEST_SAMPLES, LARGEST_SIZE, LONGEST_PERIOD, SHORTEST_PERIOD

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["InputOutput", "doubts", "sound_part"]


@dataclass(frozen=True, eq=False)
class InputOutput:
    """One input and one output of a system, sampled together, without holes.

    Attributes
    ----------
    input, output
        The signals, shape (n,).
    sample_period
        Seconds between samples.
    input_name, output_name, input_unit, output_unit
        What they are called, and their units as text.
    start
        Time of the first sample [s].
    warnings
        What is doubtful about them, in sentences.

    Examples
    --------
    >>> data = InputOutput(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.2, 0.5]), 0.01, output_unit="m")
    >>> data.sample_period, data.output_unit
    (0.01, 'm')
    """

    input: NDArray[np.float64]
    output: NDArray[np.float64]
    sample_period: float
    input_name: str = "input"
    output_name: str = "output"
    input_unit: str = ""
    output_unit: str = ""
    start: float = 0.0
    warnings: tuple[str, ...] = ()

    __repr__ = brief

    def __len__(self) -> int:
        return self.input.size

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the samples [s]."""
        return self.start + self.sample_period * np.arange(float(len(self)))

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return float(f"{1 / self.sample_period:.12g}")


def sound_part(
    signals: Mapping[str, NDArray[np.float64]],
    names: Mapping[str, str],
    period: float,
    start: float,
    policy: IdentificationPolicy = POLICY,
) -> tuple[int, int, list[str]]:
    """Return first and one past the last sample of the longest part that both signals have.

    An error where that part cannot be used: too short, or one of the signals rests.
    """
    for role, values in signals.items():
        stride = slow_rows(values)
        if stride:
            raise InputError(
                f"{role} '{names[role]}' has a value in one of {stride} samples only: mixed sample rates; "
                f"record both channels with one clock at one rate, or keep one row of {stride} of the file"
            )
    missing = ~np.logical_and.reduce([np.isfinite(values) for values in signals.values()])
    edges = np.concatenate(([-1], np.flatnonzero(missing), [missing.size]))
    best = int(np.argmax(np.diff(edges)))
    first, last = int(edges[best]) + 1, int(edges[best + 1])
    count = last - first
    blamed = " and ".join(f"'{names[role]}'" for role, v in signals.items() if not np.isfinite(v).all())
    warnings = []
    if blamed:
        warnings.append(
            f"{int(missing.sum())} samples of {blamed} are missing or not finite; only the longest stretch "
            f"without holes is used, {start + first * period:g} to {start + (last - 1) * period:g} s, "
            f"{count} of {missing.size} samples: record again without drop-outs"
        )
    if count < FEWEST_SAMPLES:
        raise InputError(
            f"only {count} samples ({count * period:g} s) in a row have both '{names['input']}' and "
            f"'{names['output']}'; record at least {policy.few_samples}, and ten times as long as the rig "
            "takes to settle"
        )
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise InputError(
            f"the samples are {period:g} s apart; expected {SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g} s: is "
            "the time in seconds, and the right column?"
        )
    for role, values in signals.items():
        size = float(np.abs(values[first:last]).max())
        if size > LARGEST_SIZE or 0 < size < 1 / LARGEST_SIZE:
            raise InputError(
                f"{role} '{names[role]}' goes to {size:g}, which nothing measures; expected at most "
                f"{LARGEST_SIZE:g}, and {1 / LARGEST_SIZE:g} or more: is it the right column, in the right "
                "unit?"
            )
        if constant(values[first:last]):
            raise describe_constant(role, names[role], float(values[first]))
    if count < policy.few_samples:
        warnings.append(
            f"there are only {count} samples ({count * period:g} s); estimates will be uncertain: record ten "
            "times as long as the rig takes to settle"
        )
    return first, last, warnings


def doubts(role: str, name: str, unit: str, values: NDArray[np.float64]) -> list[str]:
    """Return what is doubtful about one of the signals, in sentences."""
    found = []
    clipped = clipping(values)
    if clipped:
        extreme, run, part = clipped
        advice = (
            "reduce the amplitude" if role == "input" else "reduce the amplitude or widen the sensor's range"
        )
        found.append(
            f"{role} '{name}' stays at {extreme:g}{' ' + unit if unit else ''} for up to {run} samples in a "
            f"row ({100 * part:.2g} % of all): it looks clipped, and a clipped signal gives a wrong gain; "
            f"{advice}"
        )
    # A command may well be a staircase; a motion is none.
    hold = slowly_held(values) if role == "input" else held(values)
    if hold > 1:
        besides = ", and no command in steps" if role == "input" else ""
        found.append(
            f"{role} '{name}' changes only every {hold} samples: was it recorded {hold} times slower and "
            f"held? That adds a delay; if so{besides}, record it at the full rate"
        )
    return found
