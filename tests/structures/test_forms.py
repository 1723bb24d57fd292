"""Structures as bond graphs: network form ≡ field form ≡ M ü + C u̇ + K u = F; bonding and cutting them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero, bond
from bondloop.bondgraph.model import rejoin
from bondloop.errors import InputError, ModelError
from bondloop.hybrid import Simulation
from bondloop.integrate import NewmarkAverage
from bondloop.signals import Sine
from bondloop.structures import (
    Bar,
    Beam,
    Beam3D,
    Frame2D,
    Frame3D,
    Matrices,
    ShearBuilding,
    Structure,
    craig_bampton,
    field_form,
    guyan,
    modes,
    network_form,
    time_history,
)

FORMS = {"network": network_form, "field": field_form}
STEEL = {"E": 210e9, "A": 2e-3, "I": 4e-6, "rho": 7850.0}
SPACE = {"E": 210e9, "G": 81e9, "A": 2e-3, "Iy": 4e-6, "Iz": 3e-6, "J": 5e-6, "rho": 7850.0}
LOOK = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# ------------------------------------------------------------------ random structures

lengths = st.floats(0.5, 2.0)
shifts = st.floats(-0.4, 0.4)


@st.composite
def trusses(draw):
    """Two pinned nodes; every further one hangs on its two predecessors, and perhaps on a third."""
    s = Structure("truss")
    count = draw(st.integers(3, 6))
    for i in range(count):
        s.node(f"n{i}", x=0.5 * i + draw(shifts) / 4, y=(i % 2) * draw(lengths))
    for i in range(2, count):
        for back in (1, 2, 3)[: 2 + (i > 2 and draw(st.booleans()))]:
            s.add(Bar(f"n{i - back}", f"n{i}", E=210e9, A=1e-3 * draw(lengths), rho=7850))
    for node in ("n0", "n1"):
        s.support(node)
    return s


@st.composite
def frames(draw):
    """A tree of plane frame members, clamped at its root, with a hinge here and there."""
    s = Structure("frame")
    places = [np.zeros(2)]
    s.node("n0")
    for i in range(1, draw(st.integers(2, 5))):
        parent = draw(st.integers(0, i - 1))
        angle = draw(st.floats(-3.0, 3.0))
        places.append(places[parent] + draw(lengths) * np.array([np.cos(angle), np.sin(angle)]))
        s.node(f"n{i}", *places[i])
        s.add(Frame2D(f"n{parent}", f"n{i}", **STEEL))
    s.support("n0")
    return s


@st.composite
def space_frames(draw):
    """A chain of members in space, clamped at its root."""
    s = Structure("space frame")
    here = np.zeros(3)
    s.node("n0")
    for i in range(1, draw(st.integers(2, 3))):
        here = here + np.array([draw(shifts), draw(shifts), draw(lengths)])
        s.node(f"n{i}", *here)
        s.add(Frame3D(f"n{i - 1}", f"n{i}", **SPACE))
    s.support("n0")
    return s


@st.composite
def beam_networks(draw):
    """Continuous beams, or two crossing ones (a grillage), with supports of any kind."""
    s = Structure("beams")
    spans = draw(st.integers(1, 4))
    x = np.concatenate([[0.0], np.cumsum([draw(lengths) for _ in range(spans)])])
    for i, at in enumerate(x):
        s.node(f"n{i}", x=at)
    if draw(st.booleans()):
        for i in range(spans):
            s.add(Beam(f"n{i}", f"n{i + 1}", **STEEL))
        s.support("n0", "uy", *(["rz"] if spans == 1 or draw(st.booleans()) else []))
        if spans > 1:
            s.support(f"n{draw(st.integers(1, spans))}", "uy")
    else:
        section = {k: SPACE[k] for k in ("E", "A", "Iy", "Iz", "rho")}
        for i in range(spans):
            s.add(Beam3D(f"n{i}", f"n{i + 1}", **section))
        s.support("n0")
    return s


structures = st.one_of(trusses(), frames(), space_frames(), beam_networks())


@st.composite
def matrices_of_structures(draw):
    s = draw(structures)
    m = s.assemble(draw(st.sampled_from(["lumped", "consistent"])))
    first, last = modes(m, len(m)).omega[[0, -1]]
    ratio = draw(st.floats(0.005, 0.05))
    alpha = ratio * 2 * first * last / (first + last)
    return Matrices(m.M, alpha * m.M + 2 * ratio / (first + last) * m.K, m.K, m.dofs)


@st.composite
def matrices_at_random(draw):
    """Full symmetric M, C and K; M may be diagonal, K may have zeros, C need not be proportional."""
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def positive(least):
        X = rng.normal(size=(n, n)) * (rng.random((n, n)) < draw(st.sampled_from([0.4, 1.0])))
        return X @ X.T + least * np.eye(n)

    M = np.diag(rng.uniform(0.5, 2.0, n)) if draw(st.booleans()) else positive(1.0)
    return Matrices(M, 0.05 * positive(0.1), 100 * positive(0.5), tuple(f"n{i}.ux" for i in range(n)))


every_matrices = st.one_of(matrices_of_structures(), matrices_at_random())


def systems(m, forces):
    outputs = [f"{d}.flow" for d in m.dofs]
    named = {d: f"F{i}" for i, d in enumerate(forces)}
    return {k: form(m, forces=named).compile(outputs=outputs) for k, form in FORMS.items()}


def solver(A):
    """LU of a matrix with rows and columns scaled to 1: springs of 1e8 N/m and speeds stand side by side.

    The equations of the forms are compared here, so no digit may be lost in solving them.
    """
    rows = 1 / np.abs(A).max(axis=1)
    columns = 1 / np.abs(A * rows[:, None]).max(axis=0)
    factors = linalg.lu_factor(A * rows[:, None] * columns)
    return lambda b: (linalg.lu_solve(factors, (b.T * rows).T).T * columns).T


def response(system, w):
    """Frequency response at one frequency, shape (outputs, inputs)."""
    E, A, B, C, D = (X.toarray() for X in vars_of(system.numeric()))
    return C @ solver(1j * w * E - A)(B) + D


def vars_of(space):
    return space.E, space.A, space.B, space.C, space.D


def dense(m):
    return m.M.toarray(), m.C.toarray(), m.K.toarray()


# ------------------------------------------------------------------ all three are the same


@LOOK
@given(every_matrices)
def test_frequency_responses_agree(m):
    M, D, K = dense(m)
    forces = [0, len(m) - 1] if len(m) > 1 else [0]
    natural = modes(m, len(m)).omega
    omega = np.array([0.3, 1.0, 1.1]) * natural[0]
    omega = np.append(omega, [np.sqrt(natural[0] * natural[-1]), 0.9 * natural[-1], 2 * natural[-1]])
    weight = np.sqrt(M.diagonal())[:, None]  # metres and radians together, by their energy
    for form, system in systems(m, [m.dofs[f] for f in forces]).items():
        for w in omega:
            H = response(system, w)
            expected = 1j * w * np.linalg.solve(K + 1j * w * D - w * w * M, np.eye(len(m))[:, forces])
            assert np.abs(weight * (H - expected)).max() <= 1e-9 * np.abs(weight * expected).max(), form


@LOOK
@given(every_matrices)
def test_poles_agree(m):
    M, D, K = dense(m)
    n = len(m)
    norms = [np.linalg.norm(X, 2) for X in (M, D, K)]
    for form, system in systems(m, m.dofs[:1]).items():
        poles = system.poles()
        extra = len(system.states) - 2 * n
        assert np.all(np.abs(poles[:extra]) < 1e-6 * np.abs(poles[extra:]).min()), form
        for s in poles[extra:]:  # s² M + s D + K is singular: backward error, so that double poles count too
            size = abs(s) ** 2 * norms[0] + abs(s) * norms[1] + norms[2]
            assert np.linalg.svd(s * s * M + s * D + K, compute_uv=False)[-1] <= 1e-9 * size, form
        # And none is missing: the product of all is det K / det M, which forgives no wrong one.
        logs = np.linalg.slogdet(K)[1] - np.linalg.slogdet(M)[1]
        assert np.log(np.abs(poles[extra:])).sum() == pytest.approx(logs, abs=1e-7), form


@LOOK
@given(every_matrices)
def test_time_histories_agree(m):
    """Steps of the average acceleration, from the forms' own E, A, B and from M, C, K."""
    period = 2 * np.pi / modes(m, 1).omega[0]
    h, steps = period / 40, 100
    force = np.sin(0.7 * 2 * np.pi * np.arange(steps + 1) * h / period)
    plain = time_history(m, {m.dofs[-1]: force}, h)
    weight = np.sqrt(m.M.diagonal())
    for form, system in systems(m, m.dofs[-1:]).items():
        E, A, B, out, _ = (X.toarray() for X in vars_of(system.numeric()))
        solve = solver(E - h / 2 * A)
        x = np.zeros(len(E))
        for k in range(steps):
            x = x + solve(h * (A @ x) + h / 2 * B[:, 0] * (force[k] + force[k + 1]))
            difference = np.abs((out @ x - plain.velocities[k + 1]) * weight).max()
            assert difference <= 1e-9 * np.abs(plain.velocities * weight).max(), form


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_simulations_agree(mass):
    """The same through the ordinary way: compiled, discretised, run."""
    m = l_frame(mass)
    force = Sine(100.0, 20.0)
    outputs = systems(m, ["end.uy"])
    run = Simulation(outputs, excitation={"F0": force}, rate=2000, integrator=NewmarkAverage()).run(
        0.2, backend="numpy"
    )
    plain = time_history(m, {"end.uy": force}, 1 / 2000, steps=400).velocities
    for form in FORMS:
        found = np.column_stack([run[f"{form}.{d}.flow"] for d in m.dofs])
        assert np.abs(found - plain).max() <= 1e-9 * np.abs(plain).max()


