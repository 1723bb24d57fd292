"""The ground of a test: what is refused, what is asked, and that all kinds of tests and halves agree."""

import numpy as np
import pytest

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, Df, I, Model, One, Port, R, Zero, bond
from bondloop.errors import InputError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.hybrid.ground import ground_signals
from bondloop.integrate import Exact, SubStep
from bondloop.integrate.structural import NewmarkExplicit
from bondloop.papers import gawthrop_three_mass
from bondloop.results import GroundMotion
from bondloop.rigs import RampHold, ShakingTable, Specimen
from bondloop.signals import Sine, Table
from bondloop.structures import (
    Matrices,
    PointMass,
    ShearBuilding,
    Spring,
    Structure,
    craig_bampton,
    field_form,
    modal_form,
    modes,
    network_form,
)

FLOORS = ShearBuilding(masses=[2e3, 2e3, 1e3], stiffnesses=[2e6, 1.5e6, 1e6], rayleigh=(0.3, 1e-3))
ROOF = "frame.floor[3].ux"
H = 0.01
SAMPLES, INSTANTS = np.random.default_rng(5).standard_normal(101), 0.02 * np.arange(101)
QUAKE = GroundMotion(SAMPLES, 0.02)
ACTUATOR = bl.transfer.MassSpringDamper(20.0, 400.0, 4e4)
MASS, STIFFNESS, DAMPING = 150.0, 3e4, 300.0


class Hanging(Model):
    """A tuned mass."""

    def __init__(self, grounded=False, m=MASS):
        self.base = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.base >> self.force >> self.v
        if m:
            self.v >> I(mass=m)
        self.force >> self.stretch >> [C(stiffness=STIFFNESS), R(damping=DAMPING)]
        if grounded or not m:
            self.v >> R(damping=10.0)


def building(form=field_form, specimen=None, matrices=None, pattern=None):
    whole = Model("building")
    whole.frame = form(FLOORS.assemble() if matrices is None else matrices, "frame")
    if pattern is not None:
        whole.frame.apply_pattern(pattern, "quake", unit="m/s^2")
    whole.mass = specimen or Hanging()
    bond(whole.frame.junction("floor[3].ux"), whole.mass.base)
    return whole


def hybrid(whole, **options):
    numerical, physical = whole.cut(f"{ROOF} >> mass.base")
    settings = {
        "rate": 1 / H,
        "coupling": "continuous",
        "integrator": Exact("first"),
        "ground": {"ux": QUAKE},
    }
    settings.update(options)
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, ACTUATOR),
        controller=bl.control.VirtualJunction(ACTUATOR),
        **{"record": () if "mode" in whole.frame.parts else [f"numerical.{ROOF}.displacement"], **settings},
    )


def roof(test, seconds=2.0, **options):
    return test.run(seconds, **options)[f"numerical.{ROOF}.displacement"]


def velocity(test, seconds=2.0):
    path = f"numerical.{ROOF}.flow"
    return test.replaced(record=[path]).run(seconds)[path]


def largest(x, y):
    return np.abs(x - y).max() / np.abs(y).max()


# ---------------------------------------------------------------- what is refused


def test_a_ground_motion_acts_by_its_own_acceleration():
    assert ground_signals({"uy": QUAKE}) == {"uy": QUAKE.acceleration()}


def test_the_numerical_half_alone_is_not_loaded_with_the_ground_where_the_specimen_has_mass():
    """The pattern that the docs had: the specimen felt no ground, 12 % off, and the check passed."""
    pattern = dict(zip(FLOORS.dofs, FLOORS.base_excitation(), strict=True))
    with pytest.raises(
        InputError, match=r"loads the numerical half with -M r.*mass\.I.*ground=\{'ux': motion\}"
    ):
        hybrid(building(pattern=pattern), ground=None, excitation={"frame.quake": Sine(1.0, 2.0)})
    # A specimen without mass has nothing to miss, and one that is not excited harms nobody.
    hybrid(
        building(pattern=pattern, specimen=Hanging(m=0)), ground=None, excitation={"frame.quake": Sine(1, 2)}
    )
    hybrid(building(pattern=pattern), ground=None, excitation={})


