"""Every recorded channel has the right unit, and says what it is: circuits, hydraulics, motors, buildings."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import (
    GY,
    TF,
    C,
    Df,
    Domain,
    I,
    Input,
    Model,
    MSe,
    One,
    Port,
    R,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
)
from bondloop.control import MCS, ControlLaw, Direct, LeadCompensation
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.engine.ir.tick_json import dump_tick, load_tick
from bondloop.errors import InputError, ModelError
from bondloop.hybrid.simulation import Simulation
from bondloop.integrate.structural import ChenRicles
from bondloop.integrate.structural.simulate import structure_tick
from bondloop.results import Record
from bondloop.rigs import Emulated, Sensor
from bondloop.safety import Interlock, Limits
from bondloop.signals import Sine
from bondloop.structures import (
    Beam,
    Matrices,
    ShearBuilding,
    Structure,
    field_form,
    modal_form,
    modal_system,
    modes,
    network_form,
)
from bondloop.transfer import MassSpringDamper, ServoHydraulic


def modal(matrices, **options):
    return modal_form(modes(matrices, 3), **options)


def recorded(systems, **excitation):
    run = Simulation(systems, excitation=excitation, rate=1000).run(0.01)
    return dict(run.record.units), dict(run.record.meanings)


def circuit():
    m = Model("circuit")
    m.V, m.i, m.L, m.R = Se("V"), One(), I(inductance="3 mH"), R(resistance=2.0)
    m.V >> m.i >> [m.L, m.R]
    return m


def test_a_circuit_records_volts_and_amperes():
    system = circuit().compile(outputs=["i.flow", "R.effort", "L.momentum"])
    units, meanings = recorded({"rl": system}, V=Sine(1, 4))
    assert units == {"rl.i.flow": "A", "rl.R.effort": "V", "rl.L.momentum": "V s", "V": "V"}
    assert meanings["rl.i.flow"] == Meaning(Role.OTHER, "current", "flow")
    assert meanings["rl.L.momentum"].role is Role.STATE
    assert meanings["V"] == Meaning(Role.EXCITATION, "voltage", "effort")


def test_a_cylinder_records_pascals_and_cubic_metres():
    m = Model("cylinder")
    m.Q, m.p, m.piston, m.v = Sf("Q"), Zero(), TF(modulus=1 / 12e-4), One()
    m.oil, m.leak = C(capacitance="2e-13 m3/Pa"), R(conductance=1e-12)
    m.Q >> m.p >> [m.oil, m.leak, m.piston]
    m.piston >> m.v >> [I(mass=12.0), R(damping=4e3)]
    outputs = ["p.effort", "oil.displacement", "leak.flow", "v.flow", "piston.out.effort"]
    units, _ = recorded({"c": m.compile(outputs=outputs)}, Q=1e-4)
    assert list(units.values()) == ["Pa", "m^3", "m^3/s", "m/s", "N", "m^3/s"]


def test_a_motor_records_amperes_and_radians():
    m = Model("motor")
    m.V, m.i, m.motor, m.w, m.rate, m.angle = Se("V"), One(), GY(ratio=0.1), One(), Df(), SignalIntegrator()
    m.V >> m.i >> [I(inductance=0.01), R(resistance=1.0), m.motor]
    m.motor >> m.w >> [I(inertia=1e-3), R(damping=1e-4)]
    m.w >> m.rate >> m.angle
    outputs = ["i.flow", "w.flow", "angle", "motor.in.effort", "motor.out.effort", "I2.momentum"]
    units, _ = recorded({"m": m.compile(outputs=outputs)}, V=2.0)
    assert list(units.values()) == ["A", "rad/s", "rad", "V", "N m", "N m s", "V"]


@pytest.mark.parametrize("form", [field_form, network_form, modal])
def test_a_building_records_newtons_and_metres(form):
    building = ShearBuilding(["2 t"] * 3, ["800 kN/m"] * 3, ["4 kN s/m"] * 3).assemble()
    model = form(building, forces={"floor[3].ux": "wind"})
    model.apply_pattern(dict.fromkeys(model.dofs, -2e3), "ground", unit="m/s^2")
    system = model.compile(outputs=["floor[3].ux.flow"])
    units, _ = recorded({"b": system}, wind=1e3, ground=Sine(1, 2))
    assert units == {"b.floor[3].ux.flow": "m/s", "wind": "N", "ground": "m/s^2"}


@pytest.mark.parametrize("form", [field_form, network_form])
def test_a_frame_turns_in_radians(form):
    frame = Structure("cantilever")
    frame.node("root")
    frame.node("tip", x=1.0)
    frame.add(Beam("root", "tip", E="200 GPa", A="1 cm^2", I=1e-8, rho=7850))
    frame.support("root")
    matrices = frame.assemble()
    system = form(matrices, forces={d: f"F_{d[-2:]}" for d in matrices.dofs}).compile(
        outputs=[f"{d}.flow" for d in matrices.dofs]
    )
    rotations = [d.endswith("rz") for d in matrices.dofs]
    assert any(rotations)
    for turns, flow, force in zip(rotations, system.outputs, system.inputs, strict=True):
        assert system.quantity(flow).unit == ("rad/s" if turns else "m/s")
        assert system.quantity(force).unit == ("N m" if turns else "N")


def test_modes_and_time_stepping_know_their_degrees_of_freedom():
    matrices = Matrices(np.eye(2), 0.1 * np.eye(2), 4 * np.eye(2), ("a.ux", "a.rz"))
    system = modal_system(matrices, ["a.ux", "a.rz"])
    assert [system.quantity(o).unit for o in system.outputs] == ["m", "m/s", "rad", "rad/s"]
    assert [u.quantity.unit for u in system.input_vars] == ["N", "N m"]
    M, C = np.eye(2), np.zeros((2, 2))
    tick, _ = structure_tick(ChenRicles(), M, C, M, period=0.1, initial=(1, 0), dofs=matrices.dofs)
    units = {c.name: c.unit for c in tick.channels}
    assert [units[f"a.rz.{w}"] for w in ("displacement", "velocity", "acceleration", "command")] == [
        "rad", "rad/s", "rad/s^2", "rad",
    ]  # fmt: skip
    assert units["a.ux.acceleration"] == "m/s^2"


INERTIAS = ("mass", "inertia", "inductance", "inertance")


def halves(element):
    """A numerical half that ends in an inertia, and a physical one of a single element."""
    whole = Model("whole")
    whole.drive, whole.v, whole.force = Se("u"), One(), Zero()
    whole.drive >> whole.v >> [element, R(lambda f: 0.1 * f), whole.force]
    whole.force >> R(lambda f: f)
    return whole, *whole.cut("v >> force")


def actuator(inertia):
    m = Model("actuator")
    m.v, m.out, m.command = One(), Port(), Se("command")
    m.command >> m.v >> [inertia, R(lambda f: 5.0 * f), C(lambda q: 100.0 * q), m.out]
    return m


@pytest.mark.parametrize(
    ("word", "units"),
    [
        ("mass", {"effort": "N", "flow": "m/s", "displacement": "m"}),
        ("inertia", {"effort": "N m", "flow": "rad/s", "displacement": "rad"}),
        ("inductance", {"effort": "V", "flow": "A", "displacement": "C"}),
        ("inertance", {"effort": "Pa", "flow": "m^3/s", "displacement": "m^3"}),
    ],
)
def test_the_interface_of_a_test_has_the_units_of_its_domain(word, units):
    whole, numerical, physical = halves(I(**{word: 1.0}))
    test = bl.HybridTest(
        numerical, rig=Emulated(physical, actuator(I(**{word: 0.01})), sensors={"displacement": Sensor()}),
        controller=Direct(), excitation={"u": Sine(1, 2)}, rate="1 kHz", reference=(whole, ["v.flow"]),
        record=["rig.specimen.R2.effort"],
    )  # fmt: skip
    for tick in (test.tick, test.computer_tick, test.rig_tick()):
        for c in tick.channels:
            if c.meaning.kind != "power":
                assert c.unit == units[c.meaning.kind], c
    roles = {c.name: (c.meaning.role, c.meaning.interface) for c in test.tick.channels}
    assert roles["desired.velocity"] == (Role.DESIRED, 0)
    assert roles["force"] == (Role.ACTUAL, 0)
    assert roles["measured.displacement"] == (Role.MEASURED, 0)
    assert roles["synchronisation.force"] == (Role.ERROR, 0)
    assert roles["command"] == (Role.COMMAND, 0)
    assert roles["u"] == (Role.EXCITATION, None)
    assert roles["reference.velocity"] == (Role.REFERENCE, 0)
    assert [v.name for v in test.computer_tick.measured] == [
        "measured.force", "measured.displacement", "measured.velocity",
    ]  # fmt: skip
    power = next(c for c in test.tick.channels if c.meaning.kind == "power")
    assert power.unit == "W"


def acoustic(**coefficients):
    pressure, flow = ("sound pressure", "Pa"), ("volume velocity", "m^3/s")
    return Domain("acoustic", pressure, flow, ("swept volume", "m^3"), ("blow", "Pa s"), coefficients)


@pytest.mark.parametrize("controller", [Direct(), MCS(order=1), LeadCompensation("5 ms")])
def test_the_interface_of_a_test_in_a_domain_of_ones_own_keeps_its_words(controller):
    """Effort and flow alone would tell a "volume", or nothing: the domain is carried along by the cut."""
    own = acoustic(inertance="kg/m^4")
    whole, jack = Model("duct"), Model("jack")
    whole.drive, whole.v, whole.force = Se("u"), One(domain=own), Zero()
    whole.drive >> whole.v >> [I(inertance=1.0), R(lambda f: 0.1 * f), whole.force]
    whole.force >> R(lambda f: f)
    numerical, physical = whole.cut("v >> force")
    jack.v, jack.out, jack.command = One(domain=own), Port(), Se("command")
    jack.command >> jack.v >> [I(inertance=0.01), R(lambda f: 5.0 * f), C(lambda q: 100.0 * q), jack.out]
    arguments = {
        "rig": Emulated(physical, jack, sensors={"displacement": Sensor()}), "controller": controller,
        "excitation": {"u": Sine(1, 2)}, "rate": "1 kHz",
    }  # fmt: skip
    if isinstance(controller, LeadCompensation):
        with pytest.raises(InputError, match=r"sends displacements, in m\^3; the command .* is in Pa"):
            bl.HybridTest(numerical, **arguments).tick  # noqa: B018
        return
    test = bl.HybridTest(numerical, **arguments)
    words = {c.name: (c.meaning.quantity, c.unit) for c in test.tick.channels}
    for name in ("desired.displacement", "actual.displacement", "measured.displacement"):
        assert words[name] == ("swept volume", "m^3")
    assert words["desired.velocity"] == ("volume velocity", "m^3/s")
    assert words["force"] == ("sound pressure", "Pa")


def test_a_coefficient_that_a_domain_of_ones_own_does_not_name_is_told_with_those_that_it_does():
    m = Model("duct")
    m.v = One(domain=acoustic(inertance="kg/m^4"))
    m.v >> [I(inertance=2.0), C(compliance=3.0)]
    words = r"C.*: the domain acoustic has no coefficient 'compliance'; it names: inertance"
    with pytest.raises(ModelError, match=words):
        m.compile()


LIMITS = {
    "mass": {"displacement": "5 mm", "velocity": "1 m/s", "force": "5 kN"},
    "inertia": {"displacement": "2 deg", "velocity": "10 rpm", "force": "3 N m"},
    "inductance": {"displacement": "1 mC", "velocity": "10 mA", "force": "24 V"},
    "inertance": {"displacement": "1 l", "velocity": "2 l/min", "force": "21 MPa"},
}


@pytest.mark.parametrize("tested", LIMITS)
@pytest.mark.parametrize("given", LIMITS)
@pytest.mark.parametrize("as_interlock", [False, True])
def test_a_limit_is_one_of_what_the_interface_does(tested, given, as_interlock):
    _, numerical, physical = halves(I(**{tested: 1.0}))
    rig = Emulated(physical, actuator(I(**{tested: 0.01})))
    for name, text in LIMITS[given].items():
        limits = Limits(**{name: text})
        where = {"interlock": Interlock(limits)} if as_interlock else {"limits": limits}
        test = {"controller": Direct(), "excitation": {"u": 1.0}, "rate": 1000, **where}
        if given == tested:
            bl.HybridTest(numerical, rig=rig, **test)
            continue
        with pytest.raises(InputError, match=rf"limits\.{name}: found '{text}', but what is tested is in"):
            bl.HybridTest(numerical, rig=rig, **test)


@pytest.mark.parametrize("drive", ["force", "position"])
@pytest.mark.parametrize(
    ("part", "by_force", "by_position"),
    [
        ("command", ["5 kN", "5 kg m/s^2"], ["10 mm", "2 in"]),
        ("command_rate", ["40 N/s"], ["0.5 m/s", "1 mm/min"]),
        ("safe_position", ["2 N"], ["2 mm"]),
        ("command", ["10 V", "5 kg", "10 s", "50 %"], None),
        ("command_rate", ["40 kg", "1 V/s"], None),
    ],
)
def test_what_is_said_of_a_command_is_in_its_unit(drive, part, by_force, by_position):
    """A command is in N where the actuator is driven by a force, in m where it has a set point."""
    _, numerical, physical = halves(I(mass=1.0))
    rig = Emulated(physical, MassSpringDamper(m=2, c=150, k=15e3, drive=drive))
    for texts, good in ((by_force, drive == "force"), (by_position or [], drive == "position")):
        for text in texts:
            parts = {part: text} if part == "safe_position" else {"limits": Limits(**{part: text})}
            test = {"controller": Direct(), "excitation": {"u": 1.0}, "rate": 1000}
            if good and by_position is not None:
                bl.HybridTest(numerical, rig=rig, interlock=Interlock(**parts), **test)
                continue
            made = bl.HybridTest(numerical, rig=rig, **test)
            with pytest.raises(
                InputError, match=rf"{part}: found a value in .*, but the rig is commanded in"
            ):
                made.replaced(interlock=Interlock(**parts))
            if part == "command":
                with pytest.raises(InputError, match=r"^limits\.command: found a value in"):
                    made.replaced(limits=Limits(command=text))


def test_a_specimen_of_another_domain_than_its_actuator_is_refused():
    _, numerical, physical = halves(I(inertia=1.0))
    test = dict(controller=Direct(), excitation={}, rate=1000)  # noqa: C408
    with pytest.raises(bl.errors.ModelError, match="two domains meet"):
        bl.HybridTest(numerical, rig=Emulated(physical, MassSpringDamper(1, 1, 1)), **test).tick  # noqa: B018


@pytest.mark.parametrize("ours", INERTIAS)
@pytest.mark.parametrize("theirs", INERTIAS)
def test_halves_of_two_domains_are_refused(ours, theirs):
    """Their difference would be of rad/s and m/s; where one does not tell its domain nothing is refused."""
    numerical, physical = halves(I(**{ours: 1.0}))[1], halves(I(**{theirs: 1.0}))[2]
    rig = Emulated(physical, actuator(I(**{theirs: 0.01})))
    made = bl.HybridTest(numerical, rig=rig, controller=Direct(), excitation={}, rate=1000)
    if ours == theirs:
        assert made.tick
    else:
        with pytest.raises(ModelError, match="two domains meet at interface 1: the numerical half is in "):
            made.tick  # noqa: B018
    open_half = halves(I(lambda p: p))[1]
    assert bl.HybridTest(open_half, rig=rig, controller=Direct(), excitation={}, rate=1000).tick


def test_gains_have_the_unit_of_the_command_over_what_they_multiply():
    _, numerical, physical = halves(I(mass=1.0))
    test = bl.HybridTest(
        numerical, rig=Emulated(physical, MassSpringDamper(1, 10, 100)), controller=MCS(),
        excitation={"u": Sine(1, 2)}, rate=1000,
    )  # fmt: skip
    gains = {c.name: c.unit for c in test.tick.channels if c.meaning.role is Role.GAIN}
    assert gains == {"controller.K[0]": "N/m", "controller.K[1]": "N s/m", "controller.K_r": "N/m"}


def rotary():
    a = Model("rotary")
    a.u, a.torque = Input("command", unit="rad"), MSe(lambda u, k=400.0: k * u)
    a.v, a.out = One(domain="rotation"), Port(domain="rotation")
    a.u >> a.torque >> a.v >> [I(inertia=1.0), R(damping=20.0), C(stiffness=400.0)]
    a.v >> a.out
    return a


def pushed_and_turned(controller):
    """A jack that is commanded in m, beside a motor that is commanded in rad."""
    m = Model("two")
    m.v, m.w, m.om, m.q = One(), One(), One(domain="rotation"), One(domain="rotation")
    m.v >> [I(mass=3.0), C(stiffness=200.0), R(damping=2.0), m.w]
    m.om >> [I(inertia=2.0), C(stiffness=40.0), R(damping=1.0), m.q]
    m.w >> [C(stiffness=50.0), R(damping=1.0)]
    m.q >> [C(stiffness=5.0), R(damping=0.3)]
    m.between, m.lever = Zero(), TF(0.1)
    m.w >> m.between >> C(stiffness=7.0)
    m.q >> m.lever >> m.between
    numerical, physical = m.cut("v >> w", "om >> q")
    actuators = [MassSpringDamper(1.0, 20.0, 400.0, drive="position"), rotary()]
    return bl.HybridTest(
        numerical, rig=Emulated(physical, actuators), controller=controller, excitation={}, rate=1000
    )


def controllers_channels(controller):
    channels = pushed_and_turned(controller).tick.channels
    return {c.name: (c.unit, c.meaning.interface) for c in channels if c.name.startswith("controller")}


def test_gains_of_commands_that_differ_have_the_unit_of_their_own():
    """K_i multiplies displacement and velocity of interface i, K_ij those of interface j; all by hand."""
    assert controllers_channels(MCS()) == {
        "controller.error[0]": ("m/s", 0),
        "controller.K[0][0]": ("", 0),
        "controller.K[0][1]": ("s", 0),
        "controller.K_r[0]": ("", 0),
        "controller.error[1]": ("rad/s", 1),
        "controller.K[1][0]": ("", 1),
        "controller.K[1][1]": ("s", 1),
        "controller.K_r[1]": ("", 1),
    }
    coupled = controllers_channels(MCS(coupled=True))
    assert coupled["controller.K[0][2]"] == ("m/rad", 0)
    assert coupled["controller.K[0][3]"] == ("m s/rad", 0)
    assert coupled["controller.K_r[1][0]"] == ("rad/m", 1)
    own = controllers_channels(MCS(reference=Sine(1, 2)))
    assert own["controller.K_r[0]"] == ("", 0)  # nobody says what the reference measures
    assert own["controller.K[1][1]"] == ("s", 1)


class Coupled(ControlLaw):
    """A law with a state for each command, and one for both."""

    states = {"sum": [0.0, 0.0], "energy": 0.0, "past": [0.0, 0.0, 0.0]}  # noqa: RUF012
    record = {"sum": "m", "energy": "J", "past": "m"}  # noqa: RUF012
    coupled = True

    def step(self, desired, measured):
        self.sum = self.sum + desired.displacement - measured.displacement
        self.energy = self.energy + measured.force[0] * desired.velocity[0]
        self.past = [desired.displacement[0], *self.past[:-1]]
        return desired.displacement + self.period * self.sum


def test_a_coupled_laws_states_say_at_which_interface_they_are():
    assert controllers_channels(Coupled()) == {
        "controller.sum[0]": ("m", 0),
        "controller.sum[1]": ("m", 1),
        "controller.energy": ("J", None),
        **{f"controller.past[{i}]": ("m", None) for i in range(3)},
    }


def test_a_servo_hydraulic_actuator_records_its_oil():
    _, numerical, physical = halves(I(mass=100.0))
    record = [f"rig.transfer.{p}" for p in ("oil.displacement", "pressure.effort", "spool", "valve.flow")]
    test = bl.HybridTest(
        numerical, rig=Emulated(physical, ServoHydraulic()), controller=Direct(), excitation={"u": 1.0},
        rate=1000, record=record,
    )  # fmt: skip
    units = {c.name: c.unit for c in test.tick.channels}
    assert [units[p] for p in record] == ["m^3", "Pa", "", "m^3/s"]
    assert units["command"] == "m"


def test_what_channels_are_goes_into_ticks_and_files_and_comes_back(tmp_path):
    _, numerical, physical = halves(I(inductance=1.0))
    test = bl.HybridTest(
        numerical, rig=Emulated(physical, actuator(I(inductance=0.01))), controller=Direct(),
        excitation={"u": Sine(1, 2)}, rate=1000,
    )  # fmt: skip
    again = load_tick(dump_tick(test.computer_tick))
    assert [(c.unit, c.meaning) for c in again.channels] == [
        (c.unit, c.meaning) for c in test.computer_tick.channels
    ]
    assert [v.name for v in again.measured] == [v.name for v in test.computer_tick.measured]
    run = test.run(0.1)
    path = run.save(tmp_path / "run.h5")
    assert Record.load(path).meanings == run.record.meanings
    assert run.pairs == [("desired.displacement", "actual.displacement")]


def test_a_bad_meaning_in_a_file_is_told(tmp_path):
    import h5py

    path = tmp_path / "run.h5"
    Record(np.arange(3.0), {"x": np.zeros(3)}).save(path)
    with h5py.File(path, "r+") as file:
        del file["channel_meanings"]
        file["channel_meanings"] = np.array([b'{"role": "king"}'])
    with pytest.raises(bl.errors.InputError, match="channel 'x' has no readable 'meaning'"):
        Record.load(path)


def test_of_two_interfaces_that_differ_a_limit_has_no_unit():
    """One number is compared with both: 3 degrees would be 52 mm of the other."""
    from bondloop.bondgraph.domain import ROTATION, TRANSLATION
    from bondloop.hybrid.arguments import CommandUnit, expect_limits_of, expect_units_of_command

    both = [TRANSLATION, ROTATION]
    expect_limits_of(both, Limits(displacement=0.02))
    for text in ("20 mm", "3 deg"):
        with pytest.raises(InputError, match="in translation and in rotation; expected a plain number"):
            expect_limits_of(both, Limits(displacement=text))
    with pytest.raises(InputError, match="expected a plain number, which holds for each command"):
        expect_units_of_command(["m", "rad"], [CommandUnit("limits.command", "mm")])
