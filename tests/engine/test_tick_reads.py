"""What steps read, and what a tick refuses because nothing computes it."""

import numpy as np
import pytest

from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign, Loop, loops, without_loops
from bondloop.engine.ir.tick import (
    Delay,
    Product,
    Repeat,
    Step,
    Tick,
    Update,
    delays,
    every,
    reads,
    revised,
    statements,
)
from bondloop.errors import ModelError

X, U, Z, Y = (Var(n) for n in ("x", "u", "z", "y"))


def loop_on(source: Var) -> Loop:
    """z = source - z / 2: the source stands in the loop's definition alone, not in its body."""
    return Loop((Z,), (), (source - 0.5 * Z,), (), ((Const(-0.5),),), linear=True, iterations=1)


def test_what_only_a_loops_definition_uses_is_read() -> None:
    assert reads([loop_on(U)]) == {U, Z}


def test_reading_goes_into_repetitions_and_through_every_kind_of_step() -> None:
    body = (Delay(Y, X, 2), Assign(Var("w"), U + 1), Update(((X, Y),)))
    assert reads([Repeat(3, Var("i"), body)]) == {X, U, Y}


I, W = Var("i"), Var("w")
SLOPE = Var("dw/dz")
BENT = Loop((Z,), (Assign(W, Z * Z),), (U - W,), (Assign(SLOPE, Const(2.0) * Z),), ((-SLOPE,),), False, 9)
DONE = Repeat(3, I, (Assign(Y, X + I), Update(((X, Y), (U, Z)))), until=Y > 1.0, sought=(Y,))


@pytest.mark.parametrize(
    ("step", "read", "written"),
    [
        (Assign(Y, X + U), {X, U}, [Y]),
        (Delay(Y, X * U, 2), {X, U}, [Y]),
        (Update(((X, Y), (U, X))), {X, Y}, [X, U]),
        (Product((Y, Z), np.eye(2), (X, 2 * U)), {X, U}, [Y, Z]),
        (BENT, {Z, U, W, SLOPE}, [Z, W, SLOPE]),
        (DONE, {Y}, [I]),  # of its own: the body speaks for itself
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Step) else "",
)
def test_a_step_says_what_it_reads_and_writes(step, read, written) -> None:
    assert step.reads == read
    assert list(step.writes) == written


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Assign(Y, X + U), {"pure": True}),
        (Delay(Y, X * U, 2), {}),
        (Update(((X, Y), (U, X))), {"size": 2}),
        (Product((Y,), np.eye(1), (X,), frozenset({"k"})), {"pure": True, "worked_in": frozenset({"k"})}),
        (BENT, {"scratch": [SLOPE]}),
        (DONE, {"inner": DONE.body, "times": 3, "size": 0, "sought": (Y,)}),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Step) else "",
)
def test_a_step_says_what_nobody_need_ask_its_kind_for(step, said) -> None:
    usual = {"pure": False, "worked_in": frozenset(), "scratch": (), "inner": (), "times": 1, "size": 1}
    for name, value in {**usual, "sought": (), **said}.items():
        assert getattr(step, name) == value, name


def test_statements_without_loops_are_assignments() -> None:
    plain = (Assign(W, U), Assign(Y, W))
    assert without_loops([*plain]) == plain
    assert without_loops([*plain, BENT]) is None
    assert loops([*plain, BENT, DONE]) == [BENT]
    assert delays([DONE, Repeat(2, I, (Delay(Y, X, 2),))]) == [Delay(Y, X, 2)]


def test_a_loop_says_what_it_makes_equal_to_what() -> None:
    assert [v for v, _ in BENT.defines] == [W, Z]
    assert [e for _, e in BENT.defines] == [BENT.body[0].expr, BENT.definitions[0]]


def test_steps_are_visited_and_changed_at_any_depth() -> None:
    steps = (Assign(W, U), DONE)
    assert list(every(steps)) == [steps[0], DONE, *DONE.body]
    assert statements(steps) == 4  # two assignments, an update of two states
    short = revised(steps, lambda s: None if isinstance(s, Update) else s)
    assert [type(s) for s in every(short)] == [Assign, Repeat, Assign]
    assert short[1].until is DONE.until


def tick(steps: tuple[Step, ...]) -> Tick:
    return Tick("looped", 0.1, Var("t"), Var("k"), (), {X: 0.0}, {}, steps, ())


def test_a_loop_that_needs_what_nothing_computes_is_refused() -> None:
    # Before, only the loop's body was looked at, and the fault came to light in the C compiler.
    with pytest.raises(ModelError, match="the algebraic loop through z needs u, which is not computed"):
        tick((loop_on(U),))
    assert tick((loop_on(X),)).steps
