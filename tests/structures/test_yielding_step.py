"""Newmark's step of structures with laws that remember: converged by hand, and by what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop.devices import Bilinear, BoucWen, Multilinear
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.tick import Product
from bondloop.integrate import NewmarkAverage
from bondloop.integrate.newmark import local_laws
from bondloop.structures import Frame2D, PointMass, ShearBuilding, Structure, attach, field_form, static

STEPS, RATE = 120, 100


def building(law, storeys=3):
    """Return a chain of storeys, each with a device; the model, M, K and how devices are stretched."""
    m = ShearBuilding(masses=[2e3] * storeys, stiffnesses=[2e5] * storeys).assemble()
    model = field_form(m, "b", forces={f"floor[{storeys}].ux": "push"})
    B = np.eye(storeys) - np.eye(storeys, k=-1)
    for i in range(storeys):
        way = {f"floor[{i + 1}].ux": 1.0} | ({f"floor[{i}].ux": -1.0} if i else {})
        attach(model, f"device_{i}", law, way)
    return model, m, B


def by_hand(law, m, B, push):
    """Step with average accelerations, return maps and Newton's method, until it has converged."""
    M, K, h = m.M.toarray(), m.K.toarray(), 1 / RATE
    k, b, share = law.stiffness, law.hardening, law.isotropic
    u, v, load = np.zeros((3, len(M)))
    plastic, back, growth = np.zeros((3, len(B)))
    record = []

    def excess(e):
        ahead = k * (e - plastic) - back
        return np.maximum(np.abs(ahead) - law.yield_force - growth, 0.0), np.sign(ahead)

    def forces(e):
        over, sense = excess(e)
        return k * (e - plastic) - sense * (1 - b) * over

    for step in range(STEPS):
        record.append(u.copy())
        over, sense = excess(B @ u)
        plastic = plastic + sense * (1 - b) * over / k
        back, growth = back + sense * (1 - share) * b * over, growth + share * b * over
        load[-1] = push(step * h)
        a = np.linalg.solve(M, load - K @ u - B.T @ forces(B @ u))
        load[-1] = push((step + 1) * h)
        w = u + h * v + h * h / 2 * a
        for _ in range(50):
            out = load - K @ w - B.T @ forces(B @ w) - M @ (4 / h**2 * (w - u) - 4 / h * v - a)
            if np.abs(out).max() < 1e-7:
                break
            slopes = np.where(excess(B @ w)[0] > 0, b * k, k)
            w = w + np.linalg.solve(4 / h**2 * M + K + (B.T * slopes) @ B, out)
        v = 2 / h * (w - u) - v
        u = w
    return np.array(record), plastic


def run_of(model, m, push, iterations, backend="numpy"):
    """Return the floors' motion in the tick."""
    record = [f"s.{dof}.displacement" for dof in m.dofs]
    simulation = bl.Simulation(
        {"s": model},
        excitation={"push": push},
        rate=RATE,
        record=record,
        integrator=NewmarkAverage(iterations),
    )
    run = Runner(simulation.tick, backend=backend, quick=True).run(STEPS)
    return np.column_stack([run.channels[name][:STEPS] for name in record]), simulation.tick


@settings(max_examples=3, deadline=None)
@given(
    law=st.builds(Bilinear, st.just(8e5), st.floats(1e3, 9e3), st.floats(0, 0.5), st.floats(0, 1)),
    hertz=st.floats(0.4, 3.0),
)
def test_motion_is_that_of_converged_steps(law, hertz):
    """With some sweeps the motion is that of Newton's method, carried to its end in every step."""
    push = bl.signals.Sine(9e3, hertz)
    model, m, B = building(law)
    expected, _ = by_hand(law, m, B, push)
    found, _ = run_of(model, m, push, 8)
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()


def test_it_yields_sweeps_converge_and_twins_agree():
    law, push = Bilinear(8e5, 4e3, 0.02), bl.signals.Sine(9e3, 1.0)
    _, m, B = building(law)
    expected, plastic = by_hand(law, m, B, push)
    assert np.abs(plastic).min() > 1e-3
    errors = []
    for sweeps in (1, 2, 4, 8):
        found, _ = run_of(building(law)[0], m, push, sweeps)
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert errors[0] < 0.05
    assert errors[3] < 1e-6
    assert errors[0] > errors[1] > errors[2]
    twin, _ = run_of(building(law)[0], m, push, 2, "numpy")
    same, _ = run_of(building(law)[0], m, push, 2, "c")
    assert np.abs(twin - same).max() < 1e-12 * np.abs(same).max()


def test_which_systems_are_linear_with_laws():
    for law, local in ((Bilinear(), True), (Multilinear(), True), (BoucWen(), False)):
        answer = local_laws(building(law)[0].compile())
        assert (answer is not None) is local
        assert answer is None or len(answer.laws) == 3
    plain = field_form(ShearBuilding(masses=[1.0], stiffnesses=[1.0]).assemble(), "plain")
    assert local_laws(plain.compile()) is None