def test_how_far_off_it_was():
    with_it = roof(hybrid(building()))
    whole = building()
    whole.frame.apply_pattern(dict(zip(FLOORS.dofs, 0.999 * FLOORS.base_excitation(), strict=True)), "quake")
    table = Table(INSTANTS, SAMPLES, beyond="zero")
    without = roof(hybrid(whole, ground=None, excitation={"frame.quake": table}))
    assert largest(without, with_it) > 0.05


def test_an_acceleration_that_may_be_the_grounds_asks_for_care():
    half = {"floor[3].ux": -1e3}
    test = hybrid(
        building(pattern=half), ground=None, excitation={"frame.quake": Sine(1.0, 2.0)}, coupling="sampled"
    )
    check = test.check(1.0)
    assert any("if it is the ground's, give it as ground=" in f.text for f in check.findings)
    calm = hybrid(building(), ground={"ux": Sine(0.1, 2.0)}, coupling="sampled").check(1.0)
    assert not any("ground" in f.text for f in calm.findings)


def test_what_a_rehearsal_has_and_a_laboratory_has_not_asks_for_care():
    check = hybrid(
        building(), ground={"ux": Sine(0.1, 2.0)}, coordinates="relative", coupling="sampled"
    ).check(1.0)
    assert any("a floor that stands still does not" in f.text for f in check.findings)
    standing = building(specimen=Hanging(m=0))
    check = hybrid(standing, ground={"ux": Sine(0.1, 2.0)}, coordinates="absolute", coupling="sampled").check(
        1.0
    )
    assert any("that needs a table under it" in f.text for f in check.findings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ground": {"uw": QUAKE}}, "either all supports move alike|unknown direction or support 'uw'"),
        ({"ground": {"uy": QUAKE}}, "unknown direction or support 'uy'"),
        ({"ground": {"ux": QUAKE, "foot.ux": QUAKE}}, "either all supports move alike"),
        ({"ground": {}}, "ground: expected ground="),
        ({"ground": 3.0}, "ground: expected ground="),
        ({"ground": {1: QUAKE}}, "a direction or support is a text, as 'ux'; found 1"),
        ({"excitation": {"ground_ux": Sine(50.0, 1.0)}}, "that is the ground's own input, which ground"),
        ({"ground": {"a[1].ux": QUAKE, "a_1.ux": QUAKE}}, "would both be the input 'ground_a_1_ux'"),
        ({"ground": {"ux": 3.0}}, r"ground\['ux'\]: expected ground="),
        ({"ground": {"ux": Sine("1 mm/s", 2.0)}}, r"ground\['ux'\] is in mm/s; expected an acceleration"),
        ({"coordinates": "inertial"}, "coordinates must be 'relative' or 'absolute'; found 'inertial'"),
        ({"ground": None, "excitation": {}, "coordinates": "absolute"}, "they are those of a moving ground"),
        ({"ground": None}, "excitation: expected signals"),
    ],
)
def test_bad_grounds(options, words):
    with pytest.raises(InputError, match=words):
        hybrid(building(), **options)


def test_a_mass_that_stands_on_the_ground_by_itself_is_refused():
    with pytest.raises(InputError, match=r"mass\.I stands on the ground by .* and has mass of its own"):
        hybrid(building(specimen=Hanging(grounded=True)))


def test_a_model_without_a_structure_has_no_ground():
    chain = gawthrop_three_mass.model()
    with pytest.raises(InputError, match="there is no structure that stands on it"):
        bl.Simulation({"chain": chain}, ground=QUAKE, rate=100)


