"""Rings whose gains cancel: storages that look independent and are not."""

import numpy as np
import pytest

from bondloop.bondgraph import GY, C, I, Model, One, R, RField, Se, Zero
from bondloop.errors import SolveError

OMEGA = np.array([0.3, 1.0, 7.0])


def there_and_back():
    """A 0-junction that gives back the flow it takes: what is stored at it takes none."""
    model = Model("there and back")
    model.F, model.v, model.p, model.idle = Se("F"), One(), Zero(), I(mass=3.0)
    model.F >> model.v >> [R(damping=2.0), C(stiffness=5.0)]
    model.v >> model.p >> model.v
    model.p >> model.idle
    return model.compile(outputs=["v.flow", "idle.flow", "idle.effort"])


def test_an_inertia_that_takes_no_flow():
    system = there_and_back()
    assert system.states == ("C.displacement",)
    response = system.numeric().frequency_response(OMEGA)
    # (c + k / s) v = F, and nothing at the inertia.
    assert response[:, 0, 0] == pytest.approx(1 / (2 + 5 / (1j * OMEGA)), rel=1e-12)
    assert np.abs(response[:, 1:]).max() < 1e-14
    # It holds for other parameters too.
    response = system.numeric({"R.damping": 4.0, "idle.mass": 0.1}).frequency_response(OMEGA)
    assert response[:, 0, 0] == pytest.approx(1 / (4 + 5 / (1j * OMEGA)), rel=1e-12)
    (rate,) = system.rates([0.4], [3.0], [0.0] * len(system.input_rates), list(system.values().values()))
    assert rate == pytest.approx((3 - 5 * 0.4) / 2)


@pytest.mark.parametrize("ratio", [1.0, -0.7])
def test_a_gyrator_beside_a_bond(ratio):
    # Both ends have one flow, so the gyrator takes r f and gives r f back; two springs are left under a
    # force, (k1 + k2) / s v = F.
    model = Model("beside")
    model.F, model.a, model.b = Se("F"), One(), One()
    model.F >> model.a >> [C(stiffness=3.0), model.b]
    model.b >> GY(ratio=ratio) >> model.a
    model.b >> C(stiffness=2.0)
    response = model.compile(outputs=["a.flow"]).numeric().frequency_response(OMEGA)
    assert response[:, 0, 0] == pytest.approx(1j * OMEGA / 5, rel=1e-12)


def test_a_field_that_only_gyrates():
    # e = r f1 = -r f0 at one 0-junction: f0 + f1 is zero, so the mass beside it does not move; nor does
    # anything else.
    model = Model("gyrates")
    model.p, model.turn, model.mass = Zero(), RField([[0.0, -0.3], [0.3, 0.0]]), I(mass=0.9)
    model.p >> model.turn[0]
    model.p >> model.turn[1]
    model.p >> model.mass
    system = model.compile(outputs=["mass.flow", "turn[0].flow"])
    assert system.states == ()
    assert np.abs(system.function(list(system.output_exprs.values()))(
        [], [], [], list(system.values().values()))).max() == 0.0  # fmt: skip


def test_what_cancels_by_the_values_alone_stays_refused():
    # 1 ohm and -1 ohm: with any other value the capacitor is free.
    model = Model("values")
    model.i = One()
    model.i >> [R(resistance=1.0), R(resistance=-1.0), C(capacitance=2.0)]
    system = model.compile(outputs=["i.flow"])
    with pytest.raises(SolveError, match=r"no unique solution"):
        system.numeric()
    assert system.numeric({"R.resistance": 3.0}).poles() == pytest.approx([-1 / (2 * 2.0)])