# ------------------------------------------------------------------ states and elements


def cantilever(n=3, mass="lumped"):
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x=1.0)
    s.line("root", "tip", n=n, element=Beam("root", "tip", **STEEL))
    s.support("root")
    s.rayleigh(1.0, 1e-5)
    return s.assemble(mass)


def test_the_field_form_has_two_states_per_degree_of_freedom():
    m = cantilever()
    assert len(field_form(m).compile().states) == 2 * len(m)


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_the_network_form_has_one_state_per_mass_and_spring(mass):
    m = cantilever(mass=mass)
    couplings = (m.K.nnz - len(m)) // 2
    assert len(network_form(m).compile().states) == 2 * len(m) + couplings


def test_springs_follow_the_sign_convention_of_the_papers_readme():
    K = np.array([[5.0, -2.0, 1.0], [-2.0, 6.0, 0.0], [1.0, 0.0, 3.0]])
    m = Matrices(np.eye(3), None, K, ("a.ux", "b.ux", "c.ux"))
    values = network_form(m).compile().parameters
    assert [values[f"spring_to_ground[{i}].stiffness"] for i in range(3)] == [4.0, 4.0, 4.0]
    assert [values[f"spring_between[{i}].stiffness"] for i in range(2)] == [2.0, -1.0]  # -K_12, -K_13
    assert not any(name.startswith("damper") for name in values)


