"""Shaking tables that are late, and shaking tables on actuators: against SciPy, twins, files, bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bondloop import files
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import BondloopError, InputError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.integrate import SubStep
from bondloop.rigs import ShakingTable, Specimen, TableDrive
from bondloop.signals import HalfSine
from bondloop.structures import Matrices
from bondloop.transfer import Cylinder, MassSpringDamper, SerialPID, ServoHydraulic, ServoValve

SPRING = np.array([[100.0, -100.0], [-100.0, 100.0]])
DASHPOT = np.array([[2.0, -2.0], [-2.0, 2.0]])
COMMANDS = np.array([3.0, -1.0, 2.0, 0.0, -4.0, 1.0])


def one_mass(size=1.0, base_mass=0.0):
    M = np.diag([base_mass, 2.0 * size])
    return Specimen.from_matrices(Matrices(M, size * DASHPOT, size * SPRING, ("base", "top")), "base")


def driven(rig, commands, seconds, backend="numpy", parameters=None):
    """Run a rig alone under a list of commands, each for one sub-step; forces and motion after each."""
    command, count = Var("command"), Var("k")
    built = rig.build(seconds)
    steps = (*built.before, *built.impose([command] * len(built.force), count))
    channels = [Channel(v.name, v) for v in built.force]
    channels += [Channel(word, exprs[0]) for word, exprs in built.motion.items()]
    tick = Tick(
        "rig", seconds, Var("t"), count, (command,), built.states, built.parameters, steps, tuple(channels)
    )
    rows = np.append(commands, 0.0)[:, None]
    record = Runner(tick, backend).run(len(rows), rows, parameters).channels
    return {name: values[1:] for name, values in record.items()}


def integrated(rates, n, commands, seconds, delay=0.0, **options):
    """States at the end of every sub-step by SciPy; the held command acts ``delay`` later, zero before."""
    edges = np.concatenate([[0.0], delay + seconds * np.arange(len(commands))])
    values = np.concatenate([[0.0], commands])
    ends = seconds * np.arange(1, len(commands) + 1)
    cuts = np.unique(np.concatenate([edges, ends]).round(12))
    cuts = cuts[cuts <= ends[-1] + 1e-12]
    state, rows = np.zeros(n), []
    for a, b in itertools.pairwise(cuts):
        u = values[np.searchsorted(edges, (a + b) / 2, side="right") - 1]
        solved = solve_ivp(
            lambda _t, y, u=u: rates(y, u), (a, b), state, **{"rtol": 1e-10, "atol": 1e-14, **options}
        )
        state = solved.y[:, -1]
        if np.abs(ends - b).min() < 1e-10:
            rows.append(state)
    return np.array(rows)


def on_table(y, a):
    x, v, u, w = y
    return [v, a, w, (100 * (x - u) + 2 * (v - w)) / 2]


# ---------------------------------------------------------------- delay


@settings(max_examples=25, deadline=None)
@given(
    delay=st.floats(0.0, 0.4),
    whole=st.booleans(),
    commands=st.lists(st.floats(-5, 5), min_size=2, max_size=8),
)
def test_a_delay_of_any_length_is_exact(delay, whole, commands):
    seconds = 0.05
    if whole:
        delay = seconds * round(delay / seconds)
    record = driven(ShakingTable(one_mass(), delay=delay), commands, seconds)
    y = integrated(on_table, 4, commands, seconds, delay)
    scale = 1 + np.abs(commands).max()
    assert record["displacement"] == pytest.approx(y[:, 0], abs=1e-8 * scale)
    force = 100 * (y[:, 2] - y[:, 0]) + 2 * (y[:, 3] - y[:, 1])
    assert record["rig.force"] == pytest.approx(force, abs=1e-6 * scale)


def test_a_delay_comes_before_the_table_s_own_dynamics():
    late = driven(ShakingTable(one_mass(), bandwidth="5 Hz", delay="100 ms"), COMMANDS, 0.05)
    now = driven(ShakingTable(one_mass(), bandwidth="5 Hz"), COMMANDS, 0.05)
    assert late["rig.force"][2:] == pytest.approx(now["rig.force"][:-2], abs=1e-13)
    assert not late["rig.force"][:2].any()


@pytest.mark.parametrize("delay", [0.0, 1e-3, 1.7e-3])
def test_the_step_matrix_knows_the_delay(delay):
    """Its spectral radius is how a long run grows or decays, for a delay of whole and of broken sub-steps."""
    main = Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",))
    damper = Matrices(np.diag([0, 6.0]), 8 * DASHPOT, 300 * SPRING, ("base", "mass"))
    test = PseudoDynamicTest(
        main,
        scheme=SubStep(4),
        rig=ShakingTable(Specimen.from_matrices(damper, "base"), delay=delay),
        interface="floor",
        excitation={"floor": HalfSine(10.0, width=0.05)},
        time_step="4 ms",
    )
    step = one_step(test.tick)
    assert step.linear
    force = Runner(test.tick).run(4000).channels["force"]
    early, later = (np.sqrt(np.mean(force[i : i + 500] ** 2)) for i in (1500, 3000))
    assert np.log(later / early) / (1500 * 0.004) == pytest.approx(step.growth, rel=0.01)


# ---------------------------------------------------------------- a table on an actuator


def test_an_actuator_of_second_order_with_its_leads_is_an_ideal_table():
    """X/X_d = 1/(1 + T_v s + T_a s²) with the inverse before it: unloaded, the table follows exactly."""
    drive = TableDrive.tuned(MassSpringDamper(20, 4000, 2e6, drive="position"))
    assert drive.velocity_lead == pytest.approx(4000 / 2e6, rel=1e-9)
    assert drive.acceleration_lead == pytest.approx(20 / 2e6, rel=1e-9)
    light = one_mass(1e-9)
    ideal = driven(ShakingTable(light), COMMANDS, 0.05)
    record = driven(ShakingTable(light, drive=drive), COMMANDS, 0.05)
    assert record["displacement"] == pytest.approx(ideal["displacement"], abs=1e-9)


def test_the_specimen_loads_the_actuator():
    """A table of 20 kg on a soft loop, with a specimen of 2 kg: both integrated by SciPy, written by hand."""
    m, c, k, lead = 20.0, 400.0, 2e4, 0.015

    def rates(y, a):
        xr, vr, x, v, u, w = y
        pull = 100 * (u - x) + 2 * (w - v)
        return [vr, a, v, (k * (xr + lead * vr - x) - c * v + pull) / m, w, -pull / 2]

    table = ShakingTable(one_mass(), drive=TableDrive(MassSpringDamper(m, c, k, drive="position"), "15 ms"))
    record = driven(table, COMMANDS, 0.05)
    y = integrated(rates, 6, COMMANDS, 0.05)
    assert record["displacement"] == pytest.approx(y[:, 2], abs=1e-9)
    assert record["velocity"] == pytest.approx(y[:, 3], abs=1e-8)
    force = 100 * (y[:, 4] - y[:, 2]) + 2 * (y[:, 5] - y[:, 3])
    assert record["rig.force"] == pytest.approx(force, abs=1e-7)


def hydraulic_by_hand(linear, leads):
    """Merritt's equations with the serial PID and a specimen of 2000 kg, as `ServoHydraulic` states them."""
    valve, cylinder, gains = ServoValve(), Cylinder(), SerialPID()
    supply = cylinder.supply_pressure
    full = valve.rated_flow * np.sqrt(supply / valve.rated_drop)
    omega = 2 * np.pi * valve.frequency

    def rates(y, a):
        xr, vr, p, x, v, lvdt, filtered, total, spool, spool_v, u, w = y
        pull = 1e5 * (u - x) + 2e3 * (w - v)
        error = (xr + leads[0] * vr + leads[1] * a - lvdt) / cylinder.stroke
        slope = (error - filtered) / gains.filter
        lead = error + gains.derivative * slope
        output = gains.gain * (lead + gains.integral * total)
        drive = output if linear else np.clip(output, -1, 1)
        inside = lead if linear else lead - (output - drive) / gains.gain
        flow, friction = full * spool, cylinder.viscous * v
        if not linear:
            drop = 1 - spool / np.sqrt(spool**2 + 1e-6) * p / supply
            root = drop * ((1 + 4e-4) / (drop**2 + 4e-4)) ** 0.25
            flow = full * np.clip(spool, -1, 1) * root
            friction += cylinder.coulomb * np.tanh(v / cylinder.width)
        p_rate = 4 * cylinder.bulk_modulus / cylinder.volume
        return [
            vr, a, p_rate * (flow - cylinder.area * v - cylinder.leakage * p),
            v, (cylinder.area * p - friction + pull) / cylinder.mass,
            2 * np.pi * cylinder.bandwidth * (x - lvdt), slope, inside,
            spool_v, omega**2 * (drive - spool) - 2 * valve.damping * omega * spool_v,
            w, -pull / 2e3,
        ]  # fmt: skip

    return rates


