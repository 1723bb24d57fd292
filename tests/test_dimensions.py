"""Texts with units are taken wherever numbers are, and one of another kind is refused by name."""

import math

import numpy as np
import pytest

import bondloop as bl
from bondloop import papers
from bondloop.bondgraph import C, I, Input, Model, MSe, One, Port, R, Se, Stop, Zero
from bondloop.bondgraph.domain import ROTATION, TRANSLATION
from bondloop.cli.settings import _converted
from bondloop.control import (
    MCS,
    AdaptiveCoupledInverse,
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
    Direct,
    DiscreteMCS,
    FeedforwardLQG,
    InverseModel,
    LeadCompensation,
    LoadFeedforward,
    PolynomialPrediction,
    RecursiveFir,
    Scheduled,
    SensitivityVirtualJunction,
    SlidingMode,
    VirtualJunction,
)
from bondloop.devices import BoucWen, MRDamper
from bondloop.engine.data.described import Parameter
from bondloop.errors import InputError
from bondloop.hybrid import Tunable
from bondloop.hybrid.arguments import expect_units_of_controller
from bondloop.hybrid.simulation import Simulation
from bondloop.identify import Experiment
from bondloop.integrate import NewmarkAverage
from bondloop.rigs import LVDT, Emulated, LoadCell, OrificeDamper, PureDelay, coulomb, dead_zone_spring
from bondloop.safety import Interlock, Limits, PowerTrip, RampedSwitch
from bondloop.signals import Chirp, Sine, Step, Table
from bondloop.structures import Beam, ShearBuilding, Structure
from bondloop.structures.damping import RayleighRegion
from bondloop.transfer import Cylinder, MassSpringDamper, Process, ProcessMatrix, first_order, second_order


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
        (lambda: Table(["1 ms", "1 s"], ["3 mm", 2]).values[0], 0.003),
        (lambda: Table(["1 ms", "1 s"], ["3 mm", 2]).times[0], 0.001),
        (lambda: Parameter(least="1 ms").range.least, 0.001),
        (lambda: Parameter(1.0, most=math.inf).range.most, math.inf),
        (lambda: C(stiffness=1.0, initial=np.array(1.5)).start, 1.5),
        (lambda: MassSpringDamper(1, np.array(1.5), 1).compile().parameters["damper.damping"], 1.5),
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
        (lambda: ShearBuilding(["2 m"], [1.0]), r"ShearBuilding\(masses\[0\]\)"),
        (lambda: Structure().node("a", x="3 s"), "expected a quantity in m"),
        (lambda: system().simulate(1, initial={"spring.displacement": "2 kg"}), r"spring\.displacement"),
        (lambda: system().linearise({"mass.momentum": "2 m"}), r"mass\.momentum"),
        (lambda: system().values({"mass.mass": "2 N"}), r"mass\.mass"),
        (lambda: second_order(1.0, 10.0, "3 m"), "damping: expected a number without a unit"),
        (lambda: Process((1,), (0.02, 1), delay="5 kg"), r"Process\(delay\): expected a quantity in s"),
        (
            lambda: MCS(dead_zone="3 kg"),
            r"MCS\(dead_zone\): expected a quantity in m/s or rad/s,",
        ),
        (lambda: MCS(dead_zone="3 mm"), r"MCS\(dead_zone\): expected a quantity in m/s or rad/s,"),
        (
            lambda: MCS(dead_zone="3 kg", error_filter="lyapunov"),
            r"MCS\(dead_zone\): expected a quantity in m or rad or m/s or rad/s,",
        ),
        (
            lambda: Scheduled((INVERSE, INVERSE), ("1 mm", "2 N")),
            r"Scheduled\(levels\[1\]\): expected a quantity in m or rad",
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
        (lambda: Table(["0 s", "1 m"], [0, 1]), r"Table\(times\[1\]\): expected a quantity in s"),
        (lambda: Table([0, 1], ["1 mm", "1 s"]), r"Table\(values\[1\]\): expected a quantity like one in mm"),
        (lambda: Table([0, 1], ["1 mm", 2], unit="N"), r"Table\(values\[0\]\): expected a quantity in N"),
        (lambda: Table([0, 1], ["1 foo", "2 mm"]), r"Table\(values\[0\]\): .*unknown unit 'foo'"),
        (lambda: Parameter(least="1 ms", unit="m"), r"Parameter\(least\): expected a quantity in m"),
        (lambda: hybrid().run("0.6 ms"), "a run of 0.0006 s is shorter than a sample of 0.001 s"),
        (lambda: RampedSwitch("1 mm"), r"RampedSwitch\(schedule\): expected a number without a unit"),
        (lambda: RampedSwitch(Step("1 mm")), r"RampedSwitch\(schedule\): expected a signal without a unit"),
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


def inverted(**model):
    """The rig of `rig`, commanded by a force, under a virtual junction with a model of it."""
    model = MassSpringDamper("1 kg", "10 N s/m", "100 N/m", **model)
    return hybrid().replaced(controller=VirtualJunction(model))


def test_a_model_that_is_commanded_otherwise_than_the_rig_is_refused():
    """A drive in N under the command of a set point in m was built, and run."""
    assert inverted(drive="force").tick is not None
    with pytest.raises(InputError, match="its model is commanded in m, but the rig in N; give it a model"):
        inverted(drive="position").tick  # noqa: B018 - it is made when it is asked for


def drive():
    """A motor whose law names no domain: alone it is taken to slide, on a specimen that turns it turns."""
    m = Model("drive")
    m.u, m.v, m.out = Se("u"), One(), Port()
    m.u >> m.v >> [I(lambda p, m: p / m, m=1.0), R(lambda v, c: c * v, c=5.0), m.out]
    return m


def test_a_model_that_does_not_know_that_it_turns_is_that_of_the_rig():
    m = Model("shafts")
    m.T, m.v, m.z = Se("T"), One(), Zero()
    m.wheel, m.mount, m.shaft = I(inertia=2.0), C(stiffness="1 kN m/rad"), C(stiffness="1 kN m/rad")
    m.T >> m.v >> [m.wheel, m.mount, m.z]
    m.z >> m.shaft
    numerical, physical = m.cut("v >> z")
    test = bl.HybridTest(
        numerical,
        rig=Emulated(physical, drive()),
        controller=VirtualJunction(drive()),
        excitation={},
        rate="1 kHz",
    )
    assert [u.unit for u in test.rig_system.commands] == ["N m"]
    assert test.tick is not None


def test_a_process_per_volt_is_a_model_of_a_drive_in_volts():
    """How far it moves per unit of command is all that a process says."""
    volts = Model("drive")
    volts.u, volts.push, volts.v, volts.out = (
        Input("u", unit="V"),
        MSe(),
        One(),
        Port(),
    )
    volts.u >> volts.push >> volts.v >> [I(mass=1.0), R(damping=50.0), C(stiffness=1e3), volts.out]
    test = hybrid().replaced(
        rig=Emulated(swing().cut("v >> z")[1], volts),
        controller=VirtualJunction(second_order(1.0, 5.0, 0.7).actuator()),
    )
    assert [u.unit for u in test.rig_system.commands] == ["V"]
    assert test.tick is not None
    with pytest.raises(InputError, match="its model is commanded in m, but the rig in V"):
        _ = test.replaced(controller=VirtualJunction(MassSpringDamper(1, 1, 1, drive="position"))).tick
    process = second_order(1.0, 5.0, 0.7).actuator()
    mirrored = test.replaced(
        rig=Emulated(swing().cut("v >> z")[1], process), controller=VirtualJunction(volts)
    )
    assert mirrored.tick is not None


SINES = {
    "plain": lambda: bl.signals.Sine(0.005, 1.0),
    "right": lambda: bl.signals.Sine("5 mm/s", 1.0),
    "scaled": lambda: bl.signals.Sine("5 m/s^2", 1.0) * "2 ms",
    "twice": lambda: 2 * bl.signals.Sine("5 mm/s", 1.0),
    "later": lambda: bl.signals.Sine("5 mm/s", 1.0).shifted("1 s"),
    "rate": lambda: bl.signals.Sine("5 mm", 1.0).derivative(),
    "sum": lambda: bl.signals.Sine("5 mm/s", 1.0) + bl.signals.Constant(0.1),
}
WRONG = {
    "length": lambda: bl.signals.Sine("5 mm", 1.0),
    "step": lambda: bl.signals.Step("5 kg"),
    "earthquake": lambda: bl.signals.Earthquake("1 m/s^2", "5 s", seed=1),
    "scaled": lambda: bl.signals.Sine("5 mm/s", 1.0) * "-2 m",
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


INVERSE = InverseModel(first_order(1.0, 0.02))
COUPLED = ProcessMatrix(((first_order(1.0, 0.02),),)).actuator()
SPRUNG = MassSpringDamper("1 kg", "10 N s/m", "100 N/m")
OF_ONE_DOMAIN = {
    "dead zone": (lambda u: MCS(dead_zone=f"3 {u}"), "mm/s", "deg/s"),
    "dead zone in samples": (lambda u: DiscreteMCS(dead_zone=f"3 {u}"), "mm/s", "deg/s"),
    "dead zone of order 1": (lambda u: MCS(dead_zone=f"3 {u}", order=1), "mm", "deg"),
    "dead zone of order 4": (lambda u: MCS(dead_zone=f"3 {u}", order=4), "mm/s^3", "deg/s^3"),
    "dead zone of any kind": (lambda u: MCS(dead_zone=f"3 {u}", error_filter="lyapunov"), "mm", "deg/s"),
    "levels": (lambda u: Scheduled((INVERSE, INVERSE), (1e-3, f"3 {u}")), "mm", "deg"),
    "levels by force": (lambda u: Scheduled((INVERSE, INVERSE), (1e-3, f"3 {u}"), "force"), "N", "N m"),
    "reaching": (lambda u: SlidingMode(second_order(1.0, 35.0, 0.5), reaching=f"3 {u}"), "mm/s", "deg/s"),
    "give": (lambda u: LoadFeedforward(INVERSE, f"3 {u}", 0.0), "mm/kN", "deg/N/m"),
    "give rate": (lambda u: LoadFeedforward(INVERSE, 0.0, f"3 {u}"), "mm s/kN", "deg s/N/m"),
    "noise": (lambda u: AdaptiveCoupledInverse(COUPLED, noise=f"3 {u}"), "mm", "deg"),
    "threshold": (lambda u: AdaptiveCoupledInverse(COUPLED, threshold=f"3 {u}"), "mm", "deg"),
    "junction": (
        lambda u: SensitivityVirtualJunction(SPRUNG, ["damper.damping"], noise=f"3 {u}"), "mm", "deg"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_DOMAIN)
def test_what_a_controller_is_given_is_held_against_the_domain_of_the_interface(name):
    make, slides, turns = OF_ONE_DOMAIN[name]
    expect_units_of_controller([TRANSLATION], make(slides))
    expect_units_of_controller([ROTATION], make(turns))
    with pytest.raises(InputError, match=r"controller\..*: found a value in .*, but what .* in translation"):
        expect_units_of_controller([TRANSLATION], make(turns))
    with pytest.raises(InputError, match=r"controller\..*: found a value in .*, but what .* in rotation"):
        expect_units_of_controller([ROTATION], make(slides))


def test_a_dead_zone_of_another_domain_is_refused_by_the_test():
    assert hybrid().replaced(controller=MCS(dead_zone="3 mm/s"))
    with pytest.raises(InputError, match=r"controller\.dead_zone: found a value in deg/s, .* one in m/s"):
        hybrid().replaced(controller=MCS(dead_zone="3 deg/s"))


def test_weights_with_units_tell_what_a_dead_zone_measures():
    """1/s beside 1 make a velocity of the errors; plain weights may be of any scale."""
    assert MCS(error_filter=("400 1/s", 1), dead_zone="3 mm/s").dead_zone == pytest.approx(0.003)
    assert MCS(error_filter=(400, 1), dead_zone="3 mm").dead_zone == pytest.approx(0.003)
    with pytest.raises(InputError, match=r"dead_zone.*expected a quantity in m/s or rad/s.*'3 mm'"):
        MCS(error_filter=("400 1/s", 1), dead_zone="3 mm")


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
