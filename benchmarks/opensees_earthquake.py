"""The structures of `earthquake_models.py` in OpenSeesPy, each in one piece; prints their motion as JSON.

OpenSeesPy needs Debian's libblas3, liblapack3 and libgfortran5, and may live in an environment of its own:
python benchmarks/earthquake.py --opensees PYTHON
"""

import json
import math
import sys

import openseespy.opensees as ops

ELASTIC = 901


def damp(kind: dict, nodes: list[int], elements: list[int], count: int) -> None:
    """Damp the structure without its specimen: Rayleigh's on a region, or its modes as they are now."""
    if "alpha" in kind:
        ops.region(1, "-node", *nodes, "-rayleigh", kind["alpha"], 0.0, 0.0, 0.0)
        ops.region(2, "-ele", *elements, "-rayleigh", kind["alpha"], kind["beta"], 0.0, 0.0)
        return
    ops.eigen("-fullGenLapack", count)
    ops.modalDamping(kind["ratio"])


def stand(own: int, floor: int, specimen: dict, ndf: int) -> None:
    """Put a mass beside a node, held until it is hung from it: the structure's own modes have none of it."""
    ops.node(own, *ops.nodeCoord(floor))
    ops.mass(own, specimen["m"], *([0.0] * (ndf - 1)))
    ops.fix(own, *([1] * ndf))


def hang(own: int, floor: int, specimen: dict) -> None:
    """Hang the mass from the node, in x."""
    ops.remove("sp", own, 1)
    link(own, floor, own, specimen)


def link(tag: int, a: int, b: int, specimen: dict) -> None:
    """Put a spring and a dashpot between two nodes at one place, in x, outside of Rayleigh's damping."""
    ops.uniaxialMaterial("Elastic", ELASTIC, specimen["k"], specimen["c"])
    ops.element("zeroLength", 1000 + tag, a, b, "-mat", ELASTIC, "-dir", 1)


def storeys(p: dict, *, slab: bool) -> tuple[list[int], list[int]]:
    """Build the chain: node 1 is the ground, or the slab where that moves."""
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    for i in range(4):
        ops.node(i + 1, 0.0)
        if i or slab:
            ops.mass(i + 1, p["masses"][i])
    if not slab:
        ops.fix(1, 1)
    for i, k in enumerate(p["stiffnesses"]):
        ops.uniaxialMaterial("Elastic", i + 1, k)
        ops.element("zeroLength", i + 1, i + 1, i + 2, "-mat", i + 1, "-dir", 1, "-doRayleigh", 1)
    return [1, 2, 3, 4] if slab else [2, 3, 4], [1, 2, 3]


def isolated(p: dict) -> list[tuple[int, int]]:
    """Build storeys on a slab, and the isolator below it."""
    nodes, elements = storeys(p, slab=True)
    ops.node(9, 0.0)
    ops.fix(9, 1)
    damp(p["damping"], nodes, elements, 4)
    link(9, 9, 1, p["specimen"])
    return [(1, 1), (4, 1)]


def table(p: dict) -> list[tuple[int, int]]:
    """Build storeys on the ground, and the mass on their roof."""
    nodes, elements = storeys(p, slab=False)
    stand(9, 4, p["specimen"], 1)
    damp(p["damping"], nodes, elements, 3)
    hang(9, 4, p["specimen"])
    return [(2, 1), (4, 1)]


def members(p: dict) -> None:
    """Build piers and deck, held by nothing."""
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    span, (left, right) = p["span"], p["piers"]
    places = ((0.0, -left), (2 * span, -right), (0.0, 0.0), (span, 0.0), (2 * span, 0.0))
    for i, at in enumerate(places, start=1):
        ops.node(i, *at)
    ops.geomTransf("Linear", 1)
    for e, (i, j, member) in enumerate(((1, 3, "pier"), (2, 5, "pier"), (3, 4, "deck"), (4, 5, "deck")), 1):
        m = p[member]
        ops.element("elasticBeamColumn", e, i, j, m["A"], m["E"], m["I"], 1)
    for node in (3, 4, 5):
        ops.mass(node, p["node"]["m"], p["node"]["m"], p["node"]["Jz"])


def patterns(p: dict) -> dict[str, dict[int, list[float]]]:
    """Return -(M ι + M_a e) of each foot's motion, from OpenSees' own M and K of the free bridge."""
    import numpy as np

    ops.wipe()
    members(p)
    ops.constraints("Plain")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.analysis("Transient")
    size = 15
    whole = []
    for which in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
        ops.integrator("GimmeMCK", *which)
        ops.analyze(1, 0.0)
        whole.append(np.array(ops.printA("-ret")).reshape(size, size))
    M, K = whole
    order = {node: ops.nodeDOFs(node) for node in range(1, 6)}
    free = [d for node in (3, 4, 5) for d in order[node]]
    answer = {}
    for where, foot in (("foot_a.ux", 1), ("foot_b.ux", 2)):
        e = order[foot][0]
        iota = -np.linalg.solve(K[np.ix_(free, free)], K[free, e])
        force = -(M[np.ix_(free, free)] @ iota + M[free, e])
        answer[where] = {node: force[3 * i : 3 * i + 3].tolist() for i, node in enumerate((3, 4, 5))}
        answer[where][9] = [-p["specimen"]["m"] * float(iota[3]), 0.0, 0.0]
    ops.wipe()
    return answer


