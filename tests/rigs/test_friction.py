"""Friction and spring laws against their formulas, and in a model against closed forms."""

import math

import numpy as np
import pytest

from bondloop.bondgraph import I, Model, One, Se, Sf
from bondloop.errors import InputError
from bondloop.rigs.friction import coulomb, cubic_spring, dead_zone_spring, preloaded_spring, stribeck


def law(element, x, h=1e-9):
    """Effort of the element in a model at values, and its slope by central differences."""
    model = Model("part")
    model.wall, model.v, model.part = Sf("r"), One(), element
    model.wall >> model.v >> model.part
    system = model.compile(outputs=["part.effort"])
    function = system.function(list(system.output_exprs.values()))
    parameters = list(system.values().values())
    stored = bool(system.states)

    def effort(a):
        return function([a] if stored else [], [0.0] if stored else [a], [], parameters)[0]

    x = [float(a) for a in x]
    return np.array([[effort(a) for a in x], [(effort(a + h) - effort(a - h)) / (2 * h) for a in x]])


def test_coulomb():
    v = np.linspace(-0.1, 0.1, 401)
    force, slope = law(coulomb("3 N", width=0.01), v)
    np.testing.assert_allclose(force, 3 * np.tanh(v / 0.01), atol=1e-14)
    assert force[-1] == pytest.approx(3, rel=1e-8)
    assert slope.max() == pytest.approx(300, rel=1e-6)  # force/width, at rest


def test_stribeck_curve():
    fc, fs, vs, c, w = 2.0, 3.0, 0.05, 4.0, 1e-3

    def curve(x):
        return law(stribeck(fc, fs, vs, viscous=c, width=w), x)

    v = np.linspace(-0.4, 0.4, 8001)
    force, slope = curve(v)
    np.testing.assert_allclose(force, -force[::-1], atol=1e-12)  # odd
    right = v > 0
    # Up steeply, a peak a little under the static force, down to a valley, up with the viscous slope.
    turns = np.flatnonzero(np.diff(np.sign(slope[right])))
    assert len(turns) == 2
    peak, valley = force[right][turns[0]], force[right][turns[1]]
    assert 0.98 * fs < peak < fs + c * 10 * w
    assert fc < valley < peak
    assert force[-1] == pytest.approx(fc + c * 0.4, rel=1e-9)
    assert slope[-1] == pytest.approx(c, rel=1e-5)
    # 37 % of the excess is left at the Stribeck velocity.
    at = curve([vs])[0, 0]
    assert at == pytest.approx(fc + (fs - fc) / math.e + c * vs, rel=1e-12)
    # Continuous derivative: its largest jump between samples shrinks with them; zero has the largest slope.
    fine = np.linspace(-5 * w, 5 * w, 20_001)
    assert np.abs(np.diff(curve(fine)[1])).max() < 1e-3 * fs / w
    assert slope[4000] == pytest.approx(fs / w + c, rel=1e-6)


def test_springs():
    x = np.linspace(-0.02, 0.02, 401)
    np.testing.assert_allclose(
        law(dead_zone_spring("1 kN/m", "10 mm"), x)[0],
        1000 * np.where(np.abs(x) > 0.005, x - 0.005 * np.sign(x), 0),
        atol=1e-12,
    )
    np.testing.assert_allclose(law(cubic_spring(-1, 1e4), x)[0], -x + 1e4 * x**3, atol=1e-12)
    force = law(preloaded_spring(1000, 5, width=1e-4), x)[0]
    np.testing.assert_allclose(force, 1000 * x + 5 * np.tanh(x / 1e-4), atol=1e-12)
    assert cubic_spring(1, 1, initial="3 mm").start == 0.003


def slider(element):
    model = Model("slider")
    model.push, model.v = Se("F"), One()
    model.mass, model.friction = I(mass=2.0), element
    model.push >> model.v >> [model.mass, model.friction]
    return model.compile(outputs=["v.flow"])


