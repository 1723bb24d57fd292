"""What executes ticks: a back end makes of a tick a loop that runs a batch of tests.

The tests of a batch share the tick; state, parameters and, if need be, inputs differ. The first axis of every
array counts the tests. A back end that knows one test only runs them `one_by_one`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick


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
