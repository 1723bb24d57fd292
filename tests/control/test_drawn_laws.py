"""Laws of drawn formulas: in plain numbers, in Python and in C."""

import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop.control import ControlLaw, Desired, Measured

sys.path.insert(0, str(Path(__file__).parent))  # for laws.py

from laws import alone

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 3))
NAMES = ["x", "y", "self.a", "self.b", "self.gain", "self.time", "self.period", "desired.displacement"]
LEAVES = st.one_of(NUMBERS.map(repr), st.sampled_from(NAMES))
ONE = [
    "(-{})", "abs({})", "({})**2", "math.sin({})", "math.cos({})", "math.tanh({})", "math.sign({})",
    "math.floor({})", "math.ceil({})", "math.sqrt({})", "math.cbrt({})", "math.clip({}, -1, 1)",
    "math.exp(math.tanh({}))", "math.logical_not({})", "math.power({}, 1.5)", "math.asin({})", "math.log({})",
]  # fmt: skip
TWO = [
    "({} + {})", "({} - {})", "({} * {})", "({} / (2 + ({})**2))", "math.atan2({}, {})", "math.hypot({}, {})",
    "math.maximum({}, {})", "(({} < {}) * 1.5)", "math.logical_or({} > 0, {} <= 1)",
    "(1 * (({} >= 0) & ({} != 1)))", "math.minimum({}, {})",  # NumPy negates no truth value, and says so
]  # fmt: skip
THREE = ["math.where({} > {}, {}, 0.5)", "math.where({} == {}, 1, {})"]


def _grown(part):
    return st.one_of(
        *(
            st.tuples(st.sampled_from(words), *[part] * n).map(lambda t: t[0].format(*t[1:]))
            for n, words in enumerate((ONE, TWO, THREE), 1)
        )
    )


FORMULAS = st.recursive(LEAVES, _grown, max_leaves=10)


def compare(a, b, command, gain, backend):
    """A law of drawn formulas, in plain numbers and in a tick."""
    source = (
        f"def step(self, desired, measured):\n    x, y = desired.displacement, measured.displacement\n"
        f"    self.a = math.tanh({a})\n    self.b = math.clip({b}, -2, 2)\n    return 1.0 * ({command})\n"
    )
    scope = {"math": bl.math}
    exec(source, scope)
    body = {"gain": 1.0, "states": {"a": 0.25, "b": -0.5}, "step": scope["step"]}
    law = type("Drawn", (ControlLaw,), {"__annotations__": {"gain": float}, **body})(gain=gain)
    x, y = np.sin(np.arange(12) * 0.9), np.cos(np.arange(12) * 1.3)
    plain = law.respond(Desired(x), Measured(displacement=y), 0.125)
    traced = alone(law, x, y, 0.125, backend)
    assert len(traced) == 12 or not np.isfinite(plain[len(traced) - 1])  # a tick stops at NaN
    np.testing.assert_allclose(traced, plain[: len(traced)], rtol=1e-9, atol=1e-9)


@given(a=FORMULAS, b=FORMULAS, command=FORMULAS, gain=NUMBERS)
def test_drawn_laws_compute_the_same_in_plain_numbers_and_in_the_tick(a, b, command, gain):
    compare(a, b, command, gain, "numpy")


@settings(max_examples=8)
@given(a=FORMULAS, b=FORMULAS, command=FORMULAS, gain=NUMBERS)
def test_drawn_laws_compute_the_same_in_c(a, b, command, gain):
    compare(a, b, command, gain, "c")


def test_the_sign_of_zero_is_c_s():
    compare("0.0", "0.0", "math.atan2(0.0, math.ceil(x))", 0.0, "numpy")
