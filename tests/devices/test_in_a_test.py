"""Devices in hybrid tests: in both halves, in the check, in files, in slow tests, many side by side."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for braced.py, drawn_devices.py

from braced import machine, two_storeys
from drawn_devices import ALL

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.check.linear.running_loop import RunningLoop, coupled
from bondloop.devices import Bilinear, GiuffreMenegottoPinto, RambergOsgood
from bondloop.engine.codegen import compiler
from bondloop.errors import InputError
from bondloop.files import load
from bondloop.math import sqrt, where
from bondloop.rigs import mounted


@pytest.mark.parametrize("in_rig", [True, False])
def test_either_half_may_yield(in_rig):
    """Cut beside the brace it is the specimen; cut at the spring it stays in the computer."""
    model = machine(Bilinear(2e6, 8e3, 0.05))
    if not in_rig:
        model = Model("machine")
        model.push, model.v, model.brace, model.spring = (
            Se("push"),
            One(),
            Bilinear(2e6, 8e3, 0.05).element(),
            C(stiffness=5e5),
        )
        model.push >> model.v >> [I(mass=2000), model.spring, R(damping=1200), model.brace]
    numerical, physical = model.cut("v >> brace" if in_rig else "v >> spring")
    test = bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, bl.transfer.ServoHydraulic()),
        controller=bl.control.LeadCompensation("8 ms"), excitation={"push": bl.signals.Sine("12 kN", 2.0)},
        rate=1000, reference=(model, ["v.flow"]),
    )  # fmt: skip
    check = test.check(2)
    assert check.verdict.startswith("Run it")
    modes = [
        abs(np.angle(instant.step.eigenvalues)) / (2 * np.pi * test.period) for instant in check.instants
    ]
    for stiffness in (5e5 + 2e6, 5e5 + 0.05 * 2e6):  # elastic and yielding are looked at apart
        expected = np.sqrt(stiffness / 2000) / (2 * np.pi)
        assert any(abs(each - expected).min() < 0.02 * expected for each in modes), stiffness
    where = "rig.specimen" if in_rig else "numerical"
    runs = [test.with_values({f"{where}.brace.yield_force": force}).run(2) for force in ("8 kN", "4 kN")]
    assert all(run.completed for run in runs)
    assert np.ptp(runs[0]["actual.displacement"]) != np.ptp(runs[1]["actual.displacement"])


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_device_can_be_linearised_at_rest(kind):
    """The loop where it starts; a steel is as stiff there as the spring of its elastic stiffness."""
    laws = [kind()]
    if kind in (GiuffreMenegottoPinto, RambergOsgood):
        laws.append(Bilinear(laws[0].stiffness, 1e6 * laws[0].yield_force))
    largest = []
    for law in laws:
        numerical, physical = machine(law).cut("v >> brace")
        test = bl.HybridTest(
            numerical, rig=bl.rigs.Emulated(physical, bl.transfer.ServoHydraulic()),
            controller=bl.control.LeadCompensation("8 ms"), excitation={"push": bl.signals.Sine(1.0, 2.0)},
            rate=1000,
        )  # fmt: skip
        largest.append(RunningLoop(coupled(test)).at().spectral_radius)
    assert largest == pytest.approx(largest[:1] * len(largest), rel=1e-9)


def test_a_start_without_slopes_asks_for_care_in_few_words():
    """A square root of the displacement has no slope at rest, and has one everywhere else."""

    class Root(bl.devices.OdeSpecimen):
        stiffness: float = 1e4

        def force(self, motion):
            x = motion.displacement
            return self.stiffness * (x + 1e-3 * where(x < 0, -1.0, 1.0) * sqrt(abs(x)) * (1 + abs(x) ** 1.5))

    model = Model("machine")
    model.push, model.v, model.brace = Se("push"), One(), Root().element()
    model.push >> model.v >> [I(mass=2000), C(stiffness=5e5), R(damping=1200), model.brace]
    numerical, physical = model.cut("v >> brace")
    test = bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, bl.transfer.ServoHydraulic()),
        controller=bl.control.LeadCompensation("8 ms"), excitation={"push": bl.signals.Sine("12 kN", 2.0)},
        rate=1000,
    )  # fmt: skip
    check = test.check(1)
    assert check.step is None
    assert check.level != "run"
    (note,) = [n for n in check.notes if "linearised where it starts" in n]
    assert len(note) < 260, note


def test_a_test_in_a_file_has_devices(tmp_path):
    file = tmp_path / "brace.toml"
    file.write_text(
        """
