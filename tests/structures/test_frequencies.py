"""Natural frequencies of members against their frequency equations, and the order of convergence."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from bondloop.structures import Bar, Beam, Frame3D, Structure, Timoshenko

UNIT = {"E": 1.0, "A": 1.0, "I": 1.0, "rho": 1.0}


def squares(s, mass="consistent"):
    m = s.assemble(mass, free=True)
    return eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True)


def beam(n, supports, element=None):
    s = Structure("beam")
    s.node("a")
    s.node("b", x=1.0)
    s.line("a", "b", n=n, element=element or Beam("a", "b", **UNIT))
    for node, dofs in supports.items():
        s.support(node, *dofs)
    return s


CLAMPED, PINNED = ("uy", "rz"), ("uy",)
CLASSICAL = {  # (βL)² of Blevins 1979, table 8-1; number of rigid-body modes
    "cantilever": ({"a": CLAMPED}, [3.51602, 22.0345, 61.6972], 0),
    "pinned-pinned": ({"a": PINNED, "b": PINNED}, [k**2 * np.pi**2 for k in (1, 2, 3)], 0),
    "clamped-clamped": ({"a": CLAMPED, "b": CLAMPED}, [22.3733, 61.6728, 120.9034], 0),
    "clamped-pinned": ({"a": CLAMPED, "b": PINNED}, [15.4182, 49.9649, 104.2477], 0),
    "free-free": ({}, [22.3733, 61.6728, 120.9034], 2),
    "free-pinned": ({"b": PINNED}, [15.4182, 49.9649, 104.2477], 1),
    "clamped-sliding": ({"a": CLAMPED, "b": ("rz",)}, [5.59332, 30.2258, 74.6389], 0),
}


@pytest.mark.parametrize("case", CLASSICAL)
def test_euler_bernoulli_frequencies(case):
    supports, expected, rigid = CLASSICAL[case]
    w = np.sqrt(np.abs(squares(beam(40, supports))))
    assert np.all(w[:rigid] < 1e-3)
    assert w[rigid : rigid + 3] == pytest.approx(expected, rel=2e-5)


def test_cantilever_of_a_thousand_elements():
    from scipy.sparse.linalg import eigsh

    m = beam(1000, {"a": CLAMPED}).assemble()
    w2 = eigsh(m.K, 3, m.M, sigma=0, return_eigenvectors=False)
    assert np.sort(np.sqrt(w2)) == pytest.approx([3.51602, 22.0345, 61.6972], rel=2e-6)


def order(errors, sizes):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


@pytest.mark.parametrize("case", ["cantilever", "pinned-pinned", "clamped-clamped", "clamped-pinned"])
def test_consistent_beam_converges_with_order_four(case):
    supports, expected, _ = CLASSICAL[case]
    roots = {  # (βL)² to full precision from the frequency equations
        "cantilever": brentq(lambda b: np.cos(b) * np.cosh(b) + 1, 1.5, 2.5),
        "pinned-pinned": np.pi,
        "clamped-clamped": brentq(lambda b: np.cos(b) * np.cosh(b) - 1, 4, 5),
        "clamped-pinned": brentq(lambda b: np.tan(b) - np.tanh(b), 3.5, 4.5),
    }
    exact = roots[case] ** 2
    assert exact == pytest.approx(expected[0], rel=1e-5)
    sizes = np.array([2, 4, 8, 16])
    errors = [np.sqrt(squares(beam(n, supports))[0]) - exact for n in sizes]
    assert np.all(np.array(errors) > 0)  # consistent mass bounds frequencies from above
    assert order(errors, 1 / sizes) == pytest.approx(4, abs=0.25)


def test_lumped_beam_converges_with_order_two():
    sizes = np.array([8, 16, 32, 64])
    errors = [
        abs(np.sqrt(squares(beam(n, {"a": CLAMPED}), "lumped")[0]) - 1.8751040687119611**2) for n in sizes
    ]
    assert order(errors, 1 / sizes) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("mass", "sign"), [("consistent", 1), ("lumped", -1)])
def test_bar_frequencies_converge_with_order_two(mass, sign):
    """Fixed-free bar: ω = (k - 1/2)π c/L; consistent mass errs above, lumped below."""

    def error(n):
        s = Structure("bar")
        s.node("a")
        s.node("b", x=1.0)
        s.line("a", "b", n=n, element=Bar("a", "b", E=4.0, A=3.0, rho=1.0))
        s.support("a")
        return np.sqrt(squares(s, mass)[:2]) - 2 * np.pi * np.array([0.5, 1.5])

    sizes = np.array([4, 8, 16, 32])
    errors = sign * np.array([error(n) for n in sizes])
    assert np.all(errors > 0)
    assert order(errors[:, 0], 1 / sizes) == pytest.approx(2, abs=0.05)
    assert order(errors[:, 1], 1 / sizes) == pytest.approx(2, abs=0.15)


def test_torsion_of_a_fixed_free_shaft():
    """ω₁ = π/2 √(GJ / ρI_p) / L."""
    s = Structure("shaft")
    s.node("a")
    s.node("b", z=2.0)
    s.line(
        "a", "b", n=40, element=Frame3D("a", "b", E=2e11, G=8e10, A=1e-2, Iy=1e-5, Iz=1e-5, J=2e-5, rho=7850)
    )
    s.support("a")
    for i in range(1, 40):
        s.support(f"a-b.{i}", "ux", "uy", "uz", "rx", "ry")
    s.support("b", "ux", "uy", "uz", "rx", "ry")
    exact = np.pi / 2 * np.sqrt(8e10 / 7850) / 2
    assert np.sqrt(squares(s)[0]) == pytest.approx(exact, rel=1e-4)


def timoshenko_determinant(w, L, *, E, G, A, I, rho, kappa, ends):
    """Boundary determinant of the exact solution; Timoshenko 1921, as in Han, Benaroya and Wei 1999.

    w = C e^{sx}, ψ = D e^{sx} with κGA(s² w - s ψ) + ρAω² w = 0, EI s² ψ + κGA(s w - ψ) + ρIω² ψ = 0.
    """
    kGA, EI = kappa * G * A, E * I
    a = kGA * EI
    b = kGA * rho * I * w**2 + EI * rho * A * w**2
    c = rho * A * w**2 * (rho * I * w**2 - kGA)
    s2 = np.roots([a, b, c]).astype(complex)
    s = np.concatenate([np.sqrt(s2), -np.sqrt(s2)])
    D = (kGA * s**2 + rho * A * w**2) / (kGA * s)
    rows = []
    for x, kind in zip((0.0, L), ends, strict=True):
        e = np.exp(s * x) / np.exp(np.abs(s.real) * L)
        w_, psi, moment, shear = e, D * e, EI * D * s * e, kGA * (s - D) * e
        rows += {"clamped": [w_, psi], "pinned": [w_, moment], "free": [moment, shear]}[kind]
    matrix = np.array(rows)
    return np.linalg.svd(matrix / np.abs(matrix).max(axis=1, keepdims=True), compute_uv=False)[-1]


@pytest.mark.parametrize(
    "ends", [("clamped", "free"), ("pinned", "pinned"), ("clamped", "clamped"), ("clamped", "pinned")]
)
def test_timoshenko_frequencies_satisfy_the_exact_frequency_equation(ends):
    """A stubby beam, L/r = 8.7, where shear lowers the first frequency by tens of per cent."""
    values = {"E": 2.6, "G": 1.0, "A": 0.4, "I": 0.4**3 / 12, "rho": 1.0, "kappa": 5 / 6}
    held = {"clamped": CLAMPED, "pinned": PINNED, "free": ()}
    supports = {node: held[kind] for node, kind in zip("ab", ends, strict=True) if held[kind]}
    element = Timoshenko("a", "b", **values)
    coarse, fine = (np.sqrt(squares(beam(n, supports, element))[:2]) for n in (20, 40))
    for mode in range(2):
        near = np.linspace(0.999, 1.001, 2001) * fine[mode]
        residual = [timoshenko_determinant(w, 1.0, ends=ends, **values) for w in near]
        exact = near[int(np.argmin(residual))]
        assert fine[mode] == pytest.approx(exact, rel=8e-4)
        assert (coarse[mode] - exact) / (fine[mode] - exact) == pytest.approx(4, rel=0.1)  # order 2
        assert (4 * fine[mode] - coarse[mode]) / 3 == pytest.approx(exact, rel=1e-5)


def test_timoshenko_pinned_beam_in_closed_form():
    """Pinned-pinned: ρAω²(ρIω² - EIk² - κGA) + κGA EI k⁴ - κGA ρI k² ω² = 0, k = nπ/L."""
    E, G, A, I, rho, kappa = 2.6, 1.0, 0.4, 0.4**3 / 12, 1.0, 5 / 6
    kGA = kappa * G * A
    for mode in (1, 2):
        k = mode * np.pi
        roots = np.roots(
            [
                rho * A * rho * I,
                -(rho * A * (E * I * k**2 + kGA) + kGA * rho * I * k**2),
                kGA * E * I * k**4,
            ]
        )
        exact = np.sqrt(np.min(roots.real))
        element = Timoshenko("a", "b", E=E, G=G, A=A, I=I, rho=rho, kappa=kappa)
        errors = [
            np.sqrt(squares(beam(n, {"a": PINNED, "b": PINNED}, element))[mode - 1]) - exact
            for n in (8, 16, 32)
        ]
        assert abs(errors[-1]) < 1e-3 * exact
        assert order(np.abs(errors), 1 / np.array([8, 16, 32])) > 1.9