def test_a_slider_comes_to_rest():
    # m = 2 kg, f = 4 N: from 3 m/s, v = 3 - (f/m) t, at rest after 1.5 s and for good.
    system = slider(coulomb(4.0, width=1e-4))
    assert {"friction.force", "friction.width"} <= set(system.parameters)
    free = system.simulate(2.0, initial={"mass.momentum": 6.0}, max_step=0.01)
    sliding = free.time < 1.49
    np.testing.assert_allclose(free["v.flow"][sliding], 3 - 2 * free.time[sliding], atol=1e-5)
    assert np.abs(free["v.flow"][free.time > 1.51]).max() < 1e-4
    # Pushed with 10 N: v = (10 - 4)/2 t.
    pushed = system.simulate(1.0, inputs={"F": lambda _t: 10.0}, max_step=0.01)
    assert pushed["v.flow"][-1] == pytest.approx(3.0, rel=1e-3)


def test_a_parameter_is_reached_by_its_path():
    model = Model("rig")
    model.wall, model.v, model.spring = Sf("r"), One(), cubic_spring(stiffness=2.0, cubic=5.0)
    model.wall >> model.v >> model.spring
    assert model.compile().parameters["spring.cubic"] == 5.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: coulomb(-1), r"coulomb\(force\): expected a number at least 0"),
        (lambda: coulomb(1, width=0), "above 0"),
        (lambda: coulomb("3 xyz"), "unknown unit"),
        (lambda: coulomb(math.nan), "finite"),
        (lambda: stribeck(3, 2, 0.1), "expected coulomb at most static"),
        (lambda: stribeck(1, 2, 1e-4), "expected width at most velocity"),
        (lambda: stribeck(1, 2, 0.1, viscous=-1), "at least 0"),
        (lambda: dead_zone_spring(1, -1), "at least 0"),
        (lambda: preloaded_spring(1, 1, width=0), "above 0"),
        (lambda: cubic_spring("x", 1), "expected a number"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_friction_in_series_with_a_spring_is_refused_by_name():
    """atanh of a force at the friction force is infinite; a clutch or a mass makes the model whole."""
    from bondloop.bondgraph import C, Clutch, Zero
    from bondloop.errors import ModelError

    slip = Model("slip")
    slip.drive, slip.force, slip.spring = Sf("v"), Zero(), C(stiffness=1000.0)
    slip.friction = coulomb("3 N")
    slip.drive >> slip.force >> [slip.spring, slip.friction]
    with pytest.raises(ModelError, match=r"^friction: dry friction gives a force .* take bondgraph.Clutch"):
        slip.compile()

    slip.swap("friction", Clutch("3 N"))
    run = slip.compile(outputs=["spring.effort"]).simulate(0.4, {"v": lambda t: 0.05 if t < 0.2 else -0.05})
    # Elastic at 1000 N/m, plastic at 3 N: after 0.2 s back by 0.05 m/s, for 0.12 s to -3 N, and no farther.
    expected = np.clip(50 * run.time, 0, 3)
    expected = np.where(run.time > 0.2, np.clip(3 - 50 * (run.time - 0.2), -3, 3), expected)
    np.testing.assert_allclose(run["spring.effort"], expected, atol=0.02)

    whole = Model("whole")
    whole.drive, whole.force, whole.spring = Sf("v"), Zero(), C(stiffness=1000.0)
    whole.slide, whole.friction, whole.mass = One(), coulomb("3 N", width=0.01), I(mass=0.05)
    whole.drive >> whole.force >> [whole.spring, whole.slide]
    whole.slide >> [whole.friction, whole.mass]
    system = whole.compile(outputs=["spring.effort"])
    run = system.simulate(1.0, {"v": lambda _: 0.05}, method="LSODA")
    # Pulled steadily it slides at the friction force, 3 tanh(5) N, about which the mass still rings a little.
    assert run["spring.effort"][-1] == pytest.approx(3 * math.tanh(5), rel=0.02)
