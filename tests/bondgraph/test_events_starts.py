"""How models that switch start, what they refuse, and what their notes say."""

import numpy as np
import pytest

from bondloop.bondgraph import C, Clutch, I, Input, Model, One, R, Se, Sf, Stop, Switch, Zero
from bondloop.errors import InputError, ModelError, SolveError
from bondloop.hybrid.simulation import Simulation

from .switching_models import ball, balls_on_a_line


@pytest.mark.parametrize("force", [-1.0, -0.01, 0.0, 2.0])
def test_friction_never_drives(force):
    m = Model("brake")
    m.v, m.brake, m.normal = One(), Clutch(capacity=lambda n: 0.3 * n), Input("N")
    m.v >> [I(mass=1, initial=1.0), m.brake]
    m.normal >> m.brake
    # Sliding with 0.3 N: it comes to rest after 1 / (0.3 N) s.
    run = m.compile().simulate(1, {"N": force})
    assert run["v.flow"][-1] == pytest.approx(1 - 0.3 * max(force, 0), rel=1e-9)


def test_a_stop_beyond_its_gap_is_refused_however_it_got_there():
    system = ball(2, 9.81, 1, 0.5).compile()
    told = r"ball: floor would start 2 beyond its gap of 1, at a displacement of 3"
    beyond = {"floor.displacement": 3.0}
    with pytest.raises(InputError, match=told):
        system.simulate(2, initial=beyond)
    with pytest.raises(InputError, match=told):
        system.steady_state(initial=beyond)
    with pytest.raises(InputError, match=r"would start 0\.5 beyond its gap of -0\.5"):
        system.simulate(2, values={"floor.gap": -0.5})
    with pytest.raises(InputError, match=r"beyond its gap of -0\.5"):
        _ = Simulation({"m": system}, excitation={}, rate=100, values={"m.floor.gap": -0.5}).tick


def test_a_simulation_goes_on_where_another_ended():
    system = ball(2, 9.81, 1, 0.5).compile()
    run = system.simulate(2)
    further = system.simulate(1, initial=run.states[-1])
    assert further["floor.effort"] == pytest.approx(2 * 9.81)
    assert not further.events


def pressed(force):
    m = Model("pressed")
    m.v, m.floor, m.weight = One(), Stop(gap=0), Se(effort=force)
    m.weight >> m.v >> [I(mass=2), m.floor]
    return m


@pytest.mark.parametrize(("force", "effort", "mode"), [(19.62, 19.62, "closed"), (-19.62, 0.0, "free")])
def test_a_stop_that_is_pressed_from_the_start_holds_from_the_start(force, effort, mode):
    system = pressed(force).compile(outputs=["floor.effort"])
    run = system.simulate(1)
    np.testing.assert_allclose(run["floor.effort"], effort)
    assert system.linearise().mode == f"floor {mode}"
    assert not run.events
    tick = Simulation({"m": system}, excitation={}, rate=1000).run(0.01)
    np.testing.assert_allclose(tick["m.floor.effort"], effort, rtol=1e-12)


def test_a_law_that_one_mode_cannot_turn_refuses_that_mode_alone():
    m = Model("law")
    m.source, m.node, m.key, m.law = Sf("q"), Zero(), Switch("gate"), R(law=lambda f: f**2)
    m.source >> m.node >> [m.law, m.key]
    system = m.compile()
    assert any(note.startswith("no causality with key closed: law: its law") for note in system.notes)
    assert system.simulate(1, {"q": 2.0})["law.effort"][-1] == pytest.approx(4)
    with pytest.raises(SolveError, match=r"at t = 0\.5 s .* no causality is key closed: law: its law"):
        system.simulate(1, {"q": 2.0, "gate": lambda t: t > 0.5})


def test_a_law_that_no_mode_can_turn_is_refused_as_without_a_switch():
    m = Model("law")
    m.loop, m.law, m.node, m.key = One(), R(law=lambda f: f**2), Zero(), Switch("gate")
    m.push = Se("e")
    m.push >> m.loop >> m.law
    m.node >> [m.key, R(resistance=1)]
    Sf("q") >> m.node
    with pytest.raises(ModelError, match="law: its law"):
        m.compile()


def test_notes_speak_of_modes_in_words():
    notes = balls_on_a_line([1, 2, 1], [0, 1, 2], [3, 0, 0], 0.5).compile().notes
    loops = [note for note in notes if "algebraic loop" in note]
    assert loops[0].startswith(
        "algebraic loop with gap[0] closed, gap[1] free: d/dt mass[1].momentum (linear, solved directly; "
        "through mass[1].effort, f[0].effort, "
    )
    assert not any("~" in note for note in notes)


def floating_circuit(*, grounded):
    m = Model("floating")
    m.V, m.i, m.a, m.b, m.o = Se("V"), One(), Zero(), Zero(), One()
    m.V >> m.i
    m.b >> m.i >> m.a
    m.a >> m.o >> m.b
    m.o >> [R(resistance=1), C(capacitance=1)]
    if grounded:
        Se(effort=0) >> m.b
    return m.compile()


def test_a_circuit_without_ground_is_told_what_it_lacks():
    told = "a, b have no reference: join one to ground"
    system = floating_circuit(grounded=False)
    assert told in system.notes
    with pytest.raises(SolveError, match="notes say that nodes have no reference"):
        system.simulate(1, {"V": 1.0})
    system = floating_circuit(grounded=True)
    assert told not in system.notes
    assert system.simulate(1, {"V": 1.0})["C.displacement"][-1] == pytest.approx(1 - np.exp(-1))