def test_work_grows_with_the_devices_and_not_with_their_square():
    """A tall column on one hinge: its step has no full matrix of the size of all states."""
    s = Structure("mast")
    s.node("foot")
    s.node("top", y=30.0)
    s.line("foot", "top", n=40, element=Frame2D("foot", "top", E=210e9, A=1e-2, I=1e-4, rho=7850))
    s.add(PointMass("top", m=500.0, dofs=("ux", "uy")))
    s.support("foot", "ux", "uy")
    model = field_form(s.assemble(free=True), "mast", forces={"top.ux": "push"})
    attach(model, "hinge", Bilinear("5 MN m/rad", 2e4, 0.05), {"foot.rz": 1})
    tick = bl.Simulation({"s": model}, excitation={"push": 1.0}, rate=RATE, integrator=NewmarkAverage()).tick
    states = len(model.compile().states)
    full = [p.matrix.shape for p in tick.steps if isinstance(p, Product) and isinstance(p.matrix, np.ndarray)]
    assert max(rows * columns for rows, columns in full) < states**2 / 3


@pytest.mark.parametrize("sweeps", [0, 3])
def test_nothing_yields_and_the_step_is_that_of_the_elastic_structure(sweeps):
    law, push = Bilinear(8e5, 1e9, 0.02), bl.signals.Sine(9e3, 1.3)
    model, m, B = building(law)
    found, _ = run_of(model, m, push, sweeps)
    expected, _ = by_hand(law, m, B, push)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("load", [1.1e5, 5e5])
def test_gravity_on_a_beam_comes_first_and_stays(load):
    """Brought on slowly, a load at midspan leaves the frame where statics has it: elastic, and yielding."""
    s, column, beam = Structure("portal"), (210e9, 1.5e-2, 2.5e-4), (210e9, 8.5e-3, 2.3e-4)
    for line, x in (("a", 0.0), ("b", 7.0)):
        s.node(f"{line}0", x=x)
        s.support(f"{line}0")
        for node in (line, f"{line}_beam"):
            s.node(node, x=x, y=3.5)
        s.add(Frame2D(f"{line}0", line, **dict(zip("EAI", column, strict=True))))
        s.add(PointMass(line, m=4e4, Jz=4e3))
        s.tie(line, f"{line}_beam", "ux", "uy")
        s.add(PointMass(f"{line}_beam", m=0.0, Jz=500.0, dofs=("rz",)))
    s.node("middle", x=3.5, y=3.5)
    s.add(PointMass("middle", m=1e4, Jz=500.0))
    for line in "ab":
        s.add(Frame2D(f"{line}_beam", "middle", **dict(zip("EAI", beam, strict=True))))
    s.rayleigh(0.2, 5e-3)
    model = field_form(s.assemble(free=True), "portal")
    for line in "ab":
        attach(model, f"hinge_{line}", Bilinear(3e8, 2.6e5, 0.02), {f"{line}_beam.rz": 1, f"{line}.rz": -1})
    still = static(model, {"middle.uy": -load})[model.dofs.index("middle.uy")]
    model.apply_pattern({"middle.uy": -load}, "gravity")
    run = bl.Simulation(
        {"p": model}, excitation={"gravity": bl.signals.Rise(1, end=3)}, rate=500,
        integrator=NewmarkAverage(iterations=4), record=["p.middle.uy.displacement", "p.hinge_a.effort"],
    ).run(4.0)  # fmt: skip
    assert run["p.middle.uy.displacement"][-1] == pytest.approx(still, rel=1e-3)
    assert (abs(run["p.hinge_a.effort"][-1]) > 2.6e5) == (load > 2e5), (
        "the larger load makes the hinges yield"
    )


@pytest.mark.parametrize(("word", "factor"), [("yield_force", 1.5), ("hardening", 2.0), ("stiffness", 0.4)])
def test_a_law_takes_other_parameters_without_a_new_step(word, factor):
    """Only what is linear is worked into matrices: a device whose parameter is set later is that device."""
    channel, name = "b.floor[3].ux.displacement", f"b.device_0.{word}"
    test = bl.Simulation(
        {"b": building(Bilinear(1e5, 1e3, 0.05))[0]}, excitation={"push": bl.signals.Sine(4e3, 1.0)},
        rate=RATE, integrator=NewmarkAverage(iterations=6), record=[channel],
    )  # fmt: skip
    own = {v.name: x for v, x in test.tick.parameters.items()}
    assert test.tick.worked_in == {n for n in own if not n.startswith("b.device_")}
    value = factor * own[name]
    runner = Runner(test.tick, backend="numpy")
    before = runner.run(STEPS).channels[channel]
    runner.reset()
    later = runner.run(STEPS, parameters={name: value}).channels[channel]
    built = Runner(test.with_values({name: value}).tick, backend="numpy").run(STEPS).channels[channel]
    largest = np.abs(built).max()
    assert np.abs(later - built).max() < 1e-9 * largest
    assert np.abs(before - built).max() > 1e-3 * largest
