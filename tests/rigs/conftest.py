"""A reference executor of statements: one Python loop, nothing shared with the package's own runners."""

import numpy as np
import pytest

from bondloop.engine.ir.expr import Var, evaluate
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Delay, Tick, Update
from bondloop.extend import Context


def _execute(imperfection, inputs, period=0.01, seed=0, stream=0):
    """The output of an imperfection for a sequence of inputs."""
    u, count, time = Var("u"), Var("n"), Var("t")
    applied = imperfection.apply(u, Context("test", count, period, seed, stream))
    # The tick checks that everything is computed before it is used.
    Tick("test", period, time, count, (u,), applied.states, {}, tuple(applied.steps), ())
    values = dict(applied.states)
    lines = {id(s): [s.initial] * s.length for s in applied.steps if isinstance(s, Delay)}
    result = []
    for k, x in enumerate(inputs):
        values[u], values[count] = float(x), float(k)
        for step in applied.steps:
            if isinstance(step, Assign):
                values[step.target] = evaluate(step.expr, values)
            elif isinstance(step, Delay):
                lines[id(step)].append(evaluate(step.source, values))
                values[step.target] = lines[id(step)].pop(0)
            else:
                assert isinstance(step, Update)
                values.update({v: evaluate(e, values) for v, e in step.pairs})
        result.append(evaluate(applied.value, values))
    return np.array(result)


@pytest.fixture(scope="session")
def execute():
    return _execute
