"""Every example runs, stays short, leaves its figures, and finds the numbers that theory gives."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, folder):
    found = load(name).main(folder)
    for end in (".svg", ".png", "_response.png"):
        assert (folder / f"{name}{end}").stat().st_size > 5000
    return found


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_at_most_120_lines_and_tested(path):
    assert len(path.read_text().splitlines()) <= 120
    assert f"test_{path.stem}" in globals()


def test_three_mass(tmp_path, capsys):
    found = run("three_mass", tmp_path)
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
