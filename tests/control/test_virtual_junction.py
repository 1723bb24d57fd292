"""The virtual junction: the paper's matrices, exactness for every kind of transfer system, refusals."""

import math

import numpy as np
import pytest
import sympy as sp

import control as ct
from bondloop.bondgraph import TF, C, Df, I, Model, MSf, One, Port, R, Se, Sf, Zero
from bondloop.control import VirtualJunction
from bondloop.engine.system import system_from_matrices
from bondloop.errors import BondloopError, InputError, ModelError, SolveError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated, coulomb
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, transfer_system


def hardening():
    return three._chain(three.VALUES, C(law=lambda d: d + d**3))


def a_test(actuator, model=None, **options):
    """The chain of section 4 with a hardening spring, continuous coupling, zero initial conditions."""
    chain = hardening()
    numerical, physical = chain.cut(three.CUT)
    settings = {"coupling": "continuous", "rate": 1000, **options}
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(actuator if model is None else model),
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        reference=(chain, ["m3.v.flow"]),
        record=["rig.specimen.m3.v.flow"],
        **settings,
    )


def exactness(test, seconds=10):
    run = test.run(seconds)
    assert run.completed
    reference = run["reference.m3.v.flow"]
    assert np.abs(reference).max() > 0.3
    return np.abs(run["rig.specimen.m3.v.flow"] - reference).max()


class Nonlinear(Model):
    """A mass with a cubic spring, cubic damper and smooth Coulomb friction, driven by a force."""

    def __init__(self):
        self.v, self.out, self.command = One(), Port(), Se("u")
        self.command >> self.v
        self.spring = C(law=lambda d: 2 * d + 5 * d**3)
        self.damper = R(law=lambda v: v + 0.5 * v**3)
        self.friction = coulomb(0.3, 0.01)
        self.v >> [I(mass=1.5), self.spring, self.damper, self.friction, self.out]


class Lever(Model):
    """Driven through a lever of ratio two."""

    def __init__(self):
        self.arm, self.v, self.out, self.command = One(), One(), Port(), Se("u")
        self.lever = TF(modulus=2.0)
        self.command >> self.arm >> [R(damping=1.0), C(stiffness=3.0)]
        self.arm >> self.lever >> self.v >> [I(mass=1.0), self.out]


class DampersInSeries(Model):
    """Two dampers in series: an algebraic loop on the way from command to velocity."""

    def __init__(self):
        self.arm, self.force, self.v, self.out, self.command = One(), Zero(), One(), Port(), Se("u")
        self.command >> self.arm >> [R(damping=1.0), self.force]
        self.force >> [R(damping=2.0), self.v]
        self.v >> [I(mass=1.0), C(stiffness=2.0), self.out]


class SofteningMass(Model):
    """A velocity that is no multiple of the momentum: the inverse must be solved for it."""

    def __init__(self):
        self.v, self.out, self.command = One(), Port(), Se("u")
        self.command >> self.v >> [I(law=lambda p: p + 0.1 * p**3), R(damping=1.0), self.out]


def test_the_augmented_numerical_substructure_is_equations_7_to_10():
    m1, m2, c1, c2, k1, k2, mt, c_t, kt = sp.symbols("m1 m2 c1 c2 k1 k2 m_t c_t k_t")
    numerical, _ = three.symbolic_model().cut(three.CUT)
    system = VirtualJunction(MassSpringDamper(mt, c_t, kt)).augment(numerical)
    order = ["m1.C.displacement", "m1.I.momentum", "m2.C.displacement", "m2.I.momentum"]
    last = next(s for s in system.states if s not in order)
    assert last == "controller.transfer.spring.displacement"
    rows = [system.states.index(s) for s in [*order, last]]
    assert system.inputs == ("interface.effort", "r")
    A = sp.Matrix(
        [
            [0, -1 / m1, 0, 0, 0],
            [k1, -c1 / m1, -k2, 0, 0],
            [0, 1 / m1, 0, -1 / m2, 0],
            [0, 0, k2, -c2 / m2, 0],
            [0, 0, 0, 1 / m2, 0],
        ]
    )
    B = sp.Matrix([[0, 1], [0, 0], [0, 0], [-1, 0], [0, 0]])
    C_row = sp.Matrix([[0, 0, k2 * mt / m2, (-c2 * mt + c_t * m2) / m2**2, kt]])
    D_row = sp.Matrix([[(m2 - mt) / m2, 0]])
    for found, expected in (
        (system.A.extract(rows, rows), A),
        (system.B.extract(rows, [0, 1]), B),
        (system.C.extract([0], rows), C_row),
        (system.D, D_row),
    ):
        # Parameters of the virtual junction carry its path; nothing else is renamed.
        plain = {x: sp.Symbol(x.name.removeprefix("controller.transfer.")) for x in found.free_symbols}
        assert sp.simplify(found.subs(plain) - expected) == sp.zeros(*expected.shape)


