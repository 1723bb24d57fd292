"""Rows of a product share one vector: scheduling and renaming see them as the sums that they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.matrices import ConstantMatrix, MatrixRow
from bondloop.engine.ir.statement import Loop


@given(st.integers(1, 6), st.integers(0, 2**16))
def test_rows_are_scheduled_as_their_sums_are(n, seed):
    """What is drawn: rows of one matrix that take some of their own results, other variables, and inputs."""
    rng = np.random.default_rng(seed)
    rows, others, inputs = ([Var(f"{w}{i}") for i in range(n)] for w in ("r", "o", "u"))
    vector = tuple((rows[i], others[i], inputs[i])[rng.choice(3, p=(0.2, 0.5, 0.3))] for i in range(n))
    matrix = ConstantMatrix(
        rng.uniform(0.01, 0.1, (n, n)), "m"
    )  # no entry is zero: a row needs all of its vector
    definitions = {r: MatrixRow(matrix, i, vector) for i, r in enumerate(rows)}
    definitions |= {o: 2 * inputs[i] + (rows[0] if rng.random() < 0.2 else 0) for i, o in enumerate(others)}
    written = {v: e.written_out() if isinstance(e, MatrixRow) else e for v, e in definitions.items()}
    roots = [*rows, *others]

    def shape(program):
        statements = schedule(program, roots)
        return [frozenset(s.writes) if isinstance(s, Loop) else s.target for s in statements], [
            len(s.tears) for s in statements if isinstance(s, Loop)
        ]

    found, expected = shape(definitions), shape(written)
    assert {v for v in found[0] if isinstance(v, Var)} == {v for v in expected[0] if isinstance(v, Var)}
    assert len(found[1]) == len(expected[1])
    done = set(inputs)
    for s in schedule(definitions, roots):  # each after all that it needs
        if isinstance(s, Loop):
            done |= {*s.tears, *(a.target for a in s.body)}
        else:
            assert s.reads <= done
            done.add(s.target)


def test_rows_made_one_after_the_other_hold_one_vector():
    x, y = Var("x"), Var("y")
    matrix = ConstantMatrix(np.eye(2), "m")
    rows = [MatrixRow(matrix, i, (x, y)) for i in range(2)]
    assert rows[0].args is rows[1].args
    assert MatrixRow(matrix, 0, (y, x)).args == (y, x)
