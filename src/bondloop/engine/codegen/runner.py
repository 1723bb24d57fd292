"""Running a tick many times, compiled or in Python."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.display import brief
from bondloop.engine.analysis.spectrum import Point
from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.backend import CBackend
from bondloop.engine.codegen.plan import BEYOND, NOT_A_NUMBER, SINGULAR, UNCONVERGED, UNSETTLED, WORST, Plan
from bondloop.engine.codegen.py_writer import PythonBackend
from bondloop.engine.data import checked_values
from bondloop.errors import CompileError, InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.codegen.backend import Backend, Ends
    from bondloop.engine.ir import Tick, Var


BACKENDS: dict[str, Backend] = {"c": CBackend(), "numpy": PythonBackend()}
"""What can execute ticks, by the name that users say, fastest first."""

Status = Literal[
    "finished", "beyond bounds", "not a number", "singular loop", "loop not converged", "no consistent mode"
]


@dataclass(frozen=True)
class Result:
    """What a run recorded, up to its end or to the tick at which it stopped.

    Attributes
    ----------
    time
        Instants of the recorded ticks, in seconds.
    channels
        Each channel's values by name; views of one table with a row per recorded tick.
    status
        ``"finished"``, or why the run stopped early.
    steps
        Ticks that were executed.
    stopped_at
        Time of the tick at which the run stopped, in seconds; None if it finished.
    stopped_channel
        Name of the channel that left its bounds or became NaN, if one did.
    wall_seconds
        How long the run took.
    code
        The bits behind the status, see `bondloop.engine.codegen.plan`.
    loop
        Of an algebraic loop that did not converge: its unknowns, the worst of them, how far that is off. Of a
        search for modes: the elements that switch.

    Examples
    --------
    >>> from bondloop.engine.codegen import Result
    >>> import numpy as np
    >>> Result(np.arange(3.0), {}, "not a number", 3, 2.0, "x", 0.01).message
    "stopped at t = 2 s: channel 'x' became NaN"
    """

    time: NDArray[np.float64]
    channels: dict[str, NDArray[np.float64]]
    status: Status
    steps: int
    stopped_at: float | None
    stopped_channel: str | None
    wall_seconds: float
    loop: str = ""
    code: int = 0

    __repr__ = brief

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "finished"

    @property
    def message(self) -> str:
        """Return one sentence on how the run ended."""
        if self.finished:
            return f"finished {self.steps} steps in {self.wall_seconds:.3g} s"
        where = f"channel '{self.stopped_channel}'" if self.stopped_channel else "an algebraic loop"
        if self.loop and self.status in ("singular loop", "loop not converged"):
            where = f"the algebraic loop through {self.loop}"
        if self.status == "no consistent mode":
            where = f"no combination of the modes of {self.loop}"
        why = {
            "beyond bounds": "left its bounds",
            "not a number": "became NaN",
            "singular loop": "has no unique solution (its matrix is singular)",
            "loop not converged": "did not converge",
            "no consistent mode": "fits what acts on them",
        }[self.status]
        return f"stopped at t = {self.stopped_at:.6g} s: {where} {why}"


@dataclass(frozen=True)
class Snapshot:
    """Where a run stands: the number of its next tick, and the whole state, delay lines included."""

    count: int
    state: NDArray[np.float64]


class Runner:
    """A tick, ready to run; it keeps its state from one call of `run` to the next.

    Parameters
    ----------
    tick
        What to execute.
    backend
        ``"c"`` compiles (an error without a compiler), ``"numpy"`` runs the Python twin, ``"auto"`` takes the
        first of `BACKENDS` that can; `message` then says in one line why not the very first, if so.
    quick
        Whether it is to be ready soon rather than fast later, as for a tick that runs a few times only: the
        numbers are the same.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick, Update
    >>> x = Var("x")
    >>> tick = Tick(
    ...     "halve", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, (Update(((x, x / 2),)),), (Channel("x", x),)
    ... )
    >>> runner = Runner(tick, backend="numpy")
    >>> runner.run(3).channels["x"].tolist()
    [1.0, 0.5, 0.25]
    >>> runner.state
    {'x': 0.125}
    """

    __repr__ = brief

    def __init__(self, tick: Tick, backend: str = "auto", *, quick: bool = False) -> None:
        if backend not in ("auto", *BACKENDS):
            raise InputError(unknown_name("backend", backend, ["auto", *BACKENDS]))
        self.tick = tick
        self.backend, self.message = _chosen(tick) if backend == "auto" else (backend, "")
        self._plan = Plan(tick)
        self._loop = BACKENDS[self.backend].load(tick, quick=quick)
        self._names = [c.name for c in tick.channels]
        self._defaults = _array(tick.parameters)
        self._indices = {v.name: i for i, v in enumerate(self._plan.states)}
        self.reset()

    @property
    def state(self) -> dict[str, float]:
        """The states by name, as the next tick will find them."""
        return {name: float(self._state[i]) for name, i in self._indices.items()}

    @property
    def count(self) -> int:
        """The number of the next tick."""
        return self._first

    def reset(
        self, states: Mapping[str, float] | None = None, parameters: Mapping[str, float] | None = None
    ) -> None:
        """Go back to the beginning; delay lines are emptied.

        Parameters
        ----------
        states
            Initial states by name instead of the tick's own.
        parameters
            Values by name that count from here on wherever a call of `run` gives no others.
        """
        if parameters:
            own = dict(zip(self.tick.parameters, self._defaults.tolist(), strict=False))
            changed = checked_values(self.tick.parameters, parameters, self.tick.name)
            self._defaults = _array({**own, **changed})
        self._state = self._plan.initial()
        self._first = 0
        for name, value in (states or {}).items():
            if name not in self._indices:
                raise InputError(unknown_name("state", name, self._indices, self.tick.name))
            self._state[self._indices[name]] = _finite(f"state '{name}'", value)

    def snapshot(self) -> Snapshot:
        """Return everything that the next tick will find: states, delay lines, its number."""
        return Snapshot(self._first, self._state.copy())

    def restore(self, snapshot: Snapshot, changes: Mapping[str, float] | None = None) -> None:
        """Go back to a snapshot of this tick, with some states changed by an amount.

        Parameters
        ----------
        snapshot
            From `snapshot`.
        changes
            What is added to states, by name, in their units.
        """
        self._first, self._state = snapshot.count, snapshot.state.copy()
        for name, change in (changes or {}).items():
            self._state[self._indices[name]] += change

    @property
    def places(self) -> dict[Hashable, slice]:
        """Where in the state of a snapshot everything lies; see `Plan.places`."""
        return self._plan.places

    def point(self, inputs: Mapping[Var, float] | None = None) -> Point:
        """Return where the run stands now, for a linear analysis of the next tick.

        Parameters
        ----------
        inputs
            Values of the tick's inputs at that tick.
        """
        lines = []
        for line in self._plan.lines:
            places = self._state[line.offset : line.offset + line.delay.length]
            lines.append(np.roll(places, -int(self._state[line.at_index])).tolist())
        return Point(self._first, self.state, lines, {v.name: x for v, x in (inputs or {}).items()})

    def run(
        self,
        steps: int,
        inputs: ArrayLike | None = None,
        parameters: Mapping[str, float] | None = None,
        every: int = 1,
        progress: Callable[[int, int], None] | None = None,
        within: int | None = None,
    ) -> Result:
        """Execute ticks, and record those whose number ``every`` divides.

        Parameters
        ----------
        steps
            How many ticks.
        inputs
            One row per tick (one row more is allowed), one column per input of the tick.
        parameters
            Values by name, for this call, instead of the tick's own.
        every
            Record one tick in so many.
        progress
            Called with the ticks done and the ticks wanted, some twenty times a second. An exception that it
            raises ends the run between two ticks.
        within
            Ticks between two such calls at most, from 1 on, whatever time they take.
        """
        if steps < 0 or every < 1 or (within is not None and within < 1):
            raise InputError(
                f"expected steps from 0 up, every and within from 1 up; found steps = {steps}, "
                f"every = {every}, within = {within}"
            )
        table = self._inputs(steps, inputs)
        values = self._values(parameters or {})
        first = self._first
        skipped = -first % every
        rows = max(0, -(-(steps - skipped) // every))
        record = np.empty((rows, len(self.tick.channels)))
        began = time.perf_counter()
        code, channel = self._in_chunks(
            steps, table, values, record, every, progress, steps if within is None else within
        )
        wall = time.perf_counter() - began
        done = self._first - first
        kept = max(0, -(-(done - skipped) // every))
        status = _status(code)
        instants = np.arange(first + skipped, first + skipped + kept * every, every, dtype=float)
        instants *= self.tick.period
        return Result(
            time=instants,
            channels=dict(zip(self._names, record[:kept].T, strict=True)),
            status=status,
            steps=done,
            stopped_at=None if status == "finished" else (self._first - 1) * self.tick.period,
            stopped_channel=None if channel < 0 else self.tick.channels[channel].name,
            wall_seconds=wall,
            loop=self._unsolved(code // WORST - 1) if code >= WORST else self._sought(status),
            code=code,
        )

    def batch(
        self,
        steps: int,
        inputs: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int = 0,
        first: int = 0,
    ) -> Ends:
        """Run other tests, see `BatchLoop`; unless told, one row is recorded.

        Parameters
        ----------
        steps
            How many ticks.
        inputs
            Shape (tests, steps, inputs), or (1, steps, inputs) if all have the same; None without inputs.
        state
            Shape (tests, size of the state); changed in place.
        parameters
            Shape (tests, parameters).
        record
            Shape (tests, rows, channels); written in place.
        every
            Record one tick in so many; 0: one of them all.
        first
            Number of the first tick.
        """
        return self._loop(steps, first, inputs, state, parameters, record, every or max(1, steps))

    def _unsolved(self, number: int) -> str:
        """Return the unknowns of the loop that a tear belongs to, and how far that one is off."""
        warm = next(w for w in reversed(self._plan.warm) if w.first <= number)
        names, k = [t.name for t in warm.loop.tears], number - warm.first
        # What is left over of the worst tear lies behind the tears of all loops.
        left = self._state[self._plan.warm[0].index + sum(len(w.names) for w in self._plan.warm)]
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return f"{shown} (worst is {names[k]}: {self._state[warm.index + k]:.6g}, {abs(left):.3g} off)"

    def _sought(self, status: Status) -> str:
        """Return the elements whose modes are looked for at every tick, where that is why it stopped."""
        if status != "no consistent mode":
            return ""
        return ", ".join(v.name.removesuffix(".mode") for v in self._plan.sought)

    def _in_chunks(
        self,
        steps: int,
        inputs: NDArray[np.float64] | None,
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int,
        progress: Callable[[int, int], None] | None,
        within: int,
    ) -> tuple[int, int]:
        """Call the loop for a twentieth of a second at a time; the first call measures."""
        done, row, chunk = 0, 0, BACKENDS[self.backend].chunk
        code, channel = 0, -1
        while done < steps and not code:
            n = min(chunk, within, steps - done)
            began = time.perf_counter()
            rows = None if inputs is None else inputs[None, done : done + n]
            ends = self._loop(
                n, self._first, rows, self._state[None], parameters[None], record[None, row:], every
            )
            wall = time.perf_counter() - began
            code, channel = int(ends.code[0]), int(ends.channel[0])
            n = int(ends.tick[0]) - self._first + 1 if code else n
            row += max(0, -(-(n - (-self._first % every)) // every))
            self._first += n
            done += n
            if progress is not None:
                progress(done, steps)
            chunk = max(1, int(min(tolerances.CHUNK_SECONDS / max(wall, 1e-6), 20.0) * n))
        return code, channel

    def _inputs(self, steps: int, inputs: ArrayLike | None) -> NDArray[np.float64] | None:
        names = [v.name for v in self.tick.inputs]
        if inputs is None:
            if names and steps:
                raise InputError(
                    f"{self.tick.name} needs a row of inputs per step: {', '.join(names)}; none were given"
                )
            return np.zeros((0, len(names))) if names else None
        table = np.ascontiguousarray(inputs, dtype=float)
        if table.ndim != 2 or table.shape[1] != len(names) or table.shape[0] not in (steps, steps + 1):
            wanted = f"({steps}, {len(names)}) for {', '.join(names) or 'no inputs'}"
            raise InputError(f"{self.tick.name} needs inputs of shape {wanted}; found {table.shape}")
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            i, j = bad[0]
            raise InputError(f"input '{names[j]}' is {table[i, j]} at step {i}; inputs must be finite")
        return table if names else None

    def _values(self, given: Mapping[str, float]) -> NDArray[np.float64]:
        if not given:
            return self._defaults
        changed = checked_values(self.tick.parameters, given, self.tick.name)
        own = dict(zip(self.tick.parameters, self._defaults.tolist(), strict=False))
        return _array({**own, **changed})


def _array(parameters: Mapping[Var, float]) -> NDArray[np.float64]:
    return np.array([*parameters.values()] or [0.0], dtype=float)


def _chosen(tick: Tick) -> tuple[str, str]:
    """Return the name of the first back end that can execute a tick, and why none before it can."""
    obstacles: list[str] = []
    for name, backend in BACKENDS.items():
        obstacle = backend.obstacle(tick)
        if not obstacle:
            return name, "; ".join(obstacles)
        obstacles.append(obstacle)
    raise CompileError("; ".join(obstacles))


def _finite(what: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{what} is {number}; it must be finite")
    return number


def _status(code: int) -> Status:
    for bit, status in _STATUSES:
        if code & bit:
            return status
    return "loop not converged" if code else "finished"


_STATUSES: tuple[tuple[int, Status], ...] = (
    (SINGULAR, "singular loop"),
    (NOT_A_NUMBER, "not a number"),
    (BEYOND, "beyond bounds"),
    (UNCONVERGED, "loop not converged"),
    (UNSETTLED, "no consistent mode"),
)