@pytest.mark.parametrize(
    "actuator",
    [
        MassSpringDamper(1, 1, 1),
        MassSpringDamper(2.2, 150.8, 13618, drive="position"),
        MassSpringDamper(1, 1, 1, friction=coulomb(0.3, 0.01)),
        Nonlinear(),
        Lever(),
        DampersInSeries(),
        SofteningMass(),
    ],
    ids=["force", "position", "friction", "nonlinear", "lever", "algebraic loop", "nonlinear inertia"],
)
def test_zero_initial_conditions_are_followed_exactly(actuator):
    assert exactness(a_test(actuator)) < 1e-9


def matrices():
    space = transfer_system(MassSpringDamper(2, 3, 5)).system.numeric()
    return [M.toarray() for M in (space.A, space.B, space.C, space.D)]


def turned():
    """The same in other coordinates, in which the relative degree does not show."""
    A, B, C_, D = matrices()
    T = np.array([[1.3, -0.4], [0.7, 2.1]])
    return T @ A @ np.linalg.inv(T), T @ B, C_ @ np.linalg.inv(T), D


@pytest.mark.parametrize(
    "model",
    [
        transfer_system(MassSpringDamper(2, 3, 5)).system.numeric(),
        ct.ss(*matrices()),
        ct.ss(*turned()),
        system_from_matrices(*matrices()),
        system_from_matrices(*turned()),
    ],
    ids=["StateSpace", "control", "turned control", "System", "turned System"],
)
def test_a_state_space_gives_the_same_commands_as_the_bond_graph(model):
    drawn = a_test(MassSpringDamper(2, 3, 5)).run(10)
    given = a_test(MassSpringDamper(2, 3, 5), model).run(10)
    assert np.abs(drawn["command"]).max() > 0.5
    assert np.abs(drawn["command"] - given["command"]).max() < 1e-9
    assert exactness(a_test(model)) < 1e-9


def one_way():
    """A shaken mass whose velocity is handed on as a signal: no force comes back, so sigma_N is infinite."""
    m = Model("one_way")
    m.wall = Sf("r")
    m.m1 = three.Mass(1.0, 0.1, C(stiffness=1.0))
    m.wall >> m.m1.left
    m.speed, m.copy_of_it = Df(), MSf()
    m.m1.v >> m.speed
    m.speed >> m.copy_of_it
    m.m3 = three.Mass(1.0, 0.1, C(stiffness=1.0))
    m.copy_of_it >> m.m3.left
    return m


def servo():
    """A velocity servo of second order that does not feel its load: v/u = 900/(s^2 + 40 s + 900)."""
    return ct.ss([[0, 1], [-900, -40]], [[0, 0], [900, 0]], [[1, 0]], [[0, 0]])


def test_relative_degree_two_is_followed_where_the_numerical_half_allows_it():
    """A force moves its own port's velocity after one storage at most: only a half without it is slow."""
    structure = one_way()
    numerical, physical = structure.cut("copy_of_it >> m3.left")
    test = HybridTest(
        numerical,
        rig=Emulated(physical, servo()),
        controller=VirtualJunction(servo()),
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=1000,
        coupling="continuous",
        reference=(structure, ["m3.v.flow"]),
        record=["rig.specimen.m3.v.flow"],
    )
    assert exactness(test) < 1e-9
    report = test.check().assumptions
    assert report.transfer_paths[0].length == 2
    assert report.numerical_paths == (None,)
    assert report.hold


def shaken_table():
    m = Model("table")
    m.wall, m.top = Sf("r"), One()
    m.wall >> m.top
    m.m3 = three.Mass(1.0, 0.1, C(stiffness=1.0))
    m.top >> m.m3.left
    return m


