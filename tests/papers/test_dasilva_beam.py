"""The beam with a suspended mass of da Silva 1994: equations (18) to (24), both forms, the velocities."""

import dasilva_figures
import dasilva_numbers
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
    # Rounding of 20,000 steps, each of some 2e-16: 8e-13 and 4e-13 with one machine's linear algebra, 4e-12
    # and 4e-13 with another's.
    assert found["network_form_minus_finite_elements"] < 1e-11
    assert found["field_form_minus_finite_elements"] < 2e-12


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


# ------------------------------------------------------------------ equations (1) to (17), and the figures


@pytest.fixture(scope="module")
def example():
    return dasilva_figures


def two(example, damped):
    """Two degrees of freedom, in the paper's letters and order: p_1, p_2, q_3, q_4, q_5."""
    system = example.coupled(damped=damped).compile()
    names = ["inertia[0].momentum", "inertia[1].momentum", "spring_to_ground[0].displacement",
             "spring_to_ground[1].displacement", "spring_between[0].displacement"]  # fmt: skip
    place = [system.states.index(n) for n in names]
    table = {"inertia[0].mass": "m_i", "inertia[1].mass": "m_j"}
    letters = {name: sp.Symbol(letter) for name, letter in table.items()}
    for word, letter, coefficient in (("spring", "k", "stiffness"), ("damper", "b", "damping")):
        letters |= {f"{word}_to_ground[{n}].{coefficient}": sp.Symbol(f"{letter}_{n}") for n in (0, 1)}
        # The paper's k_ij and b_ij are entries of the matrices; the element between has the opposite sign.
        letters[f"{word}_between[0].{coefficient}"] = -sp.Symbol(f"{letter}_01")
    A = system.A.subs({s: letters[s.name] for s in system.A.free_symbols})
    order = [system.inputs.index(n) for n in ("F_i", "F_j")]
    return (
        sp.Matrix(5, 5, lambda i, j: A[place[i], place[j]]),
        sp.Matrix(5, 2, lambda i, j: system.B[place[i], order[j]]),
    )


