"""Ways in which a check of a hybrid test can be wrong, each judged by plain physics.

The judge is the raw motion after the input is held, limits that are left, or an integration of the complete
structure by SciPy. Nothing that the check computes takes part in it.
"""

import itertools
import math
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).parent))  # for plain_physics.py
sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))  # for small_pair.py

from plain_physics import Specimen
from small_pair import halves

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.check.suggestions import suggestion_search
from bondloop.cli.main import app
from bondloop.control import (
    MCS,
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    AdaptiveVirtualJunction,
    ConditionalTimeSeries,
    Direct,
    DiscreteMCS,
    LeadCompensation,
    PolynomialPrediction,
    RecursiveFir,
    TwoStageAdaptive,
)
from bondloop.devices import Bilinear, Gap, PowerDamper
from bondloop.files import to_toml
from bondloop.hybrid import Tunable
from bondloop.integrate import RK4, ForwardEuler
from bondloop.papers import wagg_two_mass_rig
from bondloop.rigs import (
    Emulated,
    GainError,
    RateLimit,
    Saturation,
    Sensor,
    WhiteNoise,
    coulomb,
    cubic_spring,
)
from bondloop.safety import Limits
from bondloop.signals import Sine, Table
from bondloop.transfer import MassSpringDamper, first_order


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def off(x, exact):
    """Return the rms of a difference over that of what is exact."""
    return rms(x - exact) / rms(exact)


def found(check):
    return {finding.rule for finding in check.findings}


# -------------------------------------------------------------------- motion that sustains itself, and noise

SECONDS, HELD = 8.0, 7.0
LAG = 0.01
"""Of the actuator, in s: c/k of its model."""
MASS, SHEAR, DAMPING = 2.0, 5e3, 12.0
"""Of the structure, in kg, N/m and N s/m."""
NOISES = (0.0, 1e-6, 0.1)
"""Of the load cell, in N."""

BOUNDS = {
    "yielding": (Specimen("bilinear", {"stiffness": 6e3, "yield_force": 6.0, "hardening": 0.05}), ()),
    "saturation": (Specimen("spring", {"stiffness": 4e3}), (Saturation("8 mm"),)),
    "rate limit": (Specimen("spring", {"stiffness": 4e3}), (RateLimit("100 mm/s"),)),
    "friction": (
        Specimen("coulomb", {"friction": 0.5, "width": 5e-3, "stiffness": 4e3}), (Saturation("8 mm"),)
    ),
}  # fmt: skip
"""What bounds the motion: the law of the specimen, and what the drive cannot do. Friction holds small motions
and lets larger ones grow up to the stroke."""

AMOUNTS = {"short": 0.003, "enough": 0.05}
"""Longest delay in s that a family may learn: of a lag of 10 ms too little, or more than is needed."""

FAMILIES = {
    "Direct": lambda _: Direct(),
    "AdaptiveTimeSeries": lambda most: AdaptiveTimeSeries(0.001, 2, most),
    "ConditionalTimeSeries": lambda most: ConditionalTimeSeries(0.001, 2, most),
    "AdaptiveModelBased": lambda most: AdaptiveModelBased(0.001, 2, most),
    "AdaptivePrediction": lambda most: AdaptivePrediction(0.001, 2, 0.02, 12, largest_delay=most / 2),
    "RecursiveFir": lambda most: RecursiveFir(3, largest_delay=most),
    "TwoStageAdaptive": lambda most: TwoStageAdaptive(
        3, largest_delay=most, prediction=PolynomialPrediction(0.001, order=2, span=0.02, points=12)
    ),
    "AdaptiveRemainder": lambda most: AdaptiveRemainder(
        LeadCompensation(0.001), AdaptiveTimeSeries(order=1, largest_delay=most - 0.001)
    ),
    "AdaptiveVirtualJunction": lambda most: AdaptiveVirtualJunction(
        MassSpringDamper(m=2, c=min(most / 2, LAG) * 15e3, k=15e3, drive="position"),
        ["spring.stiffness"], range=1.2, noise=1.0,
    ),
    "MCS": lambda _: MCS(20.0, 0.5, error_filter="reference", initial_gains=[0, 0, 1]),
    "DiscreteMCS": lambda _: DiscreteMCS(20.0, 0.5, error_filter="reference", initial_gains=[0, 0, 1]),
}  # fmt: skip


