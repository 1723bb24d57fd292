"""How far a junction has moved, by the junction's own name: the integral of its flow."""

import numpy as np
import pytest
from scipy.linalg import expm

from bondloop.bondgraph import C, I, Model, One, Se, Zero
from bondloop.errors import InputError
from bondloop.structures import ShearBuilding, field_form

MASSES, STIFFNESSES = [2000.0, 1500.0, 900.0], [8e5, 6e5, 3e5]


def test_floors_of_a_building_have_displacements_by_name():
    building = ShearBuilding(MASSES, STIFFNESSES)
    names = [f"floor[{i}].ux.displacement" for i in (1, 2, 3)]
    frame = field_form(building.assemble(), "frame", forces={"floor[3].ux": "push"})
    system = frame.compile(names)
    found = system.simulate(0.5, {"push": 1000.0}, rtol=1e-9)
    K = building.assemble().K.toarray()
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(np.diag(MASSES), K), np.zeros((3, 3))]])
    # From rest under a constant load: the free motion about K⁻¹ f, by the exponential of its matrix.
    still = np.linalg.solve(K, [0, 0, 1000.0])
    ends = expm(0.5 * A) @ np.concatenate([-still, np.zeros(3)])
    last = [found[name][-1] for name in names]
    np.testing.assert_allclose(last, ends[:3] + still, rtol=1e-5)
    assert [system.quantity(n).unit for n in names] == ["m"] * 3


def chain(way):
    m = Model("chain")
    m.force, m.v, m.mass, m.spring, m.loose, m.f = Se("F"), One(), I(mass=2), C(stiffness=3), One(), Zero()
    _ = m.force >> m.v >> [m.mass, m.f]
    _ = m.f >> m.spring
    _ = m.f >> m.loose >> I(mass=1)
    if way == "in":
        m.own = C(stiffness=5)
        _ = m.v >> m.own
    elif way == "out":  # its state is that of a spring which is pushed, when the junction moves away
        m.own = C(stiffness=5)
        _ = m.own >> m.v
    return m.compile()


def test_a_spring_of_its_own_tells_and_no_other():
    system = chain("in")
    assert system.expression("v.displacement") is system.expression("own.displacement")
    for way, path in (("none", "v.displacement"), ("out", "v.displacement"), ("in", "f.displacement")):
        with pytest.raises(InputError, match="unknown variable"):
            chain(way).expression(path)
    with pytest.raises(InputError, match=r"did you mean 'v\.displacement'"):
        system.expression("v.displacment")
