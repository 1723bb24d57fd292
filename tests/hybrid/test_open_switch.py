"""A test with a force switch and no simulated specimen is rehearsed with the switch open as well."""

import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, bond
from bondloop.errors import InputError
from bondloop.hybrid import Switches
from bondloop.safety import Interlock, Limits, RampedSwitch

LIMIT = 0.05


def a_test(support, simulated=False, **options):
    """Return a mass of 1 t on a spring of its own and on the one that is tested, 40 kN/m, pushed for 1 s."""
    whole = Model("whole")
    whole.v, whole.mass, whole.push = One(), I(mass=1000.0), bl.bondgraph.Se("push")
    whole.spring, whole.loss = C(stiffness=support), R(damping=2e3)
    whole.specimen = Model("specimen")
    whole.specimen.end, whole.specimen.w = Port(), One()
    whole.specimen.bearing = C(stiffness=4e4)
    bond(whole.specimen.end, whole.specimen.w)
    bond(whole.specimen.w, whole.specimen.bearing)
    bond(whole.push, whole.v)
    for part in (whole.mass, whole.spring, whole.loss):
        bond(whole.v, part)
    bond(whole.v, whole.specimen.end)
    numerical, physical = whole.cut("v >> specimen.end")
    actuator = bl.transfer.MassSpringDamper(m="20 kg", c="12 kN s/m", k="4 MN/m", drive="position")
    given = {"switches": Switches(simulated=physical if simulated else None), **options}
    return bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator), controller=bl.control.LeadCompensation("3 ms"),
        excitation={"push": bl.signals.Step(600.0, at=0.5)}, rate=1000,
        **{"limits": Limits(displacement=LIMIT)} | given,
    )  # fmt: skip


def said(test):
    return [f for f in test.check(8.0).findings if "force switch open" in f.text]


def test_what_only_the_specimen_holds_is_told():
    """600 N: 15 mm on the specimen, 0.6 m and more on a support of 1 kN/m alone."""
    (finding,) = said(a_test(support=1e3))
    assert finding.level == "care"
    assert "no switches.simulated" in finding.text
    assert "the run ends at" in finding.text
    alone = a_test(support=1e3, switches=Switches(force=RampedSwitch(0.0))).run(8.0)
    assert not alone.completed


def test_the_interlock_is_named():
    test = a_test(support=1e3, limits=None, interlock=Interlock(Limits(displacement=LIMIT)))
    (finding,) = said(test)
    assert "the interlock trips at" in finding.text


@pytest.mark.parametrize(
    "test",
    [
        lambda: a_test(support=1e3, simulated=True),
        lambda: a_test(support=4e4),  # 15 mm on the support alone
        lambda: a_test(support=1e3, switches=None),
    ],
)
def test_what_stays_within_its_limits_is_not(test):
    assert not said(test())


@pytest.mark.parametrize("name", ["displacement", "force"])
@pytest.mark.parametrize("wrong", ["1 s", 1.0, None])
def test_what_is_no_switch_is_refused(name, wrong):
    with pytest.raises(InputError, match=rf"Switches\({name}\): expected bondloop.safety.RampedSwitch"):
        Switches(**{name: wrong})
