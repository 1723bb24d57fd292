"""How near each limit is, and how near it has been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.telemetry import ShownChannel


OVERFLOWING = 1e9
"""From here on a channel's bound is no limit that somebody stated: it tells numbers that have overflowed."""


@dataclass
class _Bar:
    """One quantity that is limited: a channel's magnitude, or that of a difference of two."""

    title: str
    word: str
    unit: str
    channel: int
    less: int | None
    bound: float | None = None
    limit: float | None = None
    now: float = 0.0
    most: float = 0.0


class Bars:
    """Stroke, velocity, force, command, tracking and power of every interface against their limits.

    Parameters
    ----------
    channels
        Of the telemetry.

    Examples
    --------
    >>> from bondloop.realtime.telemetry.snapshot import ShownChannel
    >>> bars = Bars([ShownChannel("f", "N", "measured", "effort", "force", 0)])
    >>> bars.limit({"force": 10.0})  # the interlock's; a tighter bound of the channel itself counts more
    >>> bars.take(np.array([[-4.0], [2.0]]))
    >>> [(bar["title"], bar["now"], bar["most"], bar["limit"]) for bar in bars.describe()]
    [('force', 4.0, 4.0, 10.0)]
    """

    def __init__(self, channels: Sequence[ShownChannel]) -> None:
        self._at = {(c.role, c.kind, c.interface): i for i, c in reversed(list(enumerate(channels)))}
        self._channels = channels
        interfaces = sorted({c.interface for c in channels if c.interface is not None})
        self._bars: list[_Bar] = []
        self.loops: list[dict[str, int]] = []
        for i in interfaces:
            mark = f" {i + 1}" if len(interfaces) > 1 else ""
            self._add_interface(i, mark)

    def _add_interface(self, i: int, mark: str) -> None:
        sensed = {
            kind: self._find(("measured", kind, i), ("actual", kind, i))
            for kind in ("displacement", "flow", "effort")
        }
        for title, word, kind in (
            ("stroke", "displacement", "displacement"),
            ("velocity", "velocity", "flow"),
            ("force", "force", "effort"),
        ):
            self._add(title + mark, word, sensed[kind])
        self._add(f"command{mark}", "command", self._find(("command", "", i), ("command", "displacement", i)))
        wanted = self._at.get(("desired", "displacement", i))
        if wanted is not None and sensed["displacement"] is not None:
            self._add(f"tracking{mark}", "tracking error", wanted, sensed["displacement"])
        self._add(f"power{mark}", "power", self._at.get(("safety", "power", i)))
        place, force = sensed["displacement"], sensed["effort"]
        if place is not None and force is not None:
            self.loops.append({"interface": i, "displacement": place, "force": force})

    def _find(self, *wanted: tuple[str, str, int]) -> int | None:
        return next((self._at[w] for w in wanted if w in self._at), None)

    def _add(self, title: str, word: str, channel: int | None, less: int | None = None) -> None:
        if channel is not None:
            bound = None if less is not None else self._bound(channel)
            self._bars.append(_Bar(title, word, self._channels[channel].unit, channel, less, bound))

    def _bound(self, channel: int) -> float | None:
        """Return the executive's own bound of a quantity: on this channel, or on another that shows it."""
        c = self._channels[channel]
        roles = ("measured", "actual") if c.role in ("measured", "actual") else (c.role,)
        same = [
            x for x in self._channels if (x.kind, x.interface) == (c.kind, c.interface) and x.role in roles
        ]
        bounds = [x.limit for x in same if x.limit is not None and x.limit < OVERFLOWING]
        return min(bounds, default=None)

    def take(self, rows: NDArray[np.float64], counts: NDArray[np.bool_] | None = None) -> None:
        """Take in samples of all channels.

        Parameters
        ----------
        rows
            Shape (samples, channels); NaN where nothing is known.
        counts
            Which of them are of the run, so that how near they were is kept; all unless given.
        """
        if not len(rows):
            return
        for bar in self._bars:
            with np.errstate(invalid="ignore", over="ignore"):
                values = (
                    rows[:, bar.channel] if bar.less is None else rows[:, bar.channel] - rows[:, bar.less]
                )
            size = np.abs(values)
            bar.now = float(np.fmax.reduce(size))
            bar.most = float(np.fmax.reduce(size if counts is None else size[counts], initial=bar.most))

    def limit(self, limits: Mapping[str, float]) -> None:
        """Say where the limits are, by the name that `bondloop.safety.causes.limit_name` has for them."""
        for bar in self._bars:
            known = [x for x in (limits.get(bar.word), bar.bound) if x is not None]
            bar.limit = min(known, default=None)

    def forget(self) -> None:
        """Begin anew: another run."""
        for bar in self._bars:
            bar.now = bar.most = 0.0

    def describe(self) -> list[dict[str, str | float | None]]:
        """Return them as they go to the browser: in `now` the largest since the last look, NaN if unknown."""
        return [
            {"title": b.title, "unit": b.unit, "now": b.now, "most": b.most, "limit": b.limit}
            for b in self._bars
        ]
