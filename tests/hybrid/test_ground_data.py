"""Tests on moving ground are data: what is read back is the same test, to the last bit."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import Model
from bondloop.errors import InputError
from bondloop.integrate.structural import NewmarkExplicit
from bondloop.rigs import RampHold, Specimen
from bondloop.signals import Sine
from bondloop.structures import (
    Dashpot,
    Frame2D,
    Matrices,
    PointMass,
    Structure,
    craig_bampton,
    field_form,
    guyan,
    in_coordinates,
    modal_form,
    modes,
    network_form,
)

TOP = "a[2].ux"


def tower():
    s = Structure("tower")
    for i in range(3):
        s.node(f"a[{i}]", y=3.0 * i)
        s.node(f"b[{i}]", x=4.0, y=3.0 * i)
    for i in (1, 2):
        for leg in "ab":
            s.add(Frame2D(f"{leg}[{i - 1}]", f"{leg}[{i}]", E=2e11, rho=7850, A=5e-3, I=2e-5))
            s.add(PointMass(f"{leg}[{i}]", m=2e3, Jz=50.0))
        s.add(Frame2D(f"a[{i}]", f"b[{i}]", E=2e11, rho=7850, A=5e-3, I=8e-5))
    s.support("a[0]")
    s.support("b[0]")
    s.rayleigh_from(0.02, "1 Hz", 0.02, "20 Hz")
    s.add(Dashpot("a[0]", "a[1]", c=2e4, dof="ux"))
    return s.assemble()


def from_elsewhere(m):
    """Matrices that nothing but their entries describes, reduced."""
    return craig_bampton(Matrices(m.M, m.C, m.K, m.dofs), interface=[TOP, "b[2].ux"], count=3).matrices


MADE = {
    "whole": lambda m: m,
    "guyan": lambda m: guyan(m, keep=["a[1].ux", TOP]).matrices,
    "one": lambda m: guyan(m, keep=[TOP]).matrices,
    "component": lambda m: craig_bampton(m, interface=[TOP], count=4).matrices,
    "twice": lambda m: guyan(craig_bampton(m, interface=[TOP, "a[1].ux"], count=4).matrices, [TOP]).matrices,
    "held": lambda m: m.sub([d for d in m.dofs if d.rpartition(".")[2] != "uy"]),
    "held reduced": lambda m: guyan(m.sub([d for d in m.dofs if d[-1] != "y"]), [TOP, "a[1].ux"]).matrices,
    "elsewhere": from_elsewhere,
    "sway": lambda m: (
        in_coordinates(
            guyan(m, keep=[TOP, "a[1].ux"]).matrices, {"drift": {TOP: 1.0, "a[1].ux": -1.0}}
        ).matrices
    ),
}


def simulation(structure, ground, count):
    whole = Model("whole")
    whole.frame = structure
    place = structure.dofs[count]
    options = {"rate": 1000, "record": [f"own.frame.{place}.flow"]}
    return bl.Simulation({"own": whole}, ground=ground, **options)


def same(test, path, seconds=0.2):
    """Assert that a test read back is the same, and return what it records."""
    files.to_toml(test, path)
    again = files.load(path)
    assert again.describe() == test.describe()
    ours, theirs = test.run(seconds).record.channels, again.run(seconds).record.channels
    assert list(ours) == list(theirs)
    for name, values in ours.items():
        assert np.array_equal(values, theirs[name]), name
    assert max(np.abs(values).max() for name, values in ours.items() if "ground" not in name) > 0


@pytest.mark.parametrize("where", ["ux", "a[0].ux"])
@pytest.mark.parametrize("name", MADE)
def test_reduced_structures_go_with_the_ground_as_before(name, where, tmp_path):
    """Guyan's went by the names of what it kept: 17 % off, and nothing was said."""
    m = MADE[name](tower())
    ground = {where: Sine(1.0, 2.0)}
    if where != "ux" and ("held" in name or name == "elsewhere"):
        with pytest.raises(InputError, match="unknown direction or support"):
            simulation(field_form(m, "frame"), ground, 0)
        return
    same(simulation(field_form(m, "frame"), ground, 0), tmp_path / "test.toml")


def test_entries_alone_say_how_they_go_with_the_ground():
    """The load of reduced matrices is T' M r of the whole, here without a structure to describe it."""
    m = tower()
    bare = Matrices(m.M, m.C, m.K, m.dofs)
    small = guyan(bare, keep=[TOP])
    again = Matrices.from_description(small.matrices.describe())
    r = np.array([d.endswith(".ux") for d in m.dofs], dtype=float)
    load = -small.basis.T @ (m.M @ r)
    np.testing.assert_allclose(again.ground["loads"]["ux"], load, rtol=1e-12)
    run = simulation(field_form(again, "frame"), {"ux": Sine(1.0, 2.0)}, 0).run(1.0)
    M, D, K = (float(x.toarray()[0, 0]) for x in (again.M, again.C, again.K))

    def slope(t, y):
        return [y[1], (load[0] * np.sin(4 * np.pi * t) - D * y[1] - K * y[0]) / M]

    v = solve_ivp(slope, (0, 1), [0, 0], rtol=1e-10, atol=1e-13, t_eval=run.time).y[1]
    assert np.abs(run["own.frame.a[2].ux.flow"] - v).max() < 1e-5 * np.abs(v).max()


@pytest.mark.parametrize("where", ["ux", "a[0].ux"])
def test_networks_and_modes_are_read_back_too(where, tmp_path):
    ground = {where: Sine(1.0, 2.0)}
    m = guyan(tower(), keep=["a[1].ux", TOP]).matrices
    same(simulation(network_form(m, "frame"), ground, 0), tmp_path / "network.toml")
    basis = modes(tower(), 4)
    same(simulation(modal_form(basis, [TOP], name="frame"), ground, 0), tmp_path / "modes.toml")


@pytest.mark.parametrize("name", ["whole", "guyan", "elsewhere"])
def test_pseudo_dynamic_tests_are_read_back_too(name, tmp_path):
    m = MADE[name](tower())
    isolator = Matrices([[0.0]], None, [[1e4]], ("top",))
    test = bl.PseudoDynamicTest(
        m,
        scheme=NewmarkExplicit(),
        rig=RampHold(Specimen.from_matrices(isolator, "top")),
        interface=TOP,
        ground={"ux": Sine(1.0, 2.0)},
        time_step=1e-4 if name == "whole" else 1e-3,
    )
    same(test, tmp_path / "test.toml", 0.05)


@pytest.mark.parametrize(
    ("ground", "words"),
    [
        (3, "expected dofs, and by direction"),
        ({"dofs": ["a.ux"], "motions": {"ux": [1.0]}}, "expected dofs, and by direction"),
        (
            {"dofs": ["a.ux"], "motions": {"ux": [1.0]}, "loads": {}},
            "loads.ux: expected 1 numbers; found None",
        ),
        (
            {"dofs": ["a.ux"], "motions": {"ux": ["x"]}, "loads": {"ux": [1]}},
            "motions.ux: expected 1 numbers",
        ),
    ],
)
def test_grounds_of_matrices_that_are_none(ground, words):
    with pytest.raises(InputError, match=words):
        Matrices([[1.0]], None, [[1.0]], ("a.ux",), ground)