def test_negative_coupling_springs_are_accepted_and_right():
    values = network_form(cantilever(1)).compile().parameters
    EI = STEEL["E"] * STEEL["I"]
    assert values["spring_between[0].stiffness"] == pytest.approx(6 * EI)  # -K_12 = 6 EI/L²
    beam = Structure("simply supported")
    beam.node("a")
    beam.node("b", x=1.0)
    beam.add(Beam("a", "b", **STEEL))
    beam.support("a", "uy")
    beam.support("b", "uy")
    m = beam.assemble("lumped")
    assert network_form(m).compile().parameters["spring_between[0].stiffness"] == pytest.approx(-2 * EI)


def test_a_pair_that_is_stored_but_zero_keeps_its_spring():
    K = sparse.csr_array((np.array([2.0, 0.0, 0.0, 3.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])))
    stored = Matrices(np.eye(2), None, K, ("a.ux", "b.ux"))
    assert len(network_form(stored).compile().states) == 5
    absent = Matrices(np.eye(2), None, np.diag([2.0, 3.0]), ("a.ux", "b.ux"))
    assert len(network_form(absent).compile().states) == 4
    H = [network_form(m, forces=["a.ux"]).compile(outputs=["b.ux.flow"]) for m in (stored, absent)]
    assert [h.numeric().frequency_response([1.0])[0, 0, 0] for h in H] == [0.0, 0.0]