def test_a_direction_in_which_nothing_moves():
    s = Structure("storey")
    s.node("foot")
    s.node("floor[3]", z=3.0)
    s.add(Spring("foot", "floor[3]", k=1e6, dof="ux"))
    s.add(PointMass("floor[3]", m=1e3, dofs=("ux",)))
    s.support("foot")
    with pytest.raises(InputError, match=r"ground\['uz'\]: no mass of the structure moves in this direction"):
        hybrid(building(matrices=s.assemble()), ground={"uz": QUAKE})


# ---------------------------------------------------------------- all that agrees


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_simulation_a_reference_and_a_test_agree(coordinates):
    whole = building()
    whole.watch = Df()
    bond(whole.frame.junction("floor[3].ux"), whole.watch)
    test = hybrid(whole, coordinates=coordinates, reference=(whole, [f"{ROOF}.flow"]))
    ours = velocity(test)
    assert largest(ours, test.run(2.0)[f"reference.{ROOF}.flow"]) < 1e-9
    alone = bl.Simulation({"whole": whole}, ground=QUAKE, rate=1 / H, integrator=Exact("first"))
    run = alone.with_values({}).run(2.0)
    assert largest(run["whole.watch"], ours) < 1e-9
    assert np.array_equal(run["ground_ux"], test.run(2.0)["ground_ux"])


@pytest.mark.parametrize("form", [network_form, "modal", "reduced"])
def test_every_form_of_the_structure_goes_with_the_ground_alike(form):
    s = Structure("storeys")
    for i in range(4):
        s.node("foot" if not i else f"floor[{i}]", z=3.0 * i)
    for i, (m, k) in enumerate(zip(FLOORS.masses, FLOORS.stiffnesses, strict=True), start=1):
        s.add(PointMass(f"floor[{i}]", m=m, dofs=("ux",)))
        s.add(Spring("foot" if i == 1 else f"floor[{i - 1}]", f"floor[{i}]", k=k, dof="ux"))
    s.support("foot")
    s.rayleigh(0.3, 1e-3)
    m = s.assemble()
    expected = velocity(hybrid(building(matrices=m)))
    assert largest(velocity(hybrid(building())), expected) < 1e-9
    if form == "reduced":
        small = craig_bampton(m, interface=["floor[3].ux"], count=2)
        whole = building(matrices=small.matrices)
    elif form == "modal":
        whole = building(
            matrices=modes(m, 3), form=lambda basis, name: modal_form(basis, ["floor[3].ux"], name=name)
        )
    else:
        whole = building(matrices=m, form=form)
    assert largest(velocity(hybrid(whole)), expected) < 1e-7


def test_a_reduced_structure_from_elsewhere_does_not_guess():
    small = craig_bampton(FLOORS.assemble(), interface=["floor[3].ux"], count=1).matrices
    bare = Matrices(small.M, small.C, small.K, small.dofs)
    with pytest.raises(InputError, match="how the structure 'frame' goes with the ground is not known"):
        hybrid(building(matrices=bare))


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_python_and_c_have_the_same_ground(coordinates):
    test = hybrid(building(), coordinates=coordinates, coupling="sampled", integrator=None, rate=1000)
    a, b = (roof(test, 0.5, backend=backend) for backend in ("numpy", "c"))
    assert np.abs(a).max() > 0
    assert largest(a, b) < 1e-10


def test_sampled_tests_come_near_the_ideal():
    ideal = roof(hybrid(building()), 1.0)
    for coordinates in ("relative", "absolute"):
        test = hybrid(building(), coordinates=coordinates, coupling="sampled", integrator=None, rate=2000)
        sampled = roof(test, 1.0)[::20]
        n = min(len(sampled), len(ideal))
        assert largest(sampled[:n], ideal[:n]) < 0.03


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_simulated_specimen_goes_with_the_ground_too(coordinates):
    """With the force switch open all forces are the simulated specimen's: the motion is that of the whole."""
    whole = building()
    _, physical = whole.cut(f"{ROOF} >> mass.base")
    switches = bl.hybrid.Switches(force=bl.safety.RampedSwitch(0.0), simulated=physical)
    ideal = roof(hybrid(whole), 1.0)
    settings = {"switches": switches, "coupling": "sampled", "integrator": None, "rate": 1000}
    ours = roof(hybrid(whole, coordinates=coordinates, **settings), 1.0)[::10]
    n = min(len(ours), len(ideal))
    assert largest(ours[:n], ideal[:n]) < 1e-6