@pytest.mark.parametrize("linear", [True, False])
def test_a_servo_hydraulic_table_is_merritt_s_equations(linear):
    drive = TableDrive.tuned(ServoHydraulic(linear=linear))
    leads = (drive.velocity_lead, drive.acceleration_lead)
    commands = np.random.default_rng(5).normal(size=60)
    # Finer than by default: SciPy's tolerance is what the difference is held against.
    rig = ShakingTable(one_mass(1e3), drive=drive, integration_steps=16)
    record = driven(rig, commands, 0.001, "c")
    y = integrated(
        hydraulic_by_hand(linear, leads), 12, commands, 0.001, rtol=1e-8, atol=1e-12, method="LSODA"
    )
    scale = np.abs(y[:, 3]).max()
    assert record["displacement"] == pytest.approx(y[:, 3], abs=2e-5 * scale)
    force = 1e5 * (y[:, 10] - y[:, 3]) + 2e3 * (y[:, 11] - y[:, 4])
    assert record["rig.force"] == pytest.approx(force, abs=2e-4 * np.abs(force).max())


def test_the_leads_of_a_hydraulic_table_make_it_follow():
    """Without them it lags at 10 Hz by several sub-steps; with them it moves as the reference does."""
    seconds, t = 0.001, 0.001 * np.arange(1, 1001)
    wanted = np.sin(2 * np.pi * 10 * (t - seconds))
    ideal = driven(ShakingTable(one_mass()), wanted, seconds)["displacement"]
    errors = []
    for drive in (TableDrive(ServoHydraulic()), TableDrive.tuned(ServoHydraulic())):
        moved = driven(ShakingTable(one_mass(), drive=drive), wanted, seconds, "c")["displacement"]
        assert len(moved) == len(ideal)
        ripple = (moved - ideal)[500:]
        # Apart from the drift of the reference, a straight line: what swings at 10 Hz.
        flat = ripple - np.polyval(np.polyfit(t[500:], ripple, 1), t[500:])
        errors.append(np.std(flat) / (1 / (2 * np.pi * 10) ** 2 / np.sqrt(2)))
    assert errors[1] < 0.25 * errors[0]


