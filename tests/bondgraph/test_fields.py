"""Fields and vector bonds, against element networks and M, C, K."""

import numpy as np
import pytest
import sympy as sp
from scipy import sparse

from bondloop.bondgraph import TF, C, CField, Df, I, IField, Model, One, R, RField, Se, Sf, Zero
from bondloop.errors import InputError, ModelError, SolveError

M = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.5]])
K = np.array([[5.0, -2.0, 0.0], [-2.0, 6.0, -3.0], [0.0, -3.0, 3.5]])
D = np.array([[0.4, -0.1, 0.0], [-0.1, 0.3, -0.1], [0.0, -0.1, 0.2]])


def structure(mass, damping, stiffness, **options):
    """Degrees of freedom as 1-junctions, each with a force, on three fields."""
    n = mass.shape[0]
    model = Model("structure")
    model.v = [One() for _ in range(n)]
    model.M, model.D, model.K = (
        IField(mass=mass, **options),
        RField(resistance=damping),
        CField(stiffness=stiffness),
    )
    for i, v in enumerate(model.v):
        Se(f"F{i}") >> v >> [model.M[i], model.D[i], model.K[i]]
    return model


def dynamic_flexibility(w):
    """Velocities per force: s (M s^2 + D s + K)^-1."""
    s = 1j * w
    return s * np.linalg.inv(M * s**2 + D * s + K)


@pytest.mark.parametrize(
    "wrap", [np.asarray, sparse.csr_array, sparse.csc_array, sp.Matrix, np.ndarray.tolist]
)
def test_fields_equal_mass_damping_stiffness(wrap):
    if wrap is np.ndarray.tolist:
        model = Model("lists")
        model.v = [One() for _ in range(3)]
        model.M, model.D, model.K = (
            IField(mass=M.tolist()),
            RField(resistance=D.tolist()),
            CField(stiffness=K.tolist()),
        )
        for i, v in enumerate(model.v):
            Se(f"F{i}") >> v >> [model.M[i], model.D[i], model.K[i]]
    else:
        model = structure(wrap(M), wrap(D), wrap(K))
    system = model.compile(outputs=[f"v[{i}].flow" for i in range(3)])
    assert len(system.states) == 6
    space = system.numeric()
    for w in (0.2, 1.0, 4.0):
        assert space.frequency_response([w])[0] == pytest.approx(dynamic_flexibility(w), rel=1e-11)
    # The same from the evaluated program: accelerations M^-1 (F - D v - K u).
    rng = np.random.default_rng(1)
    x, u = rng.normal(size=6), rng.normal(size=3)
    rates = dict(
        zip(
            system.states,
            system.rates(x.tolist(), u.tolist(), [], list(system.values().values())),
            strict=True,
        )
    )
    state = dict(zip(system.states, x, strict=True))
    v = np.array([state[s] for s in system.states if s.endswith(".state")])
    q = np.array([state[s] for s in system.states if s.endswith(".displacement")])
    acceleration = np.array([rates[s] for s in system.states if s.endswith(".state")])
    assert acceleration == pytest.approx(np.linalg.solve(M, u - D @ v - K @ q), rel=1e-12)
    assert [rates[s] for s in system.states if s.endswith(".displacement")] == pytest.approx(v)


def test_sparse_fields_stay_sparse():
    n = 60
    chain = sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    mass = sparse.diags_array([0.1 * np.ones(n - 1), np.ones(n), 0.1 * np.ones(n - 1)], offsets=[-1, 0, 1])
    space = (
        structure(sparse.csr_array(mass), sparse.csr_array(0.01 * chain), sparse.csr_array(chain))
        .compile()
        .numeric()
    )
    assert space.E.nnz + space.A.nnz <= 12 * n


def test_symbolic_fields():
    m, k = sp.symbols("m k")
    model = structure(sp.Matrix([[2 * m, m], [m, 2 * m]]), sp.zeros(2), sp.Matrix([[2 * k, -k], [-k, 2 * k]]))
    system = model.compile(outputs=["v[0].flow"])
    s = sp.Symbol("s")
    impedance = sp.Matrix([[2, 1], [1, 2]]) * m * s + sp.Matrix([[2, -1], [-1, 2]]) * k / s
    expected = impedance.inv()[0, 0]
    assert sp.simplify(system.transfer_function("v[0].flow", "F0") - expected) == 0


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e9])
def test_small_and_large_field_entries_do_not_cancel(scale):
    # Written as rate + (effort - mass @ rates), a mass of 1e-12 would lose four digits.
    mass = scale * np.array([[2.0, 0.5], [0.5, 1.0]])
    model = Model("scaled")
    model.v = [One(), One()]
    model.M = IField(mass=mass)
    for i, v in enumerate(model.v):
        Se(f"F{i}") >> v >> model.M[i]
    space = model.compile(outputs=["v[0].flow", "v[1].flow"]).numeric()
    assert space.frequency_response([1.0])[0] * 1j == pytest.approx(np.linalg.inv(mass), rel=1e-13)
    resistors = Model("conducting")
    resistors.e = [Se("e0"), Se("e1")]
    resistors.R = RField(resistance=mass)
    for i, e in enumerate(resistors.e):
        e >> resistors.R[i]
    gain = resistors.compile(outputs=["R[0].flow", "R[1].flow"]).numeric().D.toarray()
    assert gain == pytest.approx(np.linalg.inv(mass), rel=1e-13)


