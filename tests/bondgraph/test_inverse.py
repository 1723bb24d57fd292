"""Inverses: against Lagrange's equations, frequency responses of the forward model, closed forms, power."""

import random

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import (
    GY,
    MTF,
    SS,
    TF,
    C,
    Df,
    I,
    ICField,
    Model,
    One,
    R,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
)
from bondloop.engine.codegen import Runner, compiler
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.time_derivative import rate_name
from bondloop.errors import BondloopError, CausalityError, InputError, SolveError

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A seed makes the whole graph: a smaller seed is no simpler graph."""
J1, J2, M, L1, L2, G = 0.3, 0.2, 2.0, 0.7, 0.5, 9.81


def arm():
    """Two links in a vertical plane with a mass at the tip; torque 2 acts between the links."""
    m = Model("arm")
    m.w1, m.w2, m.elbow, m.between = One(), One(), One(), Zero()
    m.shoulder = Se("torque1")
    _ = m.shoulder >> m.w1 >> m.between >> m.w2
    _ = Se("torque2") >> m.elbow >> m.between
    m.x, m.y, m.sum_x, m.sum_y = One(), One(), Zero(), Zero()
    for w, angle, length, inertia, start in (("w1", "angle1", L1, J1, 0.4), ("w2", "angle2", L2, J2, 1.3)):
        turn, integral = getattr(m, w), SignalIntegrator(initial=start)
        setattr(m, angle, integral)
        _ = turn >> Df() >> integral
        _ = turn >> I(inertia=inertia)
        for total, law in (
            (m.sum_x, lambda a, r=length: -r * sp.sin(a)),
            (m.sum_y, lambda a, r=length: r * sp.cos(a)),
        ):
            lever = MTF(law)
            _ = turn >> lever >> total
            _ = integral >> lever
    _ = m.sum_x >> m.x >> I(mass=M)
    _ = m.sum_y >> m.y >> I(mass=M)
    _ = Se(effort=-M * G) >> m.y
    return m.compile(outputs=["w1.flow", "w2.flow"])


def lagrange(angles, speeds, accelerations):
    """Torques of the arm, from T = J1 w1²/2 + J2 w2²/2 + M v²/2 and V = M g (L1 sin a1 + L2 sin a2)."""
    (a1, a2), (w1, w2), (d1, d2) = angles, speeds, accelerations
    c, s = M * L1 * L2 * np.cos(a1 - a2), M * L1 * L2 * np.sin(a1 - a2)
    first = (J1 + M * L1**2) * d1 + c * d2 + s * w2**2 + M * G * L1 * np.cos(a1)
    second = (J2 + M * L2**2) * d2 + c * d1 - s * w1**2 + M * G * L2 * np.cos(a2)
    return first + second, second  # the second torque also acts back on the first link


def at(system, states, inputs, goals):
    """Values of goals of a system at one instant."""
    x = [states.get(name, 0.0) for name in system.states]
    u = [inputs.get(name, 0.0) for name in system.inputs]
    return system.function([system.expression(g) for g in goals])(x, u, [], list(system.values().values()))


ARM = arm()
JOINTS = ARM.inverse(["w1.flow", "elbow.flow"], ["torque1", "torque2"])
TIP = ARM.inverse(["x.flow", "y.flow"], ["torque1", "torque2"])
number = st.floats(-3, 3)


@given(number, number, number, number, number, number)
@settings(max_examples=30, deadline=None)
def test_joint_torques_of_a_two_link_arm_are_lagranges(a1, a2, w1, w2, d1, d2):
    motion = {
        "w1.flow": w1,
        "elbow.flow": w2 - w1,
        "d/dt w1.flow": d1,
        "d/dt elbow.flow": d2 - d1,
        "Se2": -M * G,
    }
    torques = at(JOINTS, {"angle1.value": a1, "angle2.value": a2}, motion, ["torque1", "torque2"])
    np.testing.assert_allclose(torques, lagrange((a1, a2), (w1, w2), (d1, d2)), rtol=1e-10, atol=1e-10)


@given(number, number, number, number, number, number)
@settings(max_examples=30, deadline=None)
def test_torques_for_a_motion_of_the_tip_are_lagranges(a1, a2, w1, w2, d1, d2):
    assume(abs(np.sin(a1 - a2)) > 1e-3)  # stretched, the tip cannot move along the arm
    jacobian = np.array([[-L1 * np.sin(a1), -L2 * np.sin(a2)], [L1 * np.cos(a1), L2 * np.cos(a2)]])
    turning = np.array([[-L1 * np.cos(a1), -L2 * np.cos(a2)], [-L1 * np.sin(a1), -L2 * np.sin(a2)]])
    v = jacobian @ [w1, w2]
    a = jacobian @ [d1, d2] + turning @ [w1**2, w2**2]
    motion = {"x.flow": v[0], "y.flow": v[1], "d/dt x.flow": a[0], "d/dt y.flow": a[1], "Se2": -M * G}
    torques = at(TIP, {"angle1.value": a1, "angle2.value": a2}, motion, ["torque1", "torque2"])
    np.testing.assert_allclose(torques, lagrange((a1, a2), (w1, w2), (d1, d2)), rtol=1e-7, atol=1e-7)


def test_the_tip_leaves_the_angles_as_zero_dynamics():
    assert TIP.states == ("angle1.value", "angle2.value")
    assert TIP.inversion.orders == {"x.flow": 1, "y.flow": 1, "Se2": 0}
    assert TIP.zero_dynamics().verdict == "marginal"  # where the arm starts is remembered


def test_a_stretched_arm_is_refused_when_it_is_met():
    motion = {"x.flow": 1.0, "y.flow": 0.0}
    with pytest.raises(SolveError, match="no unique solution"):
        at(TIP, {"angle1.value": 0.7, "angle2.value": 0.7}, motion, ["torque1"])


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("system", [JOINTS, TIP], ids=["joints", "tip"])
def test_c_agrees_with_the_evaluator(system):
    rng = np.random.default_rng(5)
    x = dict(zip(system.states, rng.uniform(0.3, 1.2, 2) * [1, -1], strict=True))
    u = dict(zip(system.inputs, rng.normal(size=len(system.inputs)), strict=True))
    goals = ["torque1", "torque2", "w2.flow"]
    expressions = [system.expression(g) for g in goals]
    states = {v: x[v.name] for v in system.state_vars} | {v: u[v.name] for v in system.input_vars}
    channels = tuple(Channel(g, e) for g, e in zip(goals, expressions, strict=True))
    steps = tuple(system.schedule(expressions))
    assert any(not isinstance(step, Assign) for step in steps) == (system is TIP)  # the tip needs loops
    tick = Tick("inverse", 0.1, Var("t"), Var("k"), (), states, system.values(), steps, channels, {})
    expected = at(system, x, u, goals)
    for backend in ("c", "numpy"):
        result = Runner(tick, backend).run(1)
        np.testing.assert_allclose([result.channels[g][0] for g in goals], expected, rtol=1e-12)


# ---------------------------------------------------------------- drawn models


def response(inverse, inputs, outputs, omega):
    """Inputs per output at one frequency: the rates of the outputs are powers of j omega."""
    H = inverse.frequency_response([omega])[0]
    rows = [inverse.outputs.index(u) for u in inputs]
    total = np.zeros((len(inputs), len(outputs)), dtype=complex)
    for j, name in enumerate(outputs):
        rate = name
        for order in range(inverse.inversion.orders[name] + 1):
            total[:, j] += H[rows, inverse.inputs.index(rate)] * (1j * omega) ** order
            rate = rate_name(rate)
    return total


def random_graph(rng):
    """Junctions joined as a tree (sometimes with a ring), elements on them with arrows either way."""
    model = Model("random")
    count = rng.randint(1, 7)
    junctions = [rng.choice([Zero, One])() for _ in range(count)]
    model.j = junctions
    edges = [(rng.randrange(i), i) for i in range(1, count)]
    if count > 2 and rng.random() < 0.4:
        edges.append(tuple(rng.sample(range(count), 2)))
    angle = None
    for a, b in edges:
        tail, head = (junctions[a], junctions[b]) if rng.random() < 0.5 else (junctions[b], junctions[a])
        kind = rng.random()
        if kind < 0.2:
            tail >> TF(modulus=rng.uniform(0.4, 2.5)) >> head
        elif kind < 0.35:
            tail >> GY(ratio=rng.uniform(0.4, 2.5)) >> head
        elif kind < 0.45 and any(isinstance(j, One) for j in junctions):
            if angle is None:
                angle = SignalIntegrator(initial=0.3)
                next(j for j in junctions if isinstance(j, One)) >> Df() >> angle
            modulated = MTF(lambda q: 1 + q * q)
            angle >> modulated
            tail >> modulated >> head
        else:
            tail >> head
    for i, junction in enumerate(junctions):
        for _ in range(rng.randint(1 if len(junctions) == 1 else 0, 3)):
            element = rng.choices(
                [
                    I(mass=rng.uniform(0.3, 3)),
                    C(stiffness=rng.uniform(0.3, 3)),
                    C(law=lambda q: q + q**3),
                    R(damping=rng.uniform(0.3, 3)),
                    R(law=lambda f: 2 * f + f**3),
                ],
                [4, 3, 1, 4, 1],
            )[0]
            if rng.random() < 0.7:
                junction >> element
            else:
                element >> junction
        if rng.random() < 0.25:
            (Se if rng.random() < 0.6 else Sf)(f"u{i}") >> junction
    return model


def one_ports(model):
    """Every one-port with its path and whether its arrow points into it."""
    return [
        (path, part, part._bonds[0].head is part)
        for path, part in model.walk()
        if isinstance(part, (I, C, R, Se, Sf))
    ]


@given(st.integers(0, 10**6))
@settings(max_examples=35, deadline=None, phases=NO_SHRINKING)
def test_the_inverse_of_a_random_graph_is_the_inverse_of_its_response(seed):
    rng = random.Random(seed)
    model = random_graph(rng)
    try:
        inputs = model.compile().inputs
        assume(inputs)
        count = min(len(inputs), rng.choice([1, 1, 2]))
        chosen = rng.sample(inputs, count)
        names = [path + word for path, *_ in one_ports(model) for word in (".effort", ".flow")]
        outputs = rng.sample(names, count)
        forward = model.compile(outputs=outputs)
        omega = rng.uniform(0.2, 3)
        G = forward.frequency_response([omega])[0][:, [forward.inputs.index(u) for u in chosen]]
    except BondloopError:
        assume(False)
    sizes = np.linalg.svd(G)[1]
    regular = sizes[0] > 1e-9 and sizes[-1] > 1e-9 * sizes[0]
    try:
        inverse = forward.inverse(outputs, chosen)
    except SolveError:
        assert not regular, "refused, though the response has an inverse"
        return
    if not regular:  # accepted because away from rest it can be inverted; then it says so
        assert not forward.is_linear
        assert any("at the start the inverse is singular" in note for note in inverse.notes)
        return
    assume(not inverse.inversion.singular)
    product = response(inverse, chosen, outputs, omega) @ G
    np.testing.assert_allclose(product, np.eye(count), atol=1e-7 * max(1.0, np.linalg.cond(G)))


def chain(rng, count):
    """Masses in a row on hardening springs and dampers that are not linear."""
    m = Model("chain")
    m.v = [One() for _ in range(count)]
    m.mass = [I(mass=rng.uniform(0.5, 3)) for _ in range(count)]
    _ = Se("F") >> m.v[0]
    for i in range(count):
        _ = m.v[i] >> m.mass[i]
        if i + 1 < count:
            m_between, slip = Zero(), One()
            _ = m.v[i] >> m_between >> m.v[i + 1]
            _ = m_between >> slip
            k, h = rng.uniform(5, 30), rng.choice([0.0, rng.uniform(1, 20)])
            _ = slip >> C(law=lambda q, k, h: k * q + h * q**3, k=k, h=h)
            if rng.random() < 0.5:
                _ = slip >> R(law=lambda f, c: c * (f + f**3), c=rng.uniform(0.5, 3))
    m.wall = C(stiffness=rng.uniform(5, 30))
    _ = m.v[-1] >> m.wall
    return m


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None, phases=NO_SHRINKING)
def test_the_forward_model_follows_what_its_inverse_asks_for(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 3)
    forward = chain(rng, count).compile(outputs=[f"v[{rng.randrange(count)}].flow"])
    (output,) = forward.outputs
    inverse = forward.inverse(output, "F")
    w, b = rng.uniform(0.5, 2), rng.uniform(0, 6)
    motion = {}
    name = output
    for order in range(inverse.inversion.orders[output] + 1):
        motion[name] = lambda t, k=order: 0.3 * w**k * np.sin(w * t + b + k * np.pi / 2)
        name = rate_name(name)
    times = np.linspace(0, 1, 1601)  # the spline misses 6e-5 of a fast start with 401
    asked = inverse.simulate(1.0, motion, times=times, rtol=1e-11)
    assume(np.abs(asked["F"]).max() < 1e4)  # unstable zero dynamics may have run away already
    start = {s: asked[s][0] for s in forward.states}
    from scipy.interpolate import make_interp_spline

    force = make_interp_spline(times, asked["F"], k=7)
    run = forward.simulate(1.0, {"F": lambda t: float(force(t))}, start, times=times, rtol=1e-11)
    np.testing.assert_allclose(run[output], asked[output], atol=2e-6)


def test_samples_of_a_forward_run_give_back_the_input():
    m = two_masses(c=2.0)
    forward = m.compile(outputs=["v2.flow"])
    times = np.linspace(0, 2, 2001)
    run = forward.simulate(2.0, {"F": lambda t: np.sin(3 * t) ** 3}, times=times)
    back = forward.inverse("v2.flow", "F").simulate(2.0, {"v2.flow": (times, run["v2.flow"])}, times=times)
    np.testing.assert_allclose(back["F"][50:-50], np.sin(3 * times[50:-50]) ** 3, atol=1e-4)


def test_the_program_grows_with_the_square_of_the_order_and_no_faster():
    sizes = []
    for count in (3, 5, 7):
        m = Model("row")
        m.v = [One() for _ in range(count)]
        _ = Se("F") >> m.v[0]
        for i in range(count):
            _ = m.v[i] >> I(mass=1)
            if i + 1 < count:
                joint = Zero()
                _ = m.v[i] >> joint >> m.v[i + 1]
                _ = joint >> C(stiffness=10)
        inverse = m.compile().inverse(f"v[{count - 1}].flow", "F")
        # Undamped, the force has to act through every mass and every spring.
        assert inverse.inversion.orders == {f"v[{count - 1}].flow": 2 * count - 1}
        assert inverse.zero_dynamics().verdict == "none"
        sizes.append(len(inverse.definitions))
    assert sizes[2] < sizes[0] * (13 / 5) ** 2


# ---------------------------------------------------------------- zero dynamics


def two_masses(c, k=50.0, ground=0.0, drive=None, load=None):
    m = Model("two")
    m.v1, m.v2, m.between, m.slip = One(), One(), Zero(), One()
    m.drive = drive or Se("F")
    _ = m.drive >> m.v1 >> m.between >> m.v2
    _ = m.between >> m.slip
    m.m1, m.m2, m.spring = I(mass=2.0), I(mass=3.0), C(stiffness=k)
    _ = m.v1 >> m.m1
    _ = m.v2 >> m.m2
    _ = m.slip >> m.spring
    if c is not None:
        m.damper = R(damping=c)
        _ = m.slip >> m.damper
    if ground:
        _ = m.v2 >> C(stiffness=ground)
    if load is not None:
        m.load = load
        _ = m.v2 >> m.load
    return m


def test_zeros_of_two_masses_are_those_of_the_closed_form():
    near = two_masses(c=2.0).compile().inverse("v1.flow", "F").zero_dynamics()
    # the other mass on its spring and damper: 3 s² + 2 s + 50 = 0
    np.testing.assert_allclose(sorted(near.zeros, key=np.imag), sorted(np.roots([3, 2, 50]), key=np.imag))
    assert near.is_stable
    far = two_masses(c=2.0).compile().inverse("v2.flow", "F")
    # v2 = (c s + k) / (...) F: one zero at -k/c, two rates
    np.testing.assert_allclose(far.zero_dynamics().zeros, [-25.0])
    assert far.inversion.orders == {"v2.flow": 2}
    assert far.states == ("spring.displacement",)
    stiff = two_masses(c=None).compile().inverse("v2.flow", "F")
    assert (stiff.inversion.orders, stiff.states) == ({"v2.flow": 3}, ())
    assert stiff.zero_dynamics().verdict == "none"
    free = two_masses(c=None).compile().inverse("v1.flow", "F").zero_dynamics()
    assert free.verdict == "marginal"
    np.testing.assert_allclose(np.abs(free.zeros), np.sqrt(50 / 3))


def test_unstable_zero_dynamics_are_said():
    # A mass on a negative spring, such as a pendulum that stands: 3 s² + 2 s + 50 - 80 = 0, and where it is.
    inverse = two_masses(c=2.0, ground=-80.0).compile().inverse("v1.flow", "F")
    judged = inverse.zero_dynamics()
    assert judged.verdict == "unstable"
    assert not judged.is_stable
    np.testing.assert_allclose(judged.zeros.real.max(), np.roots([3, 2, -30]).max())
    assert any("grow without bound" in note for note in inverse.notes)
    assert inverse.zero_dynamics(values={"C.stiffness": 10.0}).verdict != "unstable"


def test_the_linear_zeros_agree_with_those_of_the_pencil():
    forward = two_masses(c=2.0, ground=7.0).compile(outputs=["v1.flow"])
    pencil = forward.numeric().zeros("v1.flow", "F")
    zeros = forward.inverse("v1.flow", "F").zero_dynamics().zeros
    np.testing.assert_allclose(np.sort_complex(zeros), np.sort_complex(pencil), atol=1e-9)


# ---------------------------------------------------------------- refusals


def test_refusals_say_why():
    system = two_masses(c=2.0).compile()
    with pytest.raises(InputError, match=r"'G'.*F"):
        system.inverse("v1.flow", "G")
    with pytest.raises(InputError, match="v3"):
        system.inverse("v3.flow", "F")
    with pytest.raises(SolveError, match=r"2 outputs .* imposed by 1 inputs"):
        system.inverse(["v1.flow", "v2.flow"], "F")
    with pytest.raises(InputError, match="each once"):
        system.inverse(["v1.flow", "v1.flow"], ["F", "F"])
    apart = two_masses(c=2.0)
    apart.w = One()
    _ = Se("G") >> apart.w >> I(mass=1)
    with pytest.raises(SolveError, match=r"no path from G to v1\.flow"):
        apart.compile().inverse("v1.flow", "G")
    with pytest.raises(SolveError, match="relative degree is not defined"):
        two_masses(c=0.0).compile().inverse("v2.flow", "F")
    both = two_masses(c=2.0)
    both.push = Se("P")
    _ = both.push >> both.v1
    with pytest.raises(SolveError, match="another output has taken it"):
        both.compile().inverse(["v1.flow", "v2.flow"], ["F", "P"])


def test_rates_of_a_motion_given_as_a_function_are_asked_for():
    inverse = two_masses(c=2.0).compile().inverse("v2.flow", "F")
    with pytest.raises(InputError, match=r"needs d/dt v2\.flow, d2/dt2 v2\.flow"):
        inverse.simulate(1.0, {"v2.flow": np.sin})
    with pytest.raises(InputError, match="at least 6 samples"):
        inverse.simulate(1.0, {"v2.flow": ([0.0, 1.0], [0.0, 1.0])})
    still = inverse.simulate(1.0, {"v2.flow": 0.0}, {"spring.displacement": 0.1})
    # nothing moves but the spring, along its zero: q = 0.1 exp(-25 t), held by the damper
    np.testing.assert_allclose(still["spring.displacement"], 0.1 * np.exp(-25 * still.time), atol=1e-9)


def magnet():
    """A coil that holds a mass: flux²/2κ is its pull, so none can push."""
    m = Model("maglev")
    m.i, m.v = One(), One()
    m.magnet = ICField(
        energy=lambda coil, gap, kappa, g0: coil**2 * (gap + g0) / (2 * kappa),
        momentum=["coil"], kappa=1e-3, g0=0.002, initial={"gap": 0.01, "coil": 0.0},
    )  # fmt: skip
    Se("V") >> m.i >> [m.magnet.coil, R(resistance=5)]
    Se("W") >> m.v >> [I(mass=0.5), m.magnet.gap, R(damping=0.3)]
    return m.compile(outputs=["v.flow"]).inverse("v.flow", "V")


def test_a_singular_point_asks_for_another():
    """Without a weight there is no flux to hold it, and what changes the pull is zero; with one there is."""
    inverse = magnet()
    with pytest.raises(SolveError, match=r"at v.flow = 0, W = 0, .*: .*singular.*give another with inputs="):
        inverse.zero_dynamics()
    assert list(inverse.zero_dynamics(inputs={"W": 4.9}).zeros) == [0]


def test_a_motion_that_no_input_can_give_is_said_to_be_impossible_perhaps():
    """A magnet only pulls upwards, so nothing falls faster than g."""
    falling = {"v.flow": lambda t: 12 * t, "d/dt v.flow": 12.0, "d2/dt2 v.flow": 0.0, "W": 4.905}
    run = magnet().simulate(1, falling)
    with pytest.raises(SolveError, match="what is asked for may be impossible"):
        run["V"]


def test_paths_that_cancel_are_left_out():
    # The sum of the momenta does not feel the force between two masses, whatever their sizes.
    m = Model("pair")
    m.v1, m.v2, m.between, m.muscle = One(), One(), Zero(), One()
    _ = Se("inner") >> m.muscle >> m.between
    _ = m.v1 >> m.between >> m.v2
    m.m1, m.m2 = I(mass=2), I(mass=3)
    _ = Se("outer") >> m.v1 >> m.m1
    _ = m.v2 >> m.m2
    system = m.compile()
    system = system.replaced(
        outputs={"sum": system.expression("m1.momentum") + system.expression("m2.momentum"),
                 "v2": system.expression("v2.flow")}
    )  # fmt: skip
    inverse = system.inverse(["sum", "v2"], ["outer", "inner"])
    outer, inner = at(inverse, {}, {"d/dt sum": 5.0, "d/dt v2": 2.0}, ["outer", "inner"])
    assert (outer, inner) == pytest.approx((5.0, 6.0))


# ---------------------------------------------------------------- bicausal source-sensors


def test_bicausal_source_sensors_compile_to_the_inverse():
    model = two_masses(c=2.0, drive=SS("neither"), load=SS("both"))
    inverse = model.compile()
    assert inverse.inversion is not None
    assert inverse.outputs == ("drive.effort", "drive.flow")
    assert {"load.flow", "load.effort"} <= set(inverse.inputs)
    plain = two_masses(c=2.0, load=SS("effort")).compile(outputs=["drive.effort", "drive.flow"])
    other = plain.inverse("load.flow", "F")
    rng = np.random.default_rng(1)
    u = dict(zip(inverse.inputs, rng.normal(size=len(inverse.inputs)), strict=True))
    x = {"spring.displacement": 0.3}
    assert set(other.inputs) == set(inverse.inputs)
    goals = ["drive.effort", "drive.flow", "spring.effort"]
    np.testing.assert_allclose(at(inverse, x, u, goals), at(other, x, u, goals), rtol=1e-12)


def test_power_is_balanced_in_an_inverse():
    model = two_masses(c=2.0, drive=SS("neither"), load=SS("both"))
    inverse = model.compile()
    w = 1.7
    motion = {}
    for name, size in (("load.flow", 0.4), ("load.effort", 3.0)):
        rate = name
        for order in range(inverse.inversion.orders[name] + 1):
            motion[rate] = lambda t, k=order, a=size: a * w**k * np.cos(w * t + k * np.pi / 2)
            rate = rate_name(rate)
    run = inverse.simulate(1.0, motion, times=np.linspace(0, 1, 4001), rtol=1e-11, max_step=0.01)
    power_in = run["drive.effort"] * run["drive.flow"] - run["load.effort"] * run["load.flow"]
    lost = 2.0 * run["slip.flow"] ** 2
    stored = run["m1.momentum"] ** 2 / 4 + run["m2.momentum"] ** 2 / 6 + 25 * run["spring.displacement"] ** 2
    from scipy.integrate import simpson

    gained = simpson(power_in - lost, x=run.time)
    assert gained == pytest.approx(stored[-1] - stored[0], rel=1e-8)


def test_bicausal_source_sensors_come_in_pairs():
    with pytest.raises(CausalityError, match=r"1 source-sensors impose both.*\(load\) and 0 impose neither"):
        two_masses(c=2.0, load=SS("both")).compile()
    with pytest.raises(InputError, match="'both', 'neither'"):
        SS("all")