def parts_of(specimen):
    """Return the elements of a specimen, by name."""
    values = dict(specimen.values)
    if specimen.kind == "bilinear":
        return {"law": Bilinear(**values).element(), "r": R(damping=5.0)}
    parts = {"k": C(stiffness=values["stiffness"])}
    if specimen.kind == "coulomb":
        return {**parts, "r": coulomb(values["friction"], values["width"])}
    return {**parts, "r": R(damping=5.0)}


def wall(amplitude=1e-3, frequency=2.0):
    """Return times, and a wall's displacement that comes and goes."""
    t = np.arange(0, SECONDS, 1e-3)
    ends = np.minimum(1, np.minimum(t, SECONDS - 1 - t).clip(0) / 0.5)
    return t, amplitude * np.sin(2 * math.pi * frequency * t) * ends


def small(bound, family, amount, noise):
    """Return one mass on a spring to a moving wall, with a specimen on a lagging actuator."""
    specimen, drive = BOUNDS[bound]
    numerical, physical = halves("small", parts_of(specimen), stiffness=SHEAR, damping=DAMPING)
    t, x = wall()
    return bl.HybridTest(
        numerical,
        rig=Emulated(
            physical, MassSpringDamper(m=2, c=LAG * 15e3, k=15e3, drive="position"), drive=drive,
            sensors={"force": Sensor((WhiteNoise(noise),))} if noise else {},
        ),
        controller=FAMILIES[family](AMOUNTS[amount]), rate=1000,
        excitation={"v_wall": Table(t, np.gradient(x, 1e-3), beyond="zero")},
        limits=Limits(displacement="1 m", force="10 kN"),
    )  # fmt: skip


@cache
def exact(bound):
    """Return the displacement of the complete structure of `small`, with an ideal actuator, up to `HELD`."""
    specimen, _ = BOUNDS[bound]
    dashpot = DAMPING + (0.0 if specimen.kind == "coulomb" else 5.0)
    t, x = wall()

    def rates(now, y):
        force, slopes = specimen.law(y[0], y[1], y[2:])
        pull = SHEAR * (np.interp(now, t, x) - y[0]) - dashpot * y[1] - force
        return [y[1], pull / MASS, *slopes]

    start = [0.0] * (2 + specimen.states)
    times = np.arange(0, HELD, 1e-3)
    return solve_ivp(rates, (0, HELD), start, t_eval=times, rtol=1e-7, atol=1e-11, max_step=5e-3).y[0]


def left(test, seconds=20.0):
    """Return the rms velocity at the end of a run that is held, over that before; and the run."""
    run = test.held(HELD).run(seconds)
    if not run.completed:
        return math.inf, run
    v = run["desired.velocity"]
    return float(np.std(v[-4000:]) / np.std(v[: int(HELD * 1000)])), run


def combinations():
    """Yield every bound with every family and noise; by day most pairs have one of the noises."""
    for (i, bound), (j, family), (k, noise) in itertools.product(
        enumerate(BOUNDS), enumerate(FAMILIES), enumerate(NOISES)
    ):
        if (bound, family) == ("friction", "AdaptiveVirtualJunction"):
            continue  # which comes to rest
        slow = bound == "friction" and family in ("MCS", "DiscreteMCS")
        marks = [] if (i + j) % len(NOISES) == k and not slow else [pytest.mark.nightly]
        yield pytest.param(bound, family, noise, marks=marks, id=f"{bound}-{family}-{noise:g}")


@pytest.mark.parametrize(("bound", "family", "noise"), list(combinations()))
def test_motion_that_goes_on_is_not_passed(bound, family, noise):
    """What a drive or a specimen bounds goes on for ever; a sensor's noise does not hide that."""
    test = small(bound, family, "short", noise)
    level, _ = left(test)
    assert level > 0.5
    check = test.check(SECONDS)
    assert not check.passed
    assert check.level == "stop"


AT_REST = [f for f in FAMILIES if f not in ("Direct", "MCS", "DiscreteMCS", "AdaptivePrediction")]
"""Families that hold the structure where they may learn enough."""


def rests():
    """Yield what comes to rest; by day each family with one bound and noise."""
    for (i, bound), (j, family), noise in itertools.product(
        enumerate(BOUNDS), enumerate(AT_REST), NOISES[:2]
    ):
        marks = [] if i == j % len(BOUNDS) and bool(noise) == bool(j % 2) else [pytest.mark.nightly]
        yield pytest.param(bound, family, noise, marks=marks, id=f"{bound}-{family}-{noise:g}")