def test_rows_that_sum_to_rounding_have_no_spring_to_ground():
    K = np.array([[0.1 + 0.2, -0.1, -0.2], [-0.1, 0.1, 0.0], [-0.2, 0.0, 0.2]])
    m = Matrices(np.eye(3), None, K, ("a.ux", "b.ux", "c.ux"))
    values = network_form(m).compile().parameters
    assert [values[f"spring_to_ground[{i}].stiffness"] for i in range(3)] == [0.0, 0.0, 0.0]


def test_a_soft_spring_to_ground_is_not_lost_beside_a_stiff_one():
    m = Matrices(np.eye(2), None, np.diag([1e15, 1e-3]), ("stiff.ux", "soft.ux"))
    assert network_form(m).compile().parameters["spring_to_ground[1].stiffness"] == 1e-3


@pytest.mark.parametrize("coupling", [0.0, 1e-17])
def test_a_diagonal_mass_is_a_set_of_inertias(coupling):
    m = Matrices([[1.0, coupling], [coupling, 2.0]], None, np.eye(2), ("a.ux", "b.ux"))
    assert network_form(m).compile().states[:2] == ("inertia[0].momentum", "inertia[1].momentum")


def test_a_coupling_between_masses_of_very_different_size_is_kept():
    m = Matrices([[1e12, 0.5], [0.5, 1e-9]], None, np.eye(2), ("a.ux", "b.rz"))
    assert network_form(m).compile().states[:2] == ("inertia[0].flow.state", "inertia[1].flow.state")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_supports_remove_junctions(form):
    """Held degrees of freedom have no junction; what joined them to free ones becomes a spring to ground."""
    s = Structure("beam")
    s.node("a")
    s.node("b", x=1.0)
    s.add(Beam("a", "b", **STEEL))
    free = s.assemble("lumped", free=True)
    s.support("a")
    held = s.assemble("lumped")
    assert set(free.dofs) - set(held.dofs) == {"a.uy", "a.rz"}
    assert form(free).dofs == free.dofs
    model = form(held)
    assert model.dofs == ("b.uy", "b.rz")
    assert "a" not in model.parts
    with pytest.raises(InputError, match=r"'a\.uy' is held by a support"):
        model.junction("a.uy")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_structure_that_nothing_holds_keeps_its_rigid_motions(form):
    s = Structure("free beam")
    s.node("a")
    s.node("b", x=1.0)
    s.add(Beam("a", "b", **STEEL))
    m = s.assemble(free=True)
    system = form(m, forces=["a.uy"]).compile(outputs=["a.uy.flow", "b.uy.flow"])
    w = 5.0  # far below the elastic modes: 4/m at the near end and -2/m at the far one
    mass = STEEL["rho"] * STEEL["A"]
    assert response(system, w)[:, 0] * 1j * w == pytest.approx([4 / mass, -2 / mass], rel=1e-5)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_degrees_of_freedom_without_mass_are_refused_by_name(form):
    m = Matrices(np.diag([1.0, 0.0]), None, np.eye(2), ("a.ux", "b.rz"))
    with pytest.raises(InputError, match=r"without mass: b\.rz; give them mass .*guyan"):
        form(m)
    assert len(form(guyan(m, keep=["a.ux"]).matrices).compile().states) == 2


# ------------------------------------------------------------------ names


def test_any_name_can_be_found_and_python_names_are_attributes():
    names = (
        "tip.uy",
        "root-tip.1.uy",
        "root-tip.1.rz",
        "floor[1].ux",
        "1/2/3.uy",
        "dof[2]",
        "cut.uy",
        "q[x].u",
    )
    model = field_form(Matrices(np.eye(8), None, np.eye(8), names))
    for dof in names:
        assert model.find(dof) is model.junction(dof)
        assert model.junction(dof).path.endswith(dof)
    assert model.tip.uy is model.junction("tip.uy")
    assert model.floor[1].ux is model.junction("floor[1].ux")
    assert model.floor[0] is None
    assert model.dof[2] is model.junction("dof[2]")
    assert callable(model.cut)  # a method is not hidden by a node
    assert model.copy().compile(outputs=["root-tip.1.uy.flow"]).outputs == ("root-tip.1.uy.flow",)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (("a..b",), InputError, r"named as in 'tip\.uy'; found 'a\.\.b'"),
        (("a", "a.uy"), InputError, "'a' is a degree of freedom already"),
        (("a.uy", "a"), ModelError, "'a' is used twice"),
        (("inertia.uy",), ModelError, "'inertia' is used twice"),
    ],
)
def test_names_that_clash_are_refused(names, error, message):
    n = len(names)
    with pytest.raises(error, match=message):
        field_form(Matrices(np.eye(n), None, np.eye(n), names))


