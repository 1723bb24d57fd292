"""How well the rig follows, estimated while the test runs: error, amplitude and delay of every interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.dashboard.frames import plain
from bondloop.errors import InputError
from bondloop.results.assess import delay, normalised_rms_error, peak_amplitude_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.dashboard.history import History
    from bondloop.realtime.telemetry import ShownChannel


SECONDS = 4.0
"""Of the motion that an estimate looks back on."""
SAMPLES = 4000
"""Most samples for it: more are thinned out first."""


def pairs_of(channels: Sequence[ShownChannel]) -> list[dict[str, int]]:
    """Return desired and actual displacement of every interface, by the numbers of the channels.

    Parameters
    ----------
    channels
        Of the telemetry or of a record.
    """
    at = {(c.role, c.kind, c.interface): i for i, c in reversed(list(enumerate(channels)))}
    pairs = []
    for interface in sorted({c.interface for c in channels if c.interface is not None}):
        wanted = at.get(("desired", "displacement", interface))
        seen = at.get(("actual", "displacement", interface), at.get(("measured", "displacement", interface)))
        if wanted is not None and seen is not None:
            pairs.append({"interface": interface, "desired": wanted, "actual": seen})
    return pairs


class Estimates:
    """The newest estimates of a loop.

    Parameters
    ----------
    channels
        Of the telemetry.
    period
        Seconds from sample to sample.

    Attributes
    ----------
    pairs
        From `pairs_of`.
    latest
        ``error``, ``amplitude`` (both as shares) and ``delay`` (in s) of each pair; None where undefined.
    """

    def __init__(self, channels: Sequence[ShownChannel], period: float) -> None:
        self.pairs, self._period = pairs_of(channels), period
        self.latest: list[dict[str, float | None]] = []

    def forget(self) -> None:
        """Begin anew: another run."""
        self.latest = []

    def look(self, history: History, first: int = 0) -> None:
        """Estimate anew from the newest samples.

        Parameters
        ----------
        history
            Of the loop.
        first
            Number of the first sample of the run.
        """
        begin = max(history.first, first, history.end - round(SECONDS / self._period))
        stride = max(1, (history.end - begin) // SAMPLES)
        found = []
        for pair in self.pairs:
            both = history.read(begin, history.end, (pair["desired"], pair["actual"]))[::stride]
            motion = both[np.isfinite(both).all(axis=1)].astype(np.float64)
            found.append(plain({"interface": pair["interface"], **following(motion, stride * self._period)}))
        self.latest = found


def following(both: NDArray[np.float64], period: float) -> dict[str, float | None]:
    """Return error and amplitude error as shares and the delay in s; None where there is too little motion.

    Parameters
    ----------
    both
        Desired and actual displacement, shape (samples, 2).
    period
        Seconds from sample to sample.

    Examples
    --------
    >>> t = np.arange(4000) * 1e-3
    >>> found = following(np.stack([np.sin(20 * t), 0.9 * np.sin(20 * (t - 0.005))], axis=1), 1e-3)
    >>> round(found["amplitude"], 3), round(found["delay"], 5)
    (-0.1, 0.005)
    """
    if len(both) < 16 or not np.ptp(both[:, 0]) > 0:
        return {"error": None, "amplitude": None, "delay": None}
    desired, actual = both[:, 0], both[:, 1]
    try:
        lag: float | None = delay(desired, actual, period)
    except InputError:
        lag = None
    return {
        "error": normalised_rms_error(desired, actual),
        "amplitude": peak_amplitude_error(desired, actual),
        "delay": lag,
    }
