"""Slopes that are written out are those that are worked out step by step, to the last bit."""

import pytest

from bondloop.engine.analysis.spectrum.slopes import Forms, Slopes
from bondloop.engine.ir.expr import Const, Var, function, select

A, B, C, D = (Var(name) for name in "abcd")
VALUES = {A: 0.7, B: -1.3, C: 2.9, D: 0.11}
COLUMNS = {A: -1, B: 4, C: -3}  # d does not move

EXPRESSIONS = {
    "a sum of products": 0.1 * A + D * B - C * 3.0 + D * D,
    "products of what moves": A * (B - C) * D + A * A,
    "quotients": (A + 2.0 * B) / (C * D) - D / A,
    "functions": function("tanh", A / D) * function("exp", -B) + function("atan2", A, C * D),
    "powers": (A * A + C) ** 1.5 + C**B,
    "a choice inside": 2.0 * select(A > 0.5, A * C, B) + function("fabs", B) * D,
    "twice the same": -(A + A) - (-A),
    "nothing that moves": D * 3.0 + function("sin", D),
    "a negative number": A * Const(-1.5) - Const(0.25) / C,
}


def of(expr, forms, columns, bent):
    slopes = Slopes(dict(VALUES), columns, bent, forms)
    slopes.begin("it")
    return slopes.of(expr), slopes.bends, slopes.branches


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("bent", [set(), {4}], ids=["straight", "bent"])
@pytest.mark.parametrize("columns", [COLUMNS, {A: -1}], ids=["three move", "one moves"])
def test_a_form_gives_the_same_to_the_last_bit(name, bent, columns):
    expr, forms = EXPRESSIONS[name], Forms()
    plain = of(expr, Forms(), columns, bent)
    for _ in range(10):  # the last are written out
        assert of(expr, forms, columns, bent) == plain


def test_another_expression_of_the_form_has_its_own_numbers():
    x, y = Var("x"), Var("y")
    forms = Forms()
    for k in range(13):
        expr = float(k + 2) * x + y
        slopes = Slopes({x: 0.5, y: 3.0}, {x: -1, y: -2}, set(), forms)
        assert slopes.of(expr) == ((k + 2) * 0.5 + 3.0, [(-1, k + 2.0), (-2, 1.0)], False)


def test_what_cannot_be_computed_is_told_by_a_form_too():
    expr, forms = function("log", A) / B, Forms()
    for _ in range(10):
        slopes = Slopes({A: 0.0, B: 1.0}, COLUMNS, set(), forms)
        with pytest.raises(ValueError, match=r"domain|positive"):
            slopes.of(expr)
