"""The virtual junction without load cells: the observer, the hybrid test, refusals."""

import numpy as np
import pytest

from bondloop.bondgraph import MC, C, Input, Model, MSf, One, Port, R, Zero
from bondloop.control import ObservedVirtualJunction, VirtualJunction
from bondloop.control.virtual_junction import load_observer
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import LVDT, Emulated, Sensor, WhiteNoise, coulomb
from bondloop.transfer import MassSpringDamper, transfer_system

MODELS = [MassSpringDamper(two.MASS, c, k, drive="position") for c, k in two.TABLE_I]


def a_test(controller, case="5/5", actuators=MODELS, **options):
    numerical, physical = two.model().cut(*two.CUTS)
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuators, **options),
        controller=controller,
        excitation=two.excitations(case, 1e-3),
        rate=1000,
    )


@pytest.mark.parametrize("bandwidth", [20.0, 150.0, 400.0])
@pytest.mark.parametrize("values", [(2.2, 150.8, 13618.0), (50.0, 4e3, 8e6), (0.1, 0.5, 10.0)])
def test_the_observer_has_its_poles_at_the_bandwidth_and_no_lag_behind_a_steady_load(bandwidth, values):
    transfer = transfer_system(MassSpringDamper(*values, drive="position"))
    _, o = load_observer(transfer, transfer.system.parameters, bandwidth, 1e-3)
    poles = np.linalg.eigvals((np.eye(4) - np.outer(o.L, o.C)) @ o.F)
    # Four poles in one place are apart by the fourth root of rounding.
    assert np.abs(poles - np.exp(-2 * np.pi * bandwidth * 1e-3)).max() < 5e-3
    # The plant under a ramp of the load, exactly: the observer must end on it.
    x, seen = np.zeros(4), np.zeros(4)
    x[3] = 7.0
    for _ in range(4000):
        x = o.F @ x
        ahead = o.F @ seen
        seen = ahead + o.L * (o.C @ x - o.C @ ahead)
    assert seen[2:] == pytest.approx(x[2:], rel=1e-6)


@pytest.mark.parametrize("case", ["5/5", "3/5"])
def test_without_load_cells_it_follows_as_well_as_with_them(case):
    """Load cells that read nothing but noise of 50 N change nothing: they are not used."""
    useless = {"force": Sensor((WhiteNoise(rms=50.0),))}
    run = a_test(ObservedVirtualJunction(MODELS), case, sensors=useless).run(10)
    cells = a_test(VirtualJunction(MODELS), case).run(10)
    assert run.completed
    assert list(two.findings(run).values()) == pytest.approx(list(two.findings(cells).values()), rel=0.08)
    for i in (0, 1):
        force = run[f"force[{i}]"][2000:]
        load = run[f"controller.observed[{i}].load"][2000:] * (1 if i == 0 else -1)
        assert np.sqrt(np.mean((force - load) ** 2)) < 0.03 * np.abs(force).max()


def test_the_force_error_is_that_of_the_estimate_and_without_feedback_nothing_is_fed_back():
    test = a_test(ObservedVirtualJunction(MODELS))
    run = test.run(1)
    load = run["controller.observed[0].load"]
    assert run["synchronisation.force[0]"] == pytest.approx(run["force[0]"] - load, abs=1e-12)
    alone = HybridTest(
        test.numerical,
        rig=test.rig,
        controller=test.controller,
        excitation=two.excitations("5/5", 1e-3),
        rate=1000,
        feedback=False,
    ).run(1)
    # The numerical half as if nothing hung on it.
    free = two.test(controller="direct", feedback=False).run(1)
    assert alone["desired.displacement[0]"] == pytest.approx(free["desired.displacement[0]"], abs=1e-12)
    assert alone["synchronisation.force[0]"] == pytest.approx(alone["force[0]"], abs=0)


def test_the_noise_of_a_transducer_is_borne():
    run = a_test(ObservedVirtualJunction(MODELS), sensors={"displacement": LVDT()}).run(10)
    assert max(two.findings(run).values()) < 0.035


def test_every_state_of_the_model_is_a_channel():
    run = a_test(ObservedVirtualJunction(MODELS)).run(2)
    momentum = run["controller.observed[1].mass.momentum"][1000:]
    assert momentum == pytest.approx(2.2 * run["actual.velocity[1]"][1000:], abs=0.02 * momentum.max())


def test_a_slow_observer_is_told_by_the_check():
    """The force is late: the loop becomes unstable below 73 Hz."""
    assert a_test(ObservedVirtualJunction(MODELS)).check().passed
    slow = a_test(ObservedVirtualJunction(MODELS, bandwidth=40)).check()
    assert not slow.passed
    assert slow.step.growth == pytest.approx(5.34, abs=0.05)


def test_values_that_a_test_changes_reach_the_observer():
    wrong = [MassSpringDamper(1.5 * two.MASS, c, k, drive="position") for c, k in two.TABLE_I]
    mended = {f"controller.transfer[{i}].mass.mass": two.MASS for i in (0, 1)}
    run = a_test(ObservedVirtualJunction(wrong)).with_values(mended).run(3)
    right = a_test(ObservedVirtualJunction(MODELS)).run(3)
    assert run["command[0]"] == pytest.approx(right["command[0]"], rel=1e-9, abs=1e-12)


def test_c_and_numpy_agree():
    test = a_test(ObservedVirtualJunction(MODELS))
    a, b = (test.run(0.5, backend=backend) for backend in ("numpy", "c"))
    assert np.ptp(a["command[0]"]) > 1e-4
    assert a["command[0]"] == pytest.approx(b["command[0]"], rel=1e-9, abs=1e-15)


class Massless(Model):
    """A set point that pulls at the far end of a spring; at its near end nothing but the port."""

    def __init__(self):
        self.v, self.out, self.command = One(), Port(), Input("x_d")
        self.spring = MC(lambda q, x_d, stiffness: stiffness * (q - x_d), stiffness=2e5)
        self.command >> self.spring
        self.v >> [self.spring, self.out]


class Soft(Model):
    """A set velocity behind a spring and a damper, where load and stretch cannot be told apart."""

    def __init__(self):
        self.u, self.push, self.force, self.stretch, self.out = Input("u"), MSf(), Zero(), One(), Port()
        self.u >> self.push >> self.force >> self.out
        self.force >> self.stretch >> [C(stiffness=100.0), R(damping=3.0)]


@pytest.mark.parametrize(
    ("model", "error", "reason"),
    [
        (
            MassSpringDamper(2.2, 150.0, 1e4, drive="position", friction=coulomb(1.0)),
            InputError,
            "not linear",
        ),
        (Massless(), ModelError, "does not tell the load"),
        (Soft(), InputError, "does not tell its load"),
    ],
    ids=["friction", "massless", "soft"],
)
def test_what_cannot_be_observed_is_refused(model, error, reason):
    assert issubclass(error, BondloopError)
    with pytest.raises(error, match=reason):
        _ = a_test(ObservedVirtualJunction([model, MODELS[1]]), actuators=[model, MODELS[1]]).tick
