"""The five assumptions of Gawthrop 2005, each broken once."""

import pytest

from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Zero
from bondloop.engine.system import system_from_matrices
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators
from bondloop.substructure import check_assumptions, numerical_half, shortest_causal_path
from bondloop.transfer import MassSpringDamper, transfer_system


def transfers(*given):
    return [transfer_system(g) for g in given]


def halves():
    return gawthrop_three_mass.model().cut("m2.right >> m3.left")


def verdicts(report):
    return [a.holds for a in report.items]


def test_all_hold_for_the_papers_example_and_the_paths_are_printed():
    """Section 4: force of m2 to its velocity, one storage; force on m_t to its velocity, one storage."""
    report = check_assumptions(*halves(), transfers(MassSpringDamper(1, 1, 1)))
    assert report.hold
    assert [a.number for a in report.items] == [1, 2, 3, 4, 5]
    (path,) = report.numerical_paths
    assert path.storages == ("m2.I.momentum",)
    assert path.variables[0] == "interface.effort"
    assert path.variables[-1] == "m2.v.flow"
    assert report.transfer_paths[0].storages == ("mass.momentum",)
    text = str(report)
    assert "interface.effort -> m2.I.effort -> m2.I.momentum -> m2.v.flow  (length 1)" in text
    assert "a load cell must measure the force at interface" in text
    assert "stable, one at the origin (its position)" in text


def test_two_interfaces_have_two_pairs_of_paths():
    numerical, physical = gawthrop_two_actuators.model().cut(*gawthrop_two_actuators.CUTS)
    both = [MassSpringDamper(2.2, c, k, drive="position") for c, k in gawthrop_two_actuators.TABLE_I]
    report = check_assumptions(numerical, physical, transfers(*both))
    assert report.hold
    assert [p.length for p in report.numerical_paths] == [1, 1]
    assert [p.length for p in report.transfer_paths] == [1, 1]


def test_first_a_numerical_half_that_ends_in_a_spring():
    chain = gawthrop_three_mass.model()
    numerical, physical = chain.cut("m2.right >> m3.left", physical="m1")
    report = check_assumptions(numerical, physical, transfers(MassSpringDamper(1, 1, 1)))
    assert not report.items[0].holds
    assert "imposes the force here" in report.items[0].reason
    assert not report.items[4].holds
    assert "cannot be checked" in report.items[4].reason


def test_first_a_specimen_that_begins_with_a_mass():
    chain = gawthrop_three_mass.model()
    chain.block = One()
    chain.m2.v >> chain.block
    chain.block >> I(mass=0.5)
    numerical, physical = chain.cut("m2.v >> block")
    report = check_assumptions(numerical, physical, transfers(MassSpringDamper(1, 1, 1)))
    assert verdicts(report) == [False, True, True, True, True]
    assert "begins with a mass" in report.items[0].reason


def test_third_as_many_transfer_systems_as_interfaces():
    one = MassSpringDamper(1, 1, 1)
    report = check_assumptions(*halves(), transfers(one, one))
    assert verdicts(report) == [True, True, False, True, False]
    assert report.items[2].reason == "1 interface, 2 transfer systems"


def test_fourth_an_unstable_transfer_system():
    report = check_assumptions(*halves(), transfers(MassSpringDamper(1, -0.5, 4)))
    assert verdicts(report) == [True, True, True, False, True]
    # poles of s^2 - 0.5 s + 4: 0.25 +- 1.98j
    assert "0.25" in report.items[3].reason
    assert "UNSTABLE" in report.items[3].reason


def test_fourth_a_zero_on_the_right():
    """v/u = (s - 10)/(s^2 + 40 s + 900): a zero at +10 rad/s."""
    given = system_from_matrices([[0, 1], [-900, -40]], [[0, 0], [1, 0]], [[-10, 1]], [[0, 0]])
    report = check_assumptions(*halves(), transfers(given))
    assert verdicts(report) == [True, True, True, False, True]
    assert "zeros [10] UNSTABLE: it cannot be inverted" in report.items[3].reason


def test_fifth_a_transfer_system_slower_than_the_numerical_half():
    class Drive(Model):
        """A motor's mass drives the output mass through a spring: three storages from command to velocity."""

        def __init__(self):
            self.motor, self.v, self.out = One(), One(), Port()
            self.command = Se("u")
            self.shaft = C(stiffness=100)
            self.command >> self.motor >> [I(mass=0.1), R(damping=2)]
            self.twist = Zero()
            self.motor >> self.twist >> self.v
            self.twist >> self.shaft
            self.v >> [I(mass=1), R(damping=3), self.out]

    report = check_assumptions(*halves(), transfers(Drive()))
    assert verdicts(report) == [True, True, True, True, False]
    assert (report.numerical_paths[0].length, report.transfer_paths[0].length) == (1, 3)
    assert "sigma_N = 1" in report.items[4].reason
    assert "sigma_T = 3" in report.items[4].reason
    assert "shaft.displacement" in str(report)


def test_fifth_no_path_from_the_command():
    deaf = system_from_matrices([[-1, 0], [0, -2]], [[1, 0], [0, 1]], [[0, 1]], [[0, 0]])
    report = check_assumptions(*halves(), transfers(deaf))
    assert not report.items[4].holds
    assert "no causal path leads from the command" in report.items[4].reason


@pytest.mark.parametrize(("source", "length"), [("interface.effort", 1), ("r", 3)])
def test_shortest_paths_count_integrations(source, length):
    """The wall's velocity passes spring 1, mass 1 and spring 2 on its way to the force of spring 2."""
    system = numerical_half(halves()[0]).system
    start = system.input_vars[system.inputs.index(source)]
    goal = system.expression("m2.v.flow") if source != "r" else system.expression("m2.C.effort")
    path = shortest_causal_path(system, start, goal)
    assert path.length == length
