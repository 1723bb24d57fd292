"""Where a model that switches comes to rest, and which mode holds at a point, against statics by hand."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import C, Clutch, Diode, I, Model, One, R, Se, Stop, Switch, Zero
from bondloop.engine.analysis.steady import SwitchingRest
from bondloop.errors import InputError, ModeWarning, SolveError

from .switching_models import ball

DRAWN = settings(max_examples=12, deadline=None)


def buffer(k=1000.0, damping=10.0, mass=1.0, gap=0.01, restitution=0.0):
    """A mass on a spring and a damper, with a stop."""
    m = Model("buffer")
    m.v, m.spring, m.mass = One(), C(stiffness=k), I(mass=mass)
    m.stop = Stop(gap=gap, restitution=restitution)
    Se("F") >> m.v >> [m.mass, m.spring, m.stop]
    if damping:
        m.v >> R(damping=damping)
    return m


@DRAWN
@given(
    st.floats(0, 6),
    st.floats(-2, 4),
    st.sampled_from([0.02, 0.3, 1.0, 4.0]),
    st.floats(-4, 0),
    st.sampled_from([0.0, 0.4, 0.9]),
    st.sampled_from([-1.0, 0.0, 0.5, 0.999, 1.0, 1.001, 3.0]),
)
def test_a_buffer_rests_at_the_stop_or_short_of_it(log_k, log_m, zeta, log_gap, restitution, load):
    """By statics x = min(F / k, gap), and the stop carries what the spring does not."""
    k, mass, gap = 10**log_k, 10**log_m, 10**log_gap
    m = buffer(k, 2 * zeta * np.sqrt(k * mass), mass, gap, restitution)
    force = load * k * gap
    system = m.compile(outputs=["stop.effort"])
    rest = system.steady_state({"F": force})
    for name in ("spring.displacement", "stop.displacement"):
        assert rest[name] == pytest.approx(min(force / k, gap), rel=1e-7, abs=1e-9 * gap)
    assert abs(rest["mass.momentum"]) < 1e-9 * gap * np.sqrt(k * mass)
    if load != 1.0:  # there either mode will do
        assert rest["stop.mode"] == (0 if load > 1 else 1)
    # It is the point at which it stays, and about which it is linearised.
    run = system.simulate(np.sqrt(mass / k), {"F": force}, initial=rest)
    assert run["stop.effort"][-1] == pytest.approx(max(force - k * gap, 0), rel=1e-6, abs=1e-6 * k * gap)
    assert system.linearise(rest, {"F": force}).mode == f"stop {'free' if rest['stop.mode'] else 'closed'}"


def test_without_damping_it_swings_about_a_rest_or_has_none():
    assert buffer(damping=0).compile().steady_state({"F": 4.0})["spring.displacement"] == pytest.approx(0.004)
    # From 0 by 30 N it reaches the stop; what each blow takes is gone, so it ends there.
    lossy = buffer(damping=0, restitution=0.5).compile()
    assert lossy.steady_state({"F": 30.0})["spring.displacement"] == pytest.approx(0.01, rel=1e-9)


def test_a_ball_rests_on_the_floor_and_never_above_it():
    m = Model("ball")
    m.v, m.floor = One(), Stop(gap=1.0, restitution=0.5)
    Se("W") >> m.v >> [I(mass=2.0), m.floor]
    system = m.compile()
    assert system.steady_state({"W": 19.62})["floor.displacement"] == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(SolveError, match=r"no steady state found: .* does not come to rest .*I.momentum"):
        system.steady_state({"W": -19.62})


def test_friction_keeps_what_the_motion_leaves():
    """Between turning points x swings about (F ± capacity) / k: 0, 0.34, 0.12, 0.22, and sticks there."""
    m = Model("slider")
    m.v, m.spring, m.friction = One(), C(stiffness=100.0), Clutch(capacity=3.0)
    Se("F") >> m.v >> [I(mass=1.0), m.spring, m.friction]
    system = m.compile()
    rest = system.steady_state({"F": 20.0})
    assert rest["spring.displacement"] == pytest.approx(0.22, rel=1e-8)
    assert rest["friction.mode"] == 0
    assert system.steady_state({"F": 2.0})["spring.displacement"] == 0
    # From another start it ends elsewhere: 0.5, -0.04, 0.38, 0.08, 0.26, 0.20.
    far = system.steady_state({"F": 20.0}, initial={"spring.displacement": 0.5})
    assert far["spring.displacement"] == pytest.approx(0.2, rel=1e-8)


def rectifier(load):
    m = Model("rectifier")
    m.i, m.o, m.diode = One(), Zero(), Diode()
    Se("V") >> m.i >> [m.diode, R(resistance=1.0)]
    m.i >> m.o >> C(capacitance=1e-3)
    if load:
        m.o >> R(resistance=load)
    return m


@pytest.mark.parametrize("volts", [10.0, -10.0])
def test_a_rectifier_charges_one_way(volts):
    system = rectifier(9.0).compile()
    rest = system.steady_state({"V": volts})
    assert rest["C.displacement"] == pytest.approx(max(volts, 0) * 0.9e-3, rel=1e-9, abs=1e-15)
    assert rest["diode.mode"] == (volts > 0)
    # From more charge it comes down to the same; without a load that charge stays.
    charged = {"C.displacement": 0.02}
    down = system.steady_state({"V": volts}, initial=charged)
    assert down["C.displacement"] == pytest.approx(rest["C.displacement"], rel=1e-8, abs=1e-12)
    idle = rectifier(None).compile()
    assert idle.steady_state({"V": volts}, initial=charged)["C.displacement"] == pytest.approx(
        0.02, rel=1e-12
    )


def test_a_model_of_one_mode_says_where_that_does_not_hold():
    m = buffer()
    free = m.compile(modes={"stop": "free"})
    with pytest.warns(ModeWarning, match=r"stop free does not hold there: its displacement 0.03 is beyond"):
        assert free.steady_state({"F": 30.0})["spring.displacement"] == pytest.approx(0.03)
    closed = m.compile(modes={"stop": "closed"})
    with pytest.warns(ModeWarning, match="has not used up the gap 0.01"):
        closed.steady_state({"F": 30.0})
    at_stop = {"spring.displacement": 0.01, "stop.displacement": 0.01}
    with pytest.warns(ModeWarning, match="it is pulled, its effort is -5"):
        closed.steady_state({"F": 5.0}, initial=at_stop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free.steady_state({"F": 9.0})
        closed.steady_state({"F": 30.0}, initial=at_stop)


def test_each_kind_of_element_says_why_its_mode_does_not_hold():
    m = Model("kinds")
    m.v, m.brake, m.diode, m.key = One(), Clutch(capacity=3.0), Diode(), Switch("gate")
    m.in_series = One()
    Se("F") >> m.v >> [R(damping=1.0), m.brake, C(stiffness=1.0)]
    Se("V") >> m.in_series >> [m.diode, m.key, R(resistance=2.0), C(capacitance=1.0)]
    held = m.compile(modes={"brake": "stuck", "diode": "on", "key": "closed"})
    with pytest.warns(
        ModeWarning, match=r"brake stuck .* effort 5 is beyond the capacity 3.*key closed .* 0 is"
    ):
        held.steady_state({"F": 5.0, "V": 1.0})
    off = m.compile(modes={"brake": "stuck", "diode": "off", "key": "closed"})
    with pytest.warns(ModeWarning, match="diode off does not hold there: its effort 1 is forwards"):
        off.steady_state({"F": 1.0, "V": 1.0, "gate": 1.0})


@pytest.mark.parametrize(("x", "mode"), [(0.005, "free"), (0.01, "closed"), (0.02, "closed"), (0.04, "free")])
def test_a_stop_is_linearised_in_the_mode_of_the_point(x, mode):
    """At 30 N the spring balances 30 mm: from the gap to there the stop is pressed, beyond it is pulled."""
    system = buffer().compile(outputs=["stop.effort"])
    point = {"spring.displacement": x, "stop.displacement": x}
    for start in (0, 1):  # whatever mode the point comes with
        local = system.linearise({**point, "stop.mode": start}, {"F": 30.0})
        assert local.mode == f"stop {mode}"
    # The stop's own displacement acts on nothing in one mode: it is no state, and no pole at zero.
    if mode == "free":
        assert set(local.states) == {"spring.displacement", "mass.momentum"}
        np.testing.assert_allclose(np.sort_complex(local.poles()), np.sort_complex(np.roots([1, 10, 1000])))
    read = buffer().compile(outputs=["stop.displacement"]).linearise(inputs={"F": 3.0})
    assert "stop.displacement" in read.states


def test_zero_dynamics_have_no_pole_by_a_stop():
    """While the velocity is imposed the spring's length is left free, and nothing else."""
    inverse = buffer().compile(outputs=["v.flow"], modes={"stop": "free"}).inverse("v.flow", "F")
    assert inverse.zero_dynamics().states == ("spring.displacement",)
    assert list(inverse.zero_dynamics().zeros) == [0]