def test_the_ground_is_scaled_with_the_excitation():
    test = hybrid(building())
    assert largest(roof(test.with_values({"excitation.scale": 0.5})), 0.5 * roof(test)) < 1e-12


def test_a_test_on_moving_ground_is_data(tmp_path):
    test = hybrid(building(), coordinates="absolute")
    path = tmp_path / "shaken.toml"
    files.to_toml(test, path)
    again = files.load(path)
    assert again.describe() == test.describe()
    assert (again.coordinates, list(again.ground)) == ("absolute", ["ux"])
    assert largest(roof(again), roof(test)) < 1e-12
    assert test.replaced() == test


def test_a_real_rig_takes_the_ground_by_its_commands_alone():
    """In absolute coordinates nothing but the command reaches the specimen; the rest is a rehearsal's."""
    test = hybrid(building(), coupling="sampled", integrator=None)
    assert test.coordinates == "absolute"
    assert [v.name for v in test.rig_tick().inputs] == ["command"]
    assert {"ground_ux.now", "ground_ux.next"} < {v.name for v in test.computer_tick.inputs}
    with pytest.raises(InputError, match="a rig by itself has no ground"):
        hybrid(building(), coupling="sampled", integrator=None, coordinates="relative").rig_tick()


# ---------------------------------------------------------------- pseudo-dynamic tests

DAMPER = Matrices(
    [[0, 0], [0, MASS]],
    [[DAMPING, -DAMPING], [-DAMPING, DAMPING]],
    [[STIFFNESS, -STIFFNESS], [-STIFFNESS, STIFFNESS]],
    ("base", "mass"),
)


def stepped(rig, **options):
    settings = {
        "scheme": SubStep(8, control=rig.control),
        "time_step": 1e-3,
        "ground": {"ux": QUAKE},
        "reference": True,
    }
    settings.update(options)
    return PseudoDynamicTest(FLOORS.assemble(), rig=rig, interface="floor[3].ux", **settings)


def whole_history(h, count):
    """Return roof displacement and coupling force of the whole, by SciPy."""
    from scipy.signal import lsim

    m = FLOORS.assemble()
    M, K, D = (np.pad(X.toarray(), (0, 1)) for X in (m.M, m.K, m.C))
    M[3, 3] = MASS
    e = np.array([0, 0, -1.0, 1.0])
    K += STIFFNESS * np.outer(e, e)
    D += DAMPING * np.outer(e, e)
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    B = np.append(np.zeros(4), -np.ones(4))[:, None]
    out = np.array([[0, 0, 1, 0, 0, 0, 0, 0], [*(STIFFNESS * e), *(DAMPING * e)]])
    t = h * np.arange(count)
    u = np.interp(t, INSTANTS, SAMPLES, right=0.0)
    return lsim((A, B, out, np.zeros((2, 1))), u, t)[1].T


@pytest.mark.parametrize("machine", [ShakingTable, RampHold])
def test_a_pseudo_dynamic_test_carries_its_specimen_with_the_ground(machine):
    rig = machine(Specimen.from_matrices(DAMPER, "base"))
    run = stepped(rig).run(2.0)
    x, force = whole_history(1e-3, len(run["force"]))
    assert largest(run["reference.force"], force) < 1e-9
    assert largest(run["force"], force) < 0.05
    assert largest(run["numerical.floor[3].ux.displacement"], x) < 0.02
    assert largest(run["actual.displacement"], run["desired.displacement"]) < 0.01
    finer = stepped(rig, time_step=5e-4).run(2.0)
    assert largest(finer["force"], finer["reference.force"]) < 0.6 * largest(run["force"], force)


