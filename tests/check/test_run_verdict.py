"""The verdict of a run: force as well as motion, chatter, and what the check had found before."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.devices import Gap, PowerDamper
from bondloop.engine.ir import Meaning, Role, Tunable
from bondloop.hybrid import rehearsable
from bondloop.rehearsal import Run, rerun
from bondloop.results import Record
from bondloop.results.assess.chatter import band_edge, chatter_of
from bondloop.results.assess.judgement import SCALES, Grade
from bondloop.rigs import Bias, GainError, Sensor, WhiteNoise
from bondloop.signals import Sine
from bondloop.transfer import first_order


def one_mass(law, lag=0.001, *, mass=2000.0, stiffness=5e5, damping=1200.0, **given):
    """A mass on a spring and a dashpot; on the rig a law that resists its motion."""
    model = Model("machine")
    model.push, model.v, model.specimen = Se("push"), One(), law
    model.push >> model.v >> [I(mass=mass), C(stiffness=stiffness), R(damping=damping), model.specimen]
    numerical, physical = model.cut("v >> specimen")
    sensor = given.pop("sensor", None)
    rig = bl.rigs.Emulated(
        physical,
        first_order(gain=1.0, time_constant=lag).actuator(),
        sensors={} if sensor is None else {"force": Sensor(sensor)},
    )
    amplitude, frequency = given.pop("amplitude", 12e3), given.pop("frequency", 2.0)
    return bl.HybridTest(
        numerical, rig=rig, controller=bl.control.Direct(), rate=given.pop("rate", 1000.0),
        excitation={"push": Sine(amplitude, frequency)}, **given,
    )  # fmt: skip


def measures(run):
    return {f.measure: f for f in run.judgement}


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


# ---------------------------------------------------------------- force


@pytest.mark.parametrize("amplitude", [50.0, -50.0])
@pytest.mark.parametrize(("lag", "frequency"), [(0.002, 1.0), (0.006, 1.0), (0.004, 4.0)])
def test_the_error_of_the_force_is_that_of_a_delayed_spring(amplitude, lag, frequency):
    """Steady state of m a + c v + k x + k_s G x = F with G = 1/(1 + iωT), against the same with G = 1."""
    m, c, k, spring = 5.0, 120.0, 3e3, 4e3
    test = one_mass(
        C(stiffness=spring), lag, mass=m, damping=c, stiffness=k,
        amplitude=amplitude, frequency=frequency, rate=4000.0,
    )  # fmt: skip
    run = test.run(60)
    w = 2 * math.pi * frequency
    # The hold of the command and the sampled force add half a period and up to one more.
    errors = []
    for extra in (0.0, 2 / 4000):
        G = np.exp(-1j * w * extra) / (1 + 1j * w * lag)
        alone = k - m * w**2 + 1j * w * c
        errors.append(abs(G / (alone + spring * G) - 1 / (alone + spring)) * abs(alone + spring))
    low, high = sorted(errors)
    found = measures(run)["force error"]
    assert 0.98 * low < found.value < 1.02 * high
    assert found.grade is SCALES["force error"].grade(found.value)


def test_a_power_law_damper_that_follows_very_well_is_not_well():
    """It was told as 'very well' with its motion 47 % off."""
    run = one_mass(PowerDamper(2e4, 0.5).element()).run(5)
    assert measures(run)["tracking error"].grade is Grade.VERY_WELL
    assert run.judgement.level >= Grade.POORLY
    assert run.verdict.startswith("The result is doubtful: the motion at the interface was 47 %")
    assert "well" not in run.verdict


@pytest.mark.parametrize("gain", ["-50 %", "50 %", "-100 %"])
@pytest.mark.parametrize("known", [True, False], ids=["reference", "record alone"])
def test_a_load_cell_of_a_wrong_gain(gain, known):
    run = one_mass(PowerDamper(2e4, 0.5).element(), sensor=(GainError(gain),)).run(5)
    run = run if known else Run(run.record)
    found = measures(run)["measured force"]
    assert found.value == pytest.approx(abs(float(gain[:-2])) / 100, rel=1e-9)
    assert found.grade is SCALES["measured force"].grade(found.value)
    assert ("force error" in measures(run)) == known
    assert run.judgement.level >= Grade.POORLY
    assert "well" not in run.verdict
    assert "off the force at the specimen" in run.verdict


def test_noise_and_a_force_that_is_nearly_nothing_make_no_silly_numbers():
    """A cell for 10 kN on a spring of 1 N: not the loop is bad, but nothing was measured."""
    slight = one_mass(C(stiffness=20.0), sensor=(WhiteNoise("20 N"),)).run(10)
    found = measures(slight)
    assert found["measured force"].value < 0.1
    assert found["force error"].value < 0.1
    assert slight.judgement.level is Grade.WELL
    # A false force, though, is not hidden by the floor.
    biased = one_mass(C(stiffness=20.0), sensor=(WhiteNoise("20 N"), Bias("500 N"))).run(10)
    assert measures(biased)["measured force"].grade is Grade.NOT_AT_ALL


def test_where_the_structure_has_no_force_rounding_is_none():
    """A gap that does not close: zero against zero."""
    run = one_mass(Gap(stiffness="1 MN/m", gap="1 m").element(), amplitude=10.0).run(3)
    assert not np.any(run["force"])
    found = measures(run)
    assert found["force error"].value < 1e-9
    assert found["chatter"].value < 1e-6
    assert run.judgement.level is Grade.VERY_WELL


# ---------------------------------------------------------------- chatter


def test_chatter_is_found_with_its_frequency():
    run = one_mass(PowerDamper(1e5, 0.3).element(), 0.002).run(5)
    found = measures(run)["chatter"]
    force, f = run["force"], np.fft.rfftfreq(len(run), 1e-3)
    lines = np.abs(np.fft.rfft((force - force.mean()) * np.hanning(len(force)))) ** 2
    above = f > 50.0
    assert found.value == pytest.approx(lines[above].sum() / lines.sum(), abs=0.03)
    assert found.grade is Grade.NOT_AT_ALL
    peak = f[above][np.argmax(lines[above])]
    told = float(found.sentence.partition("chattered at ")[2].split(" ")[0])
    assert told == pytest.approx(peak, rel=0.1)
    assert "chattered at" in run.verdict


def test_noise_of_a_load_cell_is_no_chatter():
    run = one_mass(C(stiffness=2e5), sensor=(WhiteNoise("1500 N"),)).run(5)
    assert rms(run["measured.force"] - run["force"]) > 0.3 * rms(run["force"])
    for one in (run, Run(run.record)):
        assert measures(one)["chatter"].value < 0.01


@pytest.mark.parametrize("known", [True, False], ids=["reference", "record alone"])
def test_blows_of_a_stop_are_no_chatter(known):
    test = one_mass(Gap(stiffness="3 MN/m", gap="3 mm").element(), 2e-4, rate=4000.0)
    run = test.run(5)
    assert np.abs(run["force"]).max() > 1e3
    assert measures(run if known else Run(run.record))["chatter"].grade is Grade.VERY_WELL


def drawn_record(t, x, v, force, command):
    def known(role, kind):
        return Meaning(role, kind, kind, 0)

    meanings = {
        "x": known(Role.DESIRED, "displacement"), "y": known(Role.ACTUAL, "displacement"),
        "v": known(Role.DESIRED, "flow"), "f": known(Role.ACTUAL, "effort"), "u": known(Role.COMMAND, ""),
    }  # fmt: skip
    channels = {"x": x, "y": x, "v": v, "f": force, "u": command}
    units = {"x": "m", "y": "m", "v": "m/s", "f": "N", "u": "m"}
    return Run(Record(t, channels, units, {}, {"status": "completed"}, meanings))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("where", ["force", "command"])
@pytest.mark.parametrize(("share", "grade"), [(0.01, 0), (0.05, 1), (0.2, 2), (0.7, 3)])
def test_the_share_of_chatter_that_was_put_in_is_found(seed, where, share, grade):
    """A sine above the band, of a known share of the power, on force or rate of the command."""
    rng = np.random.default_rng(seed)
    rate = rng.choice([500.0, 1000.0, 4000.0])
    t = np.arange(int(20 * rate)) / rate
    w, size = 2 * math.pi * rng.uniform(0.5, 4), 10 ** rng.uniform(-5, 1)
    fast = 2 * math.pi * rate * rng.uniform(0.15, 0.45)
    x, v = size * np.sin(w * t), size * w * np.cos(w * t)
    force, command = -3e4 * x, x.copy()
    ratio = math.sqrt(share / (1 - share))
    if where == "force":
        force = force + ratio * 3e4 * size * np.sin(fast * t + 1)
    else:
        step = 1 / rate  # a central difference shows sin(ω h)/h of a sine's rate
        command = command + ratio * size * w * step / math.sin(fast * step) * np.sin(fast * t + 1)
    found = measures(drawn_record(t, x, v, force, command))["chatter"]
    assert found.grade == grade
    assert found.value == pytest.approx(share, rel=0.1)
    if grade:
        told = float(found.sentence.partition("chattered at ")[2].split(" ")[0])
        assert told == pytest.approx(fast / (2 * math.pi), rel=0.02)
        assert (
            f"{'rate of the command' if where == 'command' else 'force'} at the interface" in found.sentence
        )


def test_the_structures_own_power_above_the_band_is_taken_off():
    t = np.arange(5000) * 1e-3
    x, v = np.sin(12 * t), 12 * np.cos(12 * t)
    edge = band_edge(x, v, 1e-3)
    fast = np.sin(900 * t)
    assert chatter_of(x + fast, 1e-3, edge).share == pytest.approx(0.5, rel=0.02)
    assert chatter_of(x + fast, 1e-3, edge, own=x - fast).share == pytest.approx(0.0, abs=1e-3)
    assert chatter_of(x + 2 * fast, 1e-3, edge, own=x + fast).share == pytest.approx(0.6, rel=0.02)
    assert chatter_of(1e-9 * fast, 1e-3, edge, floor=1.0).share < 1e-12
    assert chatter_of(0 * t, 1e-3, edge).share == 0.0
    assert band_edge(0 * t, 0 * t, 1e-3) == math.inf


# ---------------------------------------------------------------- drawn tests, judged in plain numpy


def two_masses(rng, sign):
    """Two masses, a spring between them, each with a spring on the rig; matrices and the test."""
    m1, m2 = rng.uniform(1, 4, 2)
    k0, k12, s1, s2 = 10 ** rng.uniform(2.5, 3.5, 4)
    c1, c2 = rng.uniform(40, 120, 2)
    model = Model("two")
    model.push, model.v1, model.v2, model.mid = Se("push"), One(), One(), Zero()
    model.s1, model.s2 = C(stiffness=s1), C(stiffness=s2)
    model.push >> model.v1 >> [I(mass=m1), R(damping=c1), C(stiffness=k0), model.s1]
    model.v1 >> model.mid >> model.v2
    model.mid >> C(stiffness=k12)
    model.v2 >> [I(mass=m2), R(damping=c2), model.s2]
    numerical, physical = model.cut("v1 >> s1", "v2 >> s2")
    K = np.array([[k0 + k12 + s1, -k12], [-k12, k12 + s2]])
    matrices = np.diag([m1, m2]), np.diag([c1, c2]), K, np.diag([s1, s2])
    return numerical, physical, matrices, sign * rng.uniform(5, 50)


def single_mass(rng, sign):
    m, c = rng.uniform(1, 4), rng.uniform(20, 120)
    k, s = 10 ** rng.uniform(2.5, 3.5, 2)
    model = Model("one")
    model.push, model.v, model.s = Se("push"), One(), C(stiffness=s)
    model.push >> model.v >> [I(mass=m), R(damping=c), C(stiffness=k), model.s]
    numerical, physical = model.cut("v >> s")
    matrices = tuple(np.array([[value]]) for value in (m, c, k + s, s))
    return numerical, physical, matrices, sign * rng.uniform(5, 50)


def uncut(matrices, amplitude, w, times):
    """Integrate M a + C v + K x = (F sin ωt, 0) exactly; return x, v and the specimens' forces."""
    M, D, K, S = matrices
    n = len(M)
    A = np.zeros((2 * n + 2, 2 * n + 2))
    A[:n, n : 2 * n] = np.eye(n)
    A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n] = -np.linalg.solve(M, K), -np.linalg.solve(M, D)
    A[n : 2 * n, 2 * n] = np.linalg.solve(M, np.eye(n))[:, 0] * amplitude
    A[2 * n, 2 * n + 1], A[2 * n + 1, 2 * n] = w, -w
    step = expm(A * (times[1] - times[0]))
    state = np.zeros(2 * n + 2)
    state[-1] = 1.0
    states = np.empty((len(times), len(state)))
    for i in range(len(times)):
        states[i], state = state, step @ state
    return states[:, :n], states[:, n : 2 * n], states[:, :n] @ S.T


