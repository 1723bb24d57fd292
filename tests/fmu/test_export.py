"""Tests as FMUs: valid, and to the last bit what the rehearsal gives, whole or as two halves."""

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from slaves import opened

import bondloop as bl
from bondloop import papers
from bondloop.errors import InputError
from bondloop.fmu.model_description import tick_variables
from bondloop.realtime.programs.interface import command_names, measured_names

READY = [entry.name for entry in papers.entries()]


def ready(name, **options):
    return papers.find(name).load().test(**options)


def compare_whole(test, path, version, seconds):
    """Compare what FMPy makes of the whole test's FMU with the rehearsal, bit by bit."""
    run = test.run(seconds)
    test.write_fmu(path, version=version, seconds=seconds)
    assert validate_fmu(str(path)) == []
    seen = fmpy.simulate_fmu(str(path), stop_time=seconds, output_interval=test.period)
    outputs = [v for v in tick_variables(test.tick, len(test.tick.inputs)) if v.group == "output"]
    assert len(outputs) == len(test.tick.channels)
    assert len(seen) == len(run.time)
    for v in outputs:
        np.testing.assert_array_equal(seen[v.name], np.asarray(run[v.path]), err_msg=v.name)


def compare_halves(test, folder, version, steps):
    """Step computer and rig as a master does, and compare commands and measured values with the rehearsal."""
    run = test.run(steps * test.period)
    paths = [folder / f"{half}{version}.fmu" for half in ("computer", "rig")]
    for path in paths:
        test.write_fmu(path, half=path.stem[:-1], version=version, seconds=steps * test.period)
        assert validate_fmu(str(path)) == []
    commands, measured = command_names(test.computer_tick), measured_names(test.computer_tick)
    seen = []
    with opened(*paths) as (computer, rig):
        for k in range(steps + 1):
            computer.set(dict(zip(measured, rig.get(measured), strict=True)))
            rig.set(dict(zip(commands, computer.get(commands), strict=True)))
            seen.append([*computer.get(commands), *rig.get(measured)])
            if k < steps:
                for half in (computer, rig):
                    half.step(k * test.period, test.period)
    recorded = [c.name for c in test.tick.channels]
    for i, name in enumerate([*commands, *measured]):
        if name in measured and name not in recorded:
            continue
        np.testing.assert_array_equal(np.array(seen)[:, i], np.asarray(run[name]), err_msg=name)


@pytest.mark.parametrize("version", [2, 3])
def test_whole_test_is_the_rehearsal(tmp_path, version):
    compare_whole(ready("gawthrop-two-actuators"), tmp_path / "whole.fmu", version, 0.5)


@pytest.mark.parametrize("version", [2, 3])
def test_two_halves_are_the_rehearsal(tmp_path, version):
    compare_halves(ready("gawthrop-two-actuators"), tmp_path, version, 200)


def test_tabulated_signals_travel_in_the_file(tmp_path):
    """The earthquake is no formula; beyond its end there is an error instead of silence."""
    test = ready("mr-damper-building")
    assert test.tables
    folder = tmp_path / "a folder, 100 % strange"
    folder.mkdir()
    for version in (2, 3):
        compare_whole(test, folder / "whole.fmu", version, 0.2)
        with opened(folder / "whole.fmu") as whole:
            steps = round(0.2 / test.period)
            for k in range(steps):
                whole.step(k * test.period, test.period)
            whole.step(steps * test.period, test.period)
            with pytest.raises(Exception, match=r"status 3"):
                whole.step((steps + 1) * test.period, test.period)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "version"),
    [
        # The one version of every second test by day, the other of the rest.
        pytest.param(name, version, marks=pytest.mark.nightly if (i + version) % 2 else ())
        for i, name in enumerate(READY)
        for version in (2, 3)
    ],
)
def test_every_ready_made_test(tmp_path, name, version):
    test = ready(name)
    compare_whole(test, tmp_path / "whole.fmu", version, 200 * test.period)
    if getattr(test, "coupling", "") == "sampled":
        compare_halves(test, tmp_path, version, 100)


def test_simulation(tmp_path):
    from bondloop.bondgraph import C, I, Model, One, R, Se

    model = Model("oscillator")
    model.force, model.v = Se("f"), One()
    _ = model.force >> model.v >> [I(mass=2.0), C(stiffness=50.0), R(damping=0.3)]
    simulation = bl.Simulation({"one": model}, rate=200, excitation={"f": bl.signals.Sine(1.0, 1.0)})
    compare_whole(simulation, tmp_path / "simulation.fmu", 3, 1.0)
    with pytest.raises(InputError, match="has no rig apart"):
        simulation.write_fmu(tmp_path / "x.fmu", half="rig")


def test_the_same_test_gives_the_same_file(tmp_path):
    test = ready("dubois-damper")
    first, second = (test.write_fmu(tmp_path / name).read_bytes() for name in ("a.fmu", "b.fmu"))
    assert first == second


def test_what_is_refused(tmp_path):
    test = ready("gawthrop-two-actuators")
    with pytest.raises(InputError, match=r"unknown half 'rg'; did you mean 'rig'"):
        test.write_fmu(tmp_path / "x.fmu", half="rg")
    with pytest.raises(InputError, match="FMI 2 or 3; found version 1"):
        test.write_fmu(tmp_path / "x.fmu", version=1)
    with pytest.raises(InputError, match="it is a folder"):
        test.write_fmu(tmp_path)
    with pytest.raises(InputError, match="cannot be stepped apart"):
        ready("gawthrop-three-mass").write_fmu(tmp_path / "x.fmu", half="rig")
    with pytest.raises(InputError, match="is a program of its own"):
        test.replaced(controller=lambda *seen: seen[0].displacement).write_fmu(tmp_path / "x.fmu")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        test.write_fmu(tmp_path / "file" / "x.fmu")
    assert not list(tmp_path.glob("*.fmu*"))


def test_without_binary_there_are_sources_only(tmp_path):
    import zipfile

    path = ready("gawthrop-two-actuators").write_fmu(tmp_path / "x.fmu", half="rig", binary=False)
    names = zipfile.ZipFile(path).namelist()
    assert not [n for n in names if n.startswith("binaries/")]
    assert "sources/buildDescription.xml" in names
    assert validate_fmu(str(path)) == []
