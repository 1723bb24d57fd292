"""Many tests of one tick: the same statements, other values of some parameters."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.backend import Ends, Lot
from bondloop.engine.codegen.c_lanes import lane_obstacle, write_lanes
from bondloop.engine.codegen.cuda import CudaBatch, gpu_obstacle
from bondloop.engine.codegen.plan import BEYOND, NOT_A_NUMBER, WORST, Plan
from bondloop.engine.codegen.runner import Result, Runner
from bondloop.engine.codegen.toolchain import compiler, load
from bondloop.engine.ir import Assign, Channel, Expr, Op, Step, Tick, Update, Var, every, variables
from bondloop.errors import CompileError, InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import Tick


@dataclass(frozen=True)
class Parted:
    """A tick in two.

    Attributes
    ----------
    same
        What all tests share. Its channels are the further inputs of ``rest``, then the channels of the whole
        tick that all tests share.
    rest
        What differs.
    columns
        How many further inputs ``rest`` has.
    """

    same: Tick
    rest: Tick
    columns: int


def parted(tick: Tick, varied: Iterable[Var], states: Iterable[Var] = ()) -> Parted | None:
    """Part a tick in what all tests share and what differs; None where parting it gains nothing.

    Parameters
    ----------
    tick
        Of the tests.
    varied
        Parameters that differ from test to test.
    states
        States that begin differently.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import function
    >>> x, y, t, a = (Var(n) for n in "xyta")
    >>> steps = (Assign(y, function("sin", t)), Update(((x, x + a * y),)))
    >>> whole = Tick("sum", 0.1, t, Var("k"), (), {x: 0.0}, {a: 1.0}, steps, (Channel("x", x),))
    >>> parts = parted(whole, [a])
    >>> [s.target.name for s in parts.same.steps], parts.rest.inputs, len(parts.rest.steps)
    (['y'], (<Var y>,), 1)
    """
    steps = _pieces(tick.steps)
    wide = _wide(steps, {*varied, *states}, tick)
    same = [s for s in steps if _is_same(s, wide)]
    if not any(_is_worth(s) for s in same):
        return None
    mine = [c for c in tick.channels if not wide.isdisjoint(variables(c.value))]
    shared = [c for c in tick.channels if wide.isdisjoint(variables(c.value))]
    read = {v for s in every(steps) if not _is_same(s, wide) for v in s.reads}
    read.update(v for c in mine for v in variables(c.value))
    needed, copies = _through_copies(read - wide, same, tick)
    given = {tick.time, tick.count, *tick.inputs, *tick.parameters}
    columns = [v for v in _in_order(tick, steps) if v in needed and v not in given]
    first = replace(
        tick, measured=(), states={v: x for v, x in tick.states.items() if v not in wide}, steps=tuple(same),
        channels=(*(Channel(f"shared[{i}]", v) for i, v in enumerate(columns)), *shared),
        bounds=_bounds(tick, shared), name=f"{tick.name}_same",
    )  # fmt: skip
    rest = replace(
        tick, measured=(), inputs=(*tick.inputs, *columns),
        states={v: x for v, x in tick.states.items() if v in wide},
        steps=tuple(s for s in steps if not _is_same(s, wide) or id(s) in copies),
        channels=tuple(mine), bounds=_bounds(tick, mine),
    )  # fmt: skip
    return Parted(first, rest, len(columns))


def _through_copies(needed: set[Var], same: Sequence[Step], tick: Tick) -> tuple[set[Var], set[int]]:
    """Return what is needed where plain copies are made again, rather than tabulated; and these copies."""
    needed, copies = set(needed), set()
    for s in reversed(same):
        if (
            isinstance(s, Assign)
            and s.target in needed
            and isinstance(s.expr, Var)
            and s.expr not in tick.states
        ):
            copies.add(id(s))
            needed.discard(s.target)
            needed.add(s.expr)
    return needed, copies


def _bounds(tick: Tick, channels: Sequence[Channel]) -> dict[str, float]:
    return {c.name: tick.bounds[c.name] for c in channels if c.name in tick.bounds}


def _in_order(tick: Tick, steps: Sequence[Step]) -> list[Var]:
    return list(dict.fromkeys([*tick.states, *(v for s in every(steps) for v in s.writes)]))


def _pieces(steps: Iterable[Step]) -> list[Step]:
    """Return statements with updates taken apart where no pair reads what an earlier one of them changes."""
    pieces: list[Step] = []
    for step in steps:
        if isinstance(step, Update):
            changed: set[Var] = set()
            apart = True
            for v, e in step.pairs:
                apart = apart and changed.isdisjoint(variables(e))
                changed.add(v)
            if apart:
                pieces += [Update((pair,)) for pair in step.pairs]
                continue
        pieces.append(step)
    return pieces


def _wide(steps: Sequence[Step], varied: set[Var], tick: Tick) -> set[Var]:
    """Return the variables that differ from test to test, or are to be computed where such are.

    A table has one value of a variable for each tick. So what is written in several places is not tabulated,
    nor is a state that something reads after its update.
    """
    counts = Counter(v for s in every(steps) for v in s.writes)
    wide = varied | {v for v, n in counts.items() if n > 1}
    wide |= {v for s in steps for t in every(s.inner) for v in t.writes if v in tick.states}
    while True:
        before = len(wide)
        changed: set[Var] = set()
        for step in steps:
            inside = list(every([step]))
            if any(not wide.isdisjoint([*s.reads, *s.writes]) for s in inside):
                wide |= {v for s in inside for v in s.writes}
                wide |= {v for s in inside for v in s.reads if v in changed}
            else:
                changed |= {v for s in inside for v in s.writes if v in tick.states}
        if len(wide) == before:
            return wide


def _is_same(step: Step, wide: AbstractSet[Var]) -> bool:
    return all(wide.isdisjoint([*s.reads, *s.writes]) for s in every([step]))


def _is_worth(step: Step) -> bool:
    """Whether it costs more than a look into a table: anything beyond some arithmetic."""
    return _calls(step.expr) if isinstance(step, Assign) else True


def _calls(expr: Expr) -> bool:
    plain = ("add", "mul", "neg", "select", "row")
    return isinstance(expr, Op) and (expr.name not in plain or any(map(_calls, expr.args)))


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
        self._build(parted(tick, chosen, {every[n] for n in [*self._begins, *self.wanted]}))

    @property
    def kernel_seconds(self) -> float:
        """How long the kernels of the last run took on the card; 0 elsewhere."""
        return self._cuda.kernel_seconds if self._cuda is not None else 0.0

    @property
    def where(self) -> str:
        """What a thread runs tests on, in words."""
        if self._cuda is not None:
            return self._cuda.card
        return f"{self.width} lanes" if self.backend == "lanes" else self.backend

    def _build(self, parts: Parted | None) -> None:
        """Compile the tick, or what all tests share and the rest."""
        self._same = None if parts is None else Runner(parts.same)
        self._columns = 0 if parts is None else parts.columns
        rest = self._rest = self.tick if parts is None else parts.rest
        self._plan = Plan(rest)
        self.width = 1
        self._cuda: CudaBatch | None = None
        if self.backend == "cuda":
            self._cuda = CudaBatch(rest, self._chosen, self._plan)
        elif self.backend == "lanes":
            self.width = self._width or processor_lanes()[0]
            self._run = _lanes(rest, self._chosen, self.width, self._plan)
        else:
            self._run = _one_by_one(rest, [v.name for v in self._chosen], self._plan)

    def run(
        self,
        values: ArrayLike,
        steps: int,
        inputs: ArrayLike | None = None,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
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
        progress: Callable[[int, int], None] | None = None,
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
        table = np.array(values, dtype=float, ndmin=1)
        if table.ndim != 2 or table.shape[1] != len(self.varied):
            raise InputError(
                f"expected a value of {', '.join(self.varied)} for each test; "
                f"found an array of shape {table.shape}"
            )
        if not np.isfinite(table).all():
            raise InputError("every value of a parameter must be finite")
        began = time.perf_counter()
        if self._cuda is not None:
            self._cuda.kernel_seconds = 0.0
        threads = jobs or os.cpu_count() or 1
        shared, rows, steps = self._shared(steps, self._inputs(steps, inputs))
        room = tolerances.BATCH_BYTES if self._cuda is None else tolerances.CARD_BYTES
        # Of a large tick as many as keep every thread busy.
        tests, most = len(table), max(self.width * threads, room // (8 * self._plan.size))
        few = self._cuda is None and seconds < math.inf
        at, size = 0, min(most, tolerances.FIRST_PACKS * self.width * threads) if few else most
        while at < tests or not tests:
            part = slice(at, min(tests, at + size))
            states, ends = self._block(table[part], steps, rows, threads, _after(progress, at, tests))
            # Which loop failed is told by the test alone: here they are counted otherwise.
            ends[:, 0] %= WORST
            self._number_channels(ends)
            if shared is not None and not shared.finished:
                self._end_all(shared, ends)
            wall = time.perf_counter() - began
            yield BatchResult(states, self.wanted, Ends(*ends.T), wall)
            began = time.perf_counter()
            if not tests:
                return
            if few:
                size = next_size(len(states), wall, seconds, self.width * threads, most)
            at = part.stop

    def _block(
        self,
        table: NDArray[np.float64],
        steps: int,
        rows: NDArray[np.float64] | None,
        jobs: int,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Run as many tests as memory is taken for at a time; return wanted states, and how they ended."""
        state = np.tile(self._plan.initial(), (len(table), 1))
        own = [v.name for v in self._plan.states]
        for name, column in self._begins.items():
            state[:, own.index(name)] = table[:, column]
        ends = np.zeros((len(table), 3), dtype=np.int64)
        chosen = np.ascontiguousarray(table[:, self._values])
        lot = Lot(steps, rows, state, chosen, ends)
        if self._cuda is not None:
            self._cuda.run(lot, progress)
        else:
            self._in_shares(lot, jobs, progress)
        return state[:, [own.index(name) for name in self.wanted]], ends

    def _shared(
        self, steps: int, rows: NDArray[np.float64] | None
    ) -> tuple[Result | None, NDArray[np.float64] | None, int]:
        """Return what all tests share, run; the table of inputs for the rest, and its length."""
        if self._same is None:
            return None, rows, steps
        self._same.reset()
        shared = self._same.run(steps, None if rows is None else rows[:steps])
        names = [c.name for c in self.tick.channels]
        if shared.stopped_channel is not None and shared.stopped_channel not in names:
            self._build(None)  # NaN on the way is no fault of a tick, but cannot be told from one in a table
            return None, rows, steps
        columns = list(shared.channels.values())[: self._columns]
        both = [*([] if rows is None else rows[: shared.steps].T), *columns]
        return shared, (np.ascontiguousarray(np.array(both).T) if both else None), shared.steps

    def _number_channels(self, ends: NDArray[np.int64]) -> None:
        """Count channels as the whole tick does."""
        names = [c.name for c in self.tick.channels]
        number = np.array([*(names.index(c.name) for c in self._rest.channels), -1])
        ends[:, 2] = number[ends[:, 2]]

    def _end_all(self, shared: Result, ends: NDArray[np.int64]) -> None:
        """Stop every test where what they share stopped."""
        names = [c.name for c in self.tick.channels]
        channel = -1 if shared.stopped_channel is None else names.index(shared.stopped_channel)
        last, outside, failed = shared.steps - 1, BEYOND | NOT_A_NUMBER, shared.code % WORST
        for i in np.flatnonzero((ends[:, 0] == 0) | (ends[:, 1] == last)):
            code, _, own = ends[i]
            if channel >= 0 and (own < 0 or channel < own):
                ends[i] = [(code & ~outside) | failed, last, channel]
            else:
                ends[i] = [code | (failed & ~outside), last, own]

    def _inputs(self, steps: int, inputs: ArrayLike | None) -> NDArray[np.float64] | None:
        wanted = len(self.tick.inputs)
        if not wanted:
            return None
        rows = np.ascontiguousarray(inputs if inputs is not None else np.zeros((0, wanted)), dtype=float)
        if rows.ndim != 2 or rows.shape[1] != wanted or len(rows) < steps:
            raise InputError(f"{self.tick.name} needs inputs of shape {(steps, wanted)}; found {rows.shape}")
        return rows

    def _in_shares(self, lot: Lot, jobs: int, progress: Callable[[int, int], None] | None) -> None:
        """Give every thread some packs at a time; the first share of each measures."""
        tests, done, stop = len(lot), 0, False
        places = iter(_shares(tests, self.width, jobs))

        def work(first: int, last: int) -> None:
            nonlocal done
            at, n = first, self.width
            while at < last and not stop:
                end = min(last, at + n)
                began = time.perf_counter()
                self._run(lot.part(slice(at, end)))
                wall = time.perf_counter() - began
                done += end - at
                at = end
                n = (
                    max(1, int(min(tolerances.SHARE_SECONDS / max(wall, 1e-6), 20.0) * (n // self.width)))
                    * self.width
                )

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


def _after(
    progress: Callable[[int, int], None] | None, before: int, tests: int
) -> Callable[[int, int], None] | None:
    """Return what tells of the progress of a block, after so many tests that are done."""
    return None if progress is None else lambda done, _: progress(before + done, tests)


def _shares(tests: int, width: int, jobs: int) -> list[tuple[int, int]]:
    """Return first and last test of shares of whole packs, eight for each thread: they end together."""
    packs = -(-tests // width)
    size = max(1, -(-packs // (8 * jobs))) * width
    return [(a, min(tests, a + size)) for a in range(0, tests, size)]


RunSome = Callable[[Lot], None]


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
        function(len(lot), lot.steps, 0, tick.period, rows, *(array.ctypes.data for array in arrays))

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
        lot.ends[:] = np.column_stack(runner.batch(lot.steps, rows, lot.state, parameters, record))

    return run