@pytest.mark.parametrize("seed", range(32))
def test_drawn_tests_against_numpy(seed):
    rng = np.random.default_rng(seed)
    count = 1 + seed % 2
    make = single_mass if count == 1 else two_masses
    numerical, physical, matrices, amplitude = make(rng, 1 if seed % 4 < 2 else -1)
    frequency, rate = rng.uniform(0.5, 4), float(rng.choice([256, 500, 1000, 2048]))
    gain = rng.choice([0.0, -0.03, 0.12, -0.5])
    lag = 10 ** rng.uniform(-3.3, -2)
    actuators = [first_order(gain=1.0, time_constant=lag).actuator() for _ in range(count)]
    sensors = {"force": Sensor((GainError(float(gain)),))} if gain else {}
    test = bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuators if count > 1 else actuators[0], sensors=sensors),
        controller=bl.control.Direct(), excitation={"push": Sine(amplitude, frequency)}, rate=rate,
    )  # fmt: skip
    run = test.run(rng.uniform(5, 12))
    x, v, force = uncut(matrices, amplitude, 2 * math.pi * frequency, run.time)
    places = [""] if count == 1 else ["[0]", "[1]"]
    found = measures(run)
    # Which way the bond of a cut points is the test's affair: the sign of the force is taken from it.
    turned = np.sign([run[f"force{p}"] @ force[:, i] for i, p in enumerate(places)])
    own = [turned[i] * force[:, i] for i in range(count)]
    sizes = [rms(one) for one in own]
    off = [
        rms(run[f"measured.force{p}"] - own[i]) / max(sizes[i], 0.01 * max(sizes))
        for i, p in enumerate(places)
    ]
    assert_close(found["force error"], max(off))
    moved = []
    for word, values in (("displacement", x), ("velocity", v)):
        most = max(rms(values[:, i]) for i in range(count))
        moved += [
            rms(run[f"desired.{word}{p}"] - values[:, i]) / max(rms(values[:, i]), 0.01 * most)
            for i, p in enumerate(places)
        ]
    # The motion is judged with and without its drift, by the worse of the two.
    assert found["reference error"].value >= max(moved) * (1 - 2e-3)
    assert found["reference error"].value < 2 * max(moved) + 1e-3
    if gain:
        assert found["measured force"].value == pytest.approx(abs(gain), rel=1e-9)
    worst = max(SCALES[word].grade(found[word].value) for word in ("force error", "reference error"))
    assert run.judgement.level >= worst
    if worst >= Grade.POORLY:
        assert "well" not in run.verdict


