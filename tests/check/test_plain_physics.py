"""The judge and the generator of drawn tests, against closed forms and against ideal tests."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn_loops import Actuator, Control, Drawn, Plant, draw, taken
from plain_physics import Excitation, Outcome, Specimen, Structure, judge, level, reference

M, K, ZETA = 3.0, 700.0, 0.03
OMEGA = math.sqrt(K / M)
DASHPOT = 2 * ZETA * math.sqrt(K * M)
NOTHING = Specimen("spring", {"stiffness": 0.0})


def one_mass(specimen: Specimen = NOTHING, dashpot: float = DASHPOT) -> Structure:
    return Structure((M,), (K,), (dashpot,), (0,), (specimen,))


def sine(frequency: float, amplitude: float, seconds: float, on: int = 0) -> Excitation:
    return Excitation("sine", on, amplitude, seconds, {"frequency": frequency})


def step(amplitude: float, seconds: float, width: float = 0.01) -> Excitation:
    return Excitation("step", 0, amplitude, seconds, {"start": 0.1, "width": width})


def drawn_of(
    structure: Structure, excitation: Excitation, lag: float = 1e-3, rate: float = 1000.0, **more
) -> Drawn:
    """A test by hand, by default with an actuator that the designer knows and nobody makes up for."""
    actuators = tuple(Actuator("second", lag) for _ in structure.places)
    stroke = 0.01
    control = more.pop("control", None) or Control(
        "Direct", actuators, 0.0, 1.0, (0.5,) * 4, False, float(structure.frequencies[0]), stroke
    )
    return Drawn(0, "well", "", structure, excitation, actuators, control, rate, **more)


# ------------------------------------------------------------------------------------------ the reference


@pytest.mark.parametrize("ratio", [0.5, 0.97, 1.8])
def test_reference_swings_as_the_closed_form_says(ratio):
    """In the steady state x = F/(k - m ω² + i ω c), of amplitude and of phase."""
    k, c, omega = 250.0, 2.0, ratio * OMEGA
    whole = one_mass(Specimen("spring", {"stiffness": k, "damping": c}))
    times = np.linspace(0, 25, 20_001)
    found = reference(whole, sine(omega / (2 * math.pi), 4.0, 25.0), times)
    x = 4.0 / (K + k - M * omega**2 + 1j * omega * (DASHPOT + c))
    expected = (x * np.exp(1j * omega * times)).imag
    late = times > 20
    assert np.abs(found.displacement[0] - expected)[late].max() < 2e-4 * abs(x)
    force = ((k + 1j * omega * c) * x * np.exp(1j * omega * times)).imag
    assert np.abs(found.force[0] - force)[late].max() < 2e-4 * abs(force).max()


def test_reference_of_a_moving_wall():
    """A wall that is moved slowly carries the mass with it; one at ω, by (k + iωc)/(k - mω² + iωc)."""
    omega = 0.6 * OMEGA
    times = np.linspace(0, 25, 20_001)
    found = reference(one_mass(), sine(omega / (2 * math.pi), 2e-3, 25.0, on=-1), times)
    link = K + 1j * omega * DASHPOT
    expected = (2e-3 * link / (link - M * omega**2) * np.exp(1j * omega * times)).imag
    late = times > 20
    assert np.abs(found.displacement[0] - expected)[late].max() < 1e-3 * np.abs(expected).max()


def test_reference_overshoots_a_step_as_it_should():
    """By exp(-πζ/√(1-ζ²)) of F/k, which it comes to in the end."""
    times = np.linspace(0, 20, 40_001)
    found = reference(one_mass(), step(5.0, 20.0, width=1e-3), times).displacement[0]
    overshoot = math.exp(-math.pi * ZETA / math.sqrt(1 - ZETA**2))
    assert found.max() == pytest.approx(5.0 / K * (1 + overshoot), rel=1e-3)
    assert found[-1] == pytest.approx(5.0 / K, rel=1e-2)


def cycle(specimen: Specimen, amplitude: float, omega: float) -> float:
    """Return the energy of the third cycle of a sine, J."""
    times = np.linspace(0, 6 * math.pi / omega, 6001)
    x, v = amplitude * np.sin(omega * times), amplitude * omega * np.cos(omega * times)
    last = times >= 4 * math.pi / omega - 1e-12
    return float(np.trapezoid((specimen.driven(times, x, v) * v)[last], times[last]))


def bouc_wen_area(amplitude: float, yields: float) -> float:
    """Return the area of the loop of z over x, n = 1: z rises straight to 0, then as 1 - exp(-x/d)."""
    from scipy.optimize import brentq

    z = brentq(lambda z: yields * (z - math.log1p(-z)) - 2 * amplitude, 0, 1 - 1e-12)
    return yields * 2 * yields * (-math.log1p(-z) - z - z * z / 2)


X, W = 0.02, 3.0
POWER = math.sqrt(math.pi) * math.gamma(1.25) / math.gamma(1.75)  # ∫ |cos|^1.5 over a quarter, twice
ENERGIES = [
    (Specimen("spring", {"stiffness": 900.0, "damping": 7.0}), math.pi * 7.0 * W * X**2),
    (Specimen("coulomb", {"friction": 6.0, "width": 1e-5, "stiffness": 100.0}), 4 * 6.0 * X),
    (
        Specimen("power", {"coefficient": 5.0, "exponent": 0.5, "width": 1e-7, "stiffness": 0.0}),
        2 * POWER * 5.0 * X**1.5 * W**0.5,
    ),
    (
        Specimen("bilinear", {"stiffness": 900.0, "yield_force": 4.5, "hardening": 0.1}),
        4 * 4.5 * 0.9 * (X - 0.005),
    ),
    (
        Specimen(
            "bouc_wen", {"stiffness": 900.0, "yield_displacement": 5e-3, "post_yield": 0.1, "exponent": 1.0}
        ),
        0.9 * 900.0 * bouc_wen_area(X, 5e-3),
    ),
    (
        Specimen("maxwell", {"stiffness": 900.0, "damping": 200.0}),
        math.pi * X**2 * (900.0 * 1j * W * 200.0 / (900.0 + 1j * W * 200.0)).imag,
    ),
    (Specimen("hardening", {"stiffness": 90.0, "cubic": 1e5, "damping": 0.0}), 0.0),
    (Specimen("softening", {"preload": 2.0, "width": 5e-3, "stiffness": 90.0, "damping": 0.0}), 0.0),
    (Specimen("stop", {"contact": 900.0, "gap": 0.01, "stiffness": 90.0, "damping": 0.0}), 0.0),
    (Specimen("play", {"stiffness": 900.0, "gap": 0.01, "damping": 3.0}), math.pi * 3.0 * W * X**2),
]


@pytest.mark.parametrize(("specimen", "expected"), ENERGIES, ids=lambda s: getattr(s, "kind", ""))
def test_laws_take_the_energy_of_their_closed_forms(specimen, expected):
    assert cycle(specimen, X, W) == pytest.approx(expected, rel=0.01, abs=1e-4)


def test_mr_law_at_a_steady_speed():
    """Once z is 1, y' = (F + c₀ v)/(c₀ + c₁) and the force is c₁ y'."""
    values = {"mr_force": 50.0, "yield_displacement": 1e-4, "exponent": 1.5, "damping": 30.0,
              "pre_yield_damping": 600.0, "accumulator": 20.0}  # fmt: skip
    times = np.linspace(0, 0.2, 4001)
    force = Specimen("mr", values).driven(times, 0.1 * times, np.full_like(times, 0.1))
    assert force[-1] == pytest.approx(600 * (50 + 30 * 0.1) / 630 + 20 * 0.02, rel=1e-3)


def test_carried_mass_against_its_dynamic_stiffness():
    hung = Specimen("carried", {"stiffness": 900.0, "damping": 60.0, "mass": 4.0})
    omega = 11.0
    times = np.linspace(0, 20 * 2 * math.pi / omega, 20 * 64 + 1)
    force = hung.driven(times, 0.01 * np.sin(omega * times), 0.01 * omega * np.cos(omega * times))[-65:-1]
    found = 2j * np.mean(force * np.exp(-1j * omega * times[-65:-1])) / 0.01
    assert abs(found - hung.dynamic_stiffness(omega, 0.01)) < 0.01 * abs(found)


# ------------------------------------------------------------------------------------ the ideal hybrid test

SPECIMENS = {
    "spring": {"stiffness": 0.4 * K, "damping": 1.0},
    "carried": {"stiffness": 0.3 * K, "damping": 4.0, "mass": 0.8},
    "power": {"coefficient": 6.0, "exponent": 0.5, "width": 5e-3, "stiffness": 50.0},
    "coulomb": {"friction": 1.0, "width": 5e-3, "stiffness": 100.0},
    "bouc_wen": {"stiffness": 400.0, "yield_displacement": 4e-3, "post_yield": 0.1, "exponent": 1.7},
    "bilinear": {"stiffness": 400.0, "yield_force": 1.5, "hardening": 0.1},
    "hardening": {"stiffness": 200.0, "cubic": 2e6, "damping": 1.0},
    "softening": {"preload": 1.0, "width": 4e-3, "stiffness": 50.0, "damping": 1.0},
    "stop": {"contact": 900.0, "gap": 5e-3, "stiffness": 50.0, "damping": 1.0},
    "play": {"stiffness": 400.0, "gap": 8e-3, "damping": 1.0},
    "maxwell": {"stiffness": 300.0, "damping": 20.0},
    "mr": {"mr_force": 2.0, "yield_displacement": 5e-4, "exponent": 1.5, "damping": 3.0,
           "pre_yield_damping": 60.0, "accumulator": 30.0},
}  # fmt: skip


@pytest.mark.parametrize("kind", SPECIMENS)
def test_an_ideal_hybrid_test_is_the_complete_structure(kind):
    """With an actuator of 0.4 ms at 10 kHz, every specimen, pushed to and fro below its first mode."""
    specimen = Specimen(kind, SPECIMENS[kind])
    ideal = drawn_of(one_mass(specimen, 3 * DASHPOT), sine(2.0, 4.0, 4.0), 4e-4, 10_000.0)
    found = judge(ideal)
    assert found.off < 0.02, found.evidence
    assert found.verdict == "well", found.evidence


def test_several_masses_two_interfaces_and_a_wall():
    """Specimens between masses of a chain; a chain whose ends are confused would not agree."""
    parts = (Specimen("spring", {"stiffness": 150.0}), Specimen("bouc_wen", SPECIMENS["bouc_wen"]))
    chain = Structure((3.0, 2.0, 1.5), (900.0, 700.0, 500.0), (5.0, 4.0, 3.0), (0, 2), parts)
    found = judge(drawn_of(chain, sine(1.1, 0.01, 8.0, on=-1), 4e-4, 4000.0))
    assert found.off < 0.02, found.evidence
    pushed = judge(
        drawn_of(chain, Excitation("step", 1, 3.0, 6.0, {"start": 0.2, "width": 0.3}), 4e-4, 4000.0)
    )
    assert pushed.off < 0.02, pushed.evidence


# ---------------------------------------------------------------------------------------------- the judge


@pytest.mark.parametrize(("share", "sustains"), [(0.5, False), (0.9, False), (1.15, True), (3.0, True)])
def test_a_late_spring_is_a_negative_damper(share, sustains):
    """A spring k_s that is late by τ takes k_s τ of the damping: without any the loop sustains itself."""
    stiff, h = 200.0, 1e-3
    omega = math.sqrt((K + stiff) / M)
    lag = share * DASHPOT / stiff
    # The lag is what the actuator has, and a sample for the holds of the command and of the force.
    late = drawn_of(one_mass(Specimen("spring", {"stiffness": stiff})), sine(2.0, 1.0, 10.0), lag - h)
    share_of_rule = taken(late.structure, [[complex(stiff)] * 2], 1.0, lag)
    assert share_of_rule == pytest.approx(share * math.sin(omega * lag) / (omega * lag), rel=1e-6)
    found = judge(late)
    assert ("sustained" in found.faults) is sustains, found.evidence


def test_growth_is_that_of_the_closed_form():
    """(k_s τ - c)/(2 m), read off a run whose input is held."""
    stiff, lag = 200.0, 0.022
    late = drawn_of(one_mass(Specimen("spring", {"stiffness": stiff})), sine(2.0, 1.0, 5.0), lag - 1e-3)
    run = late.test(excitation=late.excitation.held(5.0, 0.2), limited=False).run(25)
    v = run["actual.velocity"]
    omega = math.sqrt((K + stiff) / M)
    growth = math.log(level(v[-3000:]) / level(v[-13000:-10000])) / 10
    assert growth == pytest.approx((stiff * math.sin(omega * lag) / omega - DASHPOT) / (2 * M), rel=0.15)


@pytest.mark.parametrize(("room", "leaves"), [(0.9, True), (1.2, False)])
@pytest.mark.parametrize("word", ["displacement", "force", "velocity"])
def test_limits_are_left_where_the_peak_is_beyond(word, room, leaves):
    good = drawn_of(one_mass(Specimen("spring", {"stiffness": 20.0})), sine(1.0, 2.0, 5.0), 6e-3)
    limited = replace(good, limits={word: room * good.truth.peak(word, 0)})
    found = judge(limited)
    assert found.limits is leaves, found.evidence
    # the package stops where the judge says that the limits were left
    assert limited.test().run(5).completed is not leaves


@pytest.mark.parametrize(("part", "word"), [("Saturation", "displacement"), ("RateLimit", "velocity")])
@pytest.mark.parametrize(("room", "leaves"), [(0.8, True), (1.3, False)])
def test_an_actuator_is_asked_for_more_than_it_has(part, word, room, leaves):
    good = drawn_of(one_mass(Specimen("spring", {"stiffness": 30.0})), sine(1.0, 2.0, 5.0))
    short = replace(good, drive=((part, (room * good.truth.peak(word, 0),)),))
    assert judge(short).limits is leaves


def test_a_wrong_load_cell_is_off_by_what_statics_says():
    """Under a constant force F the mass stands at F/(k + (1 + e) k_s) instead of F/(k + k_s)."""
    stiff, wrong = 500.0, -0.5
    wrong_cell = drawn_of(
        one_mass(Specimen("spring", {"stiffness": stiff}), 20 * DASHPOT), step(4.0, 20.0, 1.0),
        sensors={"force": (("GainError", (wrong,)),)},
    )  # fmt: skip
    expected = (K + stiff) / (K + (1 + wrong) * stiff) - 1
    found = judge(wrong_cell)
    assert found.off == pytest.approx(expected, rel=0.02)
    assert found.faults == (() if expected <= 0.3 else ("off",))


def test_noise_is_no_sustained_motion():
    """White noise of the force, far above the motion that is left, in a loop that is damped well."""
    quiet = drawn_of(one_mass(Specimen("spring", {"stiffness": 100.0})), sine(1.0, 2.0, 8.0))
    noisy = replace(quiet, sensors={"force": (("WhiteNoise", (2.0,)),)})
    run = noisy.test(excitation=noisy.excitation.held(8.0, 0.2), limited=False).run(30)
    assert level(run["actual.velocity"][-5000:]) > 0.02 * level(run["actual.velocity"][:8000])
    found = judge(noisy)
    assert "sustained" not in found.faults, found.evidence
    assert "noise" in found.evidence


def test_noise_does_not_hide_an_unstable_loop():
    late = drawn_of(one_mass(Specimen("spring", {"stiffness": 200.0})), sine(2.0, 1.0, 10.0), 0.03)
    noisy = replace(late, sensors={"force": (("WhiteNoise", (1.0,)),)}, drive=(("Saturation", (0.02,)),))
    assert "sustained" in judge(noisy).faults


def test_noise_level_against_the_closed_form():
    """A mass under white noise of intensity q: the variance of its velocity is q/(2 c m)."""
    rms, h, stiff = 0.7, 1e-3, 300.0
    speed, force = one_mass(Specimen("spring", {"stiffness": stiff})).noise_level({0: rms}, h)
    assert speed[0] == pytest.approx(math.sqrt(rms**2 * h / (2 * DASHPOT * M)), rel=1e-6)
    place = math.sqrt(rms**2 * h / (2 * DASHPOT * (K + stiff)))
    assert place * stiff <= force[0] * 1.001  # with the specimen; the chain alone moves more


def test_level_sees_neither_an_offset_nor_a_creep():
    t = np.linspace(0, 1, 1001)
    assert level(5 + 3 * t) < 1e-12
    assert level(5 + 3 * t + 0.1 * np.sin(60 * math.pi * t)) == pytest.approx(0.1 / math.sqrt(2), rel=0.01)


def test_a_play_that_hunts_is_sustained():
    """Backlash between command and actuator, in a loop that has lost its damping to the lag."""
    base = drawn_of(one_mass(Specimen("spring", {"stiffness": 200.0})), sine(2.0, 1.0, 10.0), 0.005)
    hunting = replace(base, drive=(("Backlash", (0.5 * base.truth.peak("displacement", 0),)),))
    assert judge(base).sustained < 0.02
    assert "sustained" in judge(hunting).faults


@pytest.mark.parametrize(
    ("values", "verdict", "faults"),
    [
        ((False, 0.05, 0.01), "well", ()), ((False, 0.2, 0.01), "between", ()),
        ((False, 0.05, 0.03), "between", ()),
        ((True, 0.05, 0.0), "bad", ("limits",)), ((False, 0.4, 0.2), "bad", ("sustained", "off")),
        ((False, math.inf, math.inf), "bad", ("sustained", "off")),
    ],
)  # fmt: skip
def test_classes(values, verdict, faults):
    outcome = Outcome(*values, "")
    assert (outcome.verdict, outcome.faults) == (verdict, faults)


# ------------------------------------------------------------------------------------------ the generator


def test_a_held_excitation_stands():
    """The wall stops where it is, a force dies away smoothly; up to then nothing changes."""
    for on in (-1, 0):
        whole = sine(2.0, 3.0, 5.0, on=on)
        held = whole.held(3.1, 0.4)
        assert held(3.0) == whole(3.0) != 0
        assert held(3.6) == 0
        times, values = held.table()
        assert values[-1] == 0
        assert times[-1] == pytest.approx(3.5)
    assert abs(held(3.11) - whole(3.1)) < 0.05 * 3.0


def test_excitations_have_the_rates_that_they_say():
    waves = ((0.5, 8.0, 1.0), (0.3, 21.0, 2.0))
    for given in (
        Excitation("noise", -1, 1.0, 10.0, {}, waves), sine(1.3, 1.0, 10.0),
        Excitation("sweep", -1, 1.0, 10.0, {"first": 0.4, "last": 3.0}),
        Excitation("pulse", 0, 1.0, 10.0, {"start": 0.5, "width": 0.8}), step(1.0, 10.0, 0.7),
    ):  # fmt: skip
        t = np.linspace(0.003, 9.7, 800)
        slope = [(given.shape(x + 1e-6)[0] - given.shape(x - 1e-6)[0]) / 2e-6 for x in t]
        assert np.allclose([given.shape(x)[1] for x in t], slope, atol=1e-4)


def test_a_seed_is_one_test():
    for seed in (3, 8):
        a, b = draw(seed), draw(seed)
        assert replace(a) == replace(b)
        assert a.words() == b.words()


def test_a_plant_with_errors_is_another_rig_with_the_same_controller():
    base = drawn_of(one_mass(Specimen("spring", {"stiffness": 200.0})), sine(2.0, 1.0, 2.0))
    wrong = Plant.drawn(np.random.default_rng(5))
    a, b = base.test(), base.test(plant=wrong)
    path = "rig.specimen.specimen0.stiffness.stiffness"
    assert b.parameters[path] == pytest.approx(wrong.stiffness * a.parameters[path])
    assert abs(wrong.stiffness - 1) <= 0.1
    assert abs(wrong.late) <= 0.5
    assert b.rig.latency == pytest.approx(max(wrong.late, 0) / base.rate)
    own = [{n: x for n, x in t.parameters.items() if not n.startswith("rig.")} for t in (a, b)]
    assert own[0] == pytest.approx(own[1])


def test_the_judge_shares_nothing_with_what_it_judges():
    text = (Path(__file__).parent / "plain_physics.py").read_text()
    assert "import bondloop" not in text
    assert "from bondloop" not in text
