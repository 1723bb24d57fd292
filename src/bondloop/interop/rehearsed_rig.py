"""A rig without a clock: the test's tick, executed here as far as each move needs it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.codegen import Runner
from bondloop.errors import InputError
from bondloop.interop.following_rig import Channels, FollowingRig
from bondloop.rehearsal import Run, origin, trip, why_stopped
from bondloop.results.records import GrowingRun
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.engine.codegen import Result
    from bondloop.hybrid import HybridTest


class RehearsedRig(FollowingRig):
    """The emulated rig of a test, moved from outside without a clock.

    Parameters
    ----------
    test
        A `HybridTest` with an `ExternalHalf`.
    record
        Run file to write, which must not exist; nothing is kept if not given.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> test = bl.HybridTest(
    ...     ExternalHalf(stroke="50 mm", speed="0.1 m/s", tolerance="1 µm"),
    ...     rig=Emulated(mounted(GiuffreMenegottoPinto()), bl.transfer.ServoHydraulic()),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ... )
    >>> with RehearsedRig(test) as rig:
    ...     answer = rig.move_to([0.002])
    >>> print(f"{1e3 * answer.displacement[0]:.2f} mm, {1e-3 * answer.force[0]:.2f} kN")
    2.00 mm, 4.00 kN
    """

    def __init__(self, test: HybridTest, *, record: str | Path | None = None) -> None:
        super().__init__(test)
        if test.tables:
            raise InputError(
                f"the signals {', '.join(test.tables)} are read from tables, which have an end; a test with "
                "an external numerical half goes on as long as that does"
            )
        self._tick = test.tick
        self._runner = Runner(self._tick)
        self._path = None if record is None else Path(record)
        self._file = None if self._path is None else self._begin(self._path)
        self._closed = False

    def _begin(self, path: Path) -> GrowingRun:
        tick = self._tick
        self._origin = origin()
        description = {**self.test.about(), "every": 1}
        return GrowingRun(
            path,
            {c.name: c.unit for c in tick.channels},
            {"step": "<i8"},
            rate=self.test.rate,
            description=description,
            attributes={"status": "recording", **self._origin},
            meanings={c.name: c.meaning for c in tick.channels},
        )

    def _advance(self, targets: Mapping[str, float], seconds: float) -> tuple[Channels, float]:
        result = self._execute(targets, math.ceil(seconds / self.test.period - 1e-9))
        tripped = trip(result.time, result.channels)
        if not result.finished:
            self._fail(f"{why_stopped(self._tick, result, self.test.remedies)}; nothing moves any more")
        elif tripped is not None:
            self._retreat(targets)
            self._fail(
                f"{cause_words(tripped[1])} at t = {tripped[0]:.4g} s; "
                "the rig was brought to its safe position"
            )
        return result.channels, self._runner.count * self.test.period

    def _leave(self) -> None:
        way = 2 * self.half.stroke / self.half.speed + 3 / self.half.frequency
        self._execute(dict.fromkeys(self.half.targets, 0.0), math.ceil(way / self.test.period))

    def _retreat(self, targets: Mapping[str, float]) -> None:
        """Execute the way to the safe position, which the interlock leads."""
        interlock = self.test.interlock
        if interlock is not None:
            seconds = float(interlock.release) + float(interlock.retreat)
            self._execute(targets, math.ceil(seconds / self.test.period) + 2)

    def _execute(self, targets: Mapping[str, float], ticks: int) -> Result:
        result = self._runner.run(ticks, parameters=targets)
        if self._file is not None:
            table = np.column_stack(list(result.channels.values()))
            steps = np.arange(self._runner.count - len(table), self._runner.count)
            self._file.append(result.time, table, {"step": steps})
            self._file.commit()
        return result

    def close(self) -> Run | None:
        """End the test; return its run, if it was recorded."""
        if self._closed or self._file is None or self._path is None:
            self._closed = True
            return None
        self._closed = True
        status = "stopped" if self.fault else "completed"
        steps = self._runner.count
        self._file.close(
            {
                "status": status, "message": self.fault, "steps": steps, "seed": self.test.seed,
                "backend": self._runner.backend, "files": [str(self._path)],
                **self._origin, **self.served,
            }
        )  # fmt: skip
        return Run.load(self._path)