def assert_close(finding, value):
    """The number is that of the judge, but for a worse grade of what is left without a drift."""
    if finding.grade is SCALES[finding.measure].grade(value):
        assert finding.value == pytest.approx(value, rel=2e-3)
    else:
        assert finding.value > value


# ---------------------------------------------------------------- when it is computed, and kept


def counted(monkeypatch):
    calls = []
    before = rehearsable.exact_reference_of

    def count(*given):
        calls.append(given[1:])
        return before(*given)

    monkeypatch.setattr(rehearsable, "exact_reference_of", count)
    return calls


def test_nothing_is_computed_that_nobody_looks_at(monkeypatch):
    calls = counted(monkeypatch)
    prepared = one_mass(C(stiffness=2e5)).prepare()
    runs = [prepared.run(seconds=1) for _ in range(3)]
    assert not calls
    assert runs[1].verdict == runs[1].verdict
    _ = repr(runs[1])
    assert len(calls) == 1


def test_the_reference_has_the_numbers_of_the_run():
    prepared = one_mass(C(stiffness=2e5), 1e-4, rate=4000.0).prepare()
    path = next(p for p in prepared.test.parameters if p.endswith("I.mass"))
    for mass in (500.0, 4000.0):
        found = measures(prepared.run({path: mass}, seconds=4))
        assert found["reference error"].value < 0.05
        assert found["force error"].value < 0.05


