"""The beam with a suspended mass of da Silva 1994: equations (18) to (24), both forms, the velocities."""

import numpy as np
import pytest
import sympy as sp

from bondloop.papers import dasilva_beam

MOMENTA, SPRINGS = 7, 17
PAIRS = ("12", "13", "23", "24", "25", "34", "35", "45", "46", "56")
"""Coupled degrees of freedom, in the paper's order of q_14 to q_23."""


def paper_order(states):
    """Positions of p_1 ... p_7, q_8 ... q_24 among our states, from their names."""
    names = [
        *(f"beam.inertia[{i}].momentum" for i in range(6)),
        "suspension.mass.momentum",
        *(f"beam.spring_to_ground[{i}].displacement" for i in range(6)),
        *(f"beam.spring_between[{i}].displacement" for i in range(10)),
        "suspension.spring.displacement",
    ]
    assert sorted(names) == sorted(states)
    return [states.index(name) for name in names]


@pytest.fixture(scope="module")
def network():
    return dasilva_beam.model("network").compile(outputs=list(dasilva_beam.OUTPUTS.values()))


@pytest.fixture(scope="module")
def field():
    return dasilva_beam.model("field").compile(outputs=list(dasilva_beam.OUTPUTS.values()))


@pytest.fixture(scope="module")
def blocks(network):
    """A_pp, A_pq, A_qp, A_qq and B as SymPy matrices in the paper's letters and order."""
    place = paper_order(network.states)
    letters = {
        **{f"beam.inertia[{i}].{'mass' if i in (1, 3) else 'inertia'}": f"I_{i + 1}" for i in range(6)},
        **{f"beam.spring_to_ground[{i}].stiffness": f"k_{i + 1}" for i in range(6)},
        "suspension.mass.mass": "I",
        "suspension.spring.stiffness": "k",
        "suspension.damper.damping": "b",
    }
    table = {name: sp.Symbol(letter) for name, letter in letters.items()}
    # The spring between i and j has the stiffness -K_ij; the paper writes k_ij for K_ij.
    table.update({f"beam.spring_between[{n}].stiffness": -sp.Symbol(f"k_{ij}") for n, ij in enumerate(PAIRS)})
    A = network.A.subs({s: table[s.name] for s in network.A.free_symbols})
    A = sp.Matrix(24, 24, lambda i, j: A[place[i], place[j]])
    B = sp.Matrix([network.B[i, 0] for i in place])
    p = MOMENTA
    return A[:p, :p], A[:p, p:], A[p:, :p], A[p:, p:], B


def letters(text):
    return sp.symbols(text)


# ------------------------------------------------------------------ equations (18) to (24)


def test_the_state_vector_has_24_energy_variables(network):
    """Equation (18): seven momenta, six springs to ground, ten between pairs, the suspension's."""
    assert len(network.states) == 24
    place = paper_order(network.states)
    assert place[:6] == list(range(6))  # p_1 to p_6 come first; the suspended mass's p_7 comes with its model
    assert network.notes == []  # no storage depends on others, no algebraic loop


def test_momenta_act_on_momenta_through_the_damper_alone(blocks):
    """Equation (20)."""
    b, I2, I = letters("b I_2 I")
    expected = sp.zeros(7)
    expected[1, 1], expected[1, 6], expected[6, 1], expected[6, 6] = -b / I2, b / I, b / I2, -b / I
    assert (blocks[0] - expected).applyfunc(sp.simplify) == sp.zeros(7)


def test_displacements_act_on_momenta_through_the_stiffness_matrix(blocks):
    """Equation (21), with -k_2 and -k_6 where the print has k_22 and k_6."""
    expected = sp.zeros(7, SPRINGS)
    for i in range(6):
        expected[i, i] = -sp.Symbol(f"k_{i + 1}")
    for n, (i, j) in enumerate(PAIRS):
        expected[int(i) - 1, 6 + n] = sp.Symbol(f"k_{i}{j}")
        expected[int(j) - 1, 6 + n] = -sp.Symbol(f"k_{i}{j}")
    expected[1, 16], expected[6, 16] = -sp.Symbol("k"), sp.Symbol("k")
    assert blocks[1] == expected


