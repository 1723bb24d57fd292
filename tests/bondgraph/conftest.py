"""Models that several tests share."""

import pytest

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero


class Mass(Model):
    """The cell of the design document: a mass with a damper to ground, hung on a spring."""

    def __init__(self, m, c, spring):
        self.left, self.right = Port(), Port()
        self.spring_side, self.v = Zero(), One()
        self.left >> self.spring_side >> self.v >> self.right
        self.spring_side >> spring
        self.v >> [I(mass=m), R(damping=c)]


def build_chain(masses, dampings, stiffnesses):
    chain = Model("chain")
    chain.wall = Sf("r")
    chain.cell = [
        Mass(m, c, C(stiffness=k) if not callable(k) else C(law=k))
        for m, c, k in zip(masses, dampings, stiffnesses, strict=True)
    ]
    left = chain.wall
    for cell in chain.cell:
        left >> cell.left
        left = cell.right
    return chain


@pytest.fixture
def mass():
    return Mass


@pytest.fixture
def chain():
    return build_chain
