"""Texts with units are taken wherever numbers are, and one of another kind is refused by name."""

import pytest

import bondloop as bl
from bondloop import papers
from bondloop.bondgraph import C, I, Model, One, Se, Zero
from bondloop.cli.tests import _converted
from bondloop.control import MCS, Direct, LeadCompensation, PolynomialPrediction
from bondloop.errors import InputError
from bondloop.hybrid.simulation import Simulation
from bondloop.identify import Experiment
from bondloop.program.signals import Chirp, Sine, Step
from bondloop.rigs import LVDT, Emulated, LoadCell, OrificeDamper, coulomb, dead_zone_spring
from bondloop.rigs.imperfections import PureDelay
from bondloop.safety import Interlock, Limits, PowerTrip
from bondloop.structures import Beam, ShearBuilding, Structure
from bondloop.transfer import Cylinder, MassSpringDamper, first_order, second_order


def swing():
    m = Model("swing")
    m.F, m.v, m.z, m.mass, m.spring = Se("F"), One(), Zero(), I(mass="2 kg"), C(stiffness="1 kN/m")
    m.F >> m.v >> [m.mass, m.z]
    m.z >> m.spring
    return m


def rig(**options):
    physical = swing().cut("v >> z")[1]
    return Emulated(physical, MassSpringDamper("1 kg", "10 N s/m", "100 N/m"), **options)


def hybrid(rate="1 kHz", force="3 N"):
    numerical = swing().cut("v >> z")[0]
    return bl.HybridTest(numerical, rig=rig(), controller=Direct(), excitation={"F": force}, rate=rate)


def system():
    return swing().compile()


def begun(at):
    return system().simulate("2 s", {"F": "2 kN"}, {"spring.displacement": at})["spring.displacement"][0]


@pytest.mark.parametrize(
    ("read", "number"),
    [
        (lambda: hybrid().rate, 1000.0),
        (lambda: hybrid(force="3 kN").excitation["F"].value, 3000.0),
        (lambda: hybrid().run("20 ms").time[-1], 0.02),
        (lambda: Simulation({"s": system()}, excitation={"F": "3 N"}, rate="0.5 kHz").rate, 500.0),
        (lambda: Experiment(rig(), "2 kHz", ahead="5 ms").rate, 2000.0),
        (lambda: rig(latency="2 ms").latency, 0.002),
        (lambda: Sine("1 mm", "4 Hz").amplitude, 0.001),
        (lambda: Chirp("1 mm", "1 Hz", "0.2 kHz", "1 min").stop, 200.0),
        (lambda: MCS(settling_time="10 ms").settling_time, 0.01),
        (lambda: LeadCompensation("2 ms").delay, 0.002),
        (lambda: PolynomialPrediction("10 ms").delay, 0.01),
        (lambda: PureDelay("2 ms").delay, 0.002),
        (lambda: Limits(velocity="30 deg/s").velocity, 0.5235987755982988),
        (lambda: first_order(1.0, "10 ms").denominator[0], 0.01),
        (lambda: second_order(1.0, "10 Hz", "70 %", "2 ms").delay, 0.002),
        (lambda: begun("2 mm"), 0.002),
        (lambda: system().steady_state({"F": "1 kN"})["spring.displacement"], 1.0),
        (lambda: system().initial({"spring.displacement": "3 cm"})[1], 0.03),
        (lambda: ShearBuilding(["2 t"], ["4 kN/m"], ["1 kN s/m"]).masses[0], 2000.0),
        (lambda: Beam("a", "b", E="210 GPa", A="1 cm^2", I="2 cm^4", rho="7.85 t/m^3").I, 2e-8),
        (lambda: Interlock(release="50 ms").release, 0.05),
        (lambda: _converted("rate", "1 kHz", 500.0), 1000.0),
    ],
)  # fmt: skip
def test_texts_are_taken(read, number):
    assert read() == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: I(mass="5 mm"), r"I\(mass\)"),
        (lambda: Limits(displacement="20 N"), r"limits\.displacement"),
        (lambda: _converted("rate", "1 kg", 500.0), "rate: expected a quantity in Hz"),
        (lambda: hybrid(rate="1 kg"), "rate"),
        (lambda: hybrid(force="3 m"), "the excitation of 'F': expected a quantity in N"),
        (lambda: hybrid().run("3 kg"), "seconds"),
        (
            lambda: Simulation({"s": system()}, excitation={"F": "3 K"}, rate=1),
            "'F': expected a quantity in N",
        ),
        (lambda: rig(latency="2 mm"), r"Emulated\(latency\)"),
        (lambda: Sine("1 mm", "4 kg"), r"Sine\(frequency\)"),
        (lambda: Sine("1 mm", "240 rpm"), r"Sine\(frequency\)"),  # rad/s, not turns a second
        (lambda: Step(1, at="2 Hz"), r"Step\(at\)"),
        (lambda: Sine(1, 2).shifted("3 m"), "shifted"),
        (lambda: MCS(settling_time="1 Hz"), r"MCS\(settling_time\)"),
        (lambda: LeadCompensation("2 mm"), r"LeadCompensation\(delay\)"),
        (lambda: LoadCell("25 mm"), "range"),
        (lambda: LVDT("25 N"), "range"),
        (lambda: OrificeDamper.standard(threshold="30 mm"), r"DamperData\(threshold\)"),
        (lambda: Cylinder(stroke="3 Pa"), r"Cylinder\(stroke\)"),
        (lambda: MassSpringDamper("1 m", 1, 1), r"MassSpringDamper\(m\)"),
        (lambda: coulomb("3 m"), r"coulomb\(force\)"),
        (lambda: dead_zone_spring("1 kN/m", "1 N"), r"dead_zone_spring\(gap\)"),
        (lambda: PowerTrip("3 N"), r"PowerTrip\(threshold\)"),
        (lambda: Beam("a", "b", E="210 mm", A=1, I=1), r"Beam\(E\)"),
        (lambda: ShearBuilding(["2 m"], [1.0]), r"ShearBuilding\(masses\)"),
        (lambda: Structure().node("a", x="3 s"), "expected a quantity in m"),
        (lambda: system().simulate(1, initial={"spring.displacement": "2 kg"}), r"spring\.displacement"),
        (lambda: system().linearise({"mass.momentum": "2 m"}), r"mass\.momentum"),
        (lambda: system().values({"mass.mass": "2 N"}), r"mass\.mass"),
        (lambda: second_order(1.0, 10.0, "3 m"), "damping: expected a number without a unit"),
    ],
)
def test_units_of_another_kind_are_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()


