"""The orifice damper: closed forms, power balance, the features of the paper's Figure 1, its use in tests."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.control import Direct
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var, substitute
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.integrate import RK4
from bondloop.rigs import DamperData, Emulated, OrificeDamper, PlayData, mounted, nothing_mounted
from bondloop.signals import Sine
from bondloop.transfer import ServoHydraulic

AREA, VOLUME, BULK = 15e-4, 300e-6, 1e9  # the standard damper's data
C1, C2 = 2.4e11, 3e15
THRESHOLD, WIDTH = 35e5, 5e5
P1, P2 = 5e9, 3e13


def root(c1, c2, pressure):
    """Flow through an orifice, by solving c1 q + c2 q² = Δp numerically."""
    return brentq(lambda q: c1 * q + c2 * q * q - pressure, 0, 1)


def moved(damper, outputs=("interface.effort",)):
    return mounted(damper).compile(outputs=list(outputs))


@pytest.mark.parametrize("velocity", [1e-4, 2e-3, -7e-3, 0.05, -0.4])
def test_steady_force_is_the_closed_form_of_the_orifice(velocity):
    """du Bois 2010, eq. 16 at rest: A v = q(Δp), so Δp = c1 q + c2 q|q|."""
    system = moved(OrificeDamper(poppets=False))
    q = AREA * velocity
    start = {"oil.displacement": 1e-7 * math.copysign(1, velocity)}
    rest = system.steady_state({"interface.flow": velocity}, initial=start)
    pressure = 4 * BULK / VOLUME * rest["oil.displacement"]
    assert pressure == pytest.approx(C1 * q + C2 * q * abs(q), rel=1e-9)


@pytest.mark.parametrize("velocity", [5e-3, 0.03, 0.2])
def test_steady_force_with_poppet_valves(velocity):
    system = moved(OrificeDamper.standard())

    def flow(pressure):
        opening = math.tanh(max(pressure - THRESHOLD, 0) / WIDTH)
        return root(C1, C2, pressure) + opening * root(P1, P2, pressure)

    expected = brentq(lambda p: flow(p) - AREA * velocity, 0, 400e5)
    run = system.simulate(0.6, {"interface.flow": velocity}, times=np.linspace(0, 0.6, 61), max_step=1e-3)
    assert run["interface.effort"][-1] == pytest.approx(AREA * expected, rel=1e-5)


@pytest.mark.parametrize("make", [OrificeDamper.standard, OrificeDamper.large])
def test_small_motions_see_a_spring_and_a_dashpot_in_series(make):
    """du Bois 2010, eq. 23: f = c_d k_d s/(c_d s + k_d) x; per velocity without the s above."""
    damper = make()
    local = moved(damper).linearise()
    omega = 2 * np.pi * np.array([0.1, 3.0, 9.0, 40.0, 300.0])
    found = local.frequency_response(omega)[:, 0, 0]
    c = AREA**2 * damper.data.laminar
    k = 4 * BULK * AREA**2 / VOLUME  # two chambers of V/2 in parallel: 2 * B A²/(V/2)
    np.testing.assert_allclose(found, c * k / (c * 1j * omega + k), rtol=1e-9)
    assert (damper.data.small_damping, damper.data.stiffness) == pytest.approx((c, k), rel=1e-12)


def test_the_volume_is_that_of_both_chambers():
    """Before any oil has flowed each chamber's pressure moves by B A y/(V/2): together 4 B A y/V."""
    system = moved(OrificeDamper.standard())
    run = system.simulate(1e-6, {"interface.flow": 0.1}, times=[0, 1e-6])
    chamber = BULK * AREA * (0.1 * 1e-6) / (VOLUME / 2)
    assert run["interface.effort"][-1] / AREA == pytest.approx(2 * chamber, rel=1e-3)