def test_the_print_counts_five_springs_the_other_way(blocks):
    """Equations (21) and (22) as printed, misprints mended: our columns 13, 35, 45, 46, 56 times -1."""
    signs = [1] * 6 + [-1 if ij in ("13", "35", "45", "46", "56") else 1 for ij in PAIRS] + [1]
    k12, k13, k23, k24, k25, k34, k35, k45, k46, k56 = letters(" ".join(f"k_{ij}" for ij in PAIRS))
    printed = sp.Matrix(
        [
            [k12, -k13, 0, 0, 0, 0, 0, 0, 0, 0],
            [-k12, 0, k23, k24, k25, 0, 0, 0, 0, 0],
            [0, k13, -k23, 0, 0, k34, -k35, 0, 0, 0],
            [0, 0, 0, -k24, 0, -k34, 0, -k45, -k46, 0],
            [0, 0, 0, 0, -k25, 0, k35, k45, 0, -k56],
            [0, 0, 0, 0, 0, 0, 0, 0, k46, k56],
        ]
    )
    assert (blocks[1] * sp.diag(*signs))[:6, 6:16] == printed
    a, b, c, d, e, f = (1 / letter for letter in letters("I_1 I_2 I_3 I_4 I_5 I_6"))
    transposed = sp.Matrix(
        [
            [a, -a, 0, 0, 0, 0, 0, 0, 0, 0],
            [-b, 0, b, b, b, 0, 0, 0, 0, 0],
            [0, c, -c, 0, 0, c, -c, 0, 0, 0],
            [0, 0, 0, -d, 0, -d, 0, -d, -d, 0],
            [0, 0, 0, 0, -e, 0, e, e, 0, -e],
            [0, 0, 0, 0, 0, 0, 0, 0, f, f],
        ]
    )
    assert (sp.diag(*signs) * blocks[2]).T[:6, 6:16] == transposed


def test_momenta_act_on_displacements_as_power_conservation_demands(blocks):
    """Equation (22) derived: q̇ = D v with v = p/I, and the same D takes the forces back, ṗ = -Dᵀ k q."""
    _, A_pq, A_qp, _, _ = blocks
    inertias = [sp.Symbol(f"I_{i + 1}") for i in range(6)] + [sp.Symbol("I")]
    D = A_qp * sp.diag(*inertias)
    assert all(entry in (-1, 0, 1) for entry in D)
    springs = [sp.Symbol(f"k_{i + 1}") for i in range(6)] + [-sp.Symbol(f"k_{ij}") for ij in PAIRS]
    assert A_pq == -D.T * sp.diag(*springs, sp.Symbol("k"))
    # Two entries that the print has wrong: 1/I_2 in the column of q_18, 1/I in that of q_24.
    assert A_qp[10, 1] == 1 / sp.Symbol("I_2")
    assert A_qp[16, 6] == -1 / sp.Symbol("I")


def test_displacements_do_not_act_on_displacements(blocks):
    """Equation (23)."""
    assert blocks[3] == sp.zeros(SPRINGS)


def test_the_force_acts_on_the_fourth_momentum(blocks):
    """Equation (24): B(4) = 1."""
    B = blocks[4]
    assert B[3] == 1
    assert sum(map(abs, B)) == 1


def test_springs_are_what_the_assembled_matrix_says(network):
    K = dasilva_beam.matrices().K.toarray()
    for i in range(6):
        assert network.parameters[f"beam.spring_to_ground[{i}].stiffness"] == pytest.approx(
            K[i].sum(), abs=1e-9 * np.abs(K).max()
        )
    for n, (i, j) in enumerate(PAIRS):
        assert network.parameters[f"beam.spring_between[{n}].stiffness"] == -K[int(i) - 1, int(j) - 1]


def test_pairs_that_cancel_in_assembly_keep_their_spring(network):
    """With equal elements K_23 and K_45 vanish, but the paper's figure 8 draws them."""
    for ij in ("23", "45"):
        assert network.parameters[f"beam.spring_between[{PAIRS.index(ij)}].stiffness"] == 0.0
    negative = [
        ij for n, ij in enumerate(PAIRS) if network.parameters[f"beam.spring_between[{n}].stiffness"] < 0
    ]
    assert negative == ["13", "25", "35", "46", "56"]


# ------------------------------------------------------------------ fourteen states, and ten that do nothing


