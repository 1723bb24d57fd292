"""Many tests of one tick: the same statements, other values of some parameters."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.backend import Ends, Lot
from bondloop.engine.codegen.c_lanes import lane_obstacle, write_lanes
from bondloop.engine.codegen.cuda import CudaBatch, gpu_obstacle
from bondloop.engine.codegen.plan import BEYOND, NOT_A_NUMBER, WORST, Plan
from bondloop.engine.codegen.runner import Result, Runner
from bondloop.engine.codegen.shared import Parted, parted
from bondloop.engine.codegen.toolchain import compiler, load
from bondloop.errors import CompileError, InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import Tick, Var


BATCHES = ("auto", "cuda", "lanes", "one by one")
"""Where tests can run."""

WIDTHS = (1, 2, 4, 8, 16, 32)
"""Tests in a pack: powers of two."""


@dataclass(frozen=True)
class BatchResult:
    """How many tests ended.

    Attributes
    ----------
    states
        Final values of the wanted states, (tests, states).
    names
        Their names.
    ends
        Why and where each test stopped, if it did.
    seconds
        How long all of it took.
    """

    states: NDArray[np.float64]
    names: tuple[str, ...]
    ends: Ends
    seconds: float

    def __getitem__(self, state: str) -> NDArray[np.float64]:
        """Return the final values of a state, one for each test."""
        if state not in self.names:
            raise InputError(unknown_name("state", state, self.names))
        return self.states[:, self.names.index(state)]


@cache
def processor_lanes() -> tuple[int, tuple[str, ...]]:
    """Return how many doubles this processor computes at once, and the compiler's options for it."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        try:
            known = set(Path("/proc/cpuinfo").read_text(encoding="ascii").split())
        except (OSError, UnicodeDecodeError):
            known = set()
        wide = ("avx512f", "avx512dq", "avx512bw", "avx512vl")
        if known.issuperset(wide):
            return 8, (*(f"-m{f}" for f in wide), "-mprefer-vector-width=512")
        if "avx2" in known:
            return 4, ("-mavx2",)
    return 2, ()