def test_a_bond_graph_on_a_table_goes_with_the_ground_too():
    _, physical = building().cut(f"{ROOF} >> mass.base")
    drawn = stepped(ShakingTable(Specimen.from_model(physical)), reference=False)
    built = stepped(ShakingTable(Specimen.from_matrices(DAMPER, "base")), reference=False)
    assert drawn.coordinates == built.coordinates == "absolute"
    assert largest(drawn.run(1.0)["force"], built.run(1.0)["force"]) < 1e-2


def test_a_massless_specimen_is_moved_relative_to_the_ground():
    isolator = Matrices([[0.0]], [[DAMPING]], [[STIFFNESS]], ("top",))
    test = stepped(
        RampHold(Specimen.from_matrices(isolator, "top")), scheme=NewmarkExplicit(), reference=True
    )
    assert test.coordinates == "relative"
    run = test.run(1.0)
    assert largest(run["numerical.floor[3].ux.displacement"], run["reference.displacement"]) < 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": NewmarkExplicit()}, "NewmarkExplicit does not say when in a step its commands are due"),
        ({"time_scale": 10.0}, "would feel the ground 100 times weaker"),
        (
            {"coordinates": "relative"},
            "the specimen has mass that goes with the ground, and is moved in absolute",
        ),
        ({"ground": None, "excitation": {}, "coordinates": "absolute"}, "they are those of a moving ground"),
    ],
)
def test_bad_grounds_of_pseudo_dynamic_tests(options, words):
    with pytest.raises(InputError, match=words):
        stepped(RampHold(Specimen.from_matrices(DAMPER, "base")), **options)


def test_minus_m_r_with_a_massive_specimen_is_refused_in_pseudo_dynamic_tests_too():
    rig = ShakingTable(Specimen.from_matrices(DAMPER, "base"))
    pattern = dict(zip(FLOORS.dofs, FLOORS.base_excitation(), strict=True))
    with pytest.raises(InputError, match="which would not feel the ground"):
        stepped(rig, ground=None, excitation={"quake": (Sine(1.0, 2.0), pattern)})
    plain = Matrices(np.eye(1) * 1e3, None, [[1e6]], ("m1",))
    test = PseudoDynamicTest(
        plain,
        scheme=SubStep(8),
        rig=rig,
        interface="m1",
        excitation={"quake": (Sine(1.0, 2.0), {"m1": -1e3})},
        time_step=1e-3,
    )
    assert any("if it is the ground, give it as ground=" in f.text for f in test.check(1.0).findings)


def test_every_degree_of_freedom_is_a_channel_of_a_pseudo_dynamic_test():
    """They vanished beyond twenty."""
    n = 24
    tall = ShearBuilding(masses=[1e3] * n, stiffnesses=[1e6] * n).assemble()
    isolator = Matrices([[0.0]], None, [[1e4]], ("top",))
    rig = RampHold(Specimen.from_matrices(isolator, "top"))
    test = PseudoDynamicTest(
        tall, scheme=NewmarkExplicit(), rig=rig, interface="floor[24].ux", ground=QUAKE, time_step=1e-3
    )
    run = test.run(0.05, backend="numpy")
    assert all(f"numerical.{dof}.displacement" in run.record for dof in tall.dofs)


def test_a_pseudo_dynamic_test_on_moving_ground_can_be_made_again():
    test = stepped(ShakingTable(Specimen.from_matrices(DAMPER, "base")))
    again = test.replaced()
    assert again == test
    assert np.array_equal(again.run(0.2)["force"], test.run(0.2)["force"])


# ---------------------------------------------------------------- structures as specimens