@pytest.mark.parametrize("play", [None, "0.15 mm"])
def test_power_balance(play):
    """What flows in is stored or dissipated; every resistor, the poppet valves too, only dissipates."""
    damper = OrificeDamper.standard(play=play, seal_friction=50)
    sinks = ["orifice", "poppet", "seal", *(["grease"] if play else [])]
    names = [f"{s}.{w}" for s in sinks for w in ("effort", "flow")]
    stores = ["oil.displacement", *(["contact.displacement", "mass.momentum"] if play else [])]
    system = moved(damper, ["interface.effort", *names, *stores])
    w, amplitude = 2 * np.pi * 3.5, 2e-3
    t = np.linspace(0, 0.2, 20_001)
    v = amplitude * w * np.cos(w * t)
    run = system.simulate(
        0.2, {"interface.flow": lambda s: amplitude * w * math.cos(w * s)}, times=t, max_step=1e-3, rtol=1e-7
    )
    lost = np.zeros_like(t)
    for s in sinks:
        power = run[f"{s}.effort"] * run[f"{s}.flow"]
        assert power.min() >= -1e-9 * power.max()
        assert power.max() > 0
        lost += power
    stored = 0.5 * 4 * BULK / VOLUME * run["oil.displacement"] ** 2
    if play:
        beyond = np.maximum(np.abs(run["contact.displacement"]) - 0.15e-3 / 2, 0)
        stored += 0.5 * 1e8 * beyond**2 + run["mass.momentum"] ** 2 / (2 * 4.0)
    given = run["interface.effort"] * v - lost
    energy = np.concatenate([[0], np.cumsum((given[1:] + given[:-1]) / 2) * (t[1] - t[0])])
    np.testing.assert_allclose(stored, energy, atol=2e-4 * np.abs(run["interface.effort"] * v).max() * 0.1)


def loop(amplitude, **options):
    """Displacement, velocity and force over the second period of 3.5 Hz (du Bois 2010, Figure 10)."""
    w = 2 * np.pi * 3.5
    t = np.linspace(0, 2 / 3.5, 2001)
    system = moved(OrificeDamper.standard(**options))
    run = system.simulate(
        t[-1], {"interface.flow": lambda s: amplitude * w * math.cos(w * s)}, times=t, max_step=1e-3
    )
    last = t >= 1 / 3.5
    return amplitude * np.sin(w * t[last]), amplitude * w * np.cos(w * t[last]), run["interface.effort"][last]


def test_features_of_figure_1():
    # C: without valves 66 mm/s would need 80 kN; they limit it. D: on the way up the pressure overshoots.
    _, v, force = loop(3e-3)
    unlimited = AREA * (C1 * AREA * v.max() + C2 * (AREA * v.max()) ** 2)
    plateau = force[np.argmax(v)]
    assert unlimited > 7 * plateau
    assert AREA * THRESHOLD < plateau < 1.1 * AREA * THRESHOLD
    assert force.max() > 1.15 * plateau
    # Skewed: force lags velocity by the oil's compression, so at zero velocity there is still force.
    assert abs(force[np.argmin(np.abs(v))]) > 0.5 * plateau
    # A: the force stays at zero while the rod crosses the play, and nowhere else.
    x, _, force = loop(1e-3, play="0.15 mm")
    free = np.abs(force) < 0.03 * force.max()
    runs = np.split(np.flatnonzero(free), np.flatnonzero(np.diff(np.flatnonzero(free)) > 1) + 1)
    widths = sorted((abs(x[r[-1]] - x[r[0]]) for r in runs), reverse=True)[:2]
    assert widths == pytest.approx([0.15e-3, 0.15e-3], rel=0.15)
    assert np.count_nonzero(np.abs(loop(1e-3)[2]) < 0.03 * force.max()) < 0.2 * np.count_nonzero(free)


# ---------------------------------------------------------------- in a test


class Mass(Model):
    def __init__(self, m, c, k):
        self.left, self.right = Port(), Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.left >> self.force >> self.v >> self.right
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]
        self.v >> I(mass=m)


def structure():
    s = Model("structure")
    s.base, s.body, s.damper = Sf("v0"), Mass(2000.0, 4e3, 3e6), OrificeDamper.large()
    s.base >> s.body.left
    s.body.right >> s.damper.rod
    return s


