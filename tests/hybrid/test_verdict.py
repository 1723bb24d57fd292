"""The verdict of a run: each measure that is bad on its own is found, said first, and counts."""

import math

import numpy as np
import pytest

from bondloop.bondgraph import C as Spring
from bondloop.bondgraph import I, Model, One, Port, R, Sf, Zero
from bondloop.control import VirtualJunction
from bondloop.engine.ir import Meaning, Role
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_two_actuators
from bondloop.rehearsal.run import Run
from bondloop.results import Record
from bondloop.results.assess.judgement import Grade
from bondloop.rigs import Bias, Emulated, LoadCell, Quantisation, Saturation, Sensor, WhiteNoise
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

SEEDS = range(4)


def signals(seed, *, gain=1.0, delay=0.0, force="spring"):
    """A random vibration of several sines, followed by a late and scaled one; time, x, y, F."""
    rng = np.random.default_rng(seed)
    rate = rng.choice([200.0, 1000.0, 4000.0])
    t = np.arange(int(rate * rng.uniform(8, 15))) / rate
    main = rng.uniform(1, 8)
    lines = [(1.0, main), (0.3, 0.6 * main), (0.1, 1.7 * main)]
    phases, size = rng.uniform(0, 6, 3), 10 ** rng.uniform(-5, 1)

    def at(time):
        parts = zip(lines, phases, strict=True)
        return size * sum(a * np.sin(2 * np.pi * f * time + p) for (a, f), p in parts)

    # It begins at rest, as every run does.
    x, y = (np.clip(main * (t - late), 0, 1) * at(t - late) for late in (0.0, delay / main))
    y = gain * y
    stiffness = 10 ** rng.uniform(0, 6)
    return t, x, y, stiffness * (y if force == "spring" else np.gradient(y, t))


def a_run(t, x, y, f, *, description=None, attributes=None, **channels):
    named = {"desired.displacement": x, "actual.displacement": y, "force": f}
    named |= {name.replace("__", "."): values for name, values in channels.items()}
    units = {name: {"displacement": "m", "force": "N"}.get(name.split(".")[-1], "") for name in named}
    attributes = {"status": "completed", **(attributes or {})}
    known = {
        "desired.displacement": Meaning(Role.DESIRED, "displacement", "displacement", 0),
        "actual.displacement": Meaning(Role.ACTUAL, "displacement", "displacement", 0),
        "force": Meaning(Role.ACTUAL, "force", "effort", 0),
        "measured.force": Meaning(Role.MEASURED, "force", "effort", 0),
        "excitation.power": Meaning(Role.EXCITATION, "", "power"),
        "reference.displacement": Meaning(Role.REFERENCE, "", "displacement", None, "desired.displacement"),
        "reference.force": Meaning(Role.REFERENCE, "", "effort", None, "force"),
        "reference.other": Meaning(Role.REFERENCE),
    }
    meanings = {name: known.get(name, Meaning()) for name in named}
    return Run(Record(t, named, units, description or {}, attributes, meanings))


def worst(run):
    finding = max((f for f in run.judgement if f.grade is not None), key=lambda f: f.grade)
    return finding.measure, finding.grade


