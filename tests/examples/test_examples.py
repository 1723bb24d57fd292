"""Every example runs, stays short, leaves its figures, and finds the numbers that theory gives."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lsim

EXAMPLES = Path(__file__).parents[2] / "examples"
FIGURES = ("figure_2", "figure_3", "figure_5", "figure_6")
"""Of Bayer 2000, by sub_steps."""


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, folder, ends=(".svg", ".png", "_response.png"), files=(), **options):
    """Run an example; it leaves files of its own name with these ends, or of other names."""
    found = load(name).main(folder, **options)
    for file in files or [f"{name}{end}" for end in ends]:
        assert (folder / file).stat().st_size > 5000
    return found


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_at_most_120_lines_and_tested(path):
    assert len(path.read_text().splitlines()) <= 120
    assert f"test_{path.stem}" in globals()


def test_condenser_microphone(tmp_path):
    numbers = run("condenser_microphone", tmp_path)
    assert numbers["pull_in"] == pytest.approx(36.5867, abs=1e-4)  # 8 k d^3 / (27 eps A), by hand
    assert numbers["error"] < 1e-9
    assert numbers["sensitivity"] == pytest.approx(numbers["expected"], rel=5e-3)


def test_three_mass(tmp_path, capsys):
    found = run("three_mass", tmp_path, (".svg", ".png"))
    assert found["speed_20s"] == pytest.approx(0.878824, abs=1e-5)
    assert found["pole_at_rest"] == pytest.approx(1.255, abs=1e-3)
    assert found["pole_in_well"] == pytest.approx(-0.05, abs=1e-9)
    assert found["crossings"] == 5
    printed = capsys.readouterr().out
    assert (
        "d/dt m2.I.momentum     = -c2*m2.I.momentum/m2 + k2*m2.C.displacement - k3*m3.C.displacement"
        in printed
    )
    assert str(tmp_path / "three_mass.svg") in printed


def test_dc_motor(tmp_path):
    found = run("dc_motor", tmp_path)
    assert found["difference"] == 0  # the transfer function is the textbook's, symbol for symbol
    assert found["speed"] == pytest.approx(found["expected_speed"], rel=1e-12)
    assert found["speed"] == pytest.approx(46.5116279, rel=1e-8)
    assert found["pole"] == pytest.approx(found["expected_pole"], rel=1e-9)
    assert found["final_speed"] == pytest.approx(found["speed"], rel=1e-3)


def test_dc_motor_reports_the_dependent_load():
    notes = load("dc_motor").model().compile().notes
    assert any(note.startswith("derivative causality: load_inertia ") for note in notes)


def test_hydraulic_cylinder(tmp_path):
    found = run("hydraulic_cylinder", tmp_path)
    assert found["frequency"] == pytest.approx(found["expected_frequency"], rel=1e-9)
    assert found["frequency"] == pytest.approx(18.831467, rel=1e-5)
    assert found["speed"] == pytest.approx(found["expected_speed"], rel=1e-8)
    assert found["final_speed"] == pytest.approx(found["speed"], rel=0.02)
    assert found["damping"] == pytest.approx(0.052, abs=0.001)


def test_double_pendulum(tmp_path):
    found = run("double_pendulum", tmp_path)
    assert found["error"] < 1e-6
    assert found["drift"] < 1e-7
    assert found["energy"] == pytest.approx(2.4130, abs=1e-3)


def test_double_pendulum_reports_four_dependent_storages():
    system = load("double_pendulum").model().compile()
    assert sorted(system.dependent) == ["I", "I2", "I3", "I4"]
    assert len(system.states) == 4


def test_virtual_junction(tmp_path):
    found = run("virtual_junction", tmp_path, files=["gawthrop_figure_7.png"])
    assert found["same"]  # equations (7) to (10) of the paper, symbol for symbol
    assert found["continuous, at rest"] < 1e-13  # 1.5e-14: rounding of 20,000 steps
    assert found["continuous, at rest, last 10 s"] < 1e-10  # 5.9e-12: rounding, parted by the chaos
    assert found["continuous, 0.01 m/s"] == pytest.approx(0.1814, rel=0.01)
    assert found["continuous, 0.01 m/s, last 10 s"] == pytest.approx(1.0, rel=0.05)
    assert found["continuous, 0.01 m/s, hardening"] == pytest.approx(3.6e-3, rel=0.02)
    assert found["continuous, 0.01 m/s, hardening, last 10 s"] == pytest.approx(7.0e-4, rel=0.02)
    assert found["sampled at 1 kHz, at rest, hardening"] == pytest.approx(8.0e-4, rel=0.02)
    assert found["sampled at 1 kHz, at rest, hardening, last 10 s"] == pytest.approx(5.1e-4, rel=0.02)


@pytest.fixture(scope="module")
def two_actuators(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_actuators")
    return run("two_actuators", folder, files=[f"gawthrop_figure_{n}.png" for n in (13, 14, 15)])


@pytest.mark.parametrize(
    ("case", "percent", "milliseconds"),
    [
        ("5/5 Hz, virtual junction", (2.73, 2.16), (0.857, 0.686)),
        ("5/5 Hz, none, open force", (35.8, 24.4), (10.22, 7.48)),
        ("3/5 Hz, virtual junction", (1.00, 1.49), (0.33, 0.48)),
        ("3/5 Hz, none, open force", (40.5, 28.4), (10.9, 8.8)),
        ("sweeps, virtual junction", (1.19, 1.15), (0.475, 0.479)),
        ("sweeps, none, open force", (33.0, 20.6), (12.03, 8.14)),
        ("5/5 Hz, model c_t + 10 %", (1.35, 0.62), (-0.258, -0.097)),
        ("5/5 Hz, model c_t - 10 %", (6.56, 4.74), (1.99, 1.48)),
        ("5/5 Hz, model k_t + 10 %", (6.40, 4.55), (1.68, 1.34)),
        ("5/5 Hz, model k_t - 10 %", (3.48, 1.86), (-0.12, -0.09)),
        ("5/5 Hz, one sample late", (7.30, 6.19), (2.17, 1.87)),
        ("5/5 Hz, 500 Hz sampling", (5.66, 4.53), (1.66, 1.36)),
        ("5/5 Hz, 2 kHz sampling", (1.36, 1.08), (0.43, 0.34)),
    ],
)
def test_two_actuators(two_actuators, case, percent, milliseconds):
    errors, delays = zip(*two_actuators[case], strict=True)
    assert [100 * error for error in errors] == pytest.approx(percent, rel=0.02, abs=0.02)
    assert [1e3 * delay for delay in delays] == pytest.approx(milliseconds, rel=0.02, abs=0.02)


def test_two_actuators_grow_without_virtual_junction_as_predicted(two_actuators):
    assert two_actuators["lags"] == pytest.approx(
        [-52.4, -36.7], rel=0.01
    )  # N s/m, against 6 in the structure
    assert two_actuators["predicted"] == pytest.approx((7.48, 9.80), rel=0.01)
    assert two_actuators["seen"] == pytest.approx((8.046, 9.696), rel=0.01)  # eigenvalues of one sampled step


def test_two_actuators_delay_by_the_hold_follows_the_formula(two_actuators):
    # docs/papers/gawthrop-2005.md: half a sample, and again for the force's share, on both its ways
    for (_, measured), stiffness in zip(
        two_actuators["5/5 Hz, virtual junction"], (13618.0, 25902.0), strict=True
    ):
        assert measured == pytest.approx(0.5e-3 * (1 + 2 * 4750 / stiffness), rel=0.02)


def test_adaptive_control(tmp_path):
    found = run("adaptive_control", tmp_path, (".png",))
    rows = {  # docs/papers/wagg-2001.md, "What comes out": per cent of z2, largest gain, m/s, W
        "alpha 100, beta 10, t_s 0.01": (3.78, 672, 12.3, 0.965),
        "alpha 10, beta 1": (32.2, 1393, 49.9, 9.65),
        "alpha 30, beta 3": (13.3, 2408, 26.0, 3.22),
        "alpha 300, beta 30": (0.82, 61, 1.2, 0.322),
        "alpha 1000, beta 100": (0.02, 3, 0.8, 0.097),
        "alpha 100, beta 100": (0.07, 2, 0.8, 0.009),
        "t_s 1": (20.9, 5, 0.9, 0.268),
        "t_s 0.1": (25.3, 57, 3.1, 0.788),
        "t_s 0.03": (8.4, 149, 4.8, 0.920),
        "C_e of the half, alpha 1000, beta 100": (1.07, 3, 0.8, 0.0),
        "0.1 ms steps": (3.78, 745, 12.4, 0.965),
        "sampled at 10 kHz": (3.81, 796, 13.2, 0.965),
        "sampled at 1 kHz, alpha 1000, beta 100": (0.08, 13, 0.8, 0.097),
    }
    for name, (error, gain, fastest, quiet) in rows.items():
        assert 100 * found[name]["error"] == pytest.approx(error, rel=0.02, abs=0.006)
        assert found[name]["gain"] == pytest.approx(gain, rel=0.05, abs=0.6)  # bursts are sensitive
        assert found[name]["fastest"] == pytest.approx(fastest, rel=0.05, abs=0.06)
        assert found[name]["quiet"] == pytest.approx(quiet, rel=0.005, abs=5e-4)
    ends = {"alpha 100, beta 1": (27, 79.9), "t_s 0.003": (42, 0.982), "sampled at 1 kHz": (43, 0.965)}
    assert set(rows) | set(ends) == set(found)
    for name, (time, quiet) in ends.items():
        assert found[name]["ends"] == pytest.approx(time, abs=1)
        assert found[name]["quiet"] == pytest.approx(quiet, rel=0.005)
    assert 100 * found["alpha 30, beta 3"]["to half"] == pytest.approx(11.9, abs=0.1)
    assert 100 * found["t_s 0.1"]["to half"] == pytest.approx(10.1, abs=0.1)


def test_sub_steps(tmp_path):
    found = run("sub_steps", tmp_path, files=[f"bayer_{n}.png" for n in (*FIGURES, "map")], most=4)
    assert found["table 2"]["structure"][0] == pytest.approx([8.55, 22.42], abs=0.0055)
    cases = {name: numbers for name, numbers in found.items() if name.startswith("figure")}
    assert [bool(numbers["stable"]) for numbers in cases.values()] == [False, True, False, True, True, True]
    assert found["figure_3: 4 ms, k = 9"]["rms_error"] == pytest.approx(0.144, abs=0.002)
    # Up to four sub-steps, at 1, 2 and 4 ms: without compensation 2 ms need two, 4 ms four.
    expected = [[k >= least for least in (1, 2, 4)] for k in range(1, 5)]
    assert found["map"]["stable"][:, :, 0].tolist() == expected
    assert found["map"]["stable"][:, :, 1].all()


def test_first_hybrid_test(tmp_path):
    found = run("first_hybrid_test", tmp_path, (".png", ".h5"))
    assert found["passed"]
    assert not found["naked_passed"]
    assert found["added_damping"] == pytest.approx(-44.8, rel=0.01)
    assert found["same"]
    assert found["tracking_error"] == pytest.approx(0.0019, rel=0.05)
    assert found["rack_error"] == pytest.approx(0.038, rel=0.05)


def test_building_damper(tmp_path, capsys):
    found = run("building_damper", tmp_path, (".png", ".h5"))
    assert found["passed"]
    assert found["error"] == pytest.approx(
        0.0059, rel=0.05
    )  # against the complete structure, which is not cut
    assert found["calmed"] == pytest.approx(0.40, abs=0.02)
    printed = capsys.readouterr().out
    assert "75 degrees of freedom, first modes at [1.236 1.236 1.988 4.025] Hz" in printed
    assert "Verdict: Run it" in printed


def test_building_damper_loses_little_by_reduction():
    """Ten modes and the roof instead of 75 degrees of freedom: the band of the gusts is right to 0.1 %."""
    module = load("building_damper")
    full = module.frame()
    reduced = module.craig_bampton(full, interface=["roof.ux"], count=10)
    assert reduced.error((0.2, 3.0), "roof.ux", "roof.ux", points=40).largest < 1e-3
    assert module.modes(reduced.matrices, 1).omega == pytest.approx(module.modes(full, 1).omega, rel=1e-6)


def test_building_damper_sways_more_with_a_damper_out_of_tune():
    module = load("building_damper")
    full = module.frame()
    omega = 2 * 3.14159265 * 1.236

    def peak(tuning):
        space = module.complete(full, tuning).compile(outputs=["building.roof.ux.flow"]).numeric()
        return abs(space.frequency_response([w * omega for w in (0.9, 0.95, 1.0, 1.05)])).max()

    assert peak(0.97) < 0.5 * peak(0.7)
    assert peak(0.97) < 0.5 * peak(1.4)


def test_orifice_damper(tmp_path):
    """What du Bois 2010, section 2.2 says in words, in numbers of our own: see docs/actuators.md."""
    found = run("orifice_damper", tmp_path, (".png",))
    assert found["flat"] == pytest.approx(0.92, abs=0.05)
    assert found["peak, large orifice, 0.1 mm"] > found["peak, empty, 0.1 mm"] + 1
    assert found["peak, standard, 0.1 mm"] < found["peak, empty, 0.1 mm"] - 0.3
    assert found["rise"] == pytest.approx(4.1, abs=0.2)
    assert found["overshoot"] == pytest.approx(1.23, abs=0.03)


def test_damper_rig(tmp_path):
    """From stepped sines to a coupled test; what du Bois 2010 says of delay models, in numbers of our own."""
    found = run("damper_rig", tmp_path, (".png", "_models.png", ".h5"))
    assert found["order"] == 1  # a lag with a delay: a second pole does not pay
    assert found["delay"] == pytest.approx(3.74e-3, rel=0.03)
    assert found["after"] < found["before"] / 3
    assert found["none"] == pytest.approx(0.281, rel=0.05)
    assert found["inverse"] == pytest.approx(0.0318, rel=0.05)
    # Against structure and damper in one piece, which are neither sampled nor cut:
    assert found["inverse, structure"] < 0.06
    assert found["none, structure"] > 0.4


def test_will_my_test_trip(tmp_path):
    found = run("will_my_test_trip", tmp_path, (".png", "_settings.png", "_worst.png"))
    assert 0.05 < found["before"] < 0.3  # of 2048 rigs: a random number, to a per cent
    assert found["after_at_most"] < found["before"] / 2
    # The lag of the actuator that was identified, 2 damping/angular frequency, is 26.5 ms.
    assert found["lead"] == pytest.approx(0.0265, rel=0.2)


def test_frame_with_measured_damper(tmp_path, capsys):
    """Beside SciPy: the frame's matrices by hand, moved by the ground and by the force that came back."""
    assert len((EXAMPLES / "frame_with_measured_damper.py").read_text().splitlines()) <= 40
    run = load("frame_with_measured_damper").main(tmp_path)
    assert "Verdict: Run it." in capsys.readouterr().out
    assert "The result" not in run.verdict
    assert (tmp_path / "house.html").stat().st_size > 100_000
    M, K = 2000 * np.eye(2), 6e5 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    C = 0.2 * M + 1e-3 * K
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K / 2000, -C / 2000]])
    B = np.array([[0.0, 0.0], [0.0, 0.0], [-1.0, -1 / 2000], [-1.0, 0.0]])
    pushed = np.column_stack([run["ground_ux"], run["force"]])
    _, x, _ = lsim((A, B, np.eye(4), np.zeros((4, 2))), pushed, run.time)
    off = x[:, 0] - run["desired.displacement"]
    assert np.abs(off).max() < 0.03 * np.abs(x[:, 0]).max()
    assert np.abs(x[:, 0]).max() == pytest.approx(0.0107, rel=0.03)
