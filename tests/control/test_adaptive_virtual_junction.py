"""The virtual junction that identifies its model: the regression, the hybrid test, refusals."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Zero
from bondloop.control import AdaptiveVirtualJunction, VirtualJunction
from bondloop.control.identified_junction import regression
from bondloop.errors import InputError, SolveError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated, coulomb
from bondloop.transfer import ElectroMechanical, MassSpringDamper, ServoHydraulic, transfer_system

sys.path.insert(0, str(Path(__file__).parent))  # for hardening_chain.py

from hardening_chain import CHOSEN, TRUE, a_test


def error(run):
    return np.sqrt(np.mean((run["rig.specimen.m3.v.flow"] - run["reference.m3.v.flow"]) ** 2))


def test_the_regression_of_a_mass_with_damper_and_set_point():
    """m x'' + c x' + k x = k u - F, written down by hand."""
    t = transfer_system(MassSpringDamper(2.0, 3.0, 5.0, drive="position"))
    found = regression(t, ["damper.damping", "spring.stiffness"])
    assert found.order == 2
    assert found.value == {("motion", 2): -2.0, ("load", 0): -1.0}
    assert found.regressors == ({("motion", 1): 1.0}, {("motion", 0): 1.0, ("command", 0): -1.0})
    found = regression(t, ["mass.mass", "damper.damping", "spring.stiffness"])
    assert found.value == {("load", 0): -1.0}


class DampersInSeries(Model):
    """Two dampers in series drive a mass: the equation contains their product."""

    def __init__(self):
        self.arm, self.force, self.v, self.out, self.command = One(), Zero(), One(), Port(), Se("u")
        self.first, self.second = R(damping=1.0), R(damping=2.0)
        self.command >> self.arm >> [self.first, self.force]
        self.force >> [self.second, self.v]
        self.v >> [I(mass=1.0), C(stiffness=2.0), self.out]


def test_wrong_parameters_are_found_and_the_junction_becomes_exact():
    wrong = MassSpringDamper(1.0, 14.0, 250.0, drive="position")
    matched = error(a_test(VirtualJunction(MassSpringDamper(*TRUE, drive="position"))).run(20))
    mistaken = error(a_test(VirtualJunction(wrong)).run(20))
    run = a_test(AdaptiveVirtualJunction(wrong, CHOSEN, noise=1e-3, filter_frequency=5)).run(20)
    assert run.completed
    assert run["controller.transfer.damper.damping.estimate"][[0, -1]] == pytest.approx([14, 8], rel=1e-4)
    assert run["controller.transfer.spring.stiffness.estimate"][[0, -1]] == pytest.approx(
        [250, 400], rel=1e-4
    )
    assert mistaken > 10 * matched
    assert error(run) < 1.1 * matched


def test_c_and_numpy_agree():
    wrong = MassSpringDamper(1.0, 14.0, 250.0, drive="position")
    test = a_test(AdaptiveVirtualJunction(wrong, CHOSEN, noise=1e-3))
    a, b = (test.run(1.5, backend=backend) for backend in ("numpy", "c"))
    for name in ("command", "controller.transfer.spring.stiffness.estimate"):
        assert np.ptp(a[name]) > 1e-3
        assert a[name] == pytest.approx(b[name], rel=1e-12, abs=1e-12)


def test_mass_and_latency_are_handled_too():
    wrong = MassSpringDamper(1.5, 14.0, 250.0, drive="position")
    junction = AdaptiveVirtualJunction(
        wrong, ("mass.mass", *CHOSEN), noise=1e-3, filter_frequency=5, latency=0.002
    )
    run = a_test(junction, latency=0.002).run(30)
    names = ["mass.mass", *CHOSEN]
    found = [run[f"controller.transfer.{n}.estimate"][-1] for n in names]
    assert found == pytest.approx(TRUE, rel=0.01)


def test_two_transfer_systems_are_identified_side_by_side():
    structure = two.model()
    numerical, physical = structure.cut(*two.CUTS)
    actuators = [MassSpringDamper(2.2, c, k, drive="position") for c, k in two.TABLE_I]
    wrong = [MassSpringDamper(2.2, 1.2 * c, 0.9 * k, drive="position") for c, k in two.TABLE_I]
    run = HybridTest(
        numerical,
        rig=Emulated(physical, actuators),
        controller=AdaptiveVirtualJunction(wrong, CHOSEN, noise=0.1),
        excitation=two.excitations("3/5", 0.001),
        rate=1000,
    ).run(10)
    for i, (c, k) in enumerate(two.TABLE_I):
        found = [run[f"controller.transfer[{i}].{n}.estimate"][-1] for n in CHOSEN]
        assert found == pytest.approx([c, k], rel=0.02)


def test_estimates_stay_in_their_range():
    far = MassSpringDamper(1.0, 1.0, 4000.0, drive="position")
    run = a_test(AdaptiveVirtualJunction(far, CHOSEN, noise=1e-3, range=1.5)).run(5)
    stiffness = run["controller.transfer.spring.stiffness.estimate"]
    assert stiffness.min() == pytest.approx(4000 / 1.5)
    assert stiffness.max() <= 4000 * 1.5