def test_a_shear_building_has_its_floors():
    m = ShearBuilding([2.0, 1.0], [30.0, 20.0], dampings=[0.1, 0.2]).assemble()
    system = network_form(m, forces={"floor[2].ux": "F"}).compile(outputs=["floor[1].ux.flow"])
    M, D, K = dense(m)
    w = 3.0
    expected = 1j * w * np.linalg.inv(K + 1j * w * D - w * w * M)[0, 1]
    assert system.numeric().frequency_response([w])[0, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_a_reduced_model_keeps_its_interface_and_names_its_modes():
    m = cantilever(6, "consistent")
    reduced = craig_bampton(m, interface=["tip.uy"], count=3)
    model = field_form(reduced.matrices, forces=["tip.uy"])
    assert model.dofs == ("tip.uy", "mode[0]", "mode[1]", "mode[2]")
    assert model.mode[2] is model.junction("mode[2]")
    found = model.compile(outputs=["tip.uy.flow"]).numeric().frequency_response([50.0])[0, 0, 0]
    expected = reduced.frequency_response("tip.uy", "tip.uy", [50.0])[0, 0, 0] * 50j
    assert found == pytest.approx(expected, rel=1e-10)


# ------------------------------------------------------------------ loads


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_one_input_pushes_many_degrees_of_freedom(form):
    """The ground's acceleration as one input, acting by -M r."""
    s = Structure("mast")
    s.node("foot")
    s.node("head", x=2.0)
    s.line("foot", "head", n=3, element=Beam("foot", "head", **STEEL))
    s.support("foot")
    s.rayleigh(0.5, 1e-5)
    m = s.assemble()
    pattern = s.base_excitation("uy")
    model = form(m, "mast")
    model.apply_pattern(dict(zip(m.dofs, pattern, strict=True)), "ground")
    system = model.compile(outputs=["head.uy.flow"])
    assert system.inputs == ("ground",)
    M, D, K = dense(m)
    for w in (5.0, 80.0):
        expected = 1j * w * np.linalg.solve(K + 1j * w * D - w * w * M, pattern)[m.index("head.uy")]
        assert system.numeric().frequency_response([w])[0, 0, 0] == pytest.approx(expected, rel=1e-9)


def test_forces_are_added_one_after_the_other():
    m = cantilever(2)
    model = field_form(m, forces=["tip.uy"])
    model.apply_forces({"root-tip.1.uy": "wind"})
    model.apply_pattern({"tip.uy": 2.0, "tip.rz": 0.0}, "gust")
    system = model.compile(outputs=["tip.uy.flow"])
    assert system.inputs == ("F_tip_uy", "wind", "gust")
    H = system.numeric().frequency_response([10.0])[0, 0]
    assert H[2] == pytest.approx(2 * H[0], rel=1e-12)


def test_a_load_that_acts_nowhere_or_on_an_unknown_name_is_refused():
    model = field_form(cantilever(1))
    with pytest.raises(InputError, match="load 'gust' acts nowhere"):
        model.apply_pattern({"tip.uy": 0.0}, "gust")
    with pytest.raises(InputError, match=r"unknown degree of freedom 'tip\.ux'"):
        model.apply_forces(["tip.ux"])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_prescribed_motion_acts_through_its_columns(form):
    """du Bois 2010 eq. (15): the foot of a beam is moved; acceleration, velocity and displacement act."""
    s = Structure("portal")
    s.node("foot")
    s.node("head", x=1.5)
    s.line("foot", "head", n=2, element=Beam("foot", "head", **STEEL))
    s.support("foot")
    s.rayleigh(2.0, 1e-5)
    p = s.prescribed("foot.uy")
    model = form(p.matrices)
    for name, column in (("a", p.M_a), ("v", p.C_a), ("x", p.K_a)):
        model.apply_pattern(dict(zip(p.matrices.dofs, -column[:, 0], strict=True)), name)
    system = model.compile(outputs=["head.uy.flow"])
    w, x = 60.0, 1.0
    a_v_x = np.array([-w * w * x, 1j * w * x, x])
    found = system.numeric().frequency_response([w])[0, 0] @ a_v_x
    M, D, K = dense(p.matrices)
    force = p.force(-w * w * x, 0.0, x) + 1j * p.force(0.0, w * x, 0.0)
    u = np.linalg.solve(K + 1j * w * D - w * w * M, force)
    assert found == pytest.approx(1j * w * u[p.matrices.index("head.uy")], rel=1e-9)


def test_a_flow_source_may_move_a_degree_of_freedom_with_a_mass_of_its_own():
    """Lumped masses, network form: the imposed inertia follows, which is du Bois's eq. (15) again."""
    s = Structure("portal")
    s.node("foot")
    s.node("head", x=1.5)
    s.line("foot", "head", n=2, element=Beam("foot", "head", **STEEL))
    s.rayleigh(2.0, 1e-5)
    s.support("foot", "rz")
    whole = Model("moved")
    whole.beam = network_form(s.assemble("lumped", free=True), "beam")
    whole.drive = Sf("v")
    bond(whole.drive, whole.beam.foot.uy)
    found = whole.compile(outputs=["beam.head.uy.flow"]).numeric().frequency_response([60.0])[0, 0, 0]
    p = s.prescribed("foot.uy", mass="lumped", damping="absolute")  # as a bond graph of C has it
    M, D, K = dense(p.matrices)
    force = -(60j * p.M_a + p.C_a + p.K_a / 60j)[:, 0]  # per unit of velocity
    u = np.linalg.solve(K + 60j * D - 3600 * M, force)
    assert found == pytest.approx(60j * u[p.matrices.index("head.uy")], rel=1e-9)


# ------------------------------------------------------------------ bonding and cutting


class Hanger(Model):
    """A mass, or what turns, on a spring and a dashpot."""

    def __init__(self, inertia, c, k):
        self.hook = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.hook >> self.force >> self.v >> inertia
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]