def test_fields_equal_elements():
    # A diagonal field is a set of separate elements.
    fields = structure(np.diag([1.0, 2.0]), np.diag([0.1, 0.2]), np.diag([3.0, 4.0])).compile(
        outputs=["v[1].flow"]
    )
    elements = Model("elements")
    elements.v = [One(), One()]
    for i, v in enumerate(elements.v):
        Se(f"F{i}") >> v >> [I(mass=1.0 + i), R(damping=0.1 * (i + 1)), C(stiffness=3.0 + i)]
    w = np.array([0.5, 1.4, 3.0])
    expected = elements.compile(outputs=["v[1].flow"]).numeric().frequency_response(w)
    assert fields.numeric().frequency_response(w) == pytest.approx(expected, rel=1e-12)


def test_resistor_field_in_mixed_causality():
    # Port 0 gets a flow, port 1 an effort: e0 = R00 f0 + R01 f1, f1 = (e1 - R10 f0) / R11 by hand.
    model = Model("mixed")
    model.R, model.f0, model.e1 = RField(resistance=[[2.0, 1.0], [0.5, 4.0]]), Sf("f0"), Se("e1")
    model.f0 >> model.R[0]
    model.e1 >> model.R[1]
    gain = model.compile(outputs=["R[0].effort", "R[1].flow"]).numeric().D.toarray()
    assert gain == pytest.approx(np.array([[2.0 - 0.5 / 4, 1 / 4], [-0.5 / 4, 1 / 4]]), rel=1e-14)


def test_gyrator_like_resistor_field_in_effort_causality():
    # Skew-symmetric: e0 = g f1, e1 = -g f0: with efforts given, f1 = e0/g and f0 = -e1/g; no diagonal to
    # divide by.
    model = Model("skew")
    model.e = [Se("e0"), Se("e1")]
    model.R = RField(resistance=[[0.0, 3.0], [-3.0, 0.0]])
    for i, e in enumerate(model.e):
        e >> model.R[i]
    gain = model.compile(outputs=["R[0].flow", "R[1].flow"]).numeric().D.toarray()
    assert gain == pytest.approx(np.array([[0.0, -1 / 3], [1 / 3, 0.0]]), rel=1e-14)


def test_compliance_field_in_mixed_causality():
    # Port 1 is held by an effort source: q1 = (e1 - K10 q0)/K11 follows; seen from port 0 the stiffness is
    # condensed to K00 - K01 K10 / K11 (static condensation), with e1 acting through K01/K11.
    k = np.array([[5.0, -2.0], [-2.0, 4.0]])
    model = Model("condensed")
    model.F, model.v, model.K, model.e1 = Se("F"), One(), CField(stiffness=k), Se("e1")
    model.F >> model.v >> [I(mass=1.0), R(damping=0.3), model.K[0]]
    model.e1 >> model.K[1]
    space = model.compile(outputs=["v.flow"]).numeric()
    for w in (0.5, 2.5):
        s = 1j * w
        z = s + 0.3 + (5 - 4 / 4) / s
        assert space.frequency_response([w])[0] == pytest.approx(np.array([[1 / z, 0.5 / z]]), rel=1e-12)