@pytest.mark.parametrize("seed", SEEDS)
def test_a_good_run_is_told_as_before(seed):
    run = a_run(*signals(seed, gain=1.005))
    assert run.judgement.level is Grade.VERY_WELL
    assert run.verdict.startswith(
        "The transfer system followed the numerical half very well: normalised rms error 0.5 %"
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("gain", "grade"), [(1.06, 1), (0.8, 2), (1.3, 2), (0.1, 3), (4.0, 3)])
def test_a_wrong_amplitude(seed, gain, grade):
    run = a_run(*signals(seed, gain=gain, force="damper"))
    found = {f.measure: f for f in run.judgement}
    assert found["amplitude error"].grade == found["tracking error"].grade == run.judgement.level == grade
    assert found["amplitude error"].value == pytest.approx(gain - 1, abs=0.03)
    assert f"followed the numerical half {Grade(grade).words}" in run.verdict


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("delay", "grade"), [(0.01, 1), (-0.01, 1), (0.05, 2), (-0.04, 2), (0.2, 3)])
def test_a_delay(seed, delay, grade):
    run = a_run(*signals(seed, delay=delay))
    found = {f.measure: f for f in run.judgement}
    assert run.judgement.level == found["delay"].grade == grade
    if abs(delay) < 0.1:  # beyond, the lines of several frequencies no longer share one phase
        assert found["delay"].value == pytest.approx(delay, rel=0.2)
    energy = found["interface energy"]
    assert abs(energy.grade - grade) <= 1
    # A specimen that is late on a spring gives back more than it took.
    assert ("put in" if delay > 0 else "took out") in energy.sentence


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("turned", [1, -1])
def test_energy_beyond_what_the_excitation_supplied(seed, turned):
    t, x, y, f = signals(seed, delay=0.003)
    put_in = np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(y - x))
    for share, grade in ((0.05, 0), (0.3, 1), (0.7, 2), (1.01, 3), (30.0, 3)):
        power = np.full(t.size, put_in / share / t[-1])
        run = a_run(t, x, y, turned * f, excitation__power=power)
        assert run.judgement.level == grade
        if grade:
            assert f"transfer system put in {100 * share:,.2g}"[:32] in run.verdict or share >= 1
            assert "very well" not in run.verdict
    assert run.verdict.startswith("The result cannot be trusted: the transfer system put in 3,000 % as much")
    taken = a_run(t, x, y, f, excitation__power=-np.abs(x))
    assert "put in all of the energy, for the excitation supplied none" in taken.verdict
    assert a_run(t, x, y, f, excitation__power=0 * x).judgement.level == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("apart", "grade"), [(0.01, 0), (0.1, 1), (0.3, 2), (0.56, 3), (25.0, 3)])
def test_a_run_off_its_reference(seed, apart, grade):
    t, x, y, f = signals(seed, gain=1.005)
    away = np.random.default_rng(seed).normal(size=t.size)
    apart_noise = apart / math.sqrt(1 - apart**2) if apart < 1 else 0
    scaled = seed % 2 or apart >= 1
    reference = x / (1 + apart) if scaled else x + apart_noise * away * np.std(x)
    run = a_run(t, x, y, f, reference__displacement=reference)
    assert run.judgement.level == grade
    if grade:
        assert "the motion at the interface was" in run.verdict
        assert "very well" not in run.verdict
        assert "followed the numerical half with a normalised rms error of 0.5 %" in run.verdict
    # Another channel that stays still, a reference of nothing and one without counterpart are no trouble.
    run = a_run(t, x, y, f, reference__displacement=0 * x, reference__other=x)
    assert run.judgement.level == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_an_open_loop_trial_has_no_reference_and_feeds_no_energy(seed):
    t, x, y, f = signals(seed, delay=0.003)
    run = a_run(t, x, y, f, reference__force=-f, description={"feedback": False})
    assert run.judgement.level == 0
    assert a_run(t, x, y, f, reference__force=-f).judgement.level == 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("after", [(), (Bias(0.3),), (WhiteNoise(0.001),)], ids=["plain", "bias", "noise"])
def test_a_sensor_at_the_end_of_its_range(seed, after):
    t, x, y, _ = signals(seed)
    force = y / np.abs(y).max()
    rng = np.random.default_rng(seed)
    for level, grade in ((1.5, 0), (np.quantile(force, 0.98), 2), (0.3, 3)):
        limit = Saturation(level) if seed % 2 else Quantisation(12, level * (1 + 2**-10))
        highest = level if seed % 2 else limit.range - limit.resolution
        read = np.clip(force, -limit.range if not seed % 2 else -level, highest)
        for part in after:
            read = read + (part.offset if isinstance(part, Bias) else rng.normal(0, part.rms, t.size))
        rig = {"sensors": {"force": Sensor((limit, *after)).describe()}}
        run = a_run(t, x, y, force, measured__force=read, description={"rig": rig})
        found = {f.measure: f for f in run.judgement}
        assert found["saturated readings"].grade == grade, level
        if Bias(0.3) not in after:  # which is a false force of its own
            assert run.judgement.level == grade, level
            assert (grade > 0) == ("range" in run.verdict)


@pytest.mark.parametrize(
    ("timing", "grade"),
    [
        ({"late": 0, "missed": 0}, 0),
        ({"late": 5, "missed": 2}, 1),
        ({"late": 0, "missed": 50}, 2),
        ({"late": 700, "missed": 950}, 3),
        ({"held": 500}, 3),
        ({"stale": 2}, 0),
        ({"stale": 2000}, 3),
        ({"refused": 50}, 1),
    ],
)
def test_a_run_that_was_late(timing, grade):
    whole = {"late": 0, "missed": 0, "held": 0, "refused": 0, "stale": 0, **timing}
    run = a_run(*signals(1), attributes={"timing": whole, "steps": 10_000, "lock_step": False})
    assert run.judgement.level == grade
    if timing.get("missed") == 950:
        assert "950 of 10,000 deadlines were missed" in run.verdict
        assert "well" not in run.verdict
    free = a_run(*signals(1), attributes={"timing": whole, "steps": 10_000, "lock_step": True})
    assert free.judgement.level == 0


