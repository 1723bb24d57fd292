"""Whether an identified model still holds: the measured motion against what the model makes of the commands.

In windows that do not overlap, the difference between measurement and prediction is split by least squares
into a change of gain (it goes with the predicted motion), a change of delay (with its velocity), an offset,
and noise. With white noise both changes are normal about the truth with known deviations, so the false alarms
are known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief, with_progress
from bondloop.engine.data import POSITIVE, number
from bondloop.errors import InputError
from bondloop.identify.least_squares import autocovariance
from bondloop.identify.process.time_fit import checked_record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.transfer import Process

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drift:
    """How far a transfer system has moved away from its model, window after window.

    Attributes
    ----------
    time
        The end of each window in s, shape (n,): what it says is known then.
    delay_change, gain_change
        By how much the system is later than the model [s], and its gain greater, as a part of the model's.
    delay_deviation, gain_deviation
        Their standard deviations; large where there is little motion.
    innovation
        How many deviations the changes are beyond what is tolerated: the greater of the two.
    threshold
        Of the innovation: beyond it, the model no longer holds.
    """

    time: Array
    delay_change: Array
    delay_deviation: Array
    gain_change: Array
    gain_deviation: Array
    innovation: Array
    threshold: float

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def warning(self) -> NDArray[np.bool_]:
        """Whether each window says that the model no longer holds."""
        return self.innovation > self.threshold

    @property
    def first_warning(self) -> float | None:
        """The time of the first warning in s, or None."""
        late = np.flatnonzero(self.warning)
        return float(self.time[late[0]]) if late.size else None

    def to_dict(self) -> dict[str, Any]:
        """Return the drift as a dictionary that fits into JSON."""
        rows = {
            name: getattr(self, name).tolist()
            for name in (
                "time", "delay_change", "delay_deviation", "gain_change", "gain_deviation", "innovation",
                "warning",
            )
        }  # fmt: skip
        return {**rows, "threshold": self.threshold, "first_warning": self.first_warning}

    def __str__(self) -> str:
        if self.first_warning is None:
            worst = int(np.argmin(self.delay_deviation))
            return (
                f"The model holds: no warning in {self.time.size} windows. A window with enough motion tells "
                f"the delay to {1e3 * self.delay_deviation[worst]:.2g} ms and the gain to "
                f"{100 * self.gain_deviation.min():.2g} %."
            )
        i = int(np.argmax(self.warning))
        return (
            f"The model no longer holds: from {self.time[i]:.4g} s on the system is "
            f"{1e3 * self.delay_change[i]:+.3g} ms later (± {2e3 * self.delay_deviation[i]:.2g}), and "
            f"its gain {100 * self.gain_change[i]:+.3g} % greater (± {200 * self.gain_deviation[i]:.2g}). "
            f"{int(self.warning.sum())} of {self.time.size} windows warn."
        )


@with_progress("comparing model and data")
def model_drift(  # noqa: PLR0913 - a test has data, a model and tolerances
    command: ArrayLike,
    output: ArrayLike,
    sample_period: float | str,
    process: Process,
    *,
    window: float | str = 1.0,
    tolerated_delay: float | str = "1 ms",
    tolerated_gain: float = 0.02,
    false_alarms: float = 0.1,
    hold: str = "zero",
) -> Drift:
    """Watch whether a model still tells the measured motion from the commands sent.

    Parameters
    ----------
    command, output
        What was sent, and the displacement measured, shape (n,).
    sample_period
        Seconds between samples.
    process
        The model.
    window
        Seconds over which changes are estimated; a period of the motion or more.
    tolerated_delay, tolerated_gain
        Changes up to these are none: seconds, and a part of the gain. A model is never exact.
    false_alarms
        Warnings an hour that white noise may cause while nothing has changed, at most; as many of them, if
        nothing is tolerated.
    hold
        As for `fit_time`.

    Examples
    --------
    >>> from bondloop.transfer.process import first_order
    >>> rng = np.random.default_rng(1)
    >>> u = np.sin(2 * np.pi * 1.5 * np.arange(10_000) * 1e-3)
    >>> early, late = (first_order(1.0, 0.02, d).simulate(u, 1e-3) for d in (0.004, 0.006))
    >>> y = np.where(np.arange(10_000) < 5000, early, late) + 0.005 * rng.normal(size=10_000)
    >>> print(model_drift(u, y, 1e-3, first_order(1.0, 0.02, 0.004)))
    The model no longer holds: from 6.204 s on the system is +2.02 ms later (± 0.049), and its gain ...
    """
    from scipy.stats import norm

    sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = checked_record(command, output)
    length = round(number(window, "window", "s") / sample_period)
    late, gain = number(tolerated_delay, "tolerated_delay", "s"), float(tolerated_gain)
    if length < 20:
        raise InputError(f"a window needs 20 samples or more; found {length}: make it longer")
    if late < 0 or gain < 0 or not false_alarms > 0:
        raise InputError(
            f"tolerated changes must not be negative and false_alarms must be positive; found {late:g} s, "
            f"{gain:g} and {false_alarms:g}"
        )
    # Two changes a window, both signs of each.
    chance = min(0.5, false_alarms * length * sample_period / 3600) / 4
    predicted = process.simulate(u, sample_period, hold=hold, before=float(u[0]) if process.stable else 0.0)
    velocity = np.gradient(predicted, sample_period)
    slowest = float(np.min(np.abs(process.poles().real), initial=np.inf)) if process.order else np.inf
    settling = round((10 / slowest + process.delay) / sample_period)
    firsts = np.arange(settling, u.size - length + 1, length)
    if not firsts.size:
        raise InputError(
            f"the record is too short: the model settles for {settling * sample_period:.3g} s, a window "
            f"lasts {length * sample_period:.3g} s, and the record only {u.size * sample_period:.3g} s"
        )
    rows = [_changes(slice(k, k + length), y, predicted, velocity) for k in firsts]
    delay, delay_deviation, greater, gain_deviation = np.array(rows).T
    beyond = np.maximum(
        np.maximum(np.abs(delay) - late, 0) / delay_deviation,
        np.maximum(np.abs(greater) - gain, 0) / gain_deviation,
    )
    time = np.asarray((firsts + length) * sample_period, dtype=float)
    return Drift(time, delay, delay_deviation, greater, gain_deviation, beyond, float(norm.isf(chance)))


def _changes(part: slice, y: Array, predicted: Array, velocity: Array) -> tuple[float, float, float, float]:
    """Return the change of the delay and of the gain in a window, each with its deviation."""
    x, v = predicted[part] - predicted[part].mean(), velocity[part] - velocity[part].mean()
    e = y[part] - predicted[part]
    e = e - e.mean()
    sizes = np.array([np.sqrt(x @ x), np.sqrt(v @ v)])
    if not sizes.all():  # at rest nothing can be said
        return 0.0, np.inf, 0.0, np.inf
    table = np.column_stack([x / sizes[0], -v / sizes[1]])
    inverse = np.linalg.pinv(table.T @ table)
    b = inverse @ (table.T @ e)
    left = e - table @ b
    variance = np.maximum(np.diag(inverse) * (left @ left) / (e.size - 3), 1e-300)
    spread = np.sqrt(variance * [_colour(left, column) for column in table.T]) / sizes
    b = b / sizes
    return float(b[1]), float(spread[1]), float(b[0]), float(spread[0])


def _colour(e: Array, x: Array) -> float:
    """Return by what factor the colour of residuals raises the variance of a coefficient.

    It is 1 + 2 times the sum of the products of both autocorrelations; those of the residuals that white
    noise could have, too, count as none, so that white noise keeps its false alarms.
    """
    lags = e.size // 4
    both = [autocovariance(values - values.mean(), lags) for values in (e, x)]
    if not (both[0][0] > 0 and both[1][0] > 0):
        return 1.0
    own, of_x = (c[1:] / c[0] for c in both)
    return max(1.0, 1 + 2 * float(np.sum(np.where(own**2 > 9 / e.size, own * of_x, 0.0))))
