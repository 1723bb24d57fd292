"""The dry run of a linear test too large to be compiled for it: its one step, carried on.

A compiler needs minutes for a tick of ten thousand coupled states. Where every statement is linear the step
with its signals is the tick itself, but for noise, which it leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import tolerances
from bondloop.check.dry_run import DryRun, limits_of, relative_error, window_length
from bondloop.check.ensemble import Twin
from bondloop.rehearsal import steps_of
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check.linear.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep, Values


class _March:
    """Carries a step on, delay lines included."""

    def __init__(self, step: OneStep, at: Values) -> None:
        self.step, self.at = step, at
        self.x = np.zeros(len(step.states))
        self.lines = np.zeros((max(step.step.delays, default=1), len(at.w)))
        self.sources, self.delays = np.array(step.step.sources, int), np.array(step.step.delays, int)
        self.k = 0
        self.pushed = at.w[self.sources] - at.y if len(at.y) else at.y

    def go(self, du: NDArray[np.float64], *, free: bool = False) -> NDArray[np.float64]:
        """Do as many ticks as there are rows of probes; return the outputs.

        Parameters
        ----------
        du
            Probes less their values at the point, a row a tick.
        free
            Whether the motion is one about zero, not about the point of the step.
        """
        step, at, s = self.step, self.at, self.step.step
        outputs = np.empty((len(du), len(step.outputs)))
        drift = 0.0 if free else at.after - at.x
        depth = len(self.lines)
        for i, u in enumerate(du):
            y = np.zeros(len(self.delays))
            if len(y):
                y = self.lines[(self.k - self.delays) % depth, self.sources]
                if not free:
                    y = y + np.where(self.k >= self.delays, self.pushed, 0.0)
            outputs[i] = step.L @ self.x + step.M @ y + step.N @ u
            if len(y):
                self.lines[self.k % depth] = s.C @ self.x + s.E @ y + step.Q @ u
            self.x = s.A @ self.x + s.B @ y + step.P @ u + drift
            self.k += 1
        return outputs if free else outputs + at.o


def linear_run(loop: RunningLoop, seconds: float) -> DryRun:
    """Return the dry run of a linear test by its one step.

    Parameters
    ----------
    loop
        The loop; its tick must be linear.
    seconds
        Length of the test.
    """
    test = loop.test
    bounds = limits_of(test)
    names = [n for word in ("desired", "actual") for n in indexed(f"{word}.velocity", loop.count)]
    step = loop.at(more=[*bounds, *names])
    steps = steps_of(seconds, test.period)
    assert step.at is not None
    length = window_length(steps)
    place = {n: i for i, n in enumerate(step.outputs)}
    desired, actual = ([place[n] for n in side] for side in (loop.desired, loop.actual))
    velocities = [place[n] for n in names]
    march = _March(step, step.at)
    peaks = np.zeros(len(step.outputs))
    windows = np.zeros((tolerances.WINDOWS, loop.count))
    sums = np.zeros((4, loop.count))
    message, done = "", 0
    while done < steps and not message:
        n = min(tolerances.BLOCK, steps - done)
        times = np.asarray((done + np.arange(n)) * test.period, dtype=np.float64)
        outputs = march.go(loop.signals(step, times) - step.at.u)
        for name, bound in bounds.items():
            over = np.flatnonzero(~(np.abs(outputs[:, place[name]]) <= bound))
            if len(over) and not message:
                outputs = outputs[: over[0] + 1]
                message = f"'{name}' left its limit of {bound:.4g} at t = {times[over[0]]:.4g} s"
        peaks = np.maximum(peaks, np.abs(outputs).max(axis=0))
        which = np.minimum((done + np.arange(len(outputs))) // length, tolerances.WINDOWS - 1)
        np.maximum.at(windows, which, np.abs(outputs[:, actual]))
        d, e = outputs[:, desired], outputs[:, desired] - outputs[:, actual]
        sums += [d.sum(axis=0), (d * d).sum(axis=0), e.sum(axis=0), (e * e).sum(axis=0)]
        done += len(outputs)
    return DryRun(
        seconds=done * test.period,
        completed=not message,
        message=message,
        peaks=dict(zip(step.outputs, peaks.tolist(), strict=True)),
        bounds=bounds,
        windows=windows,
        window=length * test.period,
        error=relative_error(sums / max(done, 1), 0.0),
        twins=() if message else _disturbed(loop, step, steps, velocities),
        backend="its one step, without noise",
    )


def _disturbed(loop: RunningLoop, step: OneStep, steps: int, velocities: list[int]) -> tuple[Twin, ...]:
    """Return what becomes of an impulse; a linear loop's answer is the same whenever it comes."""
    push = loop.impulse(step)
    if not push:
        return ()
    assert step.at is not None
    march = _March(step, step.at)
    march.x = np.array([push.get(n, 0.0) for n in step.states])
    length = window_length(steps)
    peaks = []
    for i in range(tolerances.WINDOWS):
        ticks = min(length, max(1, steps - i * length))
        outputs = march.go(np.zeros((ticks, len(step.probes))), free=True)
        peaks.append(float(np.abs(outputs[:, velocities]).max()))
    times = (np.arange(tolerances.WINDOWS) + 0.5) * length * step.period
    soon = tolerances.WINDOWS // 8
    worst = soon + int(np.argmax(peaks[soon:]))
    logs = np.log(np.maximum(peaks[soon:], 1e-300))
    first = max(peaks[:soon]) or 1.0
    return (
        Twin(
            0.0, 1.0, peaks[worst] / first, float(times[worst]), peaks[-1] / first,
            float(np.polyfit(times[soon:], logs, 1)[0]),
        ),
    )  # fmt: skip