def test_results_print_in_a_line():
    run = buffer(restitution=0.5).compile().simulate(0.5, {"F": 30.0})
    hits = len(run.events)
    assert repr(run) == f"<SwitchingTrajectory of buffer: 0 to 0.5 s, 1001 instants, 4 states, {hits} events>"
    first = run.events[0]
    assert first.mode == "rebound"
    assert repr(first) == f"Event(time={first.time!r}, path='stop', mode='rebound')"
    assert first.after["mass.momentum"] == pytest.approx(-0.5 * first.before["mass.momentum"])
    for letter in "ABCD":
        with pytest.raises(InputError, match=r"modes=.*linearise"):
            getattr(run.system, letter)


@settings(DRAWN, max_examples=6)
@given(st.integers(0, 10_000))
def test_a_chain_with_stops_between_rests_where_its_energy_is_least(seed):
    """Least x K x / 2 - F x with x[i] - x[i+1] <= gap[i]: all sets of closed stops are tried by hand."""
    n, rng = 3, np.random.default_rng(seed)
    m = Model("chain")
    m.v, m.between = [One() for _ in range(n)], [Zero() for _ in range(n - 1)]
    k, gaps = rng.uniform(50, 200, n), rng.uniform(0, 0.05, n - 1)
    force = rng.normal(0, 20, n)
    m.c = [C(stiffness=value) for value in k]
    m.stop = [Stop(gap=value, restitution=rng.choice([0.0, 0.5])) for value in gaps]
    for i, v in enumerate(m.v):
        v >> [I(mass=rng.uniform(0.5, 2)), R(damping=rng.uniform(1, 8)), m.c[i]]
        Se(f"F{i}") >> v
    for i, node in enumerate(m.between):
        m.v[i] >> node >> m.v[i + 1]
        node >> m.stop[i]
    rest = m.compile().steady_state({f"F{i}": value for i, value in enumerate(force)})
    B = np.eye(n)[:-1] - np.eye(n)[1:]
    for closed in ([], [0], [1], [0, 1]):
        A = np.block([[np.diag(k), B[closed].T], [B[closed], np.zeros((len(closed),) * 2)]])
        solution = np.linalg.solve(A, [*force, *gaps[closed]])
        x, pressed = solution[:n], solution[n:]
        if np.all(B @ x <= gaps + 1e-12) and np.all(pressed >= 0):
            break
    np.testing.assert_allclose([rest[f"c[{i}].displacement"] for i in range(n)], x, atol=1e-8)
    assert [i for i in range(n - 1) if rest[f"stop[{i}].mode"] == 0] == closed