def test_it_is_a_physical_half_and_a_simulated_damper():
    """Mounted on the actuator it gives nearly what it gives when bonded to the structure in the computer."""
    whole = structure()
    numerical, _ = whole.cut("body.right >> damper.rod")
    test = HybridTest(
        numerical,
        rig=Emulated(mounted(OrificeDamper.large()), ServoHydraulic(), substeps=4),
        controller=Direct(),
        excitation={"v0": Sine("1 mm", 1.0).derivative()},
        reference=(whole, ["body.v.flow", "damper.rod.effort"]),
        record=["rig.specimen.oil.displacement"],
        rate=1000,
    )
    run = test.run(3.0)
    assert run.completed
    assert "rig.specimen.orifice.laminar" in test.parameters
    late = run.time > 1.0
    bonded, on_the_rig = run["reference.body.v.flow"][late], run["desired.velocity"][late]
    error = np.sqrt(np.mean((on_the_rig - bonded) ** 2) / np.mean(bonded**2))
    # The damper's force comes 1/193 s (the loop's velocity gain) late, which is like a mass of -c_d/193 on
    # the 2 t; what that does to k/(k + i w c - w² m) at 1 Hz is 0.4 %. The hold and the rig's gain add to it.
    assert error < 0.02
    force = run["reference.damper.rod.effort"][late]
    assert np.abs(run["measured.force"][late]).max() == pytest.approx(np.abs(force).max(), rel=0.03)


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_c_and_numpy_agree():
    system = moved(OrificeDamper.standard(play="0.1 mm"))
    period, v = 0.25e-3, Var("v")
    goal = system.output_exprs["interface.effort"]
    step = RK4().discretise(system, period, lambda _: {system.input_vars[0]: v}, [goal])
    states = dict(zip(system.state_vars, system.initial(), strict=True))
    tick = Tick(
        "damper", period, Var("t"), Var("n"), (v,), states, dict(system.values()), (*step.first, *step.rest),
        (Channel("force", substitute(goal, step.table)),),
    )  # fmt: skip
    wave = 0.08 * np.cos(2 * np.pi * 6 * period * np.arange(2000))[:, None]
    c, python = (Runner(tick, b).run(2000, wave).channels["force"] for b in ("c", "numpy"))
    assert np.abs(c).max() > AREA * THRESHOLD  # the valves were open
    np.testing.assert_allclose(c, python, atol=1e-9 * np.abs(c).max())


def test_nothing_mounted_gives_no_force():
    system = nothing_mounted().compile()
    assert system.simulate(0.1, {"interface.flow": 1.0})["interface.effort"][-1] == 0


def test_mounting_names_the_ports():
    with pytest.raises(ModelError, match="name the port at which to mount"):
        mounted(Mass(1, 1, 1))
    with pytest.raises(ModelError, match="no port 'end' at orifice_damper; its ports are rod"):
        mounted(OrificeDamper(), "end")
    with pytest.raises(ModelError, match="it has no ports"):
        mounted(structure())
    original = OrificeDamper.standard()
    mounted(original)
    assert "interface" not in original.parts  # a copy is mounted


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DamperData(laminar=0), InputError, r"DamperData\(laminar\): expected a number above 0"),
        (lambda: OrificeDamper.standard(volume="-1 L"), InputError, "above 0"),
        (
            lambda: OrificeDamper.standard(play="-1 mm"),
            InputError,
            r"PlayData\(gap\): expected a number above 0",
        ),
        (lambda: OrificeDamper(PlayData()), InputError, "expected DamperData"),
        (lambda: OrificeDamper(play="1 xyz"), InputError, "unknown unit"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_descriptions_can_be_read_back():
    for value in (DamperData(area="10 cm^2"), PlayData("0.2 mm")):
        assert type(value).from_description(value.describe()) == value
    assert OrificeDamper(play=0).ports.keys() == OrificeDamper().ports.keys()
    assert "contact" not in OrificeDamper(play=0).parts
