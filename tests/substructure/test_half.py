"""The numerical half: what it takes and gives at an interface that has no mass."""

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.errors import ModelError
from bondloop.substructure import numerical_half


def tip(*parts):
    """Return a mass on springs, one of them to a tip without mass, where more parts may be; cut there."""
    whole = Model("tip")
    whole.push, whole.v, whole.between, whole.tip = Se("F"), One(), Zero(), One()
    whole.push >> whole.v >> [I(mass=2.0), C(stiffness=100.0), whole.between]
    whole.between >> whole.tip
    whole.between >> C(stiffness=50.0)
    for part in parts:
        whole.tip >> part
    whole.specimen = One()
    whole.specimen >> [C(stiffness=30.0), R(damping=1.0)]
    whole.tip >> whole.specimen
    return whole.cut("tip >> specimen")[0]


def test_a_damper_at_the_interface_takes_the_force():
    """m v̇ = F - k x - e, c w = e - f at the tip: poles of x, v and the spring between them, by hand."""
    half = numerical_half(tip(R(damping=4.0)))
    assert [v.name for v in half.efforts] == ["interface.effort"]
    # States: the mass's velocity v, its place x, the stretch s of the spring between; ds/dt = v - 50 s/4.
    A = np.array([[0.0, -50.0, -25.0], [1.0, 0.0, 0.0], [1.0, 0.0, -12.5]])
    assert np.sort_complex(half.system.poles()) == pytest.approx(np.sort_complex(np.linalg.eigvals(A)))


def test_a_spring_alone_does_not():
    with pytest.raises(ModelError, match="imposes the force here"):
        numerical_half(tip())