def test_what_was_set_meanwhile_is_in_no_reference():
    test = one_mass(C(stiffness=2e5), tunable={"excitation.scale": Tunable(0, 1, rate="20 %/s")})
    run = test.run(2, sets={500: {"excitation.scale": 0.5}})
    assert "force error" not in measures(run)
    assert "parameters were set while the test ran" in measures(run)["exact reference"].sentence


def test_a_file_keeps_what_was_found(tmp_path):
    run = one_mass(PowerDamper(2e4, 0.5).element()).run(3)
    run.save(tmp_path / "run.h5")
    loaded = Run.load(tmp_path / "run.h5")
    assert loaded.judgement == run.judgement
    assert "force error" in measures(loaded)
    again = rerun(tmp_path / "run.h5")
    assert again.record.attributes["difference"] == ""
    assert again.judgement == run.judgement
    assert pickle.loads(pickle.dumps(run)).verdict == run.verdict


def test_a_record_without_its_test_says_that_it_was_not_compared(tmp_path):
    run = one_mass(C(stiffness=2e5)).run(2)
    run.record.save(tmp_path / "run.h5")
    told = measures(Run.load(tmp_path / "run.h5"))["exact reference"]
    assert told.grade is None
    assert "not compared" in told.sentence
    damaged = replace(run.record, attributes={**run.record.attributes, "comparison": {"findings": [1, {}]}})
    assert "force error" not in measures(Run(damaged))


