"""Readings and energies on moving ground: a brace and a tuned mass as specimens, beside the whole."""

import numpy as np
import pytest

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, I, Model, One, Port, R, Zero, bond
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.hybrid import HybridTest, PseudoDynamicTest, Simulation
from bondloop.integrate.structural import NewmarkImplicit
from bondloop.rigs import RampHold, Specimen
from bondloop.structures import (
    Bar,
    Frame2D,
    Matrices,
    PointMass,
    Readings,
    Structure,
    elongation,
    field_form,
    in_coordinates,
    time_history,
)

QUAKE = bl.signals.Earthquake("0.3 gn", duration=3.0, seed=2)
STIFF = 4e6


def frame(brace=False):
    s = Structure("frame")
    for k in range(3):
        for side, x in (("a", 0.0), ("b", 6.0)):
            s.node(f"{side}{k}", x=x, y=3.2 * k)
    section = {"E": 210e9, "A": 8.4e-3, "I": 8e-5, "rho": 7850.0}
    for k in (1, 2):
        for side in "ab":
            s.add(Frame2D(f"{side}{k - 1}", f"{side}{k}", **section), f"column_{side}[{k}]")
            s.add(PointMass(f"{side}{k}", m=9e3, Jz=900.0))
        s.add(Frame2D(f"a{k}", f"b{k}", **section), f"girder[{k}]")
    if brace:
        s.add(Bar("a0", "b1", E=STIFF * np.hypot(6.0, 3.2), A=1.0), "brace")
    s.support("a0")
    s.support("b0")
    s.rayleigh(0.3, 0.0)
    s.storeys("a0", "a1", "a2")
    return s


def test_a_brace_on_one_actuator_while_the_ground_moves():
    s = frame()
    made = in_coordinates(s.assemble(), {"brace": elongation(s, "a0", "b1")})
    spring = Matrices([[0.0]], None, [[STIFF]], ("x",))
    names = ["column_a[1].start.M", "storey[2].acceleration_x", "storey[2].drift_x", "b0.uy.reaction"]
    test = PseudoDynamicTest(
        made.matrices, scheme=NewmarkImplicit(specimen_stiffness=STIFF), interface="brace", time_step=0.005,
        rig=RampHold(Specimen.from_matrices(spring, "x")), ground={"ux": QUAKE},
        record=["energy.*", *(f"numerical.{n}" for n in names)],
    )  # fmt: skip
    assert test.coordinates == "relative"  # its foot stands on the ground
    run = test.run(3.0)
    whole = frame(brace=True)
    m = whole.assemble()
    ground = QUAKE(run.time)
    history = time_history(m, np.outer(ground, whole.base_excitation("ux")), 0.005)
    motion = (history.displacements, history.velocities, history.accelerations, {"ux": ground})
    read = Readings(m)
    for name in names:
        theirs = read[name].of(*motion)
        np.testing.assert_allclose(run[f"numerical.{name}"], theirs, atol=1e-8 * np.abs(theirs).max())
    np.testing.assert_allclose(
        -run["force"], read["brace.N"].of(*motion), atol=1e-8 * np.abs(run["force"]).max()
    )
    assert np.abs(run["energy.error"]).max() < 1e-9 * run["energy.input"].max()
    assert load_text(files.to_toml(test)).test == test


def tuned(coupling):
    whole = Model("whole")
    whole.frame, whole.tuned = field_form(frame().assemble(), "frame"), Model("tuned")
    t = whole.tuned
    t.base, t.force, t.v, t.s = Port(), Zero(), One(), One()
    _ = t.base >> t.force >> t.v >> I(mass=2e3)
    _ = t.force >> t.s >> [C(stiffness=1e5), R(damping=2e3)]
    bond(whole.frame.a2.ux, t.base)
    numerical, physical = whole.cut("frame.a2.ux >> tuned.base")
    actuator = bl.transfer.MassSpringDamper(m=10, c=4e4, k=4e7, drive="position")
    names = ["storey[2].acceleration_x", "a2.ux.acceleration", "base.shear_x"]
    return HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator), controller=bl.control.Direct(), rate=4000,
        ground={"ux": QUAKE}, coupling=coupling,
        record=["energy.*", *(f"numerical.frame.{n}" for n in names)],
    )  # fmt: skip


def test_a_tuned_mass_in_absolute_coordinates():
    test = tuned("continuous")
    assert test.coordinates == "absolute"
    run = test.run(3.0)
    relative = run["numerical.frame.a2.ux.acceleration"]
    np.testing.assert_allclose(
        run["numerical.frame.storey[2].acceleration_x"], relative + QUAKE(run.time), atol=1e-9
    )
    assert np.abs(run["energy.error"]).max() < 3e-5 * run["energy.input"].max()  # corners of the record


def test_base_shear_is_what_accelerates_the_masses_in_space():
    model = Model("building")
    model.frame = field_form(frame().assemble("lumped"), "frame")
    names = ["frame.base.shear_x", *(f"frame.{d}.ux.absolute_acceleration" for d in ("a1", "b1", "a2", "b2"))]
    run = Simulation(
        {"s": model},
        ground={"ux": QUAKE},
        rate=2000,
        record=[f"s.{n}" for n in names] + ["s.frame.*.ux.velocity"],
    ).run(3.0)
    member = 8.4e-3 * 7850.0
    floor = 9e3 + member * 3.0  # half a girder
    masses = {"a1": floor + member * 3.2, "b1": floor + member * 3.2, "a2": floor + member * 1.6,
              "b2": floor + member * 1.6}  # fmt: skip
    inertia = sum(m * run[f"s.frame.{d}.ux.absolute_acceleration"] for d, m in masses.items())
    damped = sum(0.3 * m * run[f"s.frame.{d}.ux.velocity"] for d, m in masses.items())
    feet = 2 * member * 1.6 * QUAKE(run.time)  # half a column goes with each foot
    np.testing.assert_allclose(-run["s.frame.base.shear_x"], inertia + damped + feet, atol=1e-5 * 1e5)


def test_supports_that_move_apart_are_refused():
    model = Model("bridge")
    model.frame = field_form(frame().assemble(), "frame")
    test = Simulation(
        {"s": model}, ground={"a0.ux": QUAKE, "b0.ux": QUAKE}, rate=500, record="s.frame.base.shear_x"
    )
    with pytest.raises(InputError, match="supports that move apart"):
        test.run(0.1)