@pytest.mark.parametrize(("bound", "family", "noise"), list(rests()))
def test_what_comes_to_rest_is_not_refused_for_its_motion(bound, family, noise):
    test = small(bound, family, "enough", noise)
    level, run = left(test)
    assert level < 1e-3
    check = test.check(SECONDS)
    assert "BL503" not in found(check)
    truth = exact(bound)
    if off(run["actual.displacement"][: len(truth)], truth) < 0.05:
        assert check.passed


# ----------------------------------------------------------------------------------- one mass that is pushed


def one_mass(
    law, *, mass=2.0, stiffness=5e3, damping=30.0, lag=0.002, push=10.0, frequency=1.0, sensors=None,
    known=False, **given,
):  # fmt: skip
    """Return a mass on spring and dashpot that a sine pushes; on the rig a law that resists its motion."""
    model = Model("machine")
    model.push, model.v, model.specimen = Se("push"), One(), law
    model.mass, model.spring, model.damper = I(mass=mass), C(stiffness=stiffness), R(damping=damping)
    model.push >> model.v >> [model.mass, model.spring, model.damper, model.specimen]
    numerical, physical = model.cut("v >> specimen")
    given = {"controller": Direct(), "rate": 1000.0, **given}
    return bl.HybridTest(
        numerical, rig=Emulated(physical, first_order(1.0, lag).actuator(), sensors=sensors or {}),
        excitation={"push": Sine(push, frequency)}, reference=model if known else None, **given,
    )  # fmt: skip


def solved(law, times, *, mass=2.0, stiffness=5e3, damping=30.0, push=10.0, frequency=1.0):
    """Return displacement and force of `law` in the complete structure of `one_mass`; NaN once it is lost."""

    def rates(t, y):
        load = push * math.sin(2 * math.pi * frequency * t)
        return [y[1], (load - damping * y[1] - stiffness * y[0] - law(y[0], y[1])) / mass]

    def lost(_, y):
        return 1.0 - abs(y[0])

    lost.terminal = True
    y = solve_ivp(rates, (0, times[-1]), [0.0, 0.0], "LSODA", times, events=lost, rtol=1e-8, atol=1e-11).y
    whole = np.full((2, len(times)), np.nan)
    whole[:, : y.shape[1]] = y
    return whole[0], np.array([law(*pair) for pair in whole.T])


def force_off(run, force):
    """Return how far a force is off, whichever way the bond of the cut points."""
    return min(off(run["force"], sign * force) for sign in (1, -1))


# ------------------------------------------------------------------------------ the scheme and its reference


@pytest.mark.parametrize("known", [True, False], ids=["own reference", "no reference"])
@pytest.mark.parametrize(("damping", "push"), [(0.02, 5.0), (0.03, -20.0), (0.05, 5.0)])
def test_a_reference_of_the_same_scheme_does_not_hide_its_error(damping, push, known):
    """The explicit Euler scheme at 1 kHz adds -ω²h/2 of damping, 0.18 1/s to one mass of 3 Hz."""
    omega, mass = 2 * math.pi * 3.0, 2.0
    share, whole = 0.1, mass * omega**2
    values = {
        "mass": mass, "stiffness": (1 - share) * whole, "damping": 2 * damping * omega * mass,
        "push": push, "frequency": 3.0,
    }  # fmt: skip
    for scheme in (ForwardEuler(), RK4()):
        test = one_mass(C(stiffness=share * whole), lag=1e-4, integrator=scheme, known=known, **values)
        run = test.run(10.0)
        x, force = solved(lambda x, _: share * whole * x, run.time, **values)
        error = off(run["actual.displacement"], x)
        check = test.check(10.0)
        assert check.off["actual.displacement"] == pytest.approx(error, rel=0.02, abs=1e-3)
        assert check.off["force"] == pytest.approx(force_off(run, force), rel=0.02, abs=1e-3)
        if isinstance(scheme, ForwardEuler):
            assert error > 0.15
            assert check.level != "run"
            assert found(check) & {"BL604", "BL605"}
            assert found(check) & {"BL608", "BL609"}
            assert check.passed == (error <= 0.5)
        else:
            assert error < 0.1
            assert check.passed
            assert not found(check) & {"BL604", "BL605", "BL608", "BL609"}


# --------------------------------------------------------------------------------------- margin of amplitude