class Batch:
    """A tick, ready to run for many tests.

    Parameters
    ----------
    tick
        What to execute.
    varied
        Names of the parameters that differ from test to test, or of states that begin differently; the others
        are as in the tick.
    backend
        ``"cuda"`` runs a test in each thread of a graphics processor, ``"lanes"`` one in each lane of the
        processor's vectors, ``"one by one"`` one after the other; ``"auto"`` takes the first of them that can
        be had; `message` then says why not those before it, if so.
    width
        Tests in a pack; as many as the processor computes at once unless given.
    wanted
        Names of the states whose final values are wanted; all unless given. What none of them needs of a
        test's own is computed once for all tests.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick, Update
    >>> x, a = Var("x"), Var("a")
    >>> tick = Tick(
    ...     "decay",
    ...     0.1,
    ...     Var("t"),
    ...     Var("k"),
    ...     (),
    ...     {x: 1.0},
    ...     {a: 0.5},
    ...     (Update(((x, a * x),)),),
    ...     (Channel("x", x),),
    ... )
    >>> Batch(tick, ["a"]).run([[0.5], [2.0], [0.0]], steps=3)["x"].tolist()
    [0.125, 8.0, 0.0]
    """

    def __init__(
        self,
        tick: Tick,
        varied: Sequence[str],
        backend: Literal["auto", "cuda", "lanes", "one by one"] = "auto",
        width: int | None = None,
        wanted: Sequence[str] | None = None,
    ) -> None:
        parameters = {v.name: v for v in tick.parameters}
        states = {v.name: v for v in tick.states if v.name not in parameters}
        for name in varied:
            if name not in parameters and name not in states:
                raise InputError(unknown_name("parameter", name, [*parameters, *states], tick.name))
        if len(set(varied)) < len(varied):
            raise InputError(f"each parameter is varied once; found {', '.join(varied)}")
        if width is not None and width not in WIDTHS:
            raise InputError(f"width: expected one of {', '.join(map(str, WIDTHS))}; found {width!r}")
        self.tick, self.varied = tick, tuple(varied)
        self.backend, self.message = _chosen(tick, backend)
        self._values = [i for i, n in enumerate(varied) if n in parameters]
        self._begins = {n: i for i, n in enumerate(varied) if n in states}
        chosen = [parameters[varied[i]] for i in self._values]
        self._chosen, self._width = chosen, width
        every = {v.name: v for v in tick.states}
        self.wanted = tuple(every if wanted is None else wanted)
        for name in self.wanted:
            if name not in every:
                raise InputError(unknown_name("state", name, every, tick.name))
        # A test that stops has its own last values, whatever the others come to: what is wanted is its own.
        self._parts = self._build(parted(tick, chosen, {every[n] for n in [*self._begins, *self.wanted]}))

    @property
    def width(self) -> int:
        """Tests in a pack."""
        return self._parts.width

    @property
    def kernel_seconds(self) -> float:
        """How long the kernels of the last run took on the card; 0 elsewhere."""
        return self._parts.cuda.kernel_seconds if self._parts.cuda is not None else 0.0

    @property
    def where(self) -> str:
        """What a thread runs tests on, in words."""
        if self._parts.cuda is not None:
            return self._parts.cuda.card
        return f"{self.width} lanes" if self.backend == "lanes" else self.backend

    def _build(self, parts: Parted | None) -> _Parts:
        """Compile the tick, or what all tests share and the rest."""
        same = None if parts is None else Runner(parts.same)
        rest = self.tick if parts is None else parts.rest
        plan, width = Plan(rest), 1
        run: RunSome | CudaBatch
        if self.backend == "cuda":
            run = CudaBatch(rest, self._chosen, plan)
        elif self.backend == "lanes":
            width = self._width or processor_lanes()[0]
            run = _lanes(rest, self._chosen, width, plan)
        else:
            run = _one_by_one(rest, [v.name for v in self._chosen], plan)
        return _Parts(same, 0 if parts is None else parts.columns, rest, plan, width, run)

    def begin(self, values: ArrayLike, jobs: int | None = None) -> BatchRun:
        """Return the tests at their first tick, to be run stretch by stretch.

        Parameters
        ----------
        values
            Of what is varied, (tests, names).
        jobs
            Threads; as many as there are processors unless given.
        """
        return BatchRun(self, self._table(values), jobs)

    def run(
        self,
        values: ArrayLike,
        steps: int,
        inputs: ArrayLike | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> BatchResult:
        """Run the tests to their end.

        Parameters
        ----------
        values
            Of what is varied, (tests, names).
        steps
            Ticks of each test.
        inputs
            A row for each tick, the same for all tests.
        jobs
            Threads; as many as there are processors unless given.
        progress
            Called with the tests done and the tests wanted. What it raises ends the batch.
        """
        parts = list(self.blocks(values, steps, inputs, jobs, progress))
        ends = (np.concatenate(column) for column in zip(*(p.ends for p in parts), strict=True))
        return BatchResult(
            np.concatenate([p.states for p in parts]), self.wanted, Ends(*ends), sum(p.seconds for p in parts)
        )

    def blocks(
        self,
        values: ArrayLike,
        steps: int,
        inputs: ArrayLike | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
        seconds: float = math.inf,
    ) -> Iterator[BatchResult]:
        """Run the tests to their end, and return them block by block in their order.

        Parameters
        ----------
        values, steps, inputs, jobs, progress
            As of `run`.
        seconds
            About how long a block may take, as the one before it tells; no block has more tests than memory
            is taken for. On a card blocks are as large as memory allows: it is as fast as it is full.
        """
        table = self._table(values)
        began = time.perf_counter()
        cuda = self._parts.cuda
        if cuda is not None:
            cuda.kernel_seconds = 0.0
        threads = jobs or os.cpu_count() or 1
        stretch = BatchRun(self, table[:0], threads)._shared(steps, self._inputs(steps, inputs))
        room = tolerances.BATCH_BYTES if cuda is None else tolerances.CARD_BYTES
        # Of a large tick as many as keep every thread busy.
        tests, most = len(table), max(self.width * threads, room // (8 * self._parts.plan.size))
        few = cuda is None and seconds < math.inf
        at, size = 0, min(most, tolerances.FIRST_PACKS * self.width * threads) if few else most
        while at < tests or not tests:
            part = slice(at, min(tests, at + size))
            block = BatchRun(self, table[part], threads)
            block._execute(stretch, _after(progress, at, tests))
            wall = time.perf_counter() - began
            yield block._result(wall)
            began = time.perf_counter()
            if not tests:
                return
            if few:
                size = next_size(part.stop - at, wall, seconds, self.width * threads, most)
            at = part.stop

    def _table(self, values: ArrayLike) -> NDArray[np.float64]:
        table = np.array(values, dtype=float, ndmin=1)
        if table.ndim != 2 or table.shape[1] != len(self.varied):
            raise InputError(
                f"expected a value of {', '.join(self.varied)} for each test; "
                f"found an array of shape {table.shape}"
            )
        if not np.isfinite(table).all():
            raise InputError("every value of a parameter must be finite")
        return table

    def _inputs(self, steps: int, inputs: ArrayLike | None) -> NDArray[np.float64] | None:
        wanted = len(self.tick.inputs)
        if not wanted:
            return None
        rows = np.ascontiguousarray(inputs if inputs is not None else np.zeros((0, wanted)), dtype=float)
        if rows.ndim != 2 or rows.shape[1] != wanted or len(rows) < steps:
            raise InputError(f"{self.tick.name} needs inputs of shape {(steps, wanted)}; found {rows.shape}")
        return rows


RunSome = Callable[[Lot], None]
"""Runs tests on one thread."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class _Parts:
    """A tick of many tests, compiled: what all of them share, and the rest.

    Attributes
    ----------
    same
        What all tests share, if it is worth a table.
    columns
        How many further inputs the rest reads from that table.
    rest
        What differs.
    plan
        Of the rest.
    width
        Tests in a pack.
    run
        Runs tests on a thread, or all of them on a card.
    """

    same: Runner | None
    columns: int
    rest: Tick
    plan: Plan
    width: int
    run: RunSome | CudaBatch

    @property
    def cuda(self) -> CudaBatch | None:
        """The card, if tests run there."""
        return self.run if isinstance(self.run, CudaBatch) else None

    def execute(self, lot: Lot, jobs: int, progress: Progress | None) -> None:
        """Run tests, on so many threads of the processor."""
        if isinstance(self.run, CudaBatch):
            self.run.run(lot, progress)
        else:
            _in_shares(self.run, lot, self.width, jobs, progress)


def _in_shares(run: RunSome, lot: Lot, width: int, jobs: int, progress: Progress | None) -> None:
    """Give every thread some packs at a time; the first share of each measures."""
    tests, done, stop = len(lot), 0, False
    places = iter(_shares(tests, width, jobs))

    def work(first: int, last: int) -> None:
        nonlocal done
        at, n = first, width
        while at < last and not stop:
            end = min(last, at + n)
            began = time.perf_counter()
            run(lot.part(slice(at, end)))
            wall = time.perf_counter() - began
            done += end - at
            at = end
            n = max(1, int(min(tolerances.SHARE_SECONDS / max(wall, 1e-6), 20.0) * (n // width))) * width

    if jobs == 1:
        for first, last in places:
            work(first, last)
            if progress is not None:
                progress(done, tests)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, *place) for place in places]
        try:
            left = set(futures)
            while left:
                ended, left = wait(left, timeout=tolerances.SHARE_SECONDS, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                if progress is not None:
                    progress(done, tests)
        except BaseException:
            stop = True
            raise


class _Stretch(NamedTuple):
    """Ticks that tests run next.

    Attributes
    ----------
    ticks
        How many: up to where what all tests share stops.
    rows
        A row of inputs of the rest for each tick.
    shared
        What all tests share, run.
    """

    ticks: int
    rows: NDArray[np.float64] | None
    shared: Result | None


class BatchRun:
    """Tests of a batch that run stretch by stretch, as far as the caller wishes; see `Batch.begin`.

    The numbers are those of a run in one go, to the last bit: the state goes on, delay lines included, and so
    does the number of the tick, by which noise is drawn.

    Attributes
    ----------
    count
        Number of the next tick.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Tick, Update
    >>> x, total, a = Var("x"), Var("total"), Var("a")
    >>> steps = (Update(((x, a * x), (total, total + x))),)
    >>> states = {x: 1.0, total: 0.0}
    >>> tick = Tick("decay", 0.1, Var("t"), Var("k"), (), states, {a: 0.5}, steps, ())
    >>> run = Batch(tick, ["a"]).begin([[0.5], [2.0], [1.0]])
    >>> run.advance(3)["total"].tolist()
    [1.75, 7.0, 3.0]
    >>> run.clear(["total"])
    >>> run.keep([1, 2])
    >>> run.advance(2)["total"].tolist(), run.count
    ([24.0, 2.0], 5)
    """

    def __init__(self, batch: Batch, table: NDArray[np.float64], jobs: int | None = None) -> None:
        self.count = 0
        self._batch, self._table, self._jobs = batch, table, jobs or os.cpu_count() or 1
        self._parts = parts = batch._parts
        self._places: tuple[_Parts, dict[str, int]] | None = None
        self._state = np.tile(parts.plan.initial(), (len(table), 1))
        for name, column in batch._begins.items():
            self._state[:, self._place(name)] = table[:, column]
        self._ends = np.tile(np.array([0, -1, -1], dtype=np.int64), (len(table), 1))
        if parts.same is not None:
            parts.same.reset()
            self._same = parts.same.snapshot()

    def __len__(self) -> int:
        return len(self._table)

    def _place(self, state: str) -> int:
        places = self._places
        if places is None or places[0] is not self._parts:  # looked up after every stretch
            places = self._places = (
                self._parts, {v.name: i for i, v in enumerate(self._parts.plan.states)}
            )  # fmt: skip
        return places[1][state]

    def advance(
        self, ticks: int, inputs: ArrayLike | None = None, progress: Progress | None = None
    ) -> BatchResult:
        """Run the tests for some ticks more; those that have stopped stay as they were then.

        Parameters
        ----------
        ticks
            How many.
        inputs
            A row for each of these ticks, the same for all tests.
        progress
            Called with the tests done and the tests that still run. What it raises ends the run.

        Returns
        -------
        BatchResult
            The wanted states as they are now, and the end of each test that has stopped by now.
        """
        began = time.perf_counter()
        if ticks < 0:
            raise InputError(f"expected ticks from 0 up; found {ticks}")
        rows = self._batch._inputs(ticks, inputs)
        if (self._ends[:, 0] == 0).any():
            self._execute(self._shared(ticks, rows), progress)
        self.count += ticks
        return self._result(time.perf_counter() - began)

    def clear(self, states: Sequence[str]) -> None:
        """Let wanted states begin anew at their first values, but for tests that have stopped.

        Parameters
        ----------
        states
            Their names.
        """
        batch = self._batch
        running = self._ends[:, 0] == 0
        for name in states:
            if name not in batch.wanted:
                raise InputError(unknown_name("wanted state", name, batch.wanted, batch.tick.name))
            place = self._place(name)
            column = batch._begins.get(name)
            first = self._parts.plan.initial()[place] if column is None else self._table[running, column]
            self._state[running, place] = first

    def keep(self, tests: ArrayLike) -> None:
        """Go on with some of the tests: later results have these, in this order.

        Parameters
        ----------
        tests
            Their numbers among those there are now; or a truth value for each of these.
        """
        numbers = np.asarray(tests)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        numbers = numbers if numbers.size else np.zeros(0, dtype=np.int64)
        if (
            numbers.ndim != 1
            or numbers.dtype.kind not in "iu"
            or not np.isin(numbers, range(len(self))).all()
        ):
            raise InputError(f"expected numbers of tests from 0 to {len(self) - 1}; found {tests!r}")
        self._table, self._state, self._ends = (a[numbers] for a in (self._table, self._state, self._ends))

    def _result(self, seconds: float) -> BatchResult:
        wanted = self._batch.wanted
        states = self._state[:, [self._place(name) for name in wanted]]
        return BatchResult(states, wanted, Ends(*self._ends.T.copy()), seconds)

    def _shared(self, ticks: int, rows: NDArray[np.float64] | None) -> _Stretch:
        """Run what all tests share for some ticks."""
        same = self._parts.same
        if same is None:
            return _Stretch(ticks, rows, None)
        same.restore(self._same)
        shared = same.run(ticks, None if rows is None else rows[:ticks])
        names = [c.name for c in self._batch.tick.channels]
        if shared.stopped_channel is not None and shared.stopped_channel not in names:
            self._join()  # NaN on the way is no fault of a tick, but cannot be told from one in a table
            return _Stretch(ticks, rows, None)
        self._same = same.snapshot()
        columns = list(shared.channels.values())[: self._parts.columns]
        both = [*([] if rows is None else rows[: shared.steps].T), *columns]
        return _Stretch(shared.steps, np.ascontiguousarray(np.array(both).T) if both else None, shared)

    def _join(self) -> None:
        """Go on with the whole tick: each state lies in what all tests share, or in the rest."""
        batch, same, rest = self._batch, self._parts.same, self._parts.plan
        assert same is not None
        if batch._parts.same is not None:
            batch._parts = batch._build(None)
        self._parts = batch._parts
        state = np.tile(self._parts.plan.initial(), (len(self), 1))
        whole = self._parts.plan.places
        for place, here in same.places.items():
            state[:, whole[place]] = self._same.state[here]
        for place, here in rest.places.items():
            state[:, whole[place]] = self._state[:, here]
        self._state = state

    def _execute(self, stretch: _Stretch, progress: Progress | None) -> None:
        """Run the tests that have not stopped."""
        batch, parts = self._batch, self._parts
        running = np.flatnonzero(self._ends[:, 0] == 0)
        state, ends = self._state[running], np.zeros((len(running), 3), dtype=np.int64)
        table = np.ascontiguousarray(self._table[running][:, batch._values])
        lot = Lot(stretch.ticks, self.count, stretch.rows, state, table, ends)
        parts.execute(lot, self._jobs, progress)
        # Which loop failed is told by the test alone: here they are counted otherwise.
        ends[:, 0] %= WORST
        names = [c.name for c in batch.tick.channels]
        ends[:, 2] = np.array([*(names.index(c.name) for c in parts.rest.channels), -1])[ends[:, 2]]
        self._state[running], self._ends[running] = state, ends
        if stretch.shared is not None and not stretch.shared.finished:
            self._end_all(stretch.shared)

    def _end_all(self, shared: Result) -> None:
        """Stop every test where what they share stopped."""
        names = [c.name for c in self._batch.tick.channels]
        channel = -1 if shared.stopped_channel is None else names.index(shared.stopped_channel)
        last = self.count + shared.steps - 1
        outside, failed, ends = BEYOND | NOT_A_NUMBER, shared.code % WORST, self._ends
        for i in np.flatnonzero((ends[:, 0] == 0) | (ends[:, 1] == last)):
            code, _, own = ends[i]
            if channel >= 0 and (own < 0 or channel < own):
                ends[i] = [(code & ~outside) | failed, last, channel]
            else:
                ends[i] = [code | (failed & ~outside), last, own]


def next_size(tests: int, wall: float, seconds: float, whole: int, most: int) -> int:
    """Return how many tests take about so long, in whole packs, if so many took `wall`.

    >>> (
    ...     next_size(100, 0.5, 2.0, 8, 10_000),
    ...     next_size(100, 0.001, 2.0, 8, 10_000),
    ...     next_size(8, 9.0, 2.0, 8, 64),
    ... )
    (400, 800, 8)
    """
    wanted = tests * min(seconds / max(wall, 1e-9), tolerances.GROWTH)
    return max(whole, min(most, int(wanted) // whole * whole))


def _after(progress: Progress | None, before: int, tests: int) -> Progress | None:
    """Return what tells of the progress of a block, after so many tests that are done."""
    return None if progress is None else lambda done, _: progress(before + done, tests)


def _shares(tests: int, width: int, jobs: int) -> list[tuple[int, int]]:
    """Return first and last test of shares of whole packs, eight for each thread: they end together."""
    packs = -(-tests // width)
    size = max(1, -(-packs // (8 * jobs))) * width
    return [(a, min(tests, a + size)) for a in range(0, tests, size)]


def _chosen(tick: Tick, backend: str) -> tuple[str, str]:
    """Return where tests run, and why not where they would run faster."""
    if backend not in BATCHES:
        raise InputError(unknown_name("backend", backend, BATCHES))
    obstacles: dict[str, Callable[[], str]] = {
        "cuda": gpu_obstacle,
        "lanes": lambda: _no_lanes(tick),
        "one by one": str,
    }
    if backend != "auto":
        why = obstacles[backend]()
        if why:
            raise CompileError(f"the tests of {tick.name} cannot run so: {why}")
        return backend, ""
    told: list[str] = []
    while why := obstacles[BATCHES[1 + len(told)]]():
        told.append(why)
    return BATCHES[1 + len(told)], "; ".join(told)


def _no_lanes(tick: Tick) -> str:
    return lane_obstacle(tick) if compiler() else "no C compiler was found"


def _lanes(tick: Tick, varied: Sequence[Var], width: int, plan: Plan) -> RunSome:
    using = compiler()
    assert using is not None
    source = write_lanes(tick, varied, width)
    library = load(source, tick.name, using, entry="batch", extra=processor_lanes()[1])
    function: Any = getattr(library, f"{tick.name}_batch")
    function.restype = None
    pointer = ctypes.c_void_p
    function.argtypes = [*[ctypes.c_long] * 3, ctypes.c_double, *[pointer] * 5]
    own = (plan.size - plan.scalars) * width + plan.size

    def run(lot: Lot) -> None:
        work, rows = np.empty(own), None if lot.rows is None else lot.rows.ctypes.data
        arrays = (lot.state, lot.table, work, lot.ends)
        function(len(lot), lot.steps, lot.first, tick.period, rows, *(array.ctypes.data for array in arrays))

    return run


def _one_by_one(tick: Tick, varied: Sequence[str], plan: Plan) -> RunSome:
    runner = Runner(tick)
    places = [i for n in varied for i, v in enumerate(plan.parameters) if v.name == n]
    defaults = np.array([*tick.parameters.values()] or [0.0], dtype=float)

    def run(lot: Lot) -> None:
        parameters = np.tile(defaults, (len(lot), 1))
        parameters[:, places] = lot.table
        record = np.empty((len(lot), 1, len(tick.channels)))
        rows = None if lot.rows is None else lot.rows[None, : lot.steps]
        ends = runner.batch(lot.steps, rows, lot.state, parameters, record, first=lot.first)
        lot.ends[:] = np.column_stack(ends)

    return run