def test_a_prescribed_motion_is_followed_with_the_rate_of_the_signal():
    """No storage lies between r and the interface: the inverse needs dr/dt, which the signal gives."""
    structure = shaken_table()
    numerical, physical = structure.cut("top >> m3.left")
    actuator = MassSpringDamper(1, 1, 1)

    def made(transfer):
        return HybridTest(
            numerical,
            rig=Emulated(physical, transfer),
            controller=VirtualJunction(transfer),
            excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
            rate=1000,
            coupling="continuous",
            reference=(structure, ["m3.v.flow"]),
            record=["rig.specimen.m3.v.flow"],
        )

    assert exactness(made(actuator)) < 1e-9
    with pytest.raises(SolveError, match=r"second rate of numerical\.r"):
        made(servo()).run(1)


def test_two_interfaces_are_followed_exactly():
    structure = two.model()
    numerical, physical = structure.cut(*two.CUTS)
    actuators = [MassSpringDamper(2.2, c, k, drive="position") for c, k in two.TABLE_I]
    run = HybridTest(
        numerical,
        rig=Emulated(physical, actuators),
        controller=VirtualJunction(actuators),
        excitation=two.excitations("3/5", 0.001),
        rate=2000,
        coupling="continuous",
        reference=(structure, ["mn1.v.flow", "mn2.v.flow"]),
    ).run(5)
    for i in range(2):
        reference = run[f"reference.mn{i + 1}.v.flow"]
        assert np.abs(run[f"actual.velocity[{i}]"] - reference).max() < 1e-9
        assert np.abs(reference).max() > 0.01


def test_a_specimen_that_begins_with_a_mass_is_followed_exactly_too():
    """Bonding turns its causality; force and command then depend on each other at once: a loop, solved."""
    structure = Model("block_on_mass")
    structure.wall = Sf("r")
    structure.m1 = three.Mass(1.0, 0.1, C(stiffness=1.0))
    structure.block = One()
    structure.wall >> structure.m1.left
    structure.m1.right >> structure.block
    structure.block >> [I(mass=0.5), R(damping=0.2)]
    numerical, physical = structure.cut("m1.right >> block")
    actuator = MassSpringDamper(1, 1, 1)
    run = HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(actuator),
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=1000,
        coupling="continuous",
        reference=(structure, ["block.flow"]),
    ).run(10)
    assert np.abs(run["actual.velocity"] - run["reference.block.flow"]).max() < 1e-9


class Motor(Model):
    """A motor's mass drives the output mass through a shaft: three storages from command to velocity."""

    def __init__(self):
        self.motor, self.twist, self.v, self.out = One(), Zero(), One(), Port()
        self.command = Se("u")
        self.command >> self.motor >> [I(mass=0.1), R(damping=2)]
        self.motor >> self.twist >> self.v
        self.twist >> C(stiffness=100)
        self.v >> [I(mass=1), R(damping=3), self.out]


class TwoCommands(Model):
    def __init__(self):
        self.v, self.out = One(), Port()
        self.a, self.b = Se("a"), Se("b")
        [self.a, self.b] >> self.v
        self.v >> [I(mass=1), R(damping=3), self.out]


@pytest.mark.parametrize(
    ("actuator", "error", "reason"),
    [
        (Motor(), SolveError, r"rate of numerical\.interface\.effort.*assumption 5"),
        (servo(), SolveError, r"rate of numerical\.interface\.effort.*assumption 5"),
        (
            ct.ss([[0, 1], [-900, -40]], [[0, 0], [1, 0]], [[-10, 1]], [[0, 0]]),
            SolveError,
            r"unstable zero dynamics \(zero at 10",
        ),
        (ct.ss([[-1, 0], [0, -2]], [[1, 0], [0, 1]], [[0, 1]], [[0, 0]]), SolveError, "no causal path"),
        (
            system_from_matrices([[-1, 0], [0, -2]], [[1, 0], [0, 1]], [[0, 1]], [[0, 0]]),
            SolveError,
            "depends neither on a command",
        ),
        (TwoCommands(), ModelError, "exactly one input, the command"),
    ],
    ids=["motor", "servo", "right zero", "no path", "no path as a program", "two commands"],
)
def test_what_cannot_be_inverted_is_refused_with_the_reason(actuator, error, reason):
    with pytest.raises(error, match=reason):
        a_test(MassSpringDamper(1, 1, 1), actuator).run(1)
    assert issubclass(error, BondloopError)


def test_one_model_for_each_interface():
    with pytest.raises(InputError, match="2 transfer system models, but the cut has 1 interfaces"):
        a_test(MassSpringDamper(1, 1, 1), [MassSpringDamper(1, 1, 1)] * 2).run(1)
