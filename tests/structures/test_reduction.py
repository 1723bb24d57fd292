"""Reductions: exact where theory says so, converging where it does not, and honest about their error."""

from itertools import pairwise

import numpy as np
import pytest

from bondloop.errors import InputError, SolveError
from bondloop.structures import (
    Beam,
    Matrices,
    Structure,
    craig_bampton,
    frequency_response,
    guyan,
    modal_reduction,
    modal_system,
    modes,
)

TIP, MIDDLE = "tip.uy", "root-tip.10.uy"


@pytest.fixture(scope="module")
def cantilever():
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x=1.0)
    s.line("root", "tip", n=20, element=Beam("root", "tip", E=1.0, A=1.0, I=1.0, rho=1.0))
    s.support("root", "uy", "rz")
    s.rayleigh(0.2, 1e-4)
    return s.assemble()


def static(model, reduced, force, output):
    full = frequency_response(model, force, output, [0.0])
    return np.abs(reduced.frequency_response(force, output, [0.0]) - full).max() / np.abs(full).max()


def test_guyan_is_exact_statically(cantilever):
    small = guyan(cantilever, keep=[TIP, MIDDLE])
    assert small.matrices.dofs == small.kept == (TIP, MIDDLE)
    assert static(cantilever, small, [TIP, MIDDLE], [TIP, MIDDLE]) < 1e-9
    full = np.linalg.solve(cantilever.K.toarray(), np.eye(len(cantilever))[cantilever.index(TIP)])
    q = np.linalg.solve(small.matrices.K.toarray(), [1.0, 0.0])
    np.testing.assert_allclose(small.expand(q), full, rtol=1e-6)
    assert small.expand(np.ones((5, 2))).shape == (5, len(cantilever))


def test_guyan_frequencies_lie_above_and_come_down_with_what_is_kept(cantilever):
    exact = modes(cantilever, 1).omega[0]
    few = [guyan(cantilever, [TIP, *(f"root-tip.{k}.uy" for k in more)]).modes(1).omega[0]
           for more in ((), (10,), (5, 10, 15))]  # fmt: skip
    assert few[0] > few[1] > few[2] > exact * (1 - 1e-9)
    assert few[2] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("count", [0, 5])
def test_craig_bampton_is_exact_statically(cantilever, count):
    small = craig_bampton(cantilever, [TIP], count)
    assert static(cantilever, small, TIP, TIP) < 1e-9
    assert small.matrices.dofs[0] == TIP
    assert len(small) == 1 + count


def test_craig_bampton_with_all_modes_is_the_full_model(cantilever):
    small = craig_bampton(cantilever, [TIP, MIDDLE], len(cantilever) - 2)
    np.testing.assert_allclose(small.modes(8).omega, modes(cantilever, 8).omega, rtol=1e-7)
    report = small.error((0.0, 60.0), [TIP], [TIP, MIDDLE])
    assert report.largest < 1e-6


@pytest.mark.parametrize(
    "reduce",
    [
        lambda m, n: craig_bampton(m, [TIP], n),
        lambda m, n: modal_reduction(m, n, interface=[TIP]),
        lambda m, n: modal_reduction(m, n, static_correction=False),
    ],
)
def test_error_falls_with_the_number_of_modes(cantilever, reduce):
    band = (0.0, 20.0)
    errors = [reduce(cantilever, n).error(band, TIP, TIP, points=60).rms for n in (2, 4, 8, 16)]
    assert all(b < a for a, b in pairwise(errors))
    assert errors[-1] < 1e-2 * errors[0]


def test_static_correction_is_exact_statically_and_keeps_the_modes_apart(cantilever):
    small = modal_reduction(cantilever, 3, interface=[TIP, MIDDLE])
    assert static(cantilever, small, [TIP, MIDDLE], [TIP, MIDDLE]) < 1e-9
    assert static(cantilever, modal_reduction(cantilever, 3, static_correction=False), TIP, TIP) > 1e-4
    np.testing.assert_allclose(small.matrices.M.toarray(), np.eye(5), atol=1e-7)
    K = small.matrices.K.toarray()
    assert np.abs(K - np.diag(np.diag(K))).max() < 1e-7 * K.max()
    np.testing.assert_allclose(small.modes(3).omega, modes(cantilever, 3).omega, rtol=1e-8)
    better = small.error((0, 10), TIP, TIP)
    plain = modal_reduction(cantilever, 3, static_correction=False).error((0, 10), TIP, TIP)
    assert better.rms < 0.05 * plain.rms


