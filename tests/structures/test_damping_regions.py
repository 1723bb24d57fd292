"""Rayleigh damping of parts of a structure, against matrices put together by hand."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.data.restoring import restore
from bondloop.errors import InputError
from bondloop.structures import Frame2D, PointMass, Spring, Structure


def building(**parts):
    """An isolator k₁ below two storeys k₂, k₃ of masses m₁ to m₃."""
    s = Structure("isolated")
    for i in range(4):
        s.node(f"f{i}", y=i)
    for i, k in enumerate(parts["k"]):
        name = "isolator" if i == 0 else f"storey[{i}]"
        s.add(Spring(f"f{i}", f"f{i + 1}", k=k, dof="ux"), name)
        s.add(PointMass(f"f{i + 1}", m=parts["m"][i]), f"mass[{i}]")
    s.support("f0")
    return s


positive = st.floats(0.1, 100.0)


@settings(max_examples=40, deadline=None)
@given(
    k=st.tuples(*[positive] * 3), m=st.tuples(*[positive] * 3), alpha=st.floats(0, 5), beta=st.floats(0, 5)
)
def test_an_isolator_is_left_out(k, m, alpha, beta):
    s = building(k=k, m=m)
    s.rayleigh_of(alpha=alpha, beta=beta, without="isolator")
    _, b, c = k
    expected = alpha * np.diag(m) + beta * np.array([[b, -b, 0], [-b, b + c, -c], [0, -c, c]])
    matrices = s.assemble()
    np.testing.assert_allclose(matrices.C.toarray(), expected, rtol=1e-12, atol=1e-12)
    again = restore(json.loads(json.dumps(matrices.describe())))
    np.testing.assert_array_equal(again.C.toarray(), matrices.C.toarray())


def test_regions_add_up_to_the_whole():
    def frame():
        s = Structure("frame")
        for name, x, y in (("a", 0, 0), ("b", 0, 3), ("c", 4, 3)):
            s.node(name, x, y)
        for name, i, j in (("column", "a", "b"), ("girder", "b", "c")):
            s.line(i, j, n=2, element=Frame2D(i, j, E=2e11, A=1e-2, I=1e-5, rho=7850), name=name)
        s.support("a")
        return s

    for mass in ("consistent", "lumped"):
        whole, parts = frame(), frame()
        whole.rayleigh(0.3, 1e-3)
        parts.rayleigh_of("column", alpha=0.3, beta=1e-3)
        parts.rayleigh_of("girder", alpha=0.3)
        parts.rayleigh_of("girder[0]", "girder[1]", beta=1e-3)
        C = whole.assemble(mass).C.toarray()
        np.testing.assert_allclose(
            parts.assemble(mass).C.toarray(), C, rtol=1e-12, atol=1e-12 * np.abs(C).max()
        )


def test_what_is_not_there_is_refused():
    s = building(k=(1, 2, 3), m=(1, 1, 1))
    for names, options in ((("wall",), {}), ((), {"without": ["wall"]}), (("storey",), {"alpha": -1.0})):
        with pytest.raises(InputError, match=r"wall|negative"):
            s.rayleigh_of(*names, **options)


@pytest.mark.parametrize("damping", ["relative", "absolute"])
def test_regions_damp_what_is_relative_to_a_support_that_moves(damping):
    """If everything moves alike, relative damping has no force; absolute αM has α m of each mass."""
    s = building(k=(1.0, 2.0, 3.0), m=(4.0, 5.0, 6.0))
    s.rayleigh_of(alpha=0.3, beta=0.1, without="isolator")
    moved = s.prescribed("f0.ux", damping=damping)
    force = moved.C_a[:, 0] + moved.matrices.C @ np.ones(3)
    np.testing.assert_allclose(force, 0.3 * np.array([4.0, 5.0, 6.0]) * (damping == "absolute"), atol=1e-12)