def hung(form, m, dof):
    whole = Model("whole")
    whole.frame = form(m, "frame", forces={m.dofs[0]: "F"})
    whole.hanger = Hanger(I(inertia=3.0) if dof.endswith("rz") else I(mass=3.0), 40.0, 5e4)
    bond(whole.frame.junction(dof), whole.hanger.hook)
    return whole


def l_frame(mass):
    s = Structure("L")
    s.node("foot")
    s.node("corner", y=1.2)
    s.node("end", x=0.8, y=1.2)
    s.add(Frame2D("foot", "corner", **STEEL))
    s.add(Frame2D("corner", "end", **STEEL))
    s.support("foot")
    s.rayleigh(1.0, 1e-5)
    return s.assemble(mass)


DOFS_OF_L = ("corner.ux", "corner.uy", "corner.rz", "end.ux", "end.uy", "end.rz")


@pytest.mark.parametrize("dof", DOFS_OF_L)
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_lumped_system_bonds_to_any_degree_of_freedom(form, mass, dof):
    m = l_frame(mass)
    n, k = len(m), m.index(dof)
    M, D, K = (np.pad(X, (0, 1)) for X in dense(m))
    M[n, n] = 3.0
    for X, value in ((D, 40.0), (K, 5e4)):
        X[np.ix_([k, n], [k, n])] += value * np.array([[1.0, -1.0], [-1.0, 1.0]])
    outputs = [*(f"frame.{d}.flow" for d in m.dofs), "hanger.v.flow"]
    space = hung(form, m, dof).compile(outputs=outputs).numeric()
    for w in (30.0, 200.0, 2000.0):
        expected = 1j * w * np.linalg.solve(K + 1j * w * D - w * w * M, np.eye(n + 1)[:, 0])
        found = space.frequency_response([w])[0, :, 0]
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("dof", DOFS_OF_L)
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_cut_goes_through_any_degree_of_freedom(form, mass, dof):
    whole = hung(form, l_frame(mass), dof)
    numerical, physical = whole.cut(f"frame.{dof} >> hanger.hook")
    half = numerical.compile()
    assert half.inputs == ("frame.F", "interface.effort")  # a force in, a velocity out: fit for a rig
    assert half.outputs == ("interface.flow",)
    assert physical.compile().outputs == ("interface.effort",)
    again = rejoin(numerical, physical).compile(outputs=["numerical.frame.end.uy.flow"])
    omega = [30.0, 200.0, 2000.0]
    expected = whole.compile(outputs=["frame.end.uy.flow"]).numeric().frequency_response(omega)
    found = again.numeric().frequency_response(omega)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def test_a_cut_goes_through_a_node_with_a_dotted_name():
    m = cantilever(3)
    whole = hung(field_form, m, "root-tip.2.uy")
    numerical, _ = whole.cut("frame.root-tip.2.uy >> hanger.hook")
    assert numerical.compile().inputs == ("frame.F", "interface.effort")


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_bare_mass_or_damper_may_be_bonded_too(form, mass):
    m = l_frame(mass)
    k = m.index("end.uy")
    for part, matrix, value in (
        (I(mass=2.0), 0, 2.0),
        (R(damping=30.0), 1, 30.0),
        (C(stiffness=1e4), 2, 1e4),
    ):
        whole = Model("whole")
        whole.frame = form(m, "frame", forces={"end.uy": "F"})
        whole.added = part
        bond(whole.frame.end.uy, whole.added)
        parts = dense(m)
        parts[matrix][k, k] += value
        M, D, K = parts
        w = 150.0
        expected = 1j * w * np.linalg.inv(K + 1j * w * D - w * w * M)[k, k]
        found = whole.compile(outputs=["frame.end.uy.flow"]).numeric().frequency_response([w])
        assert found[0, 0, 0] == pytest.approx(expected, rel=1e-9)


