"""How a loop is doing, on one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.hybrid.run import shown
from bondloop.program.quantity import Role
from bondloop.realtime.summary import duration
from bondloop.safety.causes import cause_words, limit_name
from bondloop.safety.channel_names import WARNING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.ring import Ring, Status

__all__ = ["Live", "Watcher"]


@dataclass(frozen=True)
class Live:
    """How a loop is doing.

    Attributes
    ----------
    time
        Seconds of the test so far.
    state
        Of the lifecycle.
    misses
        Cycles that ended too late, and deadlines that passed without a cycle.
    jitter
        Largest wake-up latency in s since the last look.
    tracking_error
        Largest difference of desired and actual displacement in m since the last look.
    power
        Power discrepancy at the interface in W, root of the mean square since the last look: measured force
        times difference of actual and desired velocity.
    cause
        Number of the cause of a trip; 0: none.
    recording
        What is wrong with the recording, in words; nothing while all is well.
    warning
        Number of the cause that is near since the last look; 0: none.
    trouble
        That the loop does not answer, and what to do, in words; nothing while it does.

    Examples
    --------
    >>> print(Live(12.34, "active", 0, 5.2e-5, 1.2e-4, 0.031, 0))
      12.34 s  active     misses 0  jitter 52 µs  tracking 0.12 mm  power 0.031 W
    """

    time: float
    state: str
    misses: int
    jitter: float
    tracking_error: float
    power: float
    cause: int
    recording: str = ""
    warning: int = 0
    trouble: str = ""

    def __str__(self) -> str:
        line = (
            f"{self.time:7.2f} s  {self.state:9}  misses {self.misses}  jitter {duration(self.jitter)}  "
            f"tracking {_shown(self.tracking_error, 'm')}  power {_shown(self.power, 'W')}"
        )
        told = [cause_words(self.cause)] if self.cause else []
        if self.warning and not self.cause:
            told.append(f"WARNING: near the limit of {limit_name(self.warning)}")
        told += [words for words in (self.trouble, self.recording) if words]
        return "  ".join([line, *told])


class Watcher:
    """Looks at a loop's telemetry now and then.

    Parameters
    ----------
    ring
        Of the loop; its cursor is moved.
    most
        Samples that one look reads at most, the newest: a look must stay cheap.
    """

    def __init__(self, ring: Ring, most: int = 1000) -> None:
        self.ring, self.most = ring, most
        self.period = float(ring.metadata.get("period", ring.period))
        # Before the test begins the loop is idle, and what it missed then is of no interest.
        self._before = self._missed(ring.status())

        def numbers(role: Role, kind: str) -> list[int]:
            return [i for i, m in enumerate(ring.meanings) if m.role is role and m.kind == kind]

        self._desired = numbers(Role.DESIRED, "displacement")
        self._actual = numbers(Role.ACTUAL, "displacement")
        self._warning = ring.names.index(WARNING) if WARNING in ring.names else None
        self._velocity, self._force = numbers(Role.ERROR, "flow"), numbers(Role.ACTUAL, "effort")

    def look(self) -> Live:
        """Return how the loop is doing."""
        ring = self.ring
        ring.cursor = max(ring.cursor, ring.written - self.most)
        block = ring.read()
        values = block["channels"][block["step"] >= 0]
        status = ring.status()
        return Live(
            time=max(status.steps - 1, 0) * self.period,
            state=status.state,
            misses=self._missed(status) - self._before,
            jitter=1e-9 * float(block["wake_ns"].max()) if len(block) else float("nan"),
            tracking_error=_largest(values[:, self._desired], values[:, self._actual])
            if len(self._desired) == len(self._actual)
            else float("nan"),
            power=self._power(values),
            cause=status.cause,
            warning=int(values[:, self._warning].max(initial=0.0)) if self._warning is not None else 0,
        )

    @staticmethod
    def _missed(status: Status) -> int:
        return status.counts["overruns"] + status.counts["missed"]

    def _power(self, values: NDArray[np.float64]) -> float:
        if not len(values) or not self._force or len(self._force) != len(self._velocity):
            return float("nan")
        with np.errstate(over="ignore", invalid="ignore"):  # a rig may show anything: this line only tells it
            power = (values[:, self._force] * values[:, self._velocity]).sum(axis=1)
            return float(np.sqrt(np.mean(power**2)))


def _largest(wanted: NDArray[np.float64], seen: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        difference = wanted - seen
    return float(np.abs(difference).max()) if difference.size else float("nan")


def _shown(value: float, unit: str) -> str:
    return "-" if np.isnan(value) else shown(float(f"{value:.2g}"), unit)
