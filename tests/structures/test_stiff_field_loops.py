"""Loops through the forces of a stiff field: small differences of large terms, whose rounding is no fault."""

from types import SimpleNamespace

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import Model
from bondloop.devices import Bilinear
from bondloop.engine.codegen import Result, compiler
from bondloop.engine.ir.causal_order import sizes
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.matrices import ConstantMatrix, MatrixRow
from bondloop.engine.ir.newton_iteration import LoopFunctions, newton
from bondloop.integrate import NewmarkAverage
from bondloop.rehearsal.prepared import why_stopped
from bondloop.structures import Beam, Structure, attach, field_form


def swing(n, rate, integrator, backend, duration=0.1):
    """A cantilever of n beams with a brace that yields, from rest, on ground that begins to move."""
    s = Structure("m")
    s.node("foot")
    s.node("top", x=40.0)
    beam = Beam("foot", "top", E=210e9, A=1e-2, I=1e-4, rho=7850.0)
    s.line("foot", "top", n=n, element=beam)
    s.support("foot")
    s.rayleigh_from(0.02, 0.2, 0.02, 5.0)
    field = field_form(s.assemble(), "f")
    attach(field, "brace", Bilinear("100 kN/m", "1 kN", 0.02), {"top.uy": 1.0})
    world = Model("w")
    world.f = field
    name = "o.f.top.uy.displacement"
    ground = {"uy": bl.signals.Sine(1.0, 0.4)}
    simulation = bl.Simulation({"o": world}, rate=rate, integrator=integrator, record=[name], ground=ground)
    return simulation.run(duration, backend=backend), name


def moves(*setting):
    """The displacement of its top."""
    run, name = swing(*setting)
    assert run.completed, run.record.attributes["message"]
    return np.asarray(run[name])


@pytest.mark.parametrize(("n", "rate"), [(16, 200), (20, 2000)])
def test_a_start_at_rest_is_no_stop_on_rounding(n, rate):
    """Rotations near the foot begin at 1e-17 rad/s: there is less of them than of the rounding of forces."""
    duration = 20 / rate
    moved = moves(n, rate, NewmarkAverage(), "numpy", duration)
    # So many more iterations change nothing but rounding.
    longer = moves(n, rate, NewmarkAverage(iterations=30), "numpy", duration)
    assert np.abs(moved).max() > 1e-9
    assert moved == pytest.approx(longer, rel=1e-9, abs=1e-9 * np.abs(moved).max())


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_c_equals_python_there():
    c = moves(16, 200, NewmarkAverage(), "c")
    assert c.tolist() == moves(16, 200, NewmarkAverage(), "numpy").tolist()


def test_a_row_of_a_field_is_as_large_as_its_terms():
    x, y = Var("x"), Var("y")
    row = MatrixRow(ConstantMatrix(np.array([[3.0, -3.0]]), "field"), 0, (x, y))
    _, (total,) = sizes(SimpleNamespace(body=[], tears=[x], definitions=[row], linear=False))
    assert str(total) == str(Const(3.0) * abs(x) + Const(3.0) * abs(y) + abs(x))


@pytest.mark.parametrize(("size", "converged"), [(1.0, True), (1e-4, False)])
def test_rounding_that_grows_less_by_chance_is_rounding_when_the_steps_are_used_up(size, converged):
    """Each step seems to help, and none is small beside a tear of 1e-16: only the terms' size, 1, tells."""
    left = iter([1e-10, -0.9e-10, 1e-16, 0.5e-16])
    loop = LoopFunctions(lambda _: [next(left)], lambda _: [1.0], lambda _: [size], [])
    assert newton(loop, [0.0], 4).converged == converged


def test_a_loop_that_does_not_converge_is_told_with_a_remedy():
    result = Result(np.arange(3.0), {}, "loop not converged", 3, 2.0, None, 0.01, loop="a, b")
    said = why_stopped(None, result, {})
    assert said.startswith(
        "the run stopped at t = 2 s: the algebraic loop through a, b did not converge; give"
    )
    assert "iterations" in said
