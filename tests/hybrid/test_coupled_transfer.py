"""Coupled transfer systems and couplers in a test, against a simulation that NumPy does by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from bondloop.bondgraph import CField, I, Input, Model, One, Port, R, RField, Se
from bondloop.control import ControlLaw, Direct, RestoringForce, VirtualJunction
from bondloop.engine.codegen import Runner
from bondloop.errors import InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.integrate import RK4, Exact, NewmarkAverage
from bondloop.rigs import Emulated
from bondloop.safety import Interlock, Limits
from bondloop.signals import Sine
from bondloop.substructure import LinearCoupler, Pins
from bondloop.transfer import MassSpringDamper, Process, ProcessMatrix, coupled_transfer, first_order

RATE, SAMPLES = 500.0, 400
PERIOD = 1 / RATE


class Plain(ControlLaw):
    """Sends the desired displacement."""

    def step(self, desired, measured):  # noqa: ARG002 - as every law
        """Return the desired displacement."""
        return desired.displacement


class Averaging(ControlLaw):
    """Sends to each of two transfer systems what both should do, and a share of what is measured."""

    coupled = True
    share: float = 0.2

    def step(self, desired, measured):
        """Return both commands."""
        x, y = desired.displacement, measured.displacement
        return x + self.share * (x[::-1] - y)


def symmetric(rng, size, least):
    """Draw a positive definite matrix."""
    X = rng.normal(size=(2, 2))
    return size * (X @ X.T + least * np.eye(2))


def drawn(seed):
    """Draw a plant with three poles and up to one zero an entry, and the matrices of both halves."""
    rng = np.random.default_rng(seed)

    def entry(i, j):
        a = np.poly(-rng.uniform(20, 200, 3))
        b = np.atleast_1d(np.poly(-rng.uniform(20, 300, rng.integers(0, 2))))
        gain = rng.uniform(0.8, 1.2) if i == j else rng.uniform(-0.4, 0.4)
        return Process(tuple(gain * b / b[-1]), tuple(a / a[-1]))

    G = ProcessMatrix(tuple(tuple(entry(i, j) for j in range(2)) for i in range(2)))
    mass = rng.uniform(50, 200, 2)
    return (
        G,
        mass,
        symmetric(rng, 3e2, 1.0),
        symmetric(rng, 2e4, 0.5),
        symmetric(rng, 5.0, 0.5),
        symmetric(rng, 2e3, 0.5),
    )


def structure(mass, damping, stiffness, own_damping, own_stiffness):
    """Return two coupled masses, joined to a specimen with stiffness and damping at both."""
    whole = Model("two")
    whole.k, whole.c, whole.v = CField(stiffness), RField(damping), [One(), One()]
    whole.specimen = Model()
    whole.specimen.k, whole.specimen.c = CField(own_stiffness), RField(own_damping)
    whole.specimen.end, whole.specimen.w = [Port(), Port()], [One(), One()]
    whole.mass = [I(mass=m) for m in mass]
    whole.load = [Se("f0"), Se("f1")]
    for i in range(2):
        whole.load[i] >> whole.v[i] >> [whole.mass[i], whole.k[i], whole.c[i]]
        whole.specimen.end[i] >> whole.specimen.w[i] >> [whole.specimen.k[i], whole.specimen.c[i]]
        whole.v[i] >> whole.specimen.end[i]
    return whole.cut("v[0] >> specimen.end[0]", "v[1] >> specimen.end[1]")


def held(A, B):
    """Return the exact transition and gain for held inputs."""
    n, m = B.shape
    e = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * PERIOD)
    return e[:n, :n], e[:n, n:]


def plant_space(G):
    """Return A, B, C with a companion form for each entry by itself."""
    blocks, inward, outward = [], [], []
    for i, row in enumerate(G.entries):
        for j, entry in enumerate(row):
            a = np.array(entry.denominator) / entry.denominator[0]
            b = np.array(entry.numerator) / entry.denominator[0]
            n = len(a) - 1
            A = np.eye(n, k=1)
            A[-1] = -a[:0:-1]
            B, C = np.zeros((n, 2)), np.zeros((2, n))
            B[-1, j] = 1.0
            C[i, : len(b)] = b[::-1]
            blocks.append(A), inward.append(B), outward.append(C)
    n = sum(map(len, blocks))
    A, at = np.zeros((n, n)), 0
    for block in blocks:
        A[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return A, np.vstack(inward), np.hstack(outward)


def numpy_run(seed, T, gain, share=None):
    """Simulate the test without bondloop: both halves exact between samples, forces and commands held.

    T are the strokes per coordinate, ``gain`` what the desired strokes are multiplied by.
    """
    G, mass, damping, stiffness, own_damping, own_stiffness = drawn(seed)
    W = np.diag(1 / mass)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-W @ stiffness, -W @ damping]])
    F, H = held(A, np.vstack([np.zeros((2, 2)), W]))
    a, b, c = plant_space(G)
    f, h = held(a, b)
    x, z = np.zeros(4), np.zeros(len(a))
    back = np.linalg.inv(T)
    wanted, moved = np.zeros((SAMPLES, 2)), np.zeros((SAMPLES, 2))
    for k in range(SAMPLES):
        wanted[k], moved[k] = T @ x[:2], c @ z
        # More poles than zeros by two: the velocity does not jump with the command.
        force = own_stiffness @ back @ moved[k] + own_damping @ back @ (c @ a @ z)
        u = gain @ wanted[k] if share is None else wanted[k] + share * (wanted[k][::-1] - moved[k])
        load = 5.0 * np.sin(2 * np.pi * np.array([2.0, 3.0]) * k * PERIOD)
        x, z = F @ x + H @ (load - force), f @ z + h @ u
    return wanted, moved


def hybrid(seed, controller, coupler=None, **more):
    """Return the same as a test."""
    G, mass, damping, stiffness, own_damping, own_stiffness = drawn(seed)
    numerical, physical = structure(mass, damping, stiffness, own_damping, own_stiffness)
    return HybridTest(
        numerical,
        rig=Emulated(physical, G.actuator(), substeps=1, integrator=Exact(), coupler=coupler),
        controller=controller,
        excitation={"f0": Sine(5.0, 2.0), "f1": Sine(5.0, 3.0)},
        rate=RATE,
        integrator=Exact(),
        **more,
    )


def motions(test):
    """Run a test; return desired and actual displacements."""
    run = test.run((SAMPLES - 1) * PERIOD)
    words = ("desired.displacement", "actual.displacement")
    return [np.column_stack([run[f"{word}[{i}]"] for i in range(2)]) for word in words]


def agree(seed, test, T=None, gain=None, share=None):
    """Compare; the unit is the largest motion, of each interface by itself: one that rests would fail."""
    ours = motions(test)
    theirs = numpy_run(seed, np.eye(2) if T is None else T, np.eye(2) if gain is None else gain, share)
    for x, y in zip(ours, theirs, strict=True):
        assert (np.abs(x[:SAMPLES] - y).max(axis=0) < 1e-9 * np.abs(y).max(axis=0)).all()


@given(seed=st.integers(0, 2**20))
@example(1140)  # so stiff that neither moves 0.1 mm
@settings(max_examples=8, deadline=None)
def test_a_coupled_plant_runs_as_numpy_says(seed):
    agree(seed, hybrid(seed, Plain()))


@given(seed=st.integers(0, 2**20), share=st.floats(0.0, 0.3))
@settings(max_examples=4, deadline=None)
def test_a_law_of_vectors_runs_as_numpy_says(seed, share):
    agree(seed, hybrid(seed, Averaging(share)), share=share)


@given(seed=st.integers(0, 2**20), lever=st.floats(0.1, 0.9))
@settings(max_examples=6, deadline=None)
def test_a_linear_coupler_runs_as_numpy_says(seed, lever):
    T = np.array([[1.0, lever], [0.8, -0.5]])
    agree(seed, hybrid(seed, Plain(), LinearCoupler(tuple(map(tuple, T)))), T)


def test_direct_commands_divide_by_the_matrix_of_static_gains():
    """G(0) from the entries, not from the equations that `Direct` looks at."""
    static = np.array([[entry.gain for entry in row] for row in drawn(3)[0].entries])
    agree(3, hybrid(3, Direct()), gain=np.linalg.inv(static))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_check_knows_the_poles_of_a_coupled_loop(seed):
    """Eigenvalues of one step of the whole loop, written down with NumPy."""
    G, mass, damping, stiffness, own_damping, own_stiffness = drawn(seed)
    W = np.diag(1 / mass)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-W @ stiffness, -W @ damping]])
    F, H = held(A, np.vstack([np.zeros((2, 2)), W]))
    a, b, c = plant_space(G)
    f, h = held(a, b)
    felt = own_stiffness @ c + own_damping @ c @ a
    whole = np.block([[F, -H @ felt], [h @ np.eye(2, 4), f]])
    radius = np.abs(np.linalg.eigvals(whole)).max()
    check = hybrid(seed, Plain()).check(seconds=1.0)
    assert check.steps[0].spectral_radius == pytest.approx(radius, abs=1e-9)
    assert check.steps[0].stable == (radius < 1)


def lever(theta, x=0.0, pins=((0.3, 0.2), (0.25, -0.15))):
    """Return the strokes of two actuators along x, by hand."""
    return np.array([x + a * (np.cos(theta) - 1) - b * np.sin(theta) for a, b in pins])


def test_pins_follow_a_large_rotation():
    """An actuator that follows at once, a structure that turns by half a radian: strokes and pose by hand."""
    fast = first_order(1.0, 1e-4)
    still = first_order(1e-12, 1e-4)
    G = ProcessMatrix(((fast, still), (still, fast)))
    numerical, physical = structure(
        [1.0, 1.0], np.eye(2) * 2, np.eye(2) * 40, np.eye(2) * 1e-9, np.eye(2) * 1e-9
    )
    test = HybridTest(
        numerical,
        rig=Emulated(physical, G.actuator(), substeps=32, coupler=Pins(((0.3, 0.2), (0.25, -0.15)))),
        controller=Plain(),
        excitation={"f0": Sine(1.0, 0.5), "f1": Sine(20.0, 0.5)},
        rate=RATE,
        record=["numerical.k[0].displacement", "numerical.k[1].displacement"],
    )
    run = test.run(2.0)
    x, theta = (run[f"numerical.k[{i}].displacement"] for i in range(2))
    assert np.abs(theta).max() > 0.5
    wanted = np.array([run[f"desired.displacement[{i}]"] for i in range(2)])
    assert np.allclose(wanted, lever(theta, x), atol=1e-12)
    # One sample later the actuators are there, and Newton's method finds the pose they were sent to.
    pose = np.array([run[f"pose[{i}]"] for i in range(2)])
    assert np.allclose(pose[:, 1:], [x[:-1], theta[:-1]], atol=1e-6)
    assert np.allclose(
        lever(pose[1], pose[0]), [run[f"actual.displacement[{i}]"] for i in range(2)], atol=1e-13
    )


@given(seed=st.integers(0, 2**20), theta=st.floats(-0.6, 0.6), anchored=st.booleans())
@settings(max_examples=20, deadline=None)
def test_slopes_of_pins_are_those_of_their_strokes(seed, theta, anchored):
    """Central differences; and forces keep the power."""
    from bondloop.engine.ir.expr import Const

    rng = np.random.default_rng(seed)
    points = ((0.3, 0.1), (0.2, -0.3), (-0.3, 0.05))
    ways = (
        {"anchors": ((2.0, 0.3), (1.5, -1.0), (-0.2, -2.0))}
        if anchored
        else {"directions": ((1.0, 0.2), (1.0, -0.3), (0.1, 2.0))}
    )
    pins = Pins(points, ("x", "y", "theta"), **ways)
    q = np.array([*rng.uniform(-0.1, 0.1, 2), theta])

    def strokes(at):
        return np.array([e.value for e in pins.strokes([Const(v) for v in at])])

    here = [Const(v) for v in q]
    J = np.array([[e.value for e in row] for row in pins.slopes(here)])
    numeric = np.array([(strokes(q + d) - strokes(q - d)) / 2e-6 for d in 1e-6 * np.eye(3)]).T
    assert np.allclose(J, numeric, atol=1e-8)
    force, rate = rng.normal(size=3), rng.normal(size=3)
    effort = np.array([e.value for e in pins.efforts(here, [Const(v) for v in force])])
    assert effort @ rate == pytest.approx(force @ J @ rate)
    back = [e.value for e in pins.forces(here, [Const(v) for v in effort])]
    assert np.allclose(back, force)


def test_a_computed_force_takes_the_place_of_a_measured_one():
    """NumPy: Newmark whose newest force gives the newest motion, backward differences, a third force."""
    G, mass, damping, stiffness, *_ = drawn(11)
    K, C, M = (
        np.array(X)
        for X in ([[900, 90], [80, 700], [5, 9]], [[3, 1], [1, 4], [1, 2]], [[0.1, 0], [0, 0.2], [0, 0]])
    )
    numerical, physical = structure(mass, damping, stiffness, np.eye(2), np.eye(2))
    numerical.extra = Se("extra")
    numerical.extra >> numerical.v[1]
    law = RestoringForce(*(tuple(map(tuple, X.tolist())) for X in (K, C, M)), inputs=("extra",))
    test = HybridTest(
        numerical,
        rig=Emulated(physical, G.actuator(), substeps=1, integrator=Exact()),
        controller=Plain(),
        excitation={"f0": Sine(5.0, 2.0), "f1": Sine(5.0, 3.0)},
        rate=RATE,
        integrator=NewmarkAverage(newest=True),
        restoring_force=law,
    )
    wanted, moved = motions(test)
    a, b, c = plant_space(G)
    f, h = held(a, b)
    z, T = np.zeros(len(a)), PERIOD
    S = np.linalg.inv(stiffness + 2 / T * damping + 4 / T**2 * np.diag(mass))
    u, v, acc = np.zeros(2), np.zeros(2), np.zeros(2)
    q0, r0 = np.zeros(2), np.zeros(2)
    for k in range(SAMPLES):
        q = c @ z
        r = (q - q0) / T
        F = K @ q + C @ r + M @ (r - r0) / T
        q0, r0 = q, r
        p = 5.0 * np.sin(2 * np.pi * np.array([2.0, 3.0]) * k * T) - F[:2] + [0, F[2]]
        p = p + np.diag(mass) @ (4 / T**2 * u + 4 / T * v + acc) + damping @ (2 / T * u + v)
        new = S @ p
        acc, v, u = 4 / T**2 * (new - u) - 4 / T * v - acc, 2 / T * (new - u) - v, new
        assert np.abs(wanted[k] - u).max() < 1e-9 * np.abs(wanted).max()
        assert np.abs(moved[k] - q).max() < 1e-9 * np.abs(moved).max()
        z = f @ z + h @ u


def test_a_bond_graph_with_two_ports_moves_both():
    """Two springs with moving ends carry one inertia field; its poles are those of M, C and K by hand."""
    from bondloop.bondgraph import C, IField, MSf, Zero

    M, k, c = np.array([[3.0, 1.0], [1.0, 2.0]]), (4e3, 5e3), (60.0, 80.0)
    model = Model("pair")
    model.out, model.v, model.inertia = [Port(), Port()], [One(), One()], IField(M)
    model.u = [Input("v0", unit="m/s"), Input("v1", unit="m/s")]
    model.drive = [MSf(lambda s: s), MSf(lambda s: s)]
    model.stretch = [Zero(), Zero()]
    model.spring, model.damper = [C(stiffness=x) for x in k], [R(damping=x) for x in c]
    for i in range(2):
        model.u[i] >> model.drive[i] >> model.stretch[i] >> model.v[i]
        model.stretch[i] >> model.spring[i]
        model.v[i] >> [model.inertia[i], model.damper[i], model.out[i]]
    transfer = coupled_transfer(model)
    A = np.block(
        [[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, np.diag(k)), -np.linalg.solve(M, np.diag(c))]]
    )
    poles = np.sort_complex(np.linalg.eigvals(A))
    assert np.allclose(np.sort_complex(transfer.system.poles()), poles)
    _, mass, damping, stiffness, own_damping, own_stiffness = drawn(5)
    halves = structure(mass, damping, stiffness, own_damping, own_stiffness)
    rig = Emulated(halves[1], model).system()
    assert len(rig.commands) == 2
    # With the specimen on it: its stiffness and damping come to those of the pair.
    whole = [np.diag(k) + own_stiffness, np.diag(c) + own_damping]
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, X) for X in whole]])
    found = rig.system.poles()
    for pole in np.linalg.eigvals(A):
        assert np.abs(found - pole).min() < 1e-6 * abs(pole)


def behind_pins(**more):
    """Return a test whose actuators hold a turning body, with a force that is computed if asked for."""
    return hybrid(2, Plain(), Pins(((0.3, 0.2), (0.25, -0.15))), **more)


def nonlinear(test):
    """Return a test with a rig that is integrated by a scheme for what is not linear."""
    return test.replaced(rig=replace(test.rig, integrator=RK4(), substeps=4))


def test_computer_and_rig_behind_a_coupler_are_the_test():
    """The tick in two halves, as in real time: strokes measured, strokes commanded."""
    test = nonlinear(behind_pins())
    whole = test.run(59 * PERIOD)
    computer, rig = Runner(test.computer_tick), Runner(test.rig_tick())
    names = [v.name for v in test.rig_tick().inputs]
    commands = []
    for _ in range(60):
        peek = Runner(rig.tick)
        peek._state, peek._first = rig._state.copy(), rig._first
        seen = [v[0] for v in peek.run(1, np.zeros((1, 2))).channels.values()]
        out = computer.run(1, [seen]).channels
        commands.append([out[n][0] for n in names])
        rig.run(1, [commands[-1]])
    np.testing.assert_array_equal(np.array(commands), np.column_stack([whole[n] for n in names]))


def test_an_interlock_watches_the_strokes():
    limit = 0.3 * np.abs(nonlinear(behind_pins()).run(2.0)["actual.displacement[0]"]).max()
    interlock = Interlock(Limits(displacement=float(limit)))
    run = nonlinear(behind_pins(interlock=interlock)).run(2.0)
    assert np.abs(run["actual.displacement[0]"]).max() < 2 * limit
    assert run["interlock.cause"].max() > 0


def test_without_feedback_the_specimen_is_not_felt():
    soft = nonlinear(behind_pins(feedback=False)).run(1.0)
    law = RestoringForce(((1e3, 0.0), (0.0, 1e3)))
    computed = nonlinear(behind_pins(feedback=False, restoring_force=law)).run(1.0)
    assert np.array_equal(soft["desired.displacement[0]"], computed["desired.displacement[0]"])
    felt = nonlinear(behind_pins(restoring_force=law)).run(1.0)
    assert not np.array_equal(soft["desired.displacement[0]"], felt["desired.displacement[0]"])


def test_the_pose_of_the_rig_stays_with_its_strokes():
    run = nonlinear(behind_pins(record=["rig.pose[0]", "rig.pose[1]"])).run(4.0)
    x, theta = run["rig.pose[0]"], run["rig.pose[1]"]
    strokes = [run[f"actual.displacement[{i}]"] for i in range(2)]
    assert np.abs(lever(theta, x) - strokes).max() < 1e-8 * np.abs(strokes).max()


def test_what_cannot_work_is_refused():
    G, mass, damping, stiffness, own_damping, own_stiffness = drawn(1)
    with pytest.raises(InputError, match="as many rows as columns"):
        ProcessMatrix(((first_order(1.0, 0.1),), ()))
    with pytest.raises(InputError, match="more poles than zeros"):
        ProcessMatrix(((Process((1.0, 1.0), (2.0, 1.0)),),)).actuator()
    same = first_order(1.0, 0.1)
    with pytest.raises(InputError, match="depend on each other"):
        ProcessMatrix(((same, same), (same, same))).actuator()
    physical = structure(mass, damping, stiffness, own_damping, own_stiffness)[1]
    with pytest.raises(ModelError, match="2 interfaces, 2 transfer systems with 3 ports"):
        Emulated(physical, [G.actuator(), MassSpringDamper(1, 1, 1)]).system()
    with pytest.raises(InputError, match="no inverse"):
        LinearCoupler(((1, 2), (2, 4)))
    with pytest.raises(InputError, match="moves no actuator"):
        Pins(((0.1, 0.0), (0.3, 0.0)))
    with pytest.raises(InputError, match="as many different coordinates"):
        Pins(((0.1, 0.1), (0.3, 0.2)), ("x", "x"))
    with pytest.raises(InputError, match="direction or an anchor"):
        Pins(((0.1, 0.1), (0.3, -0.2)), directions=((1, 0), (1, 0)), anchors=((1, 0), (1, 0)))
    pair = [MassSpringDamper(1, 1, 1), MassSpringDamper(1, 1, 1)]
    with pytest.raises(InputError, match="works in the coordinates of the interfaces"):
        hybrid(1, VirtualJunction(pair), LinearCoupler(((1, 0.1), (1, -0.1))))
    with pytest.raises(InputError, match="sample by sample"):
        hybrid(1, Direct(), LinearCoupler(((1, 0.1), (1, -0.1))), coupling="continuous")
    with pytest.raises(InputError, match="motion of 1 interfaces"):
        hybrid(1, Direct(), restoring_force=RestoringForce(((1e3,),)))
    with pytest.raises(InputError, match="unknown free input 'elsewhere'"):
        hybrid(1, Direct(), restoring_force=RestoringForce(((1, 0), (0, 1), (1, 1)), inputs=("elsewhere",)))
    with pytest.raises(InputError, match="expected 2 rows for 2 interfaces"):
        RestoringForce(((1, 0), (0, 1), (1, 1)))
    with pytest.raises(InputError, match="matrices of one shape"):
        RestoringForce(((1, 0), (0, 1)), ((1.0,),))