SINES = {
    "plain": lambda: bl.signals.Sine(0.005, 1.0),
    "right": lambda: bl.signals.Sine("5 mm/s", 1.0),
    "scaled": lambda: bl.signals.Scaled(bl.signals.Sine("5 m/s^2", 1.0), "2 ms"),
    "twice": lambda: 2 * bl.signals.Sine("5 mm/s", 1.0),
    "later": lambda: bl.signals.Sine("5 mm/s", 1.0).shifted("1 s"),
    "rate": lambda: bl.signals.Sine("5 mm", 1.0).derivative(),
    "sum": lambda: bl.signals.Sine("5 mm/s", 1.0) + bl.signals.Constant(0.1),
}
WRONG = {
    "length": lambda: bl.signals.Sine("5 mm", 1.0),
    "step": lambda: bl.signals.Step("5 kg"),
    "earthquake": lambda: bl.signals.Earthquake("1 m/s^2", "5 s", seed=1),
    "scaled": lambda: bl.signals.Scaled(bl.signals.Sine("5 mm/s", 1.0), "-2 m"),
    "sum": lambda: bl.signals.Constant(0.1) + bl.signals.Sine("5 N", 1.0),
    "later": lambda: bl.signals.Sine("5 N", 1.0).shifted("1 s"),
}


@pytest.mark.parametrize("name", SINES)
def test_a_signal_in_the_unit_of_its_input(name):
    """The three-mass chain is moved by a velocity."""
    test = papers.find("gawthrop-three-mass").load().test().replaced(excitation={"r": SINES[name]()})
    assert test.run(0.01).record.attributes["status"] == "completed"


@pytest.mark.parametrize("name", WRONG)
def test_a_signal_in_another_unit_is_refused(name):
    test = papers.find("gawthrop-three-mass").load().test()
    with pytest.raises(InputError, match=r"the excitation of 'r' is in .*; expected a signal in m/s"):
        test.replaced(excitation={"r": WRONG[name]()})


def test_a_signal_of_two_units_is_refused():
    with pytest.raises(
        InputError, match=r"Sine\(offset\): expected a quantity like one in mm.*found one in N"
    ):
        _ = bl.signals.Sine("5 mm", 1.0, offset="3 N").unit
    with pytest.raises(InputError, match="a sum of signals in mm and in N"):
        _ = (bl.signals.Constant("5 mm") + bl.signals.Constant("3 N")).unit


@pytest.mark.parametrize("k", ["400 kg", "400 N s/m", True])
@pytest.mark.parametrize("drive", ["force", "position"])
def test_the_spring_of_an_actuator(drive, k):
    with pytest.raises(InputError, match="expected a"):
        MassSpringDamper(1.0, 20.0, k, drive=drive)
