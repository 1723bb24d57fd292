"""Texts with units are taken wherever numbers are, and one of another kind is refused by name."""

import pytest

import bondloop as bl
from bondloop import papers
from bondloop.bondgraph import C, I, Model, One, Se, Stop, Zero
from bondloop.cli.tests import _converted
from bondloop.control import (
    MCS,
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
    Direct,
    FeedforwardLQG,
    LeadCompensation,
    PolynomialPrediction,
    RecursiveFir,
)
from bondloop.devices import BoucWen, MRDamper
from bondloop.errors import InputError
from bondloop.hybrid import Tunable
from bondloop.hybrid.simulation import Simulation
from bondloop.identify import Experiment
from bondloop.integrate import NewmarkAverage
from bondloop.program.signals import Chirp, Sine, Step
from bondloop.rigs import LVDT, Emulated, LoadCell, OrificeDamper, coulomb, dead_zone_spring
from bondloop.rigs.imperfections import PureDelay
from bondloop.safety import Interlock, Limits, PowerTrip, Switch
from bondloop.structures import Beam, RayleighRegion, ShearBuilding, Structure
from bondloop.transfer import Cylinder, MassSpringDamper, Process, first_order, second_order


def swing():
    m = Model("swing")
    m.F, m.v, m.z, m.mass, m.spring = Se("F"), One(), Zero(), I(mass="2 kg"), C(stiffness="1 kN/m")
    m.F >> m.v >> [m.mass, m.z]
    m.z >> m.spring
    return m


def mounted():
    """The same on a spring of its own, so that the numerical half has one."""
    m = swing()
    m.mount = C(stiffness="1 kN/m")
    m.v >> m.mount
    return m


def rig(**options):
    physical = swing().cut("v >> z")[1]
    return Emulated(physical, MassSpringDamper("1 kg", "10 N s/m", "100 N/m"), **options)


def hybrid(rate="1 kHz", force="3 N"):
    numerical = mounted().cut("v >> z")[0]
    return bl.HybridTest(numerical, rig=rig(), controller=Direct(), excitation={"F": force}, rate=rate)


def tuned(**bounds):
    return hybrid().replaced(tunable={"numerical.mount.stiffness": Tunable(**bounds)})


def valued(text):
    return hybrid().with_values({"numerical.mount.stiffness": text})


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
        (lambda: Process((1,), (0.02, 1), delay="5 kg"), r"Process\(delay\): expected a quantity in s"),
        (
            lambda: MCS(dead_zone="3 kg"),
            r"MCS\(dead_zone\): expected a quantity in m or rad or m/s or rad/s,",
        ),
        (
            lambda: NewmarkAverage(iterations="0.5 kg"),
            r"NewmarkAverage\(iterations\): expected a whole number",
        ),
        (lambda: NewmarkAverage(iterations=2.7), r"NewmarkAverage\(iterations\)"),
        (lambda: NewmarkAverage(iterations=-1), r"NewmarkAverage\(iterations\)"),
        (lambda: MRDamper(current="2 kg"), r"MRDamper\(current\): expected a quantity in A or V"),
        (lambda: MRDamper(damping_per_ampere="2 N/A"), r"MRDamper\(damping_per_ampere\)"),
        (lambda: Stop(restitution="0.5 kg"), r"Stop\(restitution\): expected a number without a unit"),
        (lambda: RayleighRegion(("a",), "3 kg", 0.1), r"RayleighRegion\(alpha\): expected a quantity in 1/s"),
        (lambda: RayleighRegion(("a",), 3, "0.1 m"), r"RayleighRegion\(beta\): expected a quantity in s"),
        (lambda: Switch("1 mm"), r"Switch\(schedule\): expected a number without a unit"),
        (lambda: Switch(Step("1 mm")), r"Switch\(schedule\): expected a signal without a unit"),
        (lambda: Tunable("1 mm", "2 N"), r"Tunable\(most\): expected a quantity like one in mm"),
        (lambda: Tunable("1 mm", "2 m", rate="1 m"), r"Tunable\(rate\)"),
        (lambda: tuned(least="1 mm", most="6 km"), "mount.stiffness.*: expected values in N/m.*found mm"),
        (lambda: tuned(least=1, most=6e3, rate="1 kg"), "mount.stiffness.*: expected values in N/m"),
        (lambda: valued("5000 N m/rad"), r"mount\.stiffness: expected a quantity in N/m, or"),
        (lambda: valued("5000 Pa/m^3"), r"mount\.stiffness: expected a quantity in N/m, or"),
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


LENGTHS = {
    "lqg": lambda u: FeedforwardLQG(first_order(1.0, 0.02), noise=f"0.01 {u}"),
    "model based": lambda u: AdaptiveModelBased(threshold=f"0.01 {u}"),
    "prediction": lambda u: AdaptivePrediction("5 ms", threshold=f"0.01 {u}"),
    "time series": lambda u: AdaptiveTimeSeries(threshold=f"0.01 {u}"),
    "conditional": lambda u: ConditionalTimeSeries(threshold=f"0.01 {u}"),
    "fir": lambda u: RecursiveFir(threshold=f"0.01 {u}"),
    "within": lambda u: AdaptiveRemainder(
        PolynomialPrediction("3 ms"), AdaptiveTimeSeries(threshold=f"0.01 {u}")
    ),
    "stop": lambda u: Stop(gap=f"0.01 {u}"),
    "bouc-wen": lambda u: BoucWen(yield_displacement=f"0.01 {u}").element(),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_per_cent_is_no_length_and_an_angle_is_one_where_it_turns_only(name):
    make = LENGTHS[name]
    for unit in ("%", "1", "mm/m"):
        with pytest.raises(InputError, match="expected a quantity in m or rad"):
            make(unit)
    if name in ("stop", "bouc-wen"):
        assert in_a_model(make("deg"), inertia="1 kg m^2")
        assert in_a_model(make("mm"), mass="1 kg")
        with pytest.raises(InputError, match=r"found a value in deg, but .* is in translation"):
            in_a_model(make("deg"), mass="1 kg")
        with pytest.raises(InputError, match=r"found a value in mm, but .* is in rotation"):
            in_a_model(make("mm"), inertia="1 kg m^2")
    else:
        assert hybrid().replaced(controller=make("mm"))
        with pytest.raises(InputError, match=r"controller\..*: found a value in deg, .* in translation"):
            hybrid().replaced(controller=make("deg"))


def in_a_model(part, **inertia):
    m = Model("one")
    m.v, m.part = One(), part
    m.v >> [I(**inertia), m.part]
    return m.compile()


@pytest.mark.parametrize("k", ["400 kg", "400 N s/m", True])
@pytest.mark.parametrize("drive", ["force", "position"])
def test_the_spring_of_an_actuator(drive, k):
    with pytest.raises(InputError, match="expected a"):
        MassSpringDamper(1.0, 20.0, k, drive=drive)
