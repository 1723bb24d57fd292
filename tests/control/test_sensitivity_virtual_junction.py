"""The virtual junction that identifies its model by sensitivities: hybrid tests, friction, refusals."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, Port, R, Se
from bondloop.control import AdaptiveVirtualJunction, SensitivityVirtualJunction, VirtualJunction
from bondloop.errors import InputError
from bondloop.rigs import coulomb
from bondloop.transfer import MassSpringDamper

sys.path.insert(0, str(Path(__file__).parent))  # for hardening_chain.py

from hardening_chain import CHOSEN, TRUE, a_test


def error(run, since):
    later = run.time >= since
    return np.sqrt(np.mean(run["synchronisation.velocity"][later] ** 2))


def estimates(run, names=CHOSEN):
    return [run[f"controller.transfer.{n}.estimate"][-1] for n in names]


def junction(model, names=CHOSEN, **options):
    # The motion has a period of 6 s: the memory spans more than one.
    return SensitivityVirtualJunction(model, names, **{"memory": 5.0, "noise": 1e-4, **options})


@pytest.mark.parametrize(("damping", "stiffness"), [(14.0, 250.0), (4.0, 600.0), (11.0, 500.0)])
def test_wrong_parameters_are_found_and_the_junction_becomes_exact(damping, stiffness):
    run = a_test(junction(MassSpringDamper(1.0, damping, stiffness, drive="position"))).run(40)
    assert run.completed
    assert estimates(run) == pytest.approx(TRUE[1:], rel=2e-3)
    matched = a_test(VirtualJunction(MassSpringDamper(*TRUE, drive="position"))).run(40)
    assert error(run, 35.0) < 2 * error(matched, 35.0)


def test_c_and_numpy_agree():
    wrong = MassSpringDamper(1.0, 14.0, 250.0, drive="position")
    test = a_test(junction(wrong, latency=0.001), latency=0.001)
    a, b = (test.run(1.5, backend=backend) for backend in ("numpy", "c"))
    for name in ("command", "controller.transfer.spring.stiffness.estimate"):
        assert np.ptp(a[name]) > 1e-3
        assert a[name] == pytest.approx(b[name], rel=1e-10, abs=1e-12)


def test_dry_friction_is_identified_which_least_squares_refuses():
    """An equation of motion with tanh(v/width) is not linear; the model beside the rig does not mind."""
    names = ("friction.force",)
    model = MassSpringDamper(*TRUE, drive="position", friction=coulomb(0.2, 0.05))
    rig = MassSpringDamper(*TRUE, drive="position", friction=coulomb(0.5, 0.05))
    with pytest.raises(InputError, match="is not linear"):
        _ = a_test(AdaptiveVirtualJunction(model, names), rig).tick
    run = a_test(junction(model, names), rig).run(20)
    assert estimates(run, names) == pytest.approx([0.5], rel=0.02)


def test_parameters_that_are_not_identified_are_those_of_the_test():
    """A mass that is corrected by its path is corrected in the model beside the rig as well."""
    wrong = MassSpringDamper(1.6, 14.0, 250.0, drive="position")
    test = a_test(junction(wrong)).with_values({"controller.transfer.mass.mass": 1.0})
    assert estimates(test.run(40)) == pytest.approx(TRUE[1:], rel=2e-3)


class Loose(Model):
    """A mass that nothing brings back."""

    def __init__(self):
        self.command, self.v, self.out, self.damper = Se("u"), One(), Port(), R(damping=2.0)
        self.command >> self.v >> [I(mass=1.0), self.damper, self.out]


class WithOrnament(MassSpringDamper):
    """A second mass with a spring of its own that hangs where nothing moves it."""

    def __init__(self):
        super().__init__(*TRUE, drive="position")
        self.apart, self.ornament = One(), C(stiffness=3.0)
        self.apart >> [I(mass=1.0), self.ornament, R(damping=1.0)]


@pytest.mark.parametrize(
    ("model", "names", "reason"),
    [
        (MassSpringDamper(1, 2, 3), ("damper.dampng",), "did you mean"),
        (MassSpringDamper(1, 0, 3), ("spring.stiffness",), "does not come to rest by itself"),
        (MassSpringDamper(1, 2, 0), ("damper.damping",), "does not come to rest by itself"),
        (WithOrnament(), ("ornament.stiffness",), "does not show in its motion"),
        (Loose(), ("damper.damping",), "does not come to rest by itself"),
    ],
    ids=["misspelt", "undamped", "no spring", "apart", "loose"],
)
def test_what_cannot_be_identified_is_refused_with_the_reason(model, names, reason):
    with pytest.raises(InputError, match=reason):
        _ = a_test(SensitivityVirtualJunction(model, names), MassSpringDamper(1, 2, 3)).tick


def test_no_parameters_are_refused_in_its_own_name():
    with pytest.raises(InputError, match="SensitivityVirtualJunction: no parameters to identify"):
        SensitivityVirtualJunction(MassSpringDamper(1, 2, 3))


def test_it_describes_itself():
    found = junction(MassSpringDamper(*TRUE, drive="position")).describe()
    assert (found["controller"], found["memory"]) == ("SensitivityVirtualJunction", 5.0)
