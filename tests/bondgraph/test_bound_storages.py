"""Rings whose gains cancel: storages that look independent and are not."""

import numpy as np
import pytest

from bondloop.bondgraph import GY, TF, C, CField, I, Model, One, R, RField, Se, Sf, Zero
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


def beside_a_bond(modulus):
    """A 0- and a 1-junction joined by a bond, and back by a transformer; a spring at each."""
    model = Model("beside")
    model.u, model.p, model.v = Sf("u"), Zero(), One()
    model.u >> model.p >> [R(resistance=0.4), C(stiffness=3.0), model.v]
    model.v >> TF(modulus=modulus) >> model.p
    model.k = C(stiffness=2.0)
    model.v >> model.k
    return model.compile(outputs=["p.effort", "v.flow"])


@pytest.mark.parametrize("modulus", [1.0, 1.0 + 1e-15, 0.5, -0.7])
def test_a_spring_that_takes_no_effort_by_the_value_of_a_modulus(modulus):
    # The second spring has the effort (1 - m) p and the junction gives (1 - m) v, so that the admittance is
    # 1/R + s (1/3 + (1 - m)^2 / 2). With m = 1 the first spring is the state, and is one for other values.
    system = beside_a_bond(modulus)
    s = 1j * OMEGA
    for m in (modulus, 0.3):
        response = system.numeric({"TF.modulus": m}).frequency_response(OMEGA)[..., 0]
        effort = 1 / (1 / 0.4 + s * (1 / 3 + (1 - m) ** 2 / 2))
        assert response[:, 0] == pytest.approx(effort, rel=1e-12)
        assert response[:, 1] == pytest.approx(s * (1 - m) / 2 * effort, rel=1e-12, abs=1e-14)
    assert len(system.states) == 1


K = np.eye(3) + np.ones((3, 3))


def test_a_field_whose_last_content_cancels():
    # All contents move as (-1, -1, 1) x under F = a K a x, and K a = (-2, -2, 0): the last of them says
    # nothing of x.
    model = Model("cancels")
    model.F, model.v, model.k = Se("F"), One(), CField(K)
    model.F >> model.v
    model.k[0] >> model.v
    model.k[1] >> model.v
    model.v >> model.k[2]
    system = model.compile(outputs=["v.flow", "k[2].effort"])
    response = system.numeric().frequency_response(OMEGA)[..., 0]
    assert response[:, 0] == pytest.approx(1j * OMEGA / 4, rel=1e-12)
    assert np.abs(response[:, 1]).max() < 1e-14


def ring_at_a_field(modulus):
    model = Model("ring")
    model.u, model.p, model.v, model.k = Sf("u"), Zero(), One(), CField(K)
    model.u >> model.p >> [R(resistance=0.4), C(stiffness=3.0)]
    model.v >> TF(modulus=modulus) >> model.p
    model.v >> model.p
    model.k[0] >> model.v
    model.k[1] >> model.p
    model.k[2] >> model.p
    return model.compile(outputs=["p.effort", "v.flow"])


def ring_at_a_field_by_hand(modulus):
    # Port 0 has (1 + m) times the effort of the others, b = (1 + m, 1, 1): compliance b K^-1 b + 1/3.
    b, s = np.array([1 + modulus, 1.0, 1.0]), 1j * OMEGA
    effort = 1 / (1 / 0.4 + s * (b @ np.linalg.solve(K, b) + 1 / 3))
    return effort, -s * np.linalg.solve(K, b)[0] * effort


@pytest.mark.parametrize("modulus", [-1.0, 0.3])
def test_a_flow_that_cancels_in_a_ring_and_is_the_rate_of_a_state(modulus):
    effort, flow = ring_at_a_field_by_hand(modulus)
    response = ring_at_a_field(modulus).numeric().frequency_response(OMEGA)[..., 0]
    assert response[:, 0] == pytest.approx(effort, rel=1e-12)
    assert response[:, 1] == pytest.approx(flow, rel=1e-12)


def test_a_modulus_that_is_made_to_cancel_after_the_equations_were_written():
    # With 0.3 the content of the field's first port is the state. With -1 the flow in the ring cancels where
    # it is solved for, but it is the rate of that state, and as such it is known.
    system = ring_at_a_field(0.3)
    assert system.states == ("k[0].displacement",)
    effort, flow = ring_at_a_field_by_hand(-1.0)
    response = system.numeric({"TF.modulus": -1.0}).frequency_response(OMEGA)[..., 0]
    assert response[:, 0] == pytest.approx(effort, rel=1e-12)
    assert response[:, 1] == pytest.approx(flow, rel=1e-12)


def test_what_cancels_by_the_values_alone_stays_refused():
    # 1 ohm and -1 ohm: with any other value the capacitor is free.
    model = Model("values")
    model.i = One()
    model.i >> [R(resistance=1.0), R(resistance=-1.0), C(capacitance=2.0)]
    system = model.compile(outputs=["i.flow"])
    with pytest.raises(SolveError, match=r"no unique solution"):
        system.numeric()
    assert system.numeric({"R.resistance": 3.0}).poles() == pytest.approx([-1 / (2 * 2.0)])
