"""Sensitivity equations against central finite differences of the simulation itself."""

import math

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import TF, C, I, Model, One, R, Se, Sf, Zero
from bondloop.errors import InputError

TIMES = np.linspace(0.0, 3.0, 13)


def check(system, outputs, inputs, parameters, initial=None):
    run = system.sensitivity(parameters).simulate(
        (0.0, 3.0), inputs, initial, times=TIMES, rtol=1e-11, atol=1e-13
    )
    for parameter in parameters:
        nominal = system.parameters[parameter]
        sides = []
        for step in (1e-3, -1e-3, 2e-3, -2e-3):
            values = {parameter: nominal * (1 + step)}
            sides.append(
                system.simulate((0.0, 3.0), inputs, initial, values, times=TIMES, rtol=1e-12, atol=1e-14)
            )
        for output in outputs:
            plus, minus, plus2, minus2 = (s[output] for s in sides)
            # Fourth-order central difference: its own error is far below the 1e-6 asked for.
            slope = (8 * (plus - minus) - (plus2 - minus2)) / (12 * 1e-3 * nominal)
            found = run[f"d({output})/d({parameter})"]
            assert np.abs(found - slope).max() <= 1e-6 * np.abs(slope).max()
            assert np.abs(slope).max() > 0


def test_three_mass_chain_with_a_cubic_spring():
    model = Model("chain")
    model.wall, model.v = Sf("r"), [One() for _ in range(3)]
    left = model.wall
    for i, v in enumerate(model.v):
        s = Zero()
        left >> s >> v >> [I(mass=1.0 + i), R(damping=0.1)]
        s >> (C(stiffness=2.0) if i < 2 else C(law=lambda q, k: k * q + q**3, k=1.0))
        left = v
    outputs = ["v[2].flow", "C.effort"]
    system = model.compile(outputs=outputs)
    check(
        system, outputs, {"r": lambda t: -0.5 * math.sin(t)}, ["I2.mass", "R3.damping", "C.stiffness", "C3.k"]
    )


def test_with_an_algebraic_loop_and_dependent_storage():
    model = Model("mixed")
    model.F, model.v, model.b, model.w = Se("F"), One(), Zero(), One()
    model.F >> model.v >> [I(mass=1.0), I(mass=0.5)]
    model.v >> model.b
    model.b >> R(law=lambda f, a: f + a * f**3, a=0.7)
    model.b >> model.w >> [R(damping=2.0), C(stiffness=3.0)]
    outputs = ["v.flow", "w.flow", "I2.effort"]
    system = model.compile(outputs=outputs, iterations=25)
    assert any("nonlinear" in n for n in system.notes)
    assert any("derivative causality" in n for n in system.notes)
    check(
        system,
        outputs,
        {"F": lambda t: math.cos(2 * t)},
        ["I.mass", "I2.mass", "R.a", "R2.damping", "C.stiffness"],
        {"I.momentum": 0.3},
    )


def test_with_a_linear_loop_and_a_transformer():
    model = Model("geared")
    model.V, model.a, model.b, model.w = Se("V"), One(), Zero(), One()
    model.V >> model.a >> model.b
    model.a >> R(resistance=1.0)
    model.b >> [R(resistance=2.0), C(capacitance=0.5)]
    model.b >> TF(modulus=1.5) >> model.w >> [I(inertia=0.3), R(damping=0.2)]
    outputs = ["w.flow", "a.flow"]
    check(
        model.compile(outputs=outputs),
        outputs,
        {"V": 1.0},
        ["R.resistance", "C.capacitance", "TF.modulus", "I.inertia"],
    )


def test_symbolic_parameter_shared_by_two_elements():
    k = sp.Symbol("k")
    model = Model("shared")
    model.v = One()
    model.v >> [I(mass=1.0, initial=1.0), C(stiffness=k), R(damping=k / 10)]
    outputs = ["v.flow"]
    check(model.let(k=2.0).compile(outputs=outputs), outputs, {}, ["k"])


def test_unknown_parameter():
    model = Model("small")
    model.v = One()
    model.v >> [I(mass=1.0), R(damping=1.0)]
    with pytest.raises(InputError, match=r"unknown parameter 'R.dampin' of small; did you mean 'R.damping'"):
        model.compile().sensitivity(["R.dampin"])


def test_a_closed_form():
    # v = exp(-c t / m): dv/dc = -t/m exp(-c t/m).
    model = Model("decay")
    model.v = One()
    model.v >> [I(mass=2.0, initial=2.0), R(damping=0.5)]
    run = model.compile(outputs=["v.flow"]).sensitivity(["R.damping"]).simulate(3)
    expected = -run.time / 2 * np.exp(-0.25 * run.time)
    assert run["d(v.flow)/d(R.damping)"] == pytest.approx(expected, abs=1e-9)