@pytest.mark.parametrize("damped", [False, True])
def test_two_coupled_degrees_of_freedom(example, damped):
    """Equations (7) and (11); (7)'s q_5 = u_j - u_i is counted the other way round here: u_i - u_j.

    The signs of k_ij in (7) and (11) are those of a spring k_ij = K_ij between, as (8) to (10) have it.
    """
    A, B = two(example, damped)
    m_i, m_j, k_i, k_j, k_ij = letters("m_i m_j k_0 k_1 k_01")
    b_i, b_j, b_ij = letters("b_0 b_1 b_01") if damped else (0, 0, 0)
    printed = sp.Matrix(
        [
            [(b_ij - b_i) / m_i, -b_ij / m_j, -k_i, 0, -k_ij],
            [-b_ij / m_i, (b_ij - b_j) / m_j, 0, -k_j, k_ij],
            [1 / m_i, 0, 0, 0, 0],
            [0, 1 / m_j, 0, 0, 0],
            [-1 / m_i, 1 / m_j, 0, 0, 0],
        ]
    )
    turned = sp.diag(1, 1, 1, 1, -1)
    assert (A - turned * printed * turned).applyfunc(sp.simplify) == sp.zeros(5)
    assert sp.Matrix([[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]) == B


@pytest.mark.parametrize("damped", [False, True])
def test_they_are_the_classical_equations_of_motion(example, damped):
    """Equations (8), (9), (10) and (12): with q_3 = u_i, q_4 = u_j, q_5 = u_i - u_j, p = m u̇."""
    A, _ = two(example, damped)
    m, n = letters("m_i m_j")
    k_i, k_j, k_ij, b_i, b_j, b_ij = letters("k_0 k_1 k_01 b_0 b_1 b_01")
    states = sp.Matrix([m * sp.Symbol("v_i"), n * sp.Symbol("v_j"), *letters("u_i u_j"), 0])
    states[4] = states[2] - states[3]
    forces = (A * states)[:2, 0]
    u, v = sp.Matrix(letters("u_i u_j")), sp.Matrix(letters("v_i v_j"))
    # (10): k_i = k_ii + k_ij, so k_ii = k_i - k_ij; off the diagonal +k_ij, where (9) prints -k_ij.
    K = sp.Matrix([[k_i - k_ij, k_ij], [k_ij, k_j - k_ij]])
    D = sp.Matrix([[b_i - b_ij, b_ij], [b_ij, b_j - b_ij]]) if damped else sp.zeros(2)
    assert (forces + K * u + D * v).applyfunc(sp.expand) == sp.zeros(2, 1)


def test_the_beam_element_is_that_of_equation_13(example):
    E, I, L = dasilva_beam.YOUNG, dasilva_beam.WIDTH * dasilva_beam.DEPTH**3 / 12, 1.0
    printed = np.array(
        [
            [6, 3 * L, -6, 3 * L],
            [3 * L, 2 * L**2, -3 * L, L**2],
            [-6, -3 * L, 6, -3 * L],
            [3 * L, L**2, -3 * L, 2 * L**2],
        ]
    )
    element = example.beam_element()
    assert element.K.toarray() == pytest.approx(2 * E * I / L**3 * printed, rel=1e-12)
    # Equations (14) to (17): a spring and a damper to ground for each row, one between each pair.
    model = example.network_form(element, "beam").compile()
    for word, coefficient, matrix in (
        ("spring", "stiffness", element.K.toarray()), ("damper", "damping", element.C.toarray()),
    ):  # fmt: skip
        size = np.abs(matrix).max()
        for i in range(4):
            value = model.parameters[f"{word}_to_ground[{i}].{coefficient}"]
            assert value == pytest.approx(matrix[i].sum(), abs=1e-12 * size)
        pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        for n, (i, j) in enumerate(pairs):
            assert model.parameters[f"{word}_between[{n}].{coefficient}"] == -matrix[i, j]


def test_a_clamped_beam_is_a_free_one_without_two_junctions(example):
    """Figure 6: a force F deflects its end by F L^3 / 3 E I and turns it by F L^2 / 2 E I."""
    system = example.clamped().compile()
    assert len(system.states) == 5  # two momenta, two springs to ground, one between
    at_rest = system.steady_state({"F": 1.0})
    stiffness = dasilva_beam.YOUNG * dasilva_beam.WIDTH * dasilva_beam.DEPTH**3 / 12
    assert at_rest["spring_to_ground[0].displacement"] == pytest.approx(1 / (3 * stiffness), rel=1e-9)
    assert at_rest["spring_to_ground[1].displacement"] == pytest.approx(1 / (2 * stiffness), rel=1e-9)


def test_the_numbers_of_the_page(run, example):
    """Each number of docs/papers/dasilva-1994.md, as the example prints it."""
    found = example.numbers(run)
    exact = {"states, network form": 24, "states, field form": 14, "poles at zero, network form": 10,
             "springs between that are negative": 5}  # fmt: skip
    for name, value in exact.items():
        assert found[name] == value
    # The deflection of the assembled K; of the smallest stretches by least squares, both independently.
    assert found["deflection under 10 N, steady state [mm]"] == pytest.approx(
        found["deflection under 10 N, K u = F [mm]"], rel=1e-9
    )
    assert found["deflection under 10 N, steady state [mm]"] == pytest.approx(4.233, rel=1e-3)
    assert found["deflection under 10 N, smallest stretches [mm]"] == pytest.approx(0.4218, rel=1e-3)
    for number, hertz in (
        ("beam alone, first", 2.569), ("first", 1.873), ("second", 2.805), ("third", 9.72),
    ):  # fmt: skip
        assert found[f"{number} frequency [Hz]"] == pytest.approx(hertz, rel=1e-3)


@pytest.fixture(scope="module")
def more(run):
    """What dasilva_numbers prints."""
    return dasilva_numbers.numbers(run), dasilva_numbers.sizes()


def test_what_the_page_says_beyond_the_figures(more):
    """Counts exactly, measured values to their digits, and rounding by its size."""
    found, sizes = more
    exact = {"clamped beam, states": 5, "steady state, ways left open": 10,
             "steady state, states left open": 16, "Guyan, two degrees of freedom: states": 6,
             "Craig-Bampton, two and one mode: states": 8,
             "Craig-Bampton, two and two modes: states": 10}  # fmt: skip
    assert {name: found[name] for name in exact} == exact
    values = {"moment on the last rotation, springs to ground alone [N m]": 66.67,
              "largest displacement meanwhile [mm]": 13.23,
              "Guyan, two degrees of freedom: difference": 0.0094,
              "Craig-Bampton, two and one mode: difference": 0.0094,
              "Craig-Bampton, two and two modes: difference": 0.000671}  # fmt: skip
    assert {name: found[name] for name in values} == pytest.approx(values, rel=2e-3)
    assert found["(13), largest relative difference"] < 1e-14
    assert found["clamped beam, F L^3/3EI and F L^2/2EI, relative difference"] < 1e-14
    assert found["gaps after 200,000 steps [m]"] < 1e-14
    # Rounding: its size, whichever library solves.
    assert found["drawn frames, network form: relative error"] > 1e-6
    assert found["drawn frames, field form: relative error"] < 1e-9
    assert found["drawn frames, network form, scaled: relative error"] < 1e-8
    assert found["drawn frames, field form, scaled: relative error"] < 1e-9
    assert sizes == {"3 elements": (22, 12), "10 elements": (85, 40), "30 elements": (265, 120),
                     "20 degrees of freedom, all coupled": (230, 40)}  # fmt: skip


def test_two_modes_of_the_beam_do(run, example):
    """Margolis's form: modes 3 and 6 have their nodes where the mass hangs and the force acts."""
    found = example.modal_differences(run)
    assert [found[n] for n in (1, 2, 4)] == pytest.approx([0.09527, 5.335e-4, 4.458e-5], rel=1e-2)
    assert found[3] == pytest.approx(found[2], rel=1e-6)
    assert max(found[5], found[6]) < 2e-12  # 5e-13 and 6e-13: rounding


@pytest.mark.nightly
def test_the_paper_s_figures_are_drawn(run, example, tmp_path):
    files = example.draw(run, tmp_path)
    assert [f.name for f in files] == [*(f"dasilva_figure_{n}.svg" for n in (2, 3, 5, 6, 8)),
                                       "dasilva_figure_9.png", "dasilva_modes.png"]  # fmt: skip
    assert all(f.stat().st_size > 5000 for f in files)


def test_legends_speak_as_readers_do(run):
    from bondloop.results import time_histories

    paths = {form: f"{word}.{dasilva_beam.OUTPUTS['forcing point']}" for form, word in (("a", "plain"),)}
    [axes] = time_histories(run.record, {"forcing point": paths}).axes
    assert axes.get_ylabel() == "velocity [mm/s]"  # finite elements carry units too