COLLAPSE = 49.7
"""Push in N with which the softening structure snaps."""


def softening(push):
    return one_mass(
        cubic_spring(3e3, -8e6), stiffness=2e3, damping=60.0, push=push, frequency=0.5,
        controller=LeadCompensation(0.0025), limits=Limits(displacement="100 mm", force="10 kN"),
    )  # fmt: skip


def snaps(push):
    times = np.arange(0, 10, 1e-3)
    x, _ = solved(
        lambda x, _: 3e3 * x - 8e6 * x**3, times, stiffness=2e3, damping=60.0, push=push, frequency=0.5
    )
    return bool(np.isnan(x).any())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("share", "near"), [(0.98, True), (0.9, True), (0.6, False)])
def test_a_specimen_near_its_collapse_needs_care(share, near, sign):
    push = sign * COLLAPSE
    assert not snaps(0.98 * push)
    assert snaps(1.02 * push)
    assert softening(share * push).run(10.0).completed
    assert softening(1.2 * share * push).run(10.0).completed is not near
    check = softening(share * push).check(10.0)
    assert check.passed
    assert (check.level != "run") == near
    assert ("BL507" in found(check)) == near
    margin = check.ensemble.excitations
    assert margin.stands * share <= 1.02
    if near:
        assert margin.breaks * share == pytest.approx(1.0, abs=0.04)


GAP, BUMPER = 2.2e-3, 1e6
"""Gap in m and stiffness in N/m of a stop with which the loop is unstable."""


def contact(push):
    return one_mass(
        Gap(stiffness=BUMPER, gap=GAP).element(), damping=60.0, lag=0.01, push=push,
        limits=Limits(displacement="50 mm", force="1 kN"),
    )  # fmt: skip


@pytest.mark.parametrize(("share", "near"), [(0.97, True), (-0.97, True), (0.5, False)])
def test_a_contact_just_beyond_the_dry_run_needs_care(share, near):
    """It is not met in the run, and with a fifth more excitation the rig is thrown."""
    peak = np.abs(contact(1.0).run(10.0)["desired.displacement"]).max()
    push = share * GAP / peak
    run, more = contact(push).run(10.0), contact(1.2 * push).run(10.0)
    assert run.completed
    assert not np.any(run["force"])
    assert more.completed is not near
    check = contact(push).check(10.0)
    assert (check.level != "run") == near
    assert ("BL507" in found(check)) == near


@pytest.mark.parametrize("linear", [True, False], ids=["linear", "cubic"])
@pytest.mark.parametrize(
    ("name", "bounds", "worst"),
    [
        pytest.param("numerical.damper.damping", (0, 100), 0.0),
        pytest.param("numerical.mass.mass", (1e-3, 4), 1e-3),
        ("numerical.damper.damping", (35, 60), None),
    ],
    ids=["damping 0", "mass 1 g", "narrow"],
)  # fmt: skip
def test_what_an_operator_may_set_is_tried(name, bounds, worst, linear):
    law = C(stiffness=4e3) if linear else cubic_spring(4e3, 1e6)
    test = one_mass(
        law, damping=40.0, lag=0.004, tunable={name: Tunable(*bounds)},
        limits=Limits(displacement="50 mm", force="5 kN"),
    )  # fmt: skip
    for value in bounds:
        assert test.replaced(values={name: value}).run(10.0).completed == (value != worst)
    check = test.check(10.0)
    assert (check.level != "run") == (worst is not None)
    assert ("BL509" in found(check)) == (worst is not None)


# ---------------------------------------------------------------------------- adaptation, instant by instant


def learning(controller, push=20.0, pulse=0.0, at=0.0):
    """Return a loop that is unstable until its controller has learnt; with a pulse of the push, if any."""
    test = one_mass(
        C(stiffness=4e3), damping=12.0, lag=0.005, push=push, frequency=2.0, controller=controller,
        limits=Limits(displacement="50 mm", force="5 kN"),
    )  # fmt: skip
    more = Table(at + np.array([0, 1e-3, 0.125, 0.126]), pulse * np.array([0, 1, 1, 0]), beyond="zero")
    return test.replaced(excitation={"push": Sine(push, 2.0) + more}) if pulse else test


