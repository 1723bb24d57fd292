"""Models with elements that switch, for tests of events."""

import itertools

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from bondloop.bondgraph import C, Clutch, Diode, I, Model, One, Port, R, Se, Stop, Switch, Zero

DRAWN = settings(
    deadline=None,
    max_examples=6,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


def some(low, high):
    return st.floats(low, high, allow_nan=False)


def ball(mass, gravity, height, restitution):
    m = Model("ball")
    m.v, m.mass, m.floor = One(), I(mass=mass), Stop(gap=height, restitution=restitution)
    m.weight = Se(effort=mass * gravity)
    m.weight >> m.v >> [m.mass, m.floor]
    return m


def balls_on_a_line(masses, positions, velocities, restitution):
    m = Model("line")
    m.v, m.f = [One() for _ in masses], [Zero() for _ in masses[1:]]
    m.mass = [I(mass=a, initial=a * v) for a, v in zip(masses, velocities, strict=True)]
    m.gap = [Stop(gap=b - a, restitution=restitution) for a, b in itertools.pairwise(positions)]
    for v, mass in zip(m.v, m.mass, strict=True):
        v >> mass
    for i, (f, gap) in enumerate(zip(m.f, m.gap, strict=True)):
        m.v[i] >> f >> m.v[i + 1]
        f >> gap
    return m


def clutch(inertias, speeds, capacity, torques=(0.0, 0.0)):
    m = Model("clutch")
    m.w, m.between, m.clutch = [One(), One()], Zero(), Clutch(capacity=capacity)
    m.drive, m.load = Se(effort=torques[0]), Se(effort=torques[1])
    m.shaft = [I(inertia=j, initial=j * w) for j, w in zip(inertias, speeds, strict=True)]
    m.drive >> m.w[0] >> m.between >> m.w[1]
    m.load >> m.w[1]
    m.w[0] >> m.shaft[0]
    m.w[1] >> m.shaft[1]
    m.between >> m.clutch
    return m


def buck(voltage, inductance, capacitance, resistance):
    m = Model("buck")
    m.supply, m.bridge, m.node, m.coil, m.out = One(), One(), Zero(), One(), Zero()
    m.key, m.diode, m.source = Switch("gate"), Diode(), Se(effort=voltage)
    m.source >> m.supply >> m.node >> m.coil >> m.out
    m.supply >> m.key
    m.bridge >> m.node
    m.bridge >> m.diode
    m.coil >> I(inductance=inductance)
    m.out >> [C(capacitance=capacitance), R(resistance=resistance)]
    return m


def bridge(*load):
    m = Model("bridge")
    m.a, m.b, m.plus, m.ground, m.line, m.load = Zero(), Zero(), Zero(), Zero(), One(), One()
    m.b >> m.line >> m.a
    Se("v") >> m.line >> R(resistance=0.5)
    Se(effort=0) >> m.ground
    ends = [(m.a, m.plus), (m.b, m.plus), (m.ground, m.a), (m.ground, m.b)]
    m.diode, m.arm = [Diode() for _ in ends], [One() for _ in ends]
    for (tail, head), arm, diode in zip(ends, m.arm, m.diode, strict=True):
        tail >> arm >> head
        arm >> diode
    m.out = Zero()
    m.plus >> m.load >> m.ground
    m.load >> m.out
    m.out >> list(load)
    return m


class Buffer(Model):
    """A stop behind a port."""

    def __init__(self, gap):
        self.port, self.v, self.stop = Port(), One(), Stop(gap=gap)
        self.port >> self.v >> self.stop


def diodes_between_capacitors(data, n, k):
    """Draw n charged capacitors that k diodes join; return the model, and the voltages once they have acted.

    The nearest voltages, in the energy of their difference, that all diodes allow: by least squares here.
    Diodes side by side or in a ring say the same twice; such combinations have no causality of their own.
    """
    c = np.array(data.draw(st.lists(some(0.2, 3), min_size=n, max_size=n)))
    u = np.array(data.draw(st.lists(some(-3, 3), min_size=n, max_size=n)))
    A = np.zeros((k, n))
    m = Model("net")
    m.u, m.arm, m.diode = [Zero() for _ in c], [One() for _ in A], [Diode() for _ in A]
    for node, capacitance, voltage in zip(m.u, c, u, strict=True):
        node >> C(capacitance=capacitance, initial=capacitance * voltage)
    for row, arm, diode in zip(A, m.arm, m.diode, strict=True):
        tail, head = data.draw(st.permutations(range(n)))[:2]
        row[tail], row[head] = 1, -1
        m.u[tail] >> arm >> m.u[head]
        arm >> diode
    charges, _ = nnls(np.diag(c**-0.5) @ A.T, np.sqrt(c) * u)
    return m, u - A.T @ charges / c