def test_two_interfaces_have_a_drive_each_or_one_for_both():
    M = np.diag([0.0, 2.0, 0.0])
    K = 100 * np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    specimen = Specimen.from_matrices(Matrices(M, None, K, ("left", "middle", "right")), ["left", "right"])
    one = TableDrive(MassSpringDamper(20, 400, 2e4, drive="position"))
    shared = driven(ShakingTable(specimen, drive=one), COMMANDS, 0.05)
    apart = driven(ShakingTable(specimen, drive=[one, one]), COMMANDS, 0.05)
    assert shared["rig.force[0]"] == pytest.approx(shared["rig.force[1]"], abs=1e-12)
    assert shared["rig.force[0]"] == pytest.approx(apart["rig.force[0]"], abs=1e-15)


# ---------------------------------------------------------------- twins, files, values, bad input


def whole(rig, **options):
    return PseudoDynamicTest(
        Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",)),
        scheme=SubStep(4, P=-0.4, I=0.1, D=0.005),
        rig=rig,
        interface="floor",
        excitation={"floor": HalfSine(100.0, width=0.05)},
        time_step="4 ms",
        **options,
    )


def hydraulic(**options):
    actuator = ServoHydraulic(SerialPID(28), cylinder=Cylinder(mass=40.0))
    return ShakingTable(one_mass(), delay="1.3 ms", drive=TableDrive.tuned(actuator), **options)