@pytest.mark.parametrize(
    ("model", "names", "reason"),
    [
        (MassSpringDamper(1, 2, 3), ("damper.dampng",), "did you mean"),
        (MassSpringDamper(1, 2, 3, friction=coulomb(0.3, 0.01)), ("damper.damping",), "is not linear"),
        (DampersInSeries(), ("first.damping", "second.damping"), "not linear in .* together"),
        (MassSpringDamper(1, 0, 3), ("damper.damping",), "needs a first value, not zero"),
    ],
    ids=["misspelt", "friction", "product", "zero"],
)
def test_what_cannot_be_identified_is_refused_with_the_reason(model, names, reason):
    with pytest.raises(InputError, match=reason):
        a_test(AdaptiveVirtualJunction(model, names), MassSpringDamper(1, 2, 3)).run(0.1)


def test_settings_are_checked():
    with pytest.raises(InputError, match="no parameters to identify"):
        AdaptiveVirtualJunction(MassSpringDamper(1, 2, 3))
    with pytest.raises(InputError, match=r"'damper\.damping' is named twice"):
        AdaptiveVirtualJunction(MassSpringDamper(1, 2, 3), ["damper.damping", "damper.damping"])
    assert AdaptiveVirtualJunction(MassSpringDamper(1, 2, 3), "spring.stiffness").parameters == (
        "spring.stiffness",
    )
    junction = AdaptiveVirtualJunction(MassSpringDamper(*TRUE, drive="position"), CHOSEN, latency=0.0015)
    with pytest.raises(InputError, match=r"latency of 0\.0015 s is not a whole number"):
        a_test(junction).run(0.1)


def test_it_describes_itself():
    junction = AdaptiveVirtualJunction(MassSpringDamper(*TRUE, drive="position"), CHOSEN, memory=3)
    description = junction.describe()
    assert description["controller"] == "AdaptiveVirtualJunction"
    assert description["parameters"] == list(CHOSEN)
    assert description["memory"] == 3


@pytest.mark.parametrize(
    ("actuator", "names"),
    [
        (lambda: ServoHydraulic(linear=True), ["mass.mass"]),
        (lambda: ServoHydraulic(linear=True), ["mass.mass", "friction.damping"]),
        (lambda: ElectroMechanical(linear=True), ["spring.stiffness"]),
        (lambda: MassSpringDamper(2.0, 30.0, 500.0, drive="position"), ["spring.stiffness"]),
    ],
)
def test_the_regression_holds_for_the_models_own_response(actuator, names):
    """a(s) x = b(s) u + c(s) F against the numeric frequency response, with other values than the first."""
    t = transfer_system(actuator())
    values = {n: 1.3 * t.system.parameters[n] for n in names}
    equation = regression(t, names)
    inputs = [v.name for v in t.system.input_vars]
    for omega in (1.0, 30.0, 400.0):
        s = 1j * omega
        velocity = t.system.frequency_response([omega], values)[0, 0]
        sources = {"command": t.command, "load": t.load}
        response = {word: velocity[inputs.index(v.name)] / s for word, v in sources.items()}
        for source, x in response.items():
            signals = {"motion": x, "command": 0.0, "load": 0.0, source: 1.0}

            def total(terms, signals=signals, s=s):
                return sum(c * s**power * signals[word] for (word, power), c in terms.items())

            found = sum(values[n] * total(r) for n, r in zip(names, equation.regressors, strict=True))
            largest = max(abs(c * s**p * signals[w]) for (w, p), c in equation.value.items())
            assert abs(found - total(equation.value)) < 1e-6 * largest


def test_paths_are_those_within_the_model():
    junction = AdaptiveVirtualJunction(
        MassSpringDamper(1.0, 14.0, 250.0, drive="position"), ["spring.stifness"]
    )
    with pytest.raises(
        InputError, match=r"unknown parameter 'spring.stifness' .* did you mean 'spring.stiffness'"
    ):
        _ = a_test(junction).tick


@pytest.mark.parametrize("junction", [VirtualJunction, lambda m: AdaptiveVirtualJunction(m, ["mass.mass"])])
@pytest.mark.parametrize("actuator", [ServoHydraulic, ElectroMechanical])
def test_full_actuator_models_are_refused_with_what_to_do(junction, actuator):
    model = actuator(linear=True)
    with pytest.raises(SolveError, match=r"cannot use .*assumption 5.*simpler model of the actuator"):
        _ = a_test(junction(model), model).tick


@pytest.mark.parametrize("unit", ["kg", "s", "A", "K"])
def test_the_noise_is_a_force_a_moment_or_a_motion(unit):
    model = MassSpringDamper(2.0, 100.0, 1e4, drive="position")
    with pytest.raises(
        InputError, match=r"AdaptiveVirtualJunction\(noise\): expected a quantity in N or N m"
    ):
        AdaptiveVirtualJunction(model, CHOSEN, noise=f"1 {unit}")
    assert AdaptiveVirtualJunction(model, CHOSEN, noise="2 kN").noise == 2000.0
