"""A pass that loses an assignment: every reading of what it made names the variable."""

import pytest

from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import ModelError


@pytest.fixture
def holed():
    model = Model("oscillator")
    model.force, model.v = Se("F"), One()
    model.mass, model.spring, model.damper = I(mass=2), C(stiffness=50), R(damping=4)
    model.force >> model.v >> [model.mass, model.spring, model.damper]
    system = model.compile(outputs=["v.flow"])
    kept = {v: e for v, e in system.definitions.items() if v.name != "damper.effort"}
    return system.replaced(definitions=kept)


@pytest.mark.parametrize(
    "reading",
    [
        lambda s: s.equations(),
        lambda s: s.equations("causal"),
        lambda s: s.equations("descriptor"),
        lambda s: s.A,
        lambda s: s.numeric(),
        lambda s: s.linearise(),
        lambda s: s.steady_state({"F": 1.0}),
        lambda s: s.simulate(1.0, {"F": 1.0}),
    ],
)
def test_a_lost_assignment_is_named(holed, reading):
    with pytest.raises(ModelError, match=r"reads 'damper\.effort', but nothing assigns it"):
        reading(holed)
