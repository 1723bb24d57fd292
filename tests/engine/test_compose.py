"""Systems made of systems: what is said of a name that none of them has."""

import pytest

from bondloop.bondgraph import C, I, Model, One, R, Se, bond
from bondloop.engine.passes.compose import connect, prefixed
from bondloop.errors import InputError, UnknownNameError


def part(name, *, spring):
    model = Model(name)
    model.push, model.v, model.mass = Se("push"), One(), I(mass=2.0)
    model.bearing = C(stiffness=3.0) if spring else R(damping=3.0)
    bond(model.push, model.v)
    bond(model.v, model.mass)
    bond(model.v, model.bearing)
    return prefixed(model.compile(), f"rig.{name}.")


@pytest.fixture(params=[False, True], ids=["specimen first", "specimen last"])
def both(request):
    parts = [part("specimen", spring=True), part("transfer", spring=False)]
    return connect("rig", parts[::-1] if request.param else parts, {}, {})


def test_the_part_that_has_such_names_speaks(both):
    with pytest.raises(UnknownNameError, match=r"did you mean 'rig\.specimen\.bearing\.") as error:
        both.expression("rig.specimen.bearing.efort")
    assert "transfer" not in str(error.value)
    with pytest.raises(UnknownNameError, match=r"did you mean 'rig\.transfer\.bearing\."):
        both.expression("rig.transfer.bearing.efort")


def test_a_part_that_there_is_not(both):
    with pytest.raises(InputError, match=r"names of these parts begin with 'rig\.\w+\.' or 'rig\.\w+\.'"):
        both.expression("rig.specimn.bearing.effort")
    with pytest.raises(InputError, match=r"the names of this part begin with 'rig\.specimen\.'"):
        part("specimen", spring=True).expression("bearing.effort")
