"""Random ticks: every operation, every kind of statement, nested."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import FUNCTIONS, Const, Op, Var, function, select
from bondloop.engine.ir.matrices import Factored
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Product, Repeat, Tick, Update

NOISE = ("normal", "uniform")
UNARY = [n for n in FUNCTIONS if n not in ("atan2", "fmin", "fmax", *NOISE)]
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, -3.25]),
    st.floats(-4.0, 4.0, allow_subnormal=False),
)


@st.composite
def expressions(draw, known, depth=3):  # noqa: PLR0911
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(known)) if draw(st.booleans()) else Const(draw(NUMBERS))

    def inner():
        return draw(expressions(known, depth - 1))

    kind = draw(
        st.sampled_from(
            ["add", "mul", "div", "neg", "pow", "power", "one", "two", "compare", "logic", "select", "noise"]
        )
    )
    if kind == "add":
        terms = [inner() for _ in range(draw(st.integers(2, 4)))]
        return Op("add", tuple(-e if draw(st.booleans()) else e for e in terms))
    if kind in ("mul", "div"):
        return Op(kind, (inner(), inner()))
    if kind == "neg":
        return Op("neg", (inner(),))
    if kind == "pow":
        return Op("pow", (inner(), Const(draw(st.sampled_from([-2.0, -1.0, 0.5, 1.5, 2.0, 9.0])))))
    if kind == "power":
        return Op("pow", (inner(), Const(draw(st.integers(2, 8)))))
    if kind == "one":
        return Op(draw(st.sampled_from(UNARY)), (inner(),))
    if kind == "two":
        return Op(draw(st.sampled_from(["atan2", "fmin", "fmax"])), (inner(), inner()))
    if kind == "noise":
        counter = function("floor", 100 * abs(inner()))
        return Op(
            draw(st.sampled_from(NOISE)),
            (Const(draw(st.integers(0, 2**53 - 1))), Const(draw(st.integers(0, 9))), counter),
        )
    condition = Op(draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])), (inner(), inner()))
    if kind == "compare":
        return condition
    if kind == "logic":
        name = draw(st.sampled_from(["and", "or", "not"]))
        return Op(name, (condition,) if name == "not" else (condition, inner()))
    return select(condition, inner(), inner())


class _Builder:
    def __init__(self, draw, known, states):
        self.draw, self.known, self.states = draw, list(known), states
        self.count = 0

    def fresh(self, path):
        self.count += 1
        return Var(
            f"{path}{self.count}.{self.draw(st.sampled_from(['flow', 'effort', 'sin', 'double', 'x[0]']))}"
        )

    def expression(self):
        return self.draw(expressions(self.known))

    def add(self, v):
        self.known.append(v)
        return v

    def steps(self, most, depth=2):
        kinds = ["assign", "assign", "update", "delay", "product", "loop", *(["repeat"] if depth else [])]
        result = []
        for _ in range(self.draw(st.integers(1, most))):
            result += getattr(self, self.draw(st.sampled_from(kinds)))(depth)
        return result

    def assign(self, _):
        expr = self.expression()
        return [Assign(self.add(self.fresh("a")), expr)]

    def update(self, _):
        some = self.draw(st.lists(st.sampled_from(self.states), min_size=1, unique=True))
        return [
            Update(
                tuple((v, function("fmax", -9.0, Op("fmin", (self.expression(), Const(9.0))))) for v in some)
            )
        ]

    def delay(self, _):
        source, length = self.expression(), self.draw(st.integers(1, 5))
        return [Delay(self.add(self.fresh("late")), source, length, self.draw(st.sampled_from([0.0, 1.5])))]

    def product(self, _):
        n, m = self.draw(st.sampled_from([(2, 3), (1, 1), (9, 8), (12, 20), (0, 2), (2, 0), (3, 45)]))
        rng = np.random.default_rng(self.draw(st.integers(0, 99)))
        matrix = rng.standard_normal((n, m)) * (
            rng.random((n, m)) < self.draw(st.sampled_from([0.2, 0.5, 1.0]))
        )
        sources = tuple(self.expression() for _ in range(min(m, 3))) + tuple(
            self.known[i % len(self.known)] for i in range(m - 3)
        )
        if n and m >= n and self.draw(st.booleans()):  # the inverse of a sparse matrix, by its factors
            left = sparse.csr_array(matrix[:, :n] + 4.0 * n * np.eye(n))
            matrix, sources = Factored(left + left.T if self.draw(st.booleans()) else left), sources[:n]
        targets = tuple(self.fresh("p") for _ in range(n))
        self.known += targets
        return [Product(targets, matrix, sources)]

    def loop(self, _):
        """Linear or cubic, one to four unknowns, mostly solvable."""
        n, cubic = self.draw(st.integers(1, 4)), self.draw(st.booleans())
        unknowns = [self.fresh("loop") for _ in range(n)]
        weights = st.sampled_from([0.0, 0.25, -0.4, 1.0])
        definitions, driven = {}, []
        for v in unknowns:
            drive = self.fresh("drive")
            driven.append(Assign(drive, Op("sin", (self.expression(),))))
            others = sum((self.draw(weights) * u for u in unknowns if u is not v), Const(0.0))
            definitions[v] = drive + others - (v**3 if cubic else self.draw(weights) * v)
        statements = schedule(definitions, unknowns)
        self.known += [*unknowns, *(a.target for a in driven)]
        return driven + statements

    def repeat(self, depth):
        counter = self.add(self.fresh("turn"))
        count, body = self.draw(st.integers(0, 3)), tuple(self.steps(3, depth - 1))
        if self.draw(st.booleans()):
            return [Repeat(count, counter, body)]
        return [Repeat(count, counter, body, self.expression() > 0.5, (self.states[0],))]  # ends early


@st.composite
def ticks(draw):
    """A tick of up to ten statements with two inputs."""
    time, count = Var("t"), Var("k")
    inputs = (Var("wall.r"), Var("in"))
    states = [Var("m.x"), Var("m_x"), Var("act.v")]
    parameters = {Var("m.k"): draw(st.floats(0.1, 3.0)), Var("while"): 0.5}
    builder = _Builder(draw, [time, count, *inputs, *states, *parameters], states)
    steps = builder.steps(10)
    steps += [Update(((states[0], states[1] + 0.1 * inputs[0]), (states[1], states[0] - 0.1 * states[2])))]
    recorded = draw(st.lists(expressions(builder.known, 2), max_size=4))
    channels = [Channel(f"c{i}", function("fmin", 1e300, e)) for i, e in enumerate(recorded)]
    channels += [Channel(v.name, v) for v in states]
    bounds = {"m.x": 1e3} if draw(st.booleans()) else {}
    initial = {v: draw(st.floats(-1.0, 1.0)) for v in states}
    return Tick("twin", 0.01, time, count, inputs, initial, parameters, tuple(steps), tuple(channels), bounds)
