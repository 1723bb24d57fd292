"""What steps read, and what a tick refuses because nothing computes it."""

import pytest

from bondloop.errors import ModelError
from bondloop.program.expr import Const, Var
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Delay, Repeat, Step, Tick, Update, reads

X, U, Z, Y = (Var(n) for n in ("x", "u", "z", "y"))


def loop_on(source: Var) -> Loop:
    """z = source - z / 2: the source stands in the loop's definition alone, not in its body."""
    return Loop((Z,), (), (source - 0.5 * Z,), (), ((Const(-0.5),),), linear=True, iterations=1)


def test_what_only_a_loops_definition_uses_is_read() -> None:
    assert reads([loop_on(U)]) == {U, Z}


def test_reading_goes_into_repetitions_and_through_every_kind_of_step() -> None:
    body = (Delay(Y, X, 2), Assign(Var("w"), U + 1), Update(((X, Y),)))
    assert reads([Repeat(3, Var("i"), body)]) == {X, U, Y}


def tick(steps: tuple[Step, ...]) -> Tick:
    return Tick("looped", 0.1, Var("t"), Var("k"), (), {X: 0.0}, {}, steps, ())


def test_a_loop_that_needs_what_nothing_computes_is_refused() -> None:
    # Before, only the loop's body was looked at, and the fault came to light in the C compiler.
    with pytest.raises(ModelError, match="the algebraic loop through z needs u, which is not computed"):
        tick((loop_on(U),))
    assert tick((loop_on(X),)).steps
