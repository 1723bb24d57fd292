"""Sub-step Newmark: against plain Newmark, its own equations, bad input."""

import itertools
import re

import numpy as np
import pytest

from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.errors import InputError
from bondloop.integrate import SubStep
from bondloop.integrate.structural import EquationOfMotion, simulate_structure
from bondloop.integrate.structural.base import Motion, Scheme
from bondloop.integrate.substep import Coupling


def tick_with(scheme, M, C, K, period, *, interface, spring, load=None, start=1e-3):
    """Return a tick whose specimen is a spring at once: F = -spring * (displacement that the command means).

    In acceleration control the rig has no memory: the force is that of Newmark's displacement for the
    command.
    """
    n = len(M)
    dofs = [f"u{i}" for i in range(n)]
    motion = Motion.named(dofs, "")
    force = [Var(f"force{i}") for i in interface]

    def impose(commands, _number):
        pairs = []
        for f, c, i in zip(force, commands, interface, strict=True):
            u, v, a = motion.displacement[i], motion.velocity[i], motion.acceleration[i]
            d = c
            if scheme.control == "acceleration":
                d = u + period * v + (0.5 - scheme.alpha) * period**2 * a + scheme.alpha * period**2 * c
            pairs.append((f, -spring * d))
        return [Update(tuple(pairs))]

    loads = load or (lambda _fraction: [Const(0.0)] * n)
    coupling = Coupling(interface, force, impose)
    made = scheme.advance(EquationOfMotion(M, C, K, period, motion, loads, coupling))
    states = dict.fromkeys((*motion.displacement, *motion.velocity, *motion.acceleration, *force), 0.0)
    states.update(made.states)
    states[motion.velocity[-1]] = start
    channels = [Channel(v.name, v) for v in (*motion.displacement, *motion.acceleration, *force, *made.error)]
    return Tick(
        "sub", period, Var("t"), Var("k"), (), states, made.parameters, tuple(made.steps), tuple(channels)
    )


def chain(n):
    K = 1e3 * (np.diag([2.0] * (n - 1) + [1.0]) - np.diag([1.0] * (n - 1), 1) - np.diag([1.0] * (n - 1), -1))
    M = np.diag(1 + np.random.default_rng(n).random(n))
    return M, 0.1 * M + 1e-3 * K, K


def newmark(M, C, K, period, steps, start, alpha=0.25, delta=0.5):
    """Plain implicit Newmark in acceleration form."""
    n = len(M)
    u, v, a = np.zeros(n), np.zeros(n), np.zeros(n)
    v[-1] = start
    Me = M + delta * period * C + alpha * period**2 * K
    found = []
    for _ in range(steps):
        found.append(u)
        up = u + period * v + (0.5 - alpha) * period**2 * a
        vp = v + (1 - delta) * period * a
        a = np.linalg.solve(Me, -C @ vp - K @ up)
        u, v = up + alpha * period**2 * a, vp + delta * period * a
    return np.array(found)


@pytest.mark.parametrize("control", ["acceleration", "displacement"])
@pytest.mark.parametrize(("alpha", "delta"), [(0.25, 0.5), (0.3025, 0.6)])
def test_without_a_specimen_it_is_newmark_whatever_the_sub_steps(control, alpha, delta):
    M, C, K = chain(3)
    for k in (1, 4):
        tick = tick_with(SubStep(k, alpha, delta, control=control), M, C, K, 0.01, interface=[2], spring=0.0)
        run = Runner(tick, "numpy").run(200)
        expected = newmark(M, C, K, 0.01, 200, 1e-3, alpha, delta)
        for i in range(3):
            assert np.abs(run.channels[f"u{i}.displacement"] - expected[:, i]).max() < 1e-15


@pytest.mark.parametrize("control", ["acceleration", "displacement"])
def test_many_sub_steps_approach_newmark_of_the_whole(control):
    """With force a function of the command, sub-steps iterate towards the implicit solution."""
    M, C, K = chain(3)
    spring = 300.0
    whole = K.copy()
    whole[2, 2] += spring
    expected = newmark(M, C, whole, 0.01, 300, 1e-3)[:, 2]
    errors = []
    for k in (1, 2, 4, 8, 16):
        tick = tick_with(SubStep(k, control=control), M, C, K, 0.01, interface=[2], spring=spring)
        found = Runner(tick, "numpy").run(300).channels["u2.displacement"]
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert all(b < 0.7 * a for a, b in itertools.pairwise(errors))
    assert errors[-1] < 0.06


def test_the_error_force_is_the_last_change_of_the_measured_force():
    """E = M a + C v + K u - F_m - L - f = F_m,k-1 - F_m,k: with f in E, as the conventions say."""
    M, C, K = chain(2)
    for scheme in (SubStep(1), SubStep(1, P=-1.0), SubStep(1, P=-0.5, I=3.0, D=0.002)):
        run = Runner(tick_with(scheme, M, C, K, 0.01, interface=[1], spring=300.0), "numpy").run(100)
        force, error = run.channels["force1"], run.channels["scheme.error.u1"]
        assert np.abs(error[1:] - (force[:-1] - force[1:])).max() < 1e-10 * np.abs(force).max()
        assert np.abs(run.channels["scheme.error.u0"][1:]).max() < 1e-10 * np.abs(force).max()


