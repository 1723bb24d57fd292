"""Structures for tests of devices: two storeys, and a machine with a brace."""

from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.structures import PointMass, Spring, Structure

MASSES, STIFFNESSES = (1000.0, 800.0), (4e5, 3e5)


def two_storeys():
    storeys = Structure("frame")
    for name in ("ground", "one", "two"):
        storeys.node(name, x=0.0)
    storeys.support("ground")
    storeys.add(PointMass("one", m=MASSES[0], dofs=("ux",)))
    storeys.add(PointMass("two", m=MASSES[1], dofs=("ux",)))
    storeys.add(Spring("ground", "one", k=STIFFNESSES[0], dof="ux"))
    storeys.add(Spring("one", "two", k=STIFFNESSES[1], dof="ux"))
    return storeys.assemble()


def machine(law):
    model = Model("machine")
    model.push, model.v, model.brace = Se("push"), One(), law.element()
    model.push >> model.v >> [I(mass=2000), C(stiffness=5e5), R(damping=1200), model.brace]
    return model