@pytest.mark.parametrize("push", [20.0, -20.0])
def test_synthesis_that_has_learnt_is_not_refused(push):
    """It tracks to 2 %, a disturbance dies away, and it comes to rest; it is unstable while it learns."""
    controller = MCS(1000.0, 10.0, error_filter="reference", initial_gains=[0, 0, 1])
    test = learning(controller, push)
    run = test.held(20.0).run(30.0)
    assert run.completed
    before, after = slice(0, 20000), slice(-2000, None)
    assert off(run["actual.displacement"][before], run["desired.displacement"][before]) < 0.02
    assert rms(run["desired.velocity"][after]) < 1e-6 * rms(run["desired.velocity"][before])
    for at, pulse in ((3.0, 0.2), (6.0, -0.2), (12.0, 0.2)):
        other = learning(controller, push, pulse, at).run(20.0)
        for word in ("actual.displacement", "actual.velocity", "force"):
            apart = np.abs(other[word][before] - run[word][before]) / rms(run[word][before])
            assert apart[int(1000 * (at + 0.6)) :].max() < 0.1
    check = test.check(20.0)
    assert check.passed
    assert not found(check) & {"BL501", "BL503"}
    # Each instant has its own growth: that of the first is that of the loop without a controller.
    growths = [instant.step.growth for instant in check.instants]
    assert len(set(growths)) > len(growths) / 2
    assert growths[0] == pytest.approx(grown(push), rel=0.05)
    assert min(growths) < 0
    assert not any("100 % of the instants" in finding.text for finding in check.findings)


def grown(push):
    """Return the rate at which the loop without a controller grows once it is pushed no more."""
    v = learning(Direct(), push).held(0.2).run(1.3)["desired.velocity"]
    level = [np.abs(v[i : i + 100]).max() for i in range(400, 1300, 100)]
    return float(np.polyfit(0.1 * np.arange(len(level)), np.log(level), 1)[0])


def test_the_excitation_of_a_synthesis_is_held_with_its_reference():
    """The reference of the controller stops where it is: a jump of it to zero would be one of the error."""
    test, seconds = wagg_two_mass_rig.test(), wagg_two_mass_rig.SECONDS
    run = test.held(seconds).run(seconds + 60.0)
    assert run.completed
    held = round(seconds * test.rate)
    assert abs(run["desired.displacement"][held]) > 0.01
    error, x = run["controller.error"], run["desired.displacement"]
    assert np.abs(np.diff(error[held - 50 : held + 50])).max() < 1e-3 * np.abs(x).max()
    assert rms(run["desired.velocity"][-1000:]) < 1e-3 * rms(run["desired.velocity"][:held])
    assert off(run["actual.displacement"][:held], x[:held]) < 0.02
    check = test.check(seconds)
    assert check.passed
    assert not found(check) & {"BL501", "BL503"}


# ---------------------------------------------------------------------------------------------------- forces

MACHINE = {"mass": 2000.0, "stiffness": 5e5, "damping": 1200.0, "push": 12e3, "frequency": 2.0}


@pytest.mark.parametrize(
    ("coefficient", "exponent", "gain"),
    [(2e4, 0.5, 0.0), (2e4, 0.5, -0.5), (2e4, 0.5, -0.9), (2e4, 0.5, 0.5), (4e3, 1.0, 0.0), (1e5, 0.3, 0.0)],
)
def test_a_wrong_force_is_found(coefficient, exponent, gain):
    """A power-law damper behind a lag of 1 ms, a load cell of a wrong gain; and a damper that goes well."""
    law = PowerDamper(coefficient, exponent).element() if exponent != 1 else R(damping=coefficient)
    cell = {"force": Sensor((GainError(gain),))} if gain else {}
    test = one_mass(law, lag=0.001, sensors=cell, **MACHINE)
    run = test.run(5.0)
    x, force = solved(
        lambda _, v: coefficient * v * (v * v + 1e-6) ** ((exponent - 1) / 2), run.time, **MACHINE
    )
    motions = ("desired.displacement", "actual.displacement")
    errors = {**{name: off(run[name], x) for name in motions}, "force": force_off(run, force)}
    check = test.check(5.0)
    assert check.off == pytest.approx(errors, rel=0.02, abs=1e-3)
    worst = max(errors.values())
    assert ("BL605" in found(check)) == (0.1 < worst <= 0.5)
    assert ("BL604" in found(check)) == (worst > 0.5)
    assert (check.level == "run") == (worst <= 0.1)
    assert check.passed == (worst <= 0.5)
    assert ("BL603" in found(check)) == (abs(gain) > 0.5 and worst > 0.1)