def test_initial_values_of_fields():
    model = Model("start")
    model.v = [One(), One()]
    model.M, model.K = (
        IField(mass=np.eye(2), initial=[1.0, 2.0]),
        CField(stiffness=np.eye(2), initial=[3.0, 4.0]),
    )
    for i, v in enumerate(model.v):
        v >> [model.M[i], model.K[i]]
    system = model.compile()
    start = dict(zip(system.states, system.initial(), strict=True))
    assert start == {
        "M[0].flow.state": 1.0,
        "M[1].flow.state": 2.0,
        "K[0].displacement": 3.0,
        "K[1].displacement": 4.0,
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IField(mass=[[1.0, 2.0], [0.0, 1.0]]), r"IField\(mass\): the matrix is not symmetric"),
        (
            lambda: IField(mass=sp.Matrix([[1, sp.Symbol("a")], [0, 1]])),
            r"IField\(mass\): the matrix is not symmetric",
        ),
        (lambda: IField(mass=[[1.0, 2.0], [2.0, 1.0]]), r"not positive definite.*without mass"),
        (lambda: IField(mass=sp.Matrix([[1, 2], [2, 1]])), r"not positive definite"),
        (lambda: IField(mass=sparse.csr_array([[1.0, 0.0], [0.0, 0.0]])), r"diagonal entry 1 is 0"),
        (lambda: CField(stiffness=[[1.0, np.nan], [np.nan, 1.0]]), r"not finite"),
        (lambda: CField(stiffness=[[1.0, 2.0]]), r"square matrix; found shape \(1, 2\)"),
        (lambda: CField(stiffness=[1.0, 2.0]), r"square matrix, as rows of numbers"),
        (lambda: CField(stiffnes=[[1.0]]), r"did you mean 'stiffness'"),
        (lambda: CField(stiffness=[[1.0]], initial=[1.0, 2.0]), r"expected 1 values; found 2"),
        (CField, r"CField needs its stiffness matrix"),
        (lambda: RField(resistance=[[1.0]], initial=[0.0]), r"stores nothing"),
    ],
)
def test_bad_fields(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_inertia_field_in_derivative_causality():
    # Two of three velocities of a field are the same: T' M T with T = [[1, 0], [1, 0], [0, 1]].
    model = Model("welded")
    model.F, model.a, model.b = Se("F"), One(), One()
    model.M = IField(mass=M)
    model.F >> model.a >> [C(stiffness=5.0), R(damping=0.3)]
    model.a >> model.M[0]
    model.a >> model.M[1]
    model.b >> [model.M[2], C(stiffness=2.0)]
    system = model.compile(outputs=["a.flow", "b.flow"])
    T = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    m = T.T @ M @ T
    for w in (0.3, 1.0, 4.0):
        Z = 1j * w * m + np.diag([0.3 + 5.0 / (1j * w), 2.0 / (1j * w)])
        wanted = np.linalg.solve(Z, [1.0, 0.0])
        assert system.frequency_response([w])[0, :, 0] == pytest.approx(wanted, rel=1e-9)


def test_an_inertia_field_that_is_driven():
    # The force on a source that moves a mass of 1.5 kg is 1.5 times its acceleration.
    model = Model("forced")
    model.r, model.M = Sf("r"), IField(mass=[[1.5]])
    model.r >> model.M[0]
    system = model.compile(outputs=["M[0].effort"])
    there = system.simulate(1.0, {"r": lambda t: np.sin(2 * t), "d/dt r": lambda t: 2 * np.cos(2 * t)})
    assert there["M[0].effort"] == pytest.approx(3.0 * np.cos(2 * there.time), rel=1e-9)


@pytest.mark.parametrize("first", ["mass", "field"])
def test_a_mass_and_a_field_on_one_velocity(first):
    model = Model("together")
    model.F, model.v, model.w = Se("F"), One(), One()
    if first == "mass":
        model.m, model.M = I(mass=3.0), IField(mass=M[:2, :2])
    else:
        model.M, model.m = IField(mass=M[:2, :2]), I(mass=3.0)
    model.F >> model.v >> [model.m, model.M[0], R(damping=1.0)]
    model.w >> [model.M[1], R(damping=1.0)]
    wanted = np.linalg.eigvals(-np.linalg.inv(M[:2, :2] + np.diag([3.0, 0.0])))
    assert np.sort(model.compile().poles().real) == pytest.approx(np.sort(wanted.real), rel=1e-9)


# ---------------------------------------------------------------- vector bonds


@pytest.mark.parametrize("size", [2, 3])
def test_vector_bonds_equal_scalar_copies(size):
    vector = Model("vector")
    vector.F, vector.s, vector.v = Se("F", size=size), Zero(size), One(size)
    vector.F >> vector.v >> [I(mass=[1.0 + i for i in range(size)]), R(damping=0.2)]
    vector.v >> TF(modulus=2.0) >> vector.s >> C(stiffness=3.0)
    system = vector.compile(outputs=[f"v[{i}].flow" for i in range(size)])
    assert len(system.states) == 2 * size
    assert system.inputs == tuple(f"F[{i}]" for i in range(size))
    w = 0.9
    response = system.numeric().frequency_response([w])[0]
    for i in range(size):
        scalar = Model("scalar")
        scalar.F, scalar.v, scalar.s = Se("F"), One(), Zero()
        scalar.F >> scalar.v >> [I(mass=1.0 + i), R(damping=0.2)]
        scalar.v >> TF(modulus=2.0) >> scalar.s >> C(stiffness=3.0)
        expected = scalar.compile(outputs=["v.flow"]).numeric().frequency_response([w])[0, 0, 0]
        assert response[i, i] == pytest.approx(expected, rel=1e-13)
        # By hand: z = j w m + c + n^2 k / (j w), flow_out = n flow_in.
        assert expected == pytest.approx(1 / (1j * w * (1 + i) + 0.2 + 4 * 3 / (1j * w)), rel=1e-13)
    assert np.count_nonzero(np.abs(response) > 1e-15) == size


def test_component_access():
    model = Model("components")
    model.v, model.speed = One(3), Df()
    model.v >> I(mass=[1.0, 2.0, 3.0], initial=[1.0, 4.0, 9.0])
    Se("F") >> model.v[1]
    model.v[2] >> R(damping=0.5)
    model.v[2] >> model.speed
    system = model.compile()
    run = system.simulate(1, {"F": 6.0})
    assert run["v[0].flow"][-1] == pytest.approx(1.0)
    assert run["v[1].flow"][-1] == pytest.approx(2.0 + 3.0)
    assert run["speed"][-1] == pytest.approx(3.0 * np.exp(-0.5 / 3))


def test_a_detector_on_a_whole_vector_is_refused():
    model = Model("vector")
    model.v = One(3)
    model.v >> [I(mass=1.0), Df()]
    with pytest.raises(ModelError, match=r"v has 3 components, but Df detects one; bond v\[i\] to it"):
        model.compile()


def test_a_component_that_does_not_exist():
    with pytest.raises(ModelError, match=r"no component \[3\]; its size is 3"):
        One(3)[3] >> R(damping=1.0)


def test_a_row_of_adapting_two_ports_finds_its_size():
    model = Model("row")
    model.F, model.v, model.w = Se("F", size=2), One(2), One(2)
    model.F >> model.v >> TF(modulus=2.0) >> TF(modulus=3.0) >> model.w >> I(mass=1.0)
    space = model.compile(outputs=["w[1].flow"]).numeric()
    assert space.frequency_response([1.0])[0, 0, 1] == pytest.approx(1 / 6 / 1j)


def test_a_ring_of_adapting_two_ports_ends():
    model = Model("ring")
    # f = 2 * 0.5 * f: open. What counts is that the size is found without going round for ever.
    model.a, model.b = TF(modulus=2.0), TF(modulus=0.5)
    model.a >> model.b >> model.a
    with pytest.raises(SolveError, match=r"[ab]\.in\.(effort|flow).*singular"):
        model.compile(outputs=["a.in.flow"]).numeric()


def test_ports_of_an_inertia_field_that_move_together():
    # Flows v, -v, -v: the mass is a^T M a with a = (1, -1, -1), here 6 - 2 - 2 + 2 = 4. Row by row 2 - 1 - 1
    # cancels, so the rates must be solved for together.
    model = Model("together")
    model.F, model.v = Se("F"), One()
    model.M = IField([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
    model.F >> model.v >> model.M[0]
    for i in (1, 2):
        model.M[i] >> model.v
    space = model.compile(outputs=["v.flow"]).numeric()
    assert space.frequency_response([1.0])[0, 0, 0] == pytest.approx(1 / 4j, rel=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("full", [False, True], ids=["diagonal", "full"])
def test_equations_have_the_rate_of_every_state(size, full):
    """Against the matrices: each line of a small field, written out, gives a row of A and B."""
    rng = np.random.default_rng(size)
    diagonal = np.diag(rng.uniform(1, 3, size))
    system = structure(diagonal + (0.2 if full else 0.0), diagonal, diagonal + 0.1).compile()
    lines = {left: right for left, right in system.equations().sides if isinstance(left, str)}
    rates = [f"d/dt {name}" for name in system.states]
    if size > (3 if full else 4):  # products of matrices stay products, large loops stay equations
        text = str(system.equations())
        assert "M.mass*d/dt M[:].flow.state" in text or all(rate in text for rate in rates)
        return
    assert set(rates) <= set(lines)
    symbols = {s.name: s for right in lines.values() for s in right.free_symbols}
    values = {symbols[k]: v for k, v in system.parameters.items() if k in symbols}
    columns = [symbols.get(n) for n in (*system.states, *system.inputs)]
    rows = [[0.0 if c is None else float(lines[r].subs(values).diff(c)) for c in columns] for r in rates]
    space = system.linearise()
    expected = np.linalg.solve(space.E.toarray(), np.hstack([space.A.toarray(), space.B.toarray()]))
    np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-14)
