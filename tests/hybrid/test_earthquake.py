"""Structures on moving ground, each half of them on a rig, against the whole computed with SciPy."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh, expm

import bondloop as bl
from bondloop.bondgraph import TF, Model, Zero, bond
from bondloop.integrate import Exact
from bondloop.signals import Table
from bondloop.structures import PointMass, Spring, Structure, field_form


def _models():
    path = Path(__file__).parents[2] / "benchmarks" / "earthquake_models.py"
    spec = importlib.util.spec_from_file_location("earthquake_models", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["earthquake_models"] = module
    spec.loader.exec_module(module)
    return module


models = _models()
H, SECONDS = 0.01, 4.0
TIMES = np.arange(round(SECONDS / H) + 1) * H


def accelerations(wheres, seed=3):
    """Noise that is a straight line over two steps, and different in each direction or at each support."""
    rng = np.random.default_rng(seed)
    knots = np.arange(0, SECONDS + 0.03, 2 * H)
    return {w: Table(knots, 2.0 * rng.standard_normal(len(knots)), beyond="zero") for w in wheres}


def modal(M, K):
    squares, shapes = eigh(K, M)
    weighted = M @ shapes
    return weighted @ np.diag(2 * models.RATIO * np.sqrt(np.maximum(squares, 0))) @ weighted.T


def monolithic(case, damping, ground):
    """Return displacements by name (relative to the ground, or to where it leaves the structure at rest).

    The specimen is added to M, C and K by hand, and the ground's load is -M r with r written down here.
    """
    matrices = case.structure.assemble(free=True)
    M, K = matrices.M.toarray(), matrices.K.toarray()
    Cd = models.ALPHA * M + models.BETA * K if damping == "rayleigh" else modal(M, K)
    names = list(matrices.dofs)
    n = len(names)
    if case.wheres == ("foot_a.ux", "foot_b.ux"):
        moved = case.structure.prescribed(*case.wheres)  # its own split, checked with closed forms elsewhere
        assert list(moved.matrices.dofs) == names
        r = -np.linalg.solve(K, moved.K_a)
        load = -(M @ r + moved.M_a)
    else:
        r = np.array([[float(d.endswith("." + w)) for w in case.wheres] for d in names])
        load = -M @ r
    specimen = {
        "isolated building": models.ISOLATOR,
        "mass on a table": models.TABLE,
        "bridge": models.BRIDGE_MASS,
        "braced building": models.BRACE,
    }[case.name]
    grip = np.zeros(n)
    for dof, share in case.grip.items():
        grip[names.index(dof)] = share
    if "m" in specimen:
        M, K, Cd = (np.pad(X, (0, 1)) for X in (M, K, Cd))
        # The hanging mass in the coordinate of its own: relative to where the ground carries its floor.
        M[n, n] = specimen["m"]
        load = np.vstack([load, -specimen["m"] * (grip @ r)])
        grip = np.append(-grip, 1.0)
    K += specimen["k"] * np.outer(grip, grip)
    Cd += specimen["c"] * np.outer(grip, grip)
    size = len(M)
    A = np.block([[np.zeros((size, size)), np.eye(size)], [-np.linalg.solve(M, K), -np.linalg.solve(M, Cd)]])
    B = np.vstack([np.zeros_like(load), np.linalg.solve(M, load)])
    x = foh(A, B, np.column_stack([ground[w](TIMES) for w in case.wheres]))
    return {d: x[:, i] for i, d in enumerate(names)}


def foh(A, B, u):
    """Exact for inputs that are straight lines from one instant to the next."""
    n, m = B.shape
    block = np.zeros((n + 2 * m, n + 2 * m))
    block[:n, :n], block[:n, n : n + m], block[n : n + m, n + m :] = A * H, B * H, np.eye(m)
    full = expm(block)
    phi, g1, g2 = full[:n, :n], full[:n, n : n + m], full[:n, n + m :]
    x = np.zeros((len(u), n))
    for k in range(len(u) - 1):
        x[k + 1] = phi @ x[k] + g1 @ u[k] + g2 @ (u[k + 1] - u[k])
    return x


@pytest.mark.parametrize("coordinates", [None, "relative", "absolute"])
@pytest.mark.parametrize("damping", ["rayleigh", "modal"])
@pytest.mark.parametrize("name", [case.name for case in models.cases()])
def test_a_hybrid_test_is_the_whole_structure(name, damping, coordinates):
    case = next(c for c in models.cases(rho=2500.0) if c.name == name)
    ground = accelerations(case.wheres)
    test = case.test(ground, damping, coordinates, rate=1 / H, integrator=Exact("first"), reference=None)
    assert test.coordinates == (
        coordinates or ("absolute" if "mass" in name or name == "bridge" else "relative")
    )
    run = test.run(SECONDS, backend="numpy")
    exact = monolithic(case, damping, ground)
    for dof in case.watched:
        ours = run[f"numerical.frame.{dof}.displacement"]
        assert np.abs(ours - exact[dof][: len(ours)]).max() < 1e-8 * np.abs(exact[dof]).max()


@pytest.mark.parametrize("seed", range(12))
def test_drawn_structures_with_drawn_specimens(seed):
    """Masses in a plane on springs, in a random mesh; a specimen that hangs on some of them, or stands."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    s = Structure("drawn")
    names = [f"n{i}" for i in range(n)]
    for name in ("foot", *names):
        s.node(name, *rng.uniform(-1, 1, 2))
    for i, name in enumerate(names):
        s.add(PointMass(name, m=float(rng.uniform(1, 5)), dofs=("ux", "uy")))
        for dof in ("ux", "uy"):
            s.add(Spring("foot" if not i else names[i - 1], name, k=float(rng.uniform(100, 900)), dof=dof))
    s.add(Spring(names[0], names[-1], k=200.0, dof="ux"))
    s.support("foot")
    alpha, beta = rng.uniform(0, 1), rng.uniform(0, 5e-3)
    s.rayleigh(alpha, beta)
    m = s.assemble()
    grip = dict.fromkeys(rng.choice(m.dofs, size=int(rng.integers(1, 3)), replace=False).tolist(), 1.0)
    if len(grip) > 1:
        grip = {dof: float(rng.uniform(-2, 2)) for dof in grip}
    kind = ["hangs", "stands"][int(rng.integers(2))]
    k, c, mass = float(rng.uniform(20, 300)), float(rng.uniform(0, 5)), float(rng.uniform(0.2, 2))
    specimen = models.Hanging(mass, k, c) if kind == "hangs" else models.Standing(k, c)
    case = models.Case("drawn", s, lambda: specimen, grip, ("ux", "uy"))
    whole = Model("drawn")
    whole.frame, whole.specimen, whole.end = field_form(m, "frame"), specimen, Zero()
    whole.share = [TF(share) for share in grip.values()]
    for dof, share in zip(grip, whole.share, strict=True):
        bond(whole.frame.junction(dof), share)
        bond(share, whole.end)
    port = "base" if kind == "hangs" else "top"
    bond(whole.end, specimen.ports[port])
    numerical, physical = whole.cut(f"end >> specimen.{port}")
    ground = accelerations(case.wheres, seed)
    # The whole by hand: the grip's own motion is what the specimen takes.
    M, K = m.M.toarray(), m.K.toarray()
    D = alpha * M + beta * K
    row = np.array([grip.get(d, 0.0) for d in m.dofs])
    r = np.array([[float(d.endswith("." + w)) for w in case.wheres] for d in m.dofs])
    load = -M @ r
    if kind == "hangs":
        M, K, D = (np.pad(X, (0, 1)) for X in (M, K, D))
        M[-1, -1] = mass
        load = np.vstack([load, -mass * (row @ r)])
        row = np.append(-row, 1.0)
    K += k * np.outer(row, row)
    D += c * np.outer(row, row)
    size = len(M)
    A = np.block([[np.zeros((size, size)), np.eye(size)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    exact = foh(
        A,
        np.vstack([np.zeros_like(load), np.linalg.solve(M, load)]),
        np.column_stack([ground[w](TIMES) for w in case.wheres]),
    )
    actuator = bl.transfer.MassSpringDamper(1.0, 20.0, 300.0)
    for coordinates in ("relative", "absolute"):
        test = bl.HybridTest(
            numerical,
            rig=bl.rigs.Emulated(physical, actuator),
            controller=bl.control.VirtualJunction(actuator),
            ground=ground,
            coordinates=coordinates,
            coupling="continuous",
            integrator=Exact("first"),
            rate=1 / H,
            record=[f"numerical.frame.{d}.displacement" for d in m.dofs],
        )
        run = test.run(SECONDS, backend="numpy")
        ours = np.column_stack([run[f"numerical.frame.{d}.displacement"] for d in m.dofs])
        assert np.abs(ours - exact[: len(ours), : len(m)]).max() < 1e-8 * np.abs(exact[:, : len(m)]).max()