@pytest.mark.parametrize(
    ("coefficient", "exponent", "lag", "share"),
    [
        (1e5, 0.3, 0.0005, 0.64),
        (1e5, 0.3, 0.001, 0.85),
        (1e5, 0.3, 0.002, 0.89),
        pytest.param(2e5, 0.3, 0.001, 0.98, marks=pytest.mark.nightly),
        (2e4, 0.5, 0.004, 0.0),
    ],
)  # fmt: skip
def test_chatter_is_named(coefficient, exponent, lag, share):
    """The force of a damper of a small exponent swings at some 100 Hz, where the structure moves at 2 Hz."""
    test = one_mass(PowerDamper(coefficient, exponent).element(), lag=lag, **MACHINE)
    force = test.run(5.0)["force"]
    lines = np.abs(np.fft.rfft((force - force.mean()) * np.hanning(len(force)))) ** 2
    fast = np.fft.rfftfreq(len(force), 1e-3) > 25.0
    assert lines[fast].sum() / lines.sum() == pytest.approx(share, abs=0.02)
    check = test.check(5.0)
    assert check.passed == (share < 0.1)
    assert ("BL611" in found(check)) == (share > 0.1)


# ------------------------------------------------------------------------------------- what is worth nothing


@pytest.mark.parametrize("push", [10.0, -0.1])
def test_what_is_not_worth_running_does_not_pass(push, tmp_path):
    """A loop that a load cell 1 % too strong makes unstable, three times as large as the structure is."""
    values = {"damping": 12.0, "push": push, "frequency": 11.0}

    def test(gain=0.0):
        cell = {"force": Sensor((GainError(gain),))} if gain else {}
        return one_mass(C(stiffness=4e3), sensors=cell, **values)

    def goes_on(gain):
        v = test(gain).held(5.0).run(60.0)["desired.velocity"]
        return rms(v[-1000:]) / rms(v[-21000:-20000]) > 1

    assert goes_on(0.01)
    assert not goes_on(-0.01)
    run = test().run(10.0)
    x, _ = solved(lambda x, _: 4e3 * x, run.time, **values)
    assert off(run["actual.displacement"], x) > 1
    check = test().check(10.0)
    assert not check.passed
    assert check.level in ("vain", "stop")
    assert exit_code(test(), tmp_path) != 0
    assert exit_code(one_mass(C(stiffness=400.0), push=push), tmp_path) == 0


def exit_code(test, folder):
    path = folder / "test.toml"
    to_toml(test, path)
    return CliRunner().invoke(app, ["check", str(path), "--seconds", "10"]).exit_code


# -------------------------------------------------------------------------------------------------- remedies


@pytest.fixture
def searches(monkeypatch):
    """Return a list of the searches that are begun."""
    begun = []
    search = suggestion_search.suggestion
    monkeypatch.setattr(suggestion_search, "suggestion", lambda *given: begun.append(given) or search(*given))
    return begun


@pytest.mark.parametrize(
    "refused",
    [
        lambda: one_mass(C(stiffness=4e3), damping=12.0, lag=0.01),
        lambda: late(one_mass(C(stiffness=4e3), damping=12.0, lag=0.001)),
        pytest.param(
            lambda: small("yielding", "AdaptiveTimeSeries", "short", 1e-6), marks=pytest.mark.nightly
        ),
        pytest.param(lambda: small("saturation", "Direct", "short", 0.0), marks=pytest.mark.nightly),
    ],
    ids=["lag", "latency", "yielding", "saturation"],
)  # fmt: skip
def test_a_remedy_is_sought_when_it_is_wanted_and_can_be_done(refused, searches):
    test = refused()
    check = test.check(SECONDS)
    assert not check.passed
    assert not searches
    answer = check.suggest()
    assert len(searches) == 1
    assert answer.attempts
    assert "without its latency" not in str(answer)
    for attempt in answer.attempts:
        if attempt.test is not None:  # nobody has a faster rig or another actuator
            assert attempt.test.rig.latency >= test.rig.latency
            assert attempt.test.rig.actuators == test.rig.actuators
            assert attempt.test.rig.drive == test.rig.drive
    chosen = answer.proposed
    assert chosen is not None
    assert chosen.kind in ("compensator", "filter", "excitation", "rate", "specimen")
    level, run = left(chosen.test)
    assert run.completed
    assert level < 1e-2


def late(test):
    return test.replaced(rig=replace(test.rig, latency=0.009))
