"""What executes ticks: a back end makes of a tick a loop that runs a batch of tests.

The tests of a batch share the tick; state, parameters and, if need be, inputs differ. The first axis of every
array counts the tests. A back end that knows one test only runs them `one_by_one`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np

from bondloop.engine.codegen.c_writer import write_c_apart
from bondloop.engine.codegen.plan import Plan
from bondloop.engine.codegen.toolchain import NO_COMPILER, Compiler, compiler, load
from bondloop.engine.ir import calls
from bondloop.errors import CompileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen.c_text import Numbers
    from bondloop.engine.ir import Tick


_DOUBLES = ctypes.c_void_p


@dataclass(frozen=True)
class CBackend:
    """Ticks in C.

    Parameters
    ----------
    using
        The compiler; None for the one that `bondloop.engine.codegen.compiler` finds.
    """

    using: Compiler | None = None
    chunk = 1000

    def obstacle(self, tick: Tick) -> str:
        """Return what stands in the way: calls of Python functions, or no compiler."""
        outside = ", ".join({f.__qualname__: 0 for f in calls(tick, in_python=True).values()})
        if outside:
            return f"not compiled: {outside} is a Python function"
        return "" if self.using or compiler() else NO_COMPILER

    def load(self, tick: Tick, *, quick: bool = False) -> BatchLoop:
        """Compile a tick, or take it from the cache."""
        using = self.using or compiler()
        if using is None:
            raise CompileError("no C compiler found ($CC, cc, gcc, clang); 'pip install ziglang' brings one")
        return one_by_one(_compiled(tick, using, quick), tick.period)


_KEPT: WeakValueDictionary[str, Numbers] = WeakValueDictionary()
"""The tables that loaded libraries read, by their digest, as long as anything can run that reads them."""


def _hand_over(library: ctypes.CDLL, name: str, numbers: Numbers) -> Numbers:
    """Let a library know where its tables lie; return them, to be kept."""
    kept = _KEPT.setdefault(f"{name} {numbers.digest}", numbers)
    take: Any = getattr(library, f"{name}_take")
    take.restype, take.argtypes = None, [_DOUBLES, _DOUBLES]
    take(kept.arrays["double"].ctypes.data, kept.arrays["int"].ctypes.data)
    return kept


def _compiled(tick: Tick, using: Compiler, quick: bool = False) -> ScalarLoop:
    plan = Plan(tick)
    source, large, numbers = write_c_apart(tick)
    library = load(source, tick.name, using, large=large or quick)
    if numbers is not None:
        numbers = _hand_over(library, tick.name, numbers)
    counts = list((ctypes.c_long * 4).in_dll(library, f"{tick.name}_counts"))
    expected = [plan.size, len(tick.inputs), max(1, len(tick.parameters)), len(tick.channels)]
    if counts != expected:
        raise CompileError(f"the library of {tick.name} has sizes {counts} where {expected} were expected")
    function: Any = getattr(library, f"{tick.name}_run")
    function.restype = ctypes.c_int
    integers = ctypes.POINTER(ctypes.c_long)
    function.argtypes = [
        *(ctypes.c_long, ctypes.c_long, ctypes.c_double),
        *[_DOUBLES] * 4,
        *(ctypes.c_long, integers, integers),
    ]

    def run(
        steps: int,
        first: int,
        period: float,
        inputs: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int,
    ) -> tuple[int, int, int]:
        _ = numbers  # alive as long as this can be called
        stopped_at, channel = ctypes.c_long(), ctypes.c_long()
        code = function(
            *(steps, first, period, None if inputs is None else inputs.ctypes.data),
            *(state.ctypes.data, parameters.ctypes.data, record.ctypes.data, every),
            *(ctypes.byref(stopped_at), ctypes.byref(channel)),
        )
        return code, stopped_at.value, channel.value

    return run


class Ends(NamedTuple):
    """How each test of a batch ended.

    Attributes
    ----------
    code
        0 if it executed all its ticks, otherwise the codes of `bondloop.engine.codegen.plan`.
    tick
        Number of the tick at which it stopped, the last one executed; -1 if it did not.
    channel
        Index of the channel that left its bounds or became NaN; -1 if none did.

    Examples
    --------
    >>> import numpy as np
    >>> ends = Ends(np.array([0, 2]), np.array([-1, 17]), np.array([-1, 0]))
    >>> ends.tick[ends.code != 0].tolist()
    [17]
    """

    code: NDArray[np.int64]
    tick: NDArray[np.int64]
    channel: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lot:
    """Tests of a batch that run some ticks together.

    Attributes
    ----------
    steps
        Ticks of each.
    first
        Number of the first one.
    rows
        A row of inputs for each tick, the same for all tests; None where there are none.
    state
        (tests, size of the state); changed in place.
    table
        What is varied, (tests, parameters).
    ends
        How each ended, (tests, 3) as `Ends` has it; changed in place.
    """

    steps: int
    first: int
    rows: NDArray[np.float64] | None
    state: NDArray[np.float64]
    table: NDArray[np.float64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.state)

    def part(self, tests: slice) -> Lot:
        """Return some of the tests, whose states and ends are those of this lot."""
        return Lot(self.steps, self.first, self.rows, self.state[tests], self.table[tests], self.ends[tests])


class BatchLoop(Protocol):
    """A tick, ready to be executed many times, for many tests."""

    def __call__(
        self,
        steps: int,
        first: int,
        inputs: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int,
    ) -> Ends:
        """Execute ticks; a test that stops leaves the others as they would be without it.

        All arrays are of doubles, each test's part of them lies in one piece.

        Parameters
        ----------
        steps
            How many ticks.
        first
            Number of the first one.
        inputs
            (tests, steps, inputs), or (1, steps, inputs) if all have the same; None if the tick has none.
        state
            (tests, `Plan.size`), as `Plan.initial` lays it out; changed in place.
        parameters
            (tests, parameters).
        record
            (tests, rows, channels); a row is written for every tick whose number `every` divides.
        every
            Record one tick in so many.
        """


class Backend(Protocol):
    """A way of executing ticks; add one to the table of `bondloop.engine.codegen.runner`.

    Attributes
    ----------
    chunk
        Ticks of the first call of a run, which should take no longer than a few hundredths of a second: that
        call is timed, and later ones have as many ticks as fit.

    Examples
    --------
    >>> from bondloop.engine.codegen import BACKENDS
    >>> list(BACKENDS)
    ['c', 'numpy']
    """

    chunk: int

    def obstacle(self, tick: Tick) -> str:
        """Return why this tick cannot be executed by it here, for the user to read; "" if it can."""

    def load(self, tick: Tick, *, quick: bool = False) -> BatchLoop:
        """Return the loop of a tick; a `CompileError` says why there is none.

        Parameters
        ----------
        tick
            What to execute.
        quick
            Whether to be ready soon rather than fast later, as for a tick that runs a few times only: the
            numbers are the same.
        """


ScalarLoop = Callable[..., tuple[int, int, int]]
"""``run(steps, first, period, inputs, state, parameters, record, every)`` of one test, without the axis of
tests; returns code, tick and channel of `Ends`."""


def one_by_one(run: ScalarLoop, period: float) -> BatchLoop:
    """Return the loop of a batch that executes one test after the other."""

    def batch(
        steps: int,
        first: int,
        inputs: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int,
    ) -> Ends:
        ends = []
        for i in range(len(state)):
            rows = None if inputs is None else inputs[i if len(inputs) > 1 else 0]
            ends.append(run(steps, first, period, rows, state[i], parameters[i], record[i], every))
        return Ends(*np.array(ends, dtype=np.int64).reshape(-1, 3).T)

    return batch