def test_two_structures_are_joined_by_a_spring():
    """Two cantilevers tip to tip: a spring between them is what Structure would assemble."""
    m = cantilever(2)
    pair = Model("pair")
    pair.left = field_form(m, "left", forces={"tip.uy": "F"})
    pair.right = network_form(m, "right")
    pair.gap, pair.spring = Zero(), C(stiffness=3e5)
    bond(pair.left.tip.uy, pair.gap)
    bond(pair.gap, pair.right.tip.uy)
    bond(pair.gap, pair.spring)
    n, k = len(m), m.index("tip.uy")
    M, D, K = (np.kron(np.eye(2), X) for X in dense(m))
    K[np.ix_([k, n + k], [k, n + k])] += 3e5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    w = 100.0
    expected = 1j * w * np.linalg.inv(K + 1j * w * D - w * w * M)[[k, n + k], k]
    found = pair.compile(outputs=["left.tip.uy.flow", "right.tip.uy.flow"]).numeric().frequency_response([w])
    assert found[0, :, 0] == pytest.approx(expected, rel=1e-9)


# ------------------------------------------------------------------ what the network form's extra states are


def test_extra_states_of_the_network_form_stay_what_they_were():
    """q_ij - (q_j - q_i) is conserved: linear invariants, which a step of any scheme keeps to rounding."""
    m = l_frame("lumped")
    model = network_form(m, forces=["end.uy"])
    system = model.compile()
    A, B = (X.toarray() for X in (system.numeric().A, system.numeric().B))
    place = {s: i for i, s in enumerate(system.states)}
    pairs = sorted((i, j) for i, j in zip(*m.K.tocoo().coords, strict=True) if i < j)
    invariants = np.zeros((len(pairs), len(place)))
    for row, (i, j) in enumerate(pairs):
        invariants[row, place[f"spring_between[{row}].displacement"]] = 1.0
        invariants[row, place[f"spring_to_ground[{i}].displacement"]] = -1.0
        invariants[row, place[f"spring_to_ground[{j}].displacement"]] = 1.0
    assert np.abs(invariants @ A).max() == 0.0
    assert np.abs(invariants @ B).max() == 0.0


def test_a_large_structure_compiles_to_sparse_matrices():
    m = cantilever(200, "consistent")
    space = field_form(m, forces=["tip.uy"]).compile(outputs=["tip.uy.flow"]).numeric()
    assert space.A.shape == (800, 800)
    assert space.A.nnz + space.E.nnz < 30 * len(m)
    M, D, K = m.M, m.C, m.K
    w = 40.0
    expected = sparse.linalg.spsolve(
        sparse.csc_array(K + 1j * w * D - w * w * M), np.eye(len(m))[m.index("tip.uy")]
    )
    assert space.frequency_response([w])[0, 0, 0] == pytest.approx(
        1j * w * expected[m.index("tip.uy")], rel=1e-6
    )
