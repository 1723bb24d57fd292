"""Supports that move one by one pull at dashpots and at damped members, too: against SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import bondloop as bl
from bondloop.bondgraph import Model
from bondloop.errors import InputError
from bondloop.integrate import SubStep
from bondloop.rigs import RampHold, Specimen
from bondloop.signals import Sine
from bondloop.structures import (
    Dashpot,
    Matrices,
    PointMass,
    Spring,
    Structure,
    craig_bampton,
    field_form,
    modal_form,
    modes,
    network_form,
)

LEFT, MIDDLE, RIGHT, DASH = 2e4, 3e4, 1e4, 4e3
"""Stiffnesses of a - d, d - e and e - b, and the damping between a and d."""
OMEGA = 2 * np.pi


def deck(damping):
    s = Structure("deck")
    for i, name in enumerate("adeb"):
        s.node(name, x=float(i))
    for name, m in (("d", 1000.0), ("e", 500.0)):
        s.add(PointMass(name, m=m, dofs=("ux",)))
    for name, ends, k in (("left", "ad", LEFT), ("middle", "de", MIDDLE), ("right", "eb", RIGHT)):
        s.add(Spring(*ends, k=k, dof="ux"), name)
    if damping == "dashpot":
        s.add(Dashpot("a", "d", c=DASH, dof="ux"))
    elif damping == "member":
        s.rayleigh_of("left", beta=DASH / LEFT)
    else:
        s.rayleigh(0.2, 1e-2)
    for name in "ab":
        s.support(name)
    return s


def exact(damping, times):
    """Return the displacement of d beyond where the support a leaves it at rest, in absolute coordinates."""
    K = np.array([[LEFT + MIDDLE, -MIDDLE], [-MIDDLE, MIDDLE + RIGHT]])
    M = np.diag([1000.0, 500.0])
    iota = np.linalg.solve(K, [LEFT, 0.0])
    whole = 0.2 * M + 1e-2 * K if damping == "whole" else np.zeros((2, 2))
    dash = 0.0 if damping == "whole" else DASH

    def place(t):
        return (t - np.sin(OMEGA * t) / OMEGA) / OMEGA

    def slope(t, y):
        u, v = y[:2], y[2:]
        pace = (1 - np.cos(OMEGA * t)) / OMEGA
        force = -K @ u + np.array([LEFT * place(t) + dash * (pace - v[0]), 0.0]) - whole @ (v - iota * pace)
        return [*v, *(force / np.diag(M))]

    y = solve_ivp(slope, (0, times[-1]), np.zeros(4), rtol=1e-10, atol=1e-13, t_eval=times).y
    return y[0] - iota[0] * place(times)


@pytest.mark.parametrize("form", ["field", "network", "reduced"])
@pytest.mark.parametrize("damping", ["dashpot", "member", "whole"])
def test_dampers_at_a_support_that_moves_by_itself(damping, form):
    """Their force was left out; damping of the whole acts on the rest of the motion alone, as before."""
    m = deck(damping).assemble()
    if form == "reduced":
        m = craig_bampton(m, interface=["d.ux"], count=1).matrices
    model = Model("bridge")
    model.deck = network_form(m, "deck") if form == "network" else field_form(m, "deck")
    channel = "own.deck.d.ux.displacement"
    run = bl.Simulation({"own": model}, ground={"a.ux": Sine(1.0, 1.0)}, rate=2000, record=[channel]).run(2.0)
    expected = exact(damping, run.time)
    assert np.abs(run[channel] - expected).max() < 1e-6 * np.abs(expected).max()


def test_modes_are_pulled_too():
    """The dashpot couples the modes, which the modal form leaves out; its pull at each mode it does not."""
    model = Model("bridge")
    basis = modes(deck("dashpot").assemble(), 2)
    model.deck = modal_form(basis, ["d.ux"], name="deck")
    iota = np.linalg.solve([[LEFT + MIDDLE, -MIDDLE], [-MIDDLE, MIDDLE + RIGHT]], [LEFT, 0.0])
    pull = basis.shapes.T @ (np.array([DASH * (iota[0] - 1.0), 0.0]))
    inertia = basis.shapes.T @ (np.array([1000.0, 500.0]) * iota)
    drags, loads = model.deck.ground_drag("a.ux"), model.deck.ground_load("a.ux")
    np.testing.assert_allclose([x for _, x in drags], -pull, rtol=1e-9)
    np.testing.assert_allclose([x for _, x in loads], -inertia, rtol=1e-9)


def test_a_pseudo_dynamic_test_refuses_them():
    rig = RampHold(Specimen.from_matrices(Matrices([[0.0]], None, [[0.0]], ("top",)), "top"))
    options = {"rig": rig, "interface": "d.ux", "scheme": SubStep(4, control="displacement")}
    options |= {"time_step": 1e-3, "ground": {"a.ux": Sine(1.0, 1.0)}}
    bl.PseudoDynamicTest(deck("whole").assemble(), **options)
    with pytest.raises(InputError, match=r"ground\['a.ux'\]: dashpots, or members with damping of their own"):
        bl.PseudoDynamicTest(deck("dashpot").assemble(), **options)