def counted(monkeypatch):
    """How often a motion was followed."""
    rounds = []
    follow = SwitchingRest._moved

    def moved(self, x, span):
        rounds.append(span)
        return follow(self, x, span)

    monkeypatch.setattr(SwitchingRest, "_moved", moved)
    return rounds


def test_a_drift_is_refused_after_two_looks(monkeypatch):
    rounds = counted(monkeypatch)
    m = Model("sled")
    m.v, m.friction = One(), Clutch(capacity=1.0)
    Se("F") >> m.v >> [I(mass=1), m.friction]
    with pytest.raises(SolveError) as refusal:
        m.compile().steady_state({"F": 1.5})
    assert "I.momentum changes at a constant rate" in str(refusal.value)
    assert str(refusal.value).count("no steady state found") == 1
    assert len(rounds) == 2


@pytest.mark.parametrize("gap", [0.5, 40.0, 30_000.0])
def test_a_drift_towards_a_stop_ends_there_however_far_it_is(gap):
    m = Model("far")
    m.v, m.stop = One(), Stop(gap=gap)
    Se(effort=0.1) >> m.v >> [I(mass=1), m.stop]
    rest = m.compile().steady_state()
    assert rest["stop.displacement"] == pytest.approx(gap, rel=1e-9)
    assert rest["I.momentum"] == pytest.approx(0, abs=1e-9)


def test_a_ball_that_loses_nothing_is_refused_after_two_rounds(monkeypatch):
    rounds = counted(monkeypatch)
    with pytest.raises(SolveError, match="it switches over and over again, at the same states"):
        ball(2, 9.81, 1, 1.0).compile().steady_state()
    assert len(rounds) <= 3