@pytest.mark.parametrize(
    ("link", "late", "grade"),
    [
        ("fmu://rig.fmu", {"missed": 950}, 1),
        ("loopback://", {"late": 950}, 1),
        ("fmu://rig.fmu", {"missed": 950, "held": 3}, 3),  # a command that was held is an old one for any rig
        ("shm://rig", {"missed": 950}, 3),
        ("udp://127.0.0.1:5005", {"missed": 950}, 3),
    ],
)
def test_a_rig_that_steps_with_the_loop_meets_no_old_commands(link, late, grade):
    timing = {"late": 0, "missed": 0, "held": 0, "refused": 0, "stale": 0, **late}
    about = {"timing": timing, "steps": 10_000, "lock_step": False}
    run = a_run(*signals(1), attributes=about, description={"realtime": {"link": link}})
    assert worst(run) == ("late ticks", grade)
    assert "950 of 10,000 deadlines were missed" in run.verdict
    assert ("old commands" in run.verdict) == (grade == 3)
    assert ("it was not on time" in run.verdict) == (grade == 1)


def test_what_did_not_happen_is_not_told_as_if_it_had():
    timing = dict.fromkeys(("late", "missed", "held", "refused", "stale"), 0)
    t, x, y, f = signals(1)
    rig = {"sensors": {"force": Sensor((Saturation(2 * np.abs(f).max()),)).describe()}}
    about = {"timing": timing, "steps": 10_000, "lock_step": False}
    run = a_run(t, x, y, f, measured__force=f, description={"rig": rig}, attributes=about)
    told = " ".join(finding.sentence for finding in run.judgement)
    for words in ("at the end of its range", "old commands", "an older one"):
        assert words not in told
    assert "None of 10,000 deadlines was missed." in told
    assert "Every tick had a new measurement." in told
    assert "The force sensor stayed within its range." in told


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_drift_does_not_flatter(seed, power):
    t, x, y, _ = signals(seed, gain=0.4, delay=0.05)
    size = 10 ** np.random.default_rng(seed).uniform(2, 4)
    drift = size * np.abs(x).max() * (t / t[-1]) ** power
    run = a_run(t, x + drift, y + drift, np.gradient(y, t))
    assert run.metrics[0]["normalised_rms_error"] < 0.03
    assert run.judgement.level >= Grade.NOT_AT_ALL
    assert "drift or offset" in run.verdict
    good = a_run(t, x + drift, 1.001 * x + drift, np.gradient(x, t))
    assert good.judgement.level == Grade.VERY_WELL