def test_the_field_form_has_twice_as_many_states_as_degrees_of_freedom(field):
    assert len(field.states) == 14


def test_both_forms_have_the_same_fourteen_poles(network, field):
    found, expected = network.poles(), field.poles()
    assert np.abs(found[:10]).max() < 1e-9
    by_frequency = [p[np.argsort(p.imag)] for p in (found[10:], expected)]
    assert np.abs(by_frequency[0] - by_frequency[1]).max() < 1e-9 * np.abs(expected).max()
    assert expected.real.max() < 1e-9


def test_ten_states_are_neither_excited_nor_seen(network):
    """Null vectors of A: springs that hold each other in balance. Left ones: gaps that never open."""
    A, B, C = (X.toarray() for X in (network.numeric().A, network.numeric().B, network.numeric().C))
    scale = np.diag(1 / np.maximum(np.abs(A).max(axis=1), 1e-300))
    u, s, vt = np.linalg.svd(scale @ A)
    assert np.count_nonzero(s > 1e-10 * s[0]) == 14
    seen, excited = C @ vt[14:].T, u[:, 14:].T @ scale @ B
    assert np.abs(seen).max() < 1e-9 * np.abs(C).max()
    assert np.abs(excited).max() < 1e-9 * np.abs(scale @ B).max()


def test_frequency_responses_of_both_forms_and_of_finite_elements_agree(network, field):
    plain = dasilva_beam._plain()
    omega = np.array([3.0, 11.8, 17.6, 61.0, 300.0])
    expected = plain.numeric().frequency_response(omega)
    for system in (network, field):
        found = system.numeric().frequency_response(omega)
        assert np.abs(found - expected).max(axis=(1, 2)) == pytest.approx(
            0.0, abs=1e-9 * np.abs(expected).max()
        )


# ------------------------------------------------------------------ the run


@pytest.fixture(scope="module")
def run():
    return dasilva_beam.test().run(dasilva_beam.SECONDS)


def test_the_three_descriptions_move_alike(run):
    found = dasilva_beam.findings(run)
    assert found["states_of_the_network_form"] == 24
    assert found["states_of_the_field_form"] == 14
    assert found["network_form_minus_finite_elements"] < 1e-9
    assert found["field_form_minus_finite_elements"] < 1e-9


def test_the_velocities_are_those_documented(run):
    found = dasilva_beam.findings(run)
    assert found["peak_velocity_of_the_suspended_mass"] == pytest.approx(0.5601, rel=1e-3)
    assert found["peak_velocity_of_the_forcing_point"] == pytest.approx(0.2113, rel=1e-3)
    assert found["peak_velocity_of_the_interaction_point"] == pytest.approx(0.1964, rel=1e-3)


def test_the_step_is_short_enough(run):
    """Newmark at 5 kHz against the exact solution of a sine, to the accuracy of the figure."""
    from scipy.linalg import expm

    plain = dasilva_beam._plain().numeric()
    A, B, C = (X.toarray() for X in (plain.A, plain.B, plain.C))
    n = len(A)
    force = run["beam.F"]
    w = 2 * np.pi * dasilva_beam.test().excitation["beam.F"].frequency
    whole = np.zeros((n + 2, n + 2))
    whole[:n, :n], whole[:n, n] = A, B[:, 0]
    whole[n, n + 1], whole[n + 1, n] = w, -w
    x = np.zeros(n + 2)
    x[n + 1] = dasilva_beam.FORCE
    step = expm(whole * (run.time[1] - run.time[0]))
    exact = np.empty((len(run.time), 3))
    for k in range(len(run.time)):
        exact[k] = C @ x[:n]
        assert x[n] == pytest.approx(force[k], abs=1e-6)
        x = step @ x
    for column, path in enumerate(dasilva_beam.OUTPUTS.values()):
        found = run[f"plain.{path}"]
        assert np.abs(found - exact[:, column]).max() < 2e-3 * np.abs(found).max()


def test_the_figure_is_drawn(run, tmp_path):
    [path] = dasilva_beam.figures(run, tmp_path)
    assert path.stat().st_size > 20_000


def test_an_unknown_form_is_refused():
    from bondloop.errors import InputError

    with pytest.raises(InputError, match="unknown form 'filed'"):
        dasilva_beam.model("filed")