def test_equation_9_term_by_term():
    M, C, K = chain(2)
    P, I, D, h = -0.5, 3.0, 0.002, 0.01
    tick = tick_with(SubStep(2, P=P, I=I, D=D), M, C, K, h, interface=[1], spring=300.0)
    runner = Runner(tick, "numpy")
    total, old = 0.0, 0.0
    for _ in range(50):
        error = runner.run(1).channels["scheme.error.u1"][0]
        total += error
        expected = P * (error + h * I * total + D / h * (error - old))
        assert runner.state["scheme.compensation.u1"] == pytest.approx(expected, rel=1e-12, abs=1e-15)
        old = error


def test_compensation_is_a_parameter_that_needs_no_new_tick():
    M, C, K = chain(2)
    plain = tick_with(SubStep(2), M, C, K, 0.01, interface=[1], spring=300.0)
    own = tick_with(SubStep(2, P=-1.0), M, C, K, 0.01, interface=[1], spring=300.0)
    assert np.allclose(one_step(plain, {"scheme.P": -1.0}).matrix, one_step(own).matrix, rtol=0, atol=1e-14)


def test_two_interfaces_compiled_equal_their_twin():
    M, C, K = chain(4)
    tick = tick_with(
        SubStep(5, P=-1.0, I=2.0, D=1e-3), M, C, K, 0.01, interface=[1, 3], spring=200.0,
        load=lambda fraction: [Const(0.1 * fraction), Const(0.0), Const(0.2), Const(0.0)],
    )  # fmt: skip
    c, python = (Runner(tick, backend).run(300).channels for backend in ("c", "numpy"))
    for name, values in c.items():
        assert np.abs(values - python[name]).max() <= 1e-12 * max(1.0, np.abs(values).max())
    assert np.abs(c["force1"]).max() > 0


def test_unconditionally_stable_without_a_specimen():
    M, _, K = chain(3)
    for period in (1e-3, 0.1, 10.0):
        found = one_step(tick_with(SubStep(3), M, 0 * M, K, period, interface=[2], spring=0.0))
        assert found.linear
        assert found.spectral_radius <= 1 + 1e-9


def test_second_order_in_the_time_step():
    """A load that vanishes at first, no specimen: halving the step quarters the error."""
    m, k = np.array([[2.0]]), np.array([[800.0]])
    errors = []
    for period in (0.01, 0.005, 0.0025):
        tick = tick_with(SubStep(2), m, 0 * m, k, period, interface=[0], spring=0.0, start=1.0)
        run = Runner(tick, "numpy").run(round(1 / period) + 1)
        # The initial acceleration is zero, as it is of a displacement of zero.
        errors.append(abs(run.channels["u0.displacement"][-1] - np.sin(20.0) / 20))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sub_steps": 0}, "sub_steps must be a whole number of at least 1; found 0"),
        ({"sub_steps": 2.5}, "sub_steps must be a whole number"),
        ({"alpha": 0.2}, "alpha = 0.2 and delta = 0.5 are not stable whatever the time step"),
        ({"delta": 0.4}, "delta = 0.4 are not stable"),
        ({"alpha": 0.25, "delta": 0.6}, "2 alpha >= delta >= 1/2 is needed"),
        ({"P": float("nan")}, "SubStep(P): expected a finite number"),
        ({"control": "force"}, "control must be 'acceleration' or 'displacement'; found 'force'"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(InputError, match=re.escape(words)):
        SubStep(**options)


def test_a_singular_effective_mass_is_refused_by_name():
    M, C, K = chain(2)
    empty = [np.zeros_like(x) for x in (M, C, K)]
    for x, full in zip(empty, (M, C, K), strict=True):
        x[0, 0] = full[0, 0]
    with pytest.raises(InputError, match=r"effective mass .* is singular at 'u1'; give it a mass"):
        tick_with(SubStep(), *empty, 0.01, interface=[1], spring=1.0)
    loose = np.array([[1.0, -1.0], [-1.0, 1.0]])
    with pytest.raises(InputError, match=r"effective mass .* is singular"):
        tick_with(SubStep(), 0 * loose, 0 * loose, loose, 0.01, interface=[1], spring=1.0)


def test_a_massless_degree_of_freedom_with_stiffness_is_fine():
    M, C, K = chain(3)
    M[1, 1] = 0.0
    found = one_step(tick_with(SubStep(3), M, C, K, 0.01, interface=[2], spring=100.0))
    assert found.stable


def test_it_is_a_scheme_that_needs_a_rig():
    scheme = SubStep(3)
    assert isinstance(scheme, Scheme)
    assert (scheme.calls, scheme.control, SubStep(control="displacement").control) == (
        3,
        "acceleration",
        "displacement",
    )
    with pytest.raises(InputError, match="SubStep commands a rig several times in a step"):
        simulate_structure(scheme, 1, 0, 4, period=0.1, steps=2, restoring=lambda u: [u[0]])


def test_a_rig_is_a_restoring_force_with_the_other_sign():
    f, u = Var("f"), Var("u")
    asked = []

    def impose(commands, number):
        asked.append((commands, number.value))
        return []

    rig = Coupling([1], [f], impose)
    for _ in range(2):
        steps, forces = rig([Const(0.0), u], [], "")
    assert asked == [([u], 0.0), ([u], 1.0)]
    assert steps == []
    assert [str(e) for e in forces] == ["0", "-f"]