@pytest.mark.parametrize("coordinates", [None, "relative", "absolute"])
@pytest.mark.parametrize("stands", [False, True])
def test_a_specimen_that_is_a_structure(stands, coordinates):
    """The upper storey on the rig, held at its top by the ground or not, against the whole by SciPy."""
    from scipy.signal import lsim

    hold = 4e5 if stands else 0.0
    upper = Matrices(np.diag([10.0, 1e3]), None, [[1e6, -1e6], [-1e6, 1e6 + hold]], ("plate.ux", "top.ux"))
    lower = ShearBuilding(masses=[2e3, 2e3], stiffnesses=[2e6, 1.5e6]).assemble()
    whole = Model("split")
    whole.low, whole.up = field_form(lower, "low"), field_form(upper, "up")
    bond(whole.low.junction("floor[2].ux"), whole.up.plate.ux)
    numerical, physical = whole.cut("low.floor[2].ux >> up.plate.ux")
    path = "numerical.low.floor[2].ux.displacement"
    test = bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, ACTUATOR),
        controller=bl.control.VirtualJunction(ACTUATOR),
        ground=QUAKE,
        coordinates=coordinates,
        coupling="continuous",
        rate=1 / H,
        integrator=Exact("first"),
        record=path,
    )
    assert test.coordinates == (coordinates or ("relative" if stands else "absolute"))
    ours = test.run(2.0, backend="numpy")[path]
    M, K = np.diag([2e3, 2010.0, 1e3]), np.zeros((3, 3))
    K[:2, :2] = lower.K.toarray()
    K[1:, 1:] += upper.K.toarray()
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(M, K), np.zeros((3, 3))]])
    B = np.append(np.zeros(3), -np.ones(3))[:, None]
    t = H * np.arange(len(ours))
    u = np.interp(t, INSTANTS, SAMPLES, right=0.0)
    exact = lsim((A, B, np.eye(6)[[1]], np.zeros((1, 1))), u, t)[1].ravel()
    assert largest(ours, exact) < 1e-9
    # What a laboratory has: the hung storey on a table needs nothing but its commands.
    assert bool(test.ground_cares) == (stands or coordinates == "relative")


def test_other_tests_keep_the_grounds_input_to_themselves():
    double = {"ground_ux": (Sine(50.0, 1.0), {"floor[1].ux": 1.0})}
    with pytest.raises(InputError, match="that is the ground's own input, which ground"):
        stepped(RampHold(Specimen.from_matrices(DAMPER, "base")), excitation=double)
    with pytest.raises(InputError, match="that is the ground's own input, which ground"):
        bl.Simulation({"own": building()}, ground=QUAKE, excitation={"ground_ux": Sine(50.0, 1.0)}, rate=100)


def test_a_floor_that_is_still_being_swung_up_does_not_move_ever_farther():
    """Near resonance every quarter of six seconds adds less; the motion is bounded (SciPy: 0.31 m)."""
    from scipy.integrate import solve_ivp

    floors = ShearBuilding(masses=[400, 300], stiffnesses=[8e4, 5e4], rayleigh=(0.3, 2e-4)).assemble()
    brace = Matrices([[0.0]], [[30.0]], [[2400.0]], ("top",))
    test = PseudoDynamicTest(
        floors,
        scheme=SubStep(8, control="displacement"),
        rig=RampHold(Specimen.from_matrices(brace, "top")),
        interface="floor[2].ux",
        ground={"ux": Sine(1.0, 1.5)},
        time_step=2e-3,
    )
    K, D = floors.K.toarray() + np.diag([0, 2400.0]), floors.C.toarray() + np.diag([0, 30.0])
    M = np.array([400.0, 300.0])

    def slope(t, y):
        return [*y[2:], *(-(K @ y[:2] + D @ y[2:]) / M - np.sin(3 * np.pi * t))]

    y = solve_ivp(slope, (0, 60), np.zeros(4), rtol=1e-7, atol=1e-9, max_step=0.02)
    assert np.abs(y.y[1]).max() < 0.32
    assert "its motion still grows" in (verdict := test.check(6.0).verdict)
    assert "ever farther" not in verdict
    assert "grows" not in test.check(24.0).verdict