def test_without_feedback_nothing_is_compared():
    run = one_mass(C(stiffness=2e5), feedback=False, sensor=(GainError("-50 %"),)).run(2)
    found = measures(run)
    assert "force error" not in found
    assert found["measured force"].value == pytest.approx(0.5)
    assert "not fed back" in found["exact reference"].sentence


# ---------------------------------------------------------------- the check before it


def check_of(*findings):
    entries = [
        {"rule": rule, "level": level, "text": f"text of {rule}", "short": f"short {rule}", "accepted": why}
        for rule, level, why in findings
    ]
    return {"level": "", "verdict": "", "findings": entries, "margins": {"delay": 1}}


@pytest.fixture(scope="module")
def good():
    run = one_mass(C(stiffness=2e5), 1e-4, rate=4000.0).run(4)
    assert run.judgement.level is Grade.VERY_WELL
    return run


@pytest.mark.parametrize(
    ("findings", "grade", "words"),
    [
        ([("BL201", "stop", "")], Grade.POORLY, "advises against this run: short BL201 (BL201)"),
        ([("BL601", "vain", "")], Grade.POORLY, "not worth making: short BL601 (BL601)"),
        ([("BL302", "care", "")], Grade.VERY_WELL, "asks for care: short BL302 (BL302)"),
        ([("BL302", "care", ""), ("BL201", "stop", "")], Grade.POORLY, "short BL201 (BL201); short BL302"),
        ([("BL201", "stop", "measured on the rig")], Grade.VERY_WELL, ""),
        ([("BL001", "run", "")], Grade.VERY_WELL, ""),
        ([], Grade.VERY_WELL, ""),
    ],
)
def test_what_the_check_left_open_is_in_the_verdict(good, tmp_path, findings, grade, words):
    run = good.with_check(check_of(*findings))
    assert run.judgement.level is grade
    assert words in run.verdict
    assert ("he check" in run.verdict) == bool(words)
    assert ("well" in run.verdict) == (grade < Grade.POORLY)
    left = [rule for rule, level, why in findings if not why and level != "run"]
    told = [f.sentence for f in run.judgement if f.measure == "finding of the check"]
    assert len(told) == len(left)
    assert all(any(f"text of {rule}" in sentence for sentence in told) for rule in left)
    run.save(tmp_path / "run.h5")
    loaded = Run.load(tmp_path / "run.h5")
    assert loaded.judgement == run.judgement
    assert set(loaded.record.attributes["check"]) == {"level", "verdict", "findings"}


def test_a_run_takes_the_check_with_it():
    test = one_mass(PowerDamper(2e4, 0.5).element())
    check = test.check(2)
    run = test.run(2, check=check)
    left = [f for f in check.findings if f.open and f.level != "run"]
    assert len([f for f in run.judgement if f.measure == "finding of the check"]) == len(left)
    assert run.verdict == test.run(2).with_check(check).verdict
    stopped = Run(replace(run.record, attributes={**run.record.attributes, "status": "stopped"}))
    assert all(f.rule in stopped.verdict for f in left)


def test_a_loop_that_ran_although_its_check_had_not_passed(good):
    attributes = {**good.record.attributes, "check_passed": False}
    run = Run(replace(good.record, attributes=attributes))
    assert run.judgement.level is Grade.POORLY
    assert "he check had not passed" in run.verdict