name = "brace"
rate = "1 kHz"
seconds = 1
cut = "v >> brace"
[structure]
model = "Model"
bonds = ["push >> v", "v >> mass", "v >> spring", "v >> damper", "v >> brace"]
[structure.parts]
push = {part = "Se", name = "push"}
v = {part = "One"}
mass = {part = "I", mass = 2000}
spring = {part = "C", stiffness = 5e5}
damper = {part = "R", damping = 1200}
[structure.parts.brace]
part = "ode_element"
law = {device = "GiuffreMenegottoPinto", stiffness = "2 kN/mm", yield_force = "8 kN"}
[rig]
rig = "Emulated"
actuators = {transfer = "ServoHydraulic"}
[controller]
controller = "LeadCompensation"
delay = "8 ms"
[excitation]
push = {signal = "Sine", amplitude = "12 kN", frequency = 2}
""",
        encoding="utf-8",
    )
    test = load(file)
    assert test.run(1).completed
    again = tmp_path / "again.toml"
    again.write_text(files.to_toml(test), encoding="utf-8")
    assert files.to_toml(load(again)) == files.to_toml(test)
    file.write_text(file.read_text(encoding="utf-8").replace('"8 kN"', '"-8 kN"'), encoding="utf-8")
    with pytest.raises(InputError, match="yield_force"):
        load(file)


def test_a_pseudo_dynamic_test_of_a_brace():
    """Ramp and hold: the force is the law's own along the displacements that were imposed."""
    frame = two_storeys()
    law = Bilinear(8e5, 2e3, 0.05)
    rig = bl.rigs.RampHold(bl.rigs.Specimen.from_model(mounted(law)))
    test = bl.PseudoDynamicTest(
        frame, scheme=bl.integrate.SubStep(sub_steps=4, control="displacement"), rig=rig, interface="one.ux",
        excitation={"two.ux": bl.signals.Sine(3e3, 1.5)}, time_step=0.004,
    )  # fmt: skip
    run = test.run(2)
    assert run.completed
    x = run["actual.displacement"]
    assert np.max(np.abs(x)) > 3 * 2e3 / 8e5, "it must yield"
    force = run["force"]
    expected = -law.respond(x, 250)
    assert np.max(np.abs(force - expected)) < 1e-6 * np.max(np.abs(expected))


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_many_braces_side_by_side_are_each_the_one_alone():
    """Yield forces that are drawn: the peaks of tests in lanes are those of runs one by one."""
    numerical, physical = machine(Bilinear(2e6, 8e3, 0.05)).cut("v >> brace")
    actuator = bl.transfer.MassSpringDamper(m=20, c=12e3, k=2e6, drive="position")
    test = bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator), controller=bl.control.LeadCompensation("6 ms"),
        excitation={"push": bl.signals.Sine("12 kN", 2.0)}, rate=1000,
    )  # fmt: skip
    path = "rig.specimen.brace.yield_force"
    drawn = bl.studies.sample(test, {path: "uniform(3000, 12000)"}, 16, ["peak:force"], seconds=1)
    for i in (0, 5, 15):
        alone = test.with_values({path: float(drawn[path][i])}).run(1)
        assert drawn["peak:force"][i] == pytest.approx(np.max(np.abs(alone["force"])), rel=1e-12)