def test_rest_noise_and_what_is_no_number():
    t, x, y, f = signals(3)
    still = a_run(t, 0 * x, y, f)
    assert still.verdict == "The transfer system had nothing to follow: the numerical half did not move."
    assert still.judgement.level is None
    rng = np.random.default_rng(1)
    noise = a_run(t, rng.normal(size=t.size), rng.normal(size=t.size), rng.normal(size=t.size))
    assert noise.judgement.level == Grade.NOT_AT_ALL
    for bad in (np.nan, np.inf, 1e200):
        late = y.copy()
        late[t.size // 2 :] = bad
        broken = a_run(t, x, late, f)
        assert "no longer a finite number" in broken.verdict
        assert broken.judgement.level == Grade.NOT_AT_ALL
        assert a_run(t, x, np.full_like(x, bad), f).judgement.level == Grade.NOT_AT_ALL
    for count in range(6):
        assert a_run(t[:count], x[:count], y[:count], f[:count]).verdict
    gaps = np.delete(np.arange(t.size), slice(100, 130))  # a real-time record that lost samples
    holed = a_run(t[gaps], x[gaps], y[gaps], f[gaps])
    assert "very well" in holed.verdict
    assert holed.metrics == a_run(t[130:], x[130:], y[130:], f[130:]).metrics  # the longest part without one
    assert a_run(t, x, y, f, attributes={"status": "stopped", "message": "it burnt"}).verdict == (
        "The run was stopped: it burnt."
    )


def test_the_worst_counts_and_is_said_first():
    t, x, y, f = signals(2, gain=1.08)
    timing = {"late": 5, "missed": 950}
    run = a_run(t, x, y, f, reference__force=0.75 * f, attributes={"timing": timing, "steps": 10_000})
    verdict = run.verdict
    assert worst(run) == ("late ticks", Grade.NOT_AT_ALL)
    places = [verdict.index(w) for w in ("deadlines", "(rms) off the reference", "rms error of 8 %")]
    assert places == sorted(places)
    assert run.judgement.to_dict()["level"] == "not at all"
    assert len(str(run.judgement).splitlines()) == 1 + len(run.judgement.findings)


# -------------------------------------------------------------------- whole tests


class Mass(Model):
    def __init__(self, m, c, k):
        self.left, self.right = Port(), Port()
        self.force, self.v = Zero(), One()
        self.left >> self.force >> self.v >> self.right
        self.force >> Spring(stiffness=k)
        self.v >> [I(mass=m), R(damping=c)]


def pair(c=12.0, k=4e3):
    m = Model("pair")
    m.wall = Sf("v_wall")
    m.a, m.b = Mass(2.0, c, 5e3), Mass(2.0, c, k)
    m.wall >> m.a.left
    m.a.right >> m.b.left
    return m


def pair_test(c=12.0, frequency=4.0, reference=("b.v.flow",), **rig):
    whole = pair(c)
    numerical, physical = whole.cut("a.right >> b.left")
    actuator = MassSpringDamper(2.0, 150.0, 15e3, drive="position")
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator, **rig),
        controller=VirtualJunction(actuator),
        excitation={"v_wall": Sine(1e-3, frequency).derivative()},
        rate=1000,
        reference=None if reference is None else (whole, reference),
    )


def test_what_the_judgement_needs_is_recorded():
    run = pair_test().run(2)
    assert {"reference.velocity", "rig.specimen.b.v.flow", "excitation.power"} <= set(run.record)
    assert "very well" in run.verdict
    stored = np.cumsum(run["excitation.power"]) * 1e-3
    assert stored[-1] > 0  # a structure with dampers takes
    several = gawthrop_two_actuators.test().run(1)
    assert {"reference.velocity[0]", "reference.velocity[1]"} <= set(several.record)
    assert "numerical.mn1.v.flow" not in several.record  # it is the desired velocity


def test_a_run_far_off_its_reference_though_well_tracked():
    """A specimen that is softer than was meant: the actuator follows, but another structure is tested."""
    wrong = pair_test().replaced(reference=(pair(k=8e3), ["a.v.flow"])).run(5)
    assert wrong.metrics[0]["normalised_rms_error"] < 0.03
    assert wrong.judgement.level >= Grade.POORLY
    assert "off the reference" in wrong.verdict
    assert "well" not in wrong.verdict


def test_energy_tells_without_a_reference():
    """Hardly late, but on hardly any damping: the actuators keep the structure going."""
    test = gawthrop_two_actuators.test()
    alone, beside = Run(test.replaced(reference=None).run(5).record), test.run(5)
    assert max(m["normalised_rms_error"] for m in alone.metrics) < 0.03
    assert alone.verdict.startswith("The result cannot be trusted: the transfer systems put in or took out 1")
    # How far that changed the response is known where the complete structure is.
    assert beside.judgement.level is Grade.WELL
    assert "off the reference" in beside.verdict


def test_a_load_cell_that_is_too_small():
    run = pair_test(sensors={"force": LoadCell("1 N")}).run(3)
    assert "he force sensor was at the end of its range" in run.verdict
    assert run.judgement.level >= Grade.POORLY


def test_a_judgement_survives_the_file(tmp_path):
    run = pair_test().run(1)
    run.save(tmp_path / "run.h5")
    assert Run.load(tmp_path / "run.h5").judgement == run.judgement


@pytest.mark.parametrize("fading", [0.1, 0.5])
def test_a_sine_that_fades_is_late_by_a_part_of_its_period(fading):
    """Its best correlation lies seconds away, where its envelope fits: that was told as its delay."""
    t = np.arange(20_000) / 1000
    x, y = np.sin(2 * np.pi * t), np.exp(-fading * t) * np.sin(2 * np.pi * (t - 0.02))
    words = next(f.sentence for f in a_run(t, x, y, 10 * y).judgement if f.measure == "tracking error")
    late = float(words.partition("delay ")[2].split(" ")[0])
    assert late == pytest.approx(20, abs=8)