def test_compiled_equals_its_twin():
    test = whole(hydraulic())
    c, python = (Runner(test.tick, b).run(200) for b in ("c", "numpy"))
    assert c.finished
    for name, values in c.channels.items():
        assert values == pytest.approx(python.channels[name], rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize(
    "rig",
    [
        hydraulic(),
        ShakingTable(one_mass(), delay="2 ms", bandwidth="40 Hz"),
        ShakingTable(one_mass(), drive=(TableDrive(MassSpringDamper(20, 400, 2e4, drive="position"), 0.01),)),
    ],
    ids=["hydraulic", "late", "a list"],
)
def test_there_and_back_as_a_file(rig):
    test = whole(rig)
    again = files.load_text(files.to_toml(test)).test
    assert again.rig.describe() == rig.describe()
    assert dump_tick(again.tick) == dump_tick(test.tick)


def test_leads_and_gains_are_parameters_by_path():
    rig = hydraulic()
    test = whole(rig)
    assert test.parameters["rig.table.velocity_lead"] == rig.drive.velocity_lead
    assert test.parameters["scheme.D"] == 0.005
    assert test.parameters["scheme.I"] == 0.1
    changed = test.with_values({"scheme.D": 0.001, "rig.table.velocity_lead": "2 ms"}).run(0.4)["force"]
    other = TableDrive(rig.drive.actuator, "2 ms", rig.drive.acceleration_lead)
    scheme = SubStep(4, P=-0.4, I=0.1, D=0.001)
    direct = whole(ShakingTable(one_mass(), delay=0.0013, drive=other)).replaced(scheme=scheme).run(0.4)
    assert changed == pytest.approx(direct["force"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"delay": -1e-3},
            r"ShakingTable\(delay\): expected a number at least 0 and at most 1; found -0.001",
        ),
        ({"delay": "3 mm"}, r"ShakingTable\(delay\)"),
        ({"delay": float("nan")}, r"ShakingTable\(delay\): expected a finite number"),
        ({"drive": ServoHydraulic()}, r"expected a TableDrive"),
        ({"drive": [TableDrive(ServoHydraulic())] * 2}, r"expected one drive or 1; found 2"),
        ({"drive": TableDrive(ServoHydraulic()), "bandwidth": 30}, "a bandwidth or a drive"),
    ],
)
def test_bad_tables_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        ShakingTable(one_mass(), **options)


def test_bad_drives_are_refused():
    with pytest.raises(BondloopError, match="expected a transfer system"):
        TableDrive(3.0)
    with pytest.raises(InputError, match=r"TableDrive\(velocity_lead\)"):
        TableDrive(ServoHydraulic(), "3 mm")
    with pytest.raises(InputError, match=r"TableDrive.tuned\(highest\): expected a number above 0"):
        TableDrive.tuned(ServoHydraulic(), "-3 Hz")
    with pytest.raises(InputError, match=r"own loop is unstable, a motion at 96.8 Hz grows at 77 1"):
        TableDrive.tuned(ServoHydraulic(cylinder=Cylinder(mass=60), linear=True))
    with pytest.raises(InputError, match="ShakingTable with a drive does not impose"):
        ShakingTable(one_mass(base_mass=1.0), drive=TableDrive(ServoHydraulic())).build(0.001)


def test_a_table_is_told_displacements_not_forces():
    with pytest.raises(InputError, match=r"TableDrive sends displacements, in m; .* is in N"):
        TableDrive(MassSpringDamper(1, 1, 1, drive="force"))
