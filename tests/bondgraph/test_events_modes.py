"""The modes of a model that switches: each by itself, all together, and what is refused."""

import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import MR, C, Clutch, Df, Diode, Function, I, Model, One, R, Se, Stop, Switch, Zero
from bondloop.errors import CausalityError, InputError, ModelError, SolveError

sys.path.insert(0, str(Path(__file__).parent))
from switching_models import Buffer, ball, buck, clutch


def governed(band):
    """A mass that is pushed through a damper until it is fast enough; the switch takes the push away."""
    m = Model("governor")
    m.line, m.node, m.v, m.speed = One(), Zero(), One(), Df()
    m.key = Switch(threshold=band)
    m.excess = Function(lambda v, level: v - level, level=1.0)
    Se(effort=3.0) >> m.line >> m.node >> m.v
    m.line >> R(damping=1.0)
    m.node >> m.key
    m.v >> [I(mass=1.0), R(damping=0.1)]
    m.v >> m.speed >> m.excess >> m.key
    return m


def test_a_signal_may_switch():
    """v' = 3 - 1.1 v until the level is reached; then the push ends and begins again without end."""
    system = governed(0.0).compile()
    assert system.inputs == ("Se",)
    reached = -np.log(1 - 1.1 / 3) / 1.1
    assert system.simulate(0.9 * reached).events == ()
    with pytest.raises(SolveError, match=f"key change without end at t = {reached:.4f}"):
        system.simulate(2)


def test_each_mode_is_an_ordinary_system():
    m = ball(2.0, 9.81, 1.0, 0.5)
    assert m.compile(modes={"floor": "free"}).states == ("mass.momentum", "floor.displacement")
    held = m.compile(outputs=["floor.effort"], modes={"floor": "closed"})
    assert held.dependent == ("mass",)
    assert list(m.compile(modes={"floor": "free"}).poles()) == [0, 0]
    assert dict(held.equations().rows)["floor.effort"] == "weight"
    sliding = clutch((1.0, 2.0), (0.0, 0.0), 5.0).compile(outputs=["clutch.effort"], modes={"clutch": -1})
    assert sliding.simulate(1)["clutch.effort"][-1] == -5.0


def test_switches_that_do_not_meet_share_the_rest_of_the_model():
    """Twenty masses in a chain with a stop at each end: four modes, and the middle is written once."""

    def chain(n, stops):
        m = Model("chain")
        m.v, m.f = [One() for _ in range(n)], [Zero() for _ in range(n - 1)]
        for v in m.v:
            v >> [I(mass=1.0), R(damping=0.1)]
        for i, f in enumerate(m.f):
            m.v[i] >> f >> m.v[i + 1]
            f >> C(stiffness=10.0)
        m.stop = [Stop(gap=1.0) for _ in range(stops)]
        for stop, v in zip(m.stop, (m.v[0], m.v[-1]), strict=False):
            v >> stop
        return m.compile()

    none, one, two = (len(chain(20, k).definitions) for k in range(3))
    assert two - one <= one - none + 4 < 40


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: Stop(restitution=1.5), InputError, "at most 1"),
        (lambda: Clutch(capacity=-1), InputError, "at least 0"),
        (lambda: Switch(3), InputError, "expected an input's name"),
        (lambda: ball(1, 1, 1, 0).compile(modes={}), InputError, "missing floor"),
        (lambda: ball(1, 1, 1, 0).compile(modes={"flor": 1}), InputError, "floor"),
        (lambda: ball(1, 1, 1, 0).compile(modes={"floor": "open"}), InputError, "'closed', 'free'"),
        (lambda: ball(1, 1, 1, 0).compile().A, InputError, "modes="),
        (lambda: ball(1, 1, 1, 0).compile().numeric(), InputError, "modes="),
        (lambda: ball(1, 1, 1, 0).compile().sensitivity(["mass.mass"]), InputError, "modes="),
        (lambda: ball(1, 1, 1, 0).compile(["v.flow"]).inverse("v.flow", "weight"), InputError, "modes="),
        (
            lambda: ball(1, 1, 1, 0).compile(["v.flow"]).transfer_function("v.flow", "weight"),
            InputError,
            "modes=",
        ),
        (lambda: buck(1, 1, 1, 1).compile(modes={"key": 1, "diode": 1}), CausalityError, "effort"),
    ],
)
def test_bad_input_is_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()


def test_a_short_circuit_is_an_error_when_it_happens():
    m = Model("short")
    m.loop, m.key = One(), Switch("key")
    Se(effort=1.0) >> m.loop >> m.key
    system = m.compile()
    assert "no causality with key closed" in " ".join(system.notes)
    with pytest.raises(SolveError, match=r"no consistent mode was found at t = 1 s"):
        system.simulate(2, {"key": lambda t: t >= 1})


def test_too_many_switches_are_refused():
    m = Model("many")
    m.out = Zero()
    m.out >> C(capacitance=1)
    for i in range(11):
        line = One()
        setattr(m, f"line{i}", line)
        Se(effort=i) >> line >> m.out
        line >> [R(resistance=1), Diode()]
    with pytest.raises(ModelError, match="11 elements that switch"):
        m.compile()


def test_an_element_without_modes_takes_none():
    m = Model("plain")
    m.v = One()
    m.v >> I(mass=1)
    with pytest.raises(InputError, match="key"):
        m.compile(modes={"key": "open"})


def test_a_content_that_always_follows_has_no_start_of_its_own():
    m = ball(1.0, 1.0, 1.0, 0.0)
    m.v >> I(mass=2, initial=1)
    with pytest.raises(ModelError, match="in every mode"):
        m.compile()


def test_a_stop_in_a_part_with_a_letter_for_its_gap():
    m = Model("struck")
    m.v, m.left = One(), Buffer(sp.Symbol("g", positive=True))
    m.v >> [I(mass=1.0, initial=1.0), m.left.port]
    system = m.let(g=0.5).compile()
    assert system.simulate(2).events[0].time == pytest.approx(0.5, rel=1e-9)
    assert system.simulate(2, values={"g": 1.5}).events[0].time == pytest.approx(1.5, rel=1e-9)
    assert system.simulate(2).events[0].path == "left.stop"
    assert m.copy().compile().simulate(2).events[0].path == "left.stop"


def test_what_storages_hold_is_a_signal_in_every_mode():
    """A damper that grows with the way, read from the stop; the contents of a mass that a stop holds."""
    m = ball(2.0, 9.81, 1.0, 0.0)
    m.drag = MR(lambda x: 3 * x)
    m.v >> m.drag
    m.floor.displacement >> m.drag
    run = m.compile([m.mass.momentum, m.floor.displacement]).simulate(2)
    before = run["floor.mode"] == 1
    np.testing.assert_allclose(
        run["drag.effort"][before], 3 * run["floor.displacement"][before] * run["v.flow"][before], rtol=1e-9
    )
    assert run["mass.momentum"][-1] == 0
    assert run.system.outputs == ("mass.momentum", "floor.displacement")
