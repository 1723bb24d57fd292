"""Devices between degrees of freedom: bars of a truss that yield, a plastic hinge at a beam's end."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.devices import Bilinear, Imposed
from bondloop.errors import InputError
from bondloop.structures import (
    Bar,
    Frame2D,
    PointMass,
    Spring,
    Structure,
    attach,
    elongation,
    field_form,
    network_form,
)

BARS = {"left": ("a", "c"), "right": ("d", "b"), "top": ("c", "d")}


def truss():
    """Two masses on a soft frame, three bars that yield."""
    structure = Structure("truss")
    for name, x, y in (("a", 0, 0), ("b", 4, 0), ("c", 1, 3), ("d", 5, 3)):
        structure.node(name, x=x, y=y)
    for foot in ("a", "b"):
        structure.support(foot)
    for node in ("c", "d"):
        structure.add(PointMass(node, m=1000.0, dofs=("ux", "uy")))
        for dof in ("ux", "uy"):
            structure.add(Spring(node, k=2e5, dof=dof))
    for one, other in BARS.values():
        structure.add(Bar(one, other, E=1e9, A=3e-4, rho=0))
    return structure


@pytest.mark.parametrize("form", [field_form, network_form])
def test_bars_of_a_truss_yield(form):
    structure, law = truss(), Bilinear(1e6, 3e3, 0.05)
    m = structure.assemble()
    model = form(m, "truss", forces={"c.ux": "push"})
    for name, ends in BARS.items():
        attach(model, name, law, elongation(structure, *ends))
    push, h, n = bl.signals.Sine(8e3, 3.0), 1 / 1000, 700
    outputs = [f"{dof}.flow" for dof in m.dofs]
    run = bl.Simulation({"s": model.compile(outputs=outputs)}, excitation={"push": push}, rate=1000).run(0.7)

    # By hand: geometry, equilibrium and the return map of each bar, stepped by Runge and Kutta.
    at = {name: np.array(xyz) for name, xyz in structure.nodes.items()}
    B = np.zeros((len(BARS), len(m.dofs)))
    for i, (one, other) in enumerate(BARS.values()):
        along = (at[other] - at[one]) / np.linalg.norm(at[other] - at[one])
        for node, sign in ((one, -1), (other, 1)):
            for k, word in enumerate(("ux", "uy")):
                if f"{node}.{word}" in m.dofs:
                    B[i, m.dofs.index(f"{node}.{word}")] = sign * along[k]
    K = m.K.toarray()
    load = np.array([1.0 if d == "c.ux" else 0.0 for d in m.dofs])
    states = [law.initial_states() for _ in BARS]
    size = len(m.dofs)
    y, record = np.zeros(2 * size), []
    for step in range(n):
        record.append(y[size:].copy())
        e = B @ y[:size]
        states = [law.at_states(**s).memory(Imposed(x)) for s, x in zip(states, e, strict=True)]
        laws = [law.at_states(**s) for s in states]

        def rate(t, y, laws=laws):
            forces = np.array([one.force(Imposed(x)) for one, x in zip(laws, B @ y[:size], strict=True)])
            a = (load * float(push(t)) - B.T @ forces - K @ y[:size]) / 1000.0
            return np.concatenate([y[size:], a])

        t = step * h
        k1 = rate(t, y)
        k2 = rate(t + h / 2, y + h / 2 * k1)
        k3 = rate(t + h / 2, y + h / 2 * k2)
        k4 = rate(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert any(abs(s["plastic"]) > 1e-3 for s in states), "a bar must have yielded"
    found = np.column_stack([run[f"s.{name}"] for name in outputs])[:n]
    assert np.max(np.abs(found - record)) < 1e-9 * np.max(np.abs(record))


def test_a_hinge_at_the_foot_of_a_column():
    """A cantilever on a plastic hinge under a slow load: where its tip is, before and after it yields."""
    E, inertia, L, moment = 210e9, 1e-6, 2.0, 4e3
    structure = Structure("column")
    structure.node("foot", x=0, y=0)
    structure.node("tip", x=0, y=L)
    structure.support("foot", "ux", "uy")
    structure.add(Frame2D("foot", "tip", E=E, A=1e-2, I=inertia, rho=7850))
    structure.add(PointMass("tip", m=50.0, dofs=("ux", "uy")))
    structure.rayleigh(60.0, 1e-4)
    model = field_form(structure.assemble(free=True), "column", forces={"tip.ux": "push"})
    k, b = 1e6, 0.1
    attach(model, "hinge", Bilinear("1 MN m/rad", moment, b), {"foot.rz": 1})
    system = model.compile(outputs=["tip.ux.displacement", "hinge.effort"])
    for push in (1e3, 3e3):
        ramp = bl.signals.Ramp(push, end=3.0)
        run = bl.Simulation({"s": system}, excitation={"push": ramp}, rate=4000).run(8)
        M = push * L
        turn = M / k if moment >= M else moment / k + (M - moment) / (b * k)
        expected = push * L**3 / (3 * E * inertia) + turn * L
        assert run["s.tip.ux.displacement"][-1] == pytest.approx(expected, rel=1e-4)
        assert abs(run["s.hinge.effort"][-1]) == pytest.approx(M, rel=1e-4)


def test_what_cannot_be_attached():
    structure = truss()
    model = field_form(structure.assemble(), "truss")
    with pytest.raises(InputError, match="one interface"):
        attach(model, "bar", 3.0, {"c.ux": 1})
    for way in ({}, {"c.ux": 0.0}, {"c.ux": float("nan")}, {"c.ux": "one"}, {"c.ux": [1, 2]}, "c.ux"):
        with pytest.raises(InputError, match="weights"):
            attach(model, "bar", Bilinear(), way)
    with pytest.raises(InputError, match=r"c\.ux"):
        attach(model, "bar", Bilinear(), {"c.uz": 1})