def bridge(p: dict) -> list[tuple[int, int]]:
    """Build two piers and a deck in the plane, and the mass at its middle."""
    p["patterns"] = patterns(p)
    members(p)
    for foot in (1, 2):
        ops.fix(foot, 1, 1, 1)
    stand(9, 4, p["specimen"], 3)
    damp(p["damping"], [3, 4, 5], [1, 2, 3, 4], 9)
    hang(9, 4, p["specimen"])
    return [(4, 1), (3, 2)]


def building(p: dict) -> list[tuple[int, int]]:
    """Build two storeys in space with stiff floors, and the brace in the first."""
    ops.model("basic", "-ndm", 3, "-ndf", 6)
    (bx, by), storey = p["bay"], p["storey"]
    corner = lambda k, level: 10 * level + k + 1  # noqa: E731
    for level in range(3):
        for k, (x, y) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
            ops.node(corner(k, level), x * bx, y * by, level * storey)
    for k in range(4):
        ops.fix(corner(k, 0), *[1] * 6)
    # Local y of OpenSees' members is the direction of bending with Iz: across, as in bondloop.
    ops.geomTransf("Linear", 1, 1.0, 0.0, 0.0)
    ops.geomTransf("Linear", 2, 0.0, 0.0, 1.0)
    s, tag, elements = p["steel"], 0, []
    for level in (1, 2):
        master = 100 + level
        ops.node(master, 0.45 * bx, by / 2, level * storey)
        ops.fix(master, 0, 0, 1, 1, 1, 0)
        ops.mass(master, p["floor"], p["floor"], 0.0, 0.0, 0.0, 8.0 * p["floor"])
        for k in range(4):
            m, J = p["corner"], p["inertia"]
            ops.mass(corner(k, level), 0.0, 0.0, m, J, J, 0.0)
            for i, j, transf, part in (
                (corner(k, level - 1), corner(k, level), 1, p["column"]),
                (corner(k, level), corner((k + 1) % 4, level), 2, p["beam"]),
            ):
                tag += 1
                values = (part["A"], s["E"], s["G"], part["J"], part["Iy"], part["Iz"])
                ops.element("elasticBeamColumn", tag, i, j, *values, transf)
                elements.append(tag)
        ops.rigidDiaphragm(3, master, *(corner(k, level) for k in range(4)))
    nodes = [101, 102, *(corner(k, level) for level in (1, 2) for k in range(4))]
    ops.constraints("Transformation")
    damp(p["damping"], nodes, elements, 30)
    length = math.hypot(bx, storey)
    ops.uniaxialMaterial("Elastic", ELASTIC, p["specimen"]["k"] * length, p["specimen"]["c"] * length)
    ops.element("truss", 1000, corner(0, 0), corner(1, 1), 1.0, ELASTIC)
    return [(102, 1), (102, 2), (102, 6), (corner(0, 1), 3)]


def shake(p: dict, watched: list[tuple[int, int]]) -> list[list[float]]:
    """Run Newmark's average acceleration and return the motion, relative to the ground."""
    h, steps = p["h"], p["steps"]
    for i, (where, values) in enumerate(p["ground"].items(), start=1):
        ops.timeSeries("Path", i, "-dt", h, "-values", *values, 0.0)
        if where in ("ux", "uy", "uz"):
            ops.pattern("UniformExcitation", i, ("ux", "uy", "uz").index(where) + 1, "-accel", i)
    if p["case"] == "bridge":
        supports(p)
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("FullGeneral")
    ops.test("NormUnbalance", 1e-5, 50)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    record = [[0.0] * len(watched)]
    for _ in range(steps):
        assert ops.analyze(1, h) == 0
        record.append([ops.nodeDisp(*at) for at in watched])
    return record


def supports(p: dict) -> None:
    """Load the bridge with what the supports' accelerations do to it."""
    for i, where in enumerate(p["ground"], start=1):
        ops.pattern("Plain", i, i)
        for node, force in p["patterns"][where].items():
            ops.load(node, *force)


BUILDERS = {
    "isolated building": isolated, "mass on a table": table, "bridge": bridge, "braced building": building
}  # fmt: skip


def main(p: dict) -> None:
    """Build, shake, print."""
    ops.wipe()
    watched = BUILDERS[p["case"]](p)
    print(json.dumps({"version": ops.version(), "motion": shake(p, watched)}))


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))