def test_static_correction_of_a_body_that_is_free():
    n = 12
    K = np.diag([1.0, *[2.0] * (n - 2), 1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)
    free = Matrices(np.eye(n), 0.01 * K, K, tuple(f"m{i}.ux" for i in range(n)))
    small = modal_reduction(free, 4, interface=["m0.ux"])
    w = [1e-3]
    full = frequency_response(free, "m0.ux", "m0.ux", w)
    assert np.abs(small.frequency_response("m0.ux", "m0.ux", w) / full - 1).max() < 1e-9
    elastic = np.abs(
        modal_reduction(free, 4, static_correction=False).frequency_response("m0.ux", "m0.ux", w) - full
    )
    assert elastic.max() > 1e-2


def test_report_in_words(cantilever):
    report = guyan(cantilever, [TIP]).error((0.1, 5.0), TIP, TIP, points=50)
    assert str(report).startswith("Guyan reduction to 1 of 40: from 0.1 to 5 Hz the response is wrong by")
    assert report.relative.shape == (50,)
    assert report.largest == report.relative.max() >= report.relative[0]
    assert report.frequencies[np.argmax(report.relative)] == report.worst


def test_reduced_models_become_modal_systems(cantilever):
    w = np.linspace(1, 60, 40)
    for small in (modal_reduction(cantilever, 4, interface=[TIP]), craig_bampton(cantilever, [TIP], 6)):
        system = modal_system(small, [TIP], [TIP, MIDDLE])
        expected = small.frequency_response([TIP], [TIP, MIDDLE], w)
        np.testing.assert_allclose(system.frequency_response(w), expected, atol=1e-9 * np.abs(expected).max())


def test_modal_system_is_the_modal_sum(cantilever):
    few = modes(cantilever, 6)
    system = modal_system(few, [TIP], [TIP, f"d/dt {MIDDLE}"])
    assert system.states[:2] == ("mode[0].q", "mode[1].q")
    assert system.states[6] == "mode[0].v"
    assert system.inputs == ("tip.uy.force",)
    w = np.linspace(0.5, 200, 50)
    H = system.frequency_response(w)
    per_mode = 1 / (few.omega**2 - w[:, None] ** 2 + 1j * w[:, None] * few.damping)
    for k, (dof, factor) in enumerate([(TIP, 1), (MIDDLE, 1j * w)]):
        expected = factor * (per_mode @ (few.rows([dof])[0] * few.rows([TIP])[0]))
        np.testing.assert_allclose(H[:, k, 0], expected, atol=1e-9 * np.abs(expected).max())
    alpha, beta = 0.2, 1e-4
    poles = np.sort_complex(system.poles())
    lam = few.omega**2
    roots = np.concatenate([np.roots([1, alpha + beta * x, x]) for x in lam])
    np.testing.assert_allclose(poles, np.sort_complex(roots), rtol=1e-9)


def test_modal_system_with_all_modes_is_the_full_model():
    n = 8
    K = np.diag([2.0] * n) - np.eye(n, k=1) - np.eye(n, k=-1)
    model = Matrices(np.eye(n), 0.02 * K, K, tuple(f"m{i}.ux" for i in range(n)))
    w = np.linspace(0, 3, 40)
    H = modal_system(model, ["m0.ux", "m3.ux"], ["m7.ux", "m3.ux"], count=n).frequency_response(w)
    expected = frequency_response(model, ["m0.ux", "m3.ux"], ["m7.ux", "m3.ux"], w)
    np.testing.assert_allclose(H, expected, atol=1e-9 * np.abs(expected).max())


def test_modal_system_says_when_damping_couples_modes():
    C = np.zeros((3, 3))
    C[0, 0] = 0.3
    K = np.diag([2.0] * 3) - np.eye(3, k=1) - np.eye(3, k=-1)
    names = ("a.ux", "b.ux", "c.ux")
    system = modal_system(Matrices(np.eye(3), C, K, names), ["a.ux"], count=3)
    assert any("coupling is left out" in note for note in system.notes)
    assert not modal_system(Matrices(np.eye(3), 0.1 * K, K, names), ["a.ux"], count=3).notes


def test_what_is_refused(cantilever):
    with pytest.raises(InputError, match="interface"):
        modal_reduction(cantilever, 3)
    with pytest.raises(InputError, match="degree of freedom"):
        guyan(cantilever, ["tip.ux"])
    with pytest.raises(InputError, match="one or more different"):
        craig_bampton(cantilever, [])
    with pytest.raises(InputError, match="lower first"):
        guyan(cantilever, [TIP]).error((5, 1), TIP, TIP)
    with pytest.raises(InputError, match="reduced coordinates"):
        guyan(cantilever, [TIP]).expand([1.0, 2.0])
    with pytest.raises(InputError, match="given twice"):
        modal_system(cantilever, [TIP, TIP])
    with pytest.raises(InputError, match="50 modes are wanted"):
        modal_system(modes(cantilever, 3), [TIP], count=50)
    loose = Matrices(np.eye(3), None, np.diag([1.0, 1.0, 0.0]), ("a.ux", "b.ux", "c.ux"))
    with pytest.raises(SolveError, match="can still move by itself"):
        guyan(loose, ["a.ux"])
