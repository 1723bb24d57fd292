"""Schemes for structures: both backends, bounded work, names, loads, what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign, Loop
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError, SolveError
from bondloop.integrate.structural import (
    AlphaOS,
    CentralDifference,
    ChenRicles,
    EquationOfMotion,
    HHTAlpha,
    KRAlpha,
    Motion,
    NewmarkExplicit,
    NewmarkImplicit,
    Rosenbrock,
    find_scheme,
    simulate_structure,
)
from bondloop.integrate.structural.simulate import SCHEMES, structure_tick, work
from bondloop.signals import Sine, Table

ALL = [
    CentralDifference(), NewmarkExplicit(), NewmarkExplicit(0.6), AlphaOS(-0.1), HHTAlpha(-0.1),
    HHTAlpha(-0.2, 4, path=1), NewmarkImplicit(), ChenRicles(), KRAlpha(0.5), Rosenbrock(),
]  # fmt: skip
M2, C2, K2 = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[0.5, -0.2], [-0.2, 0.4]]), np.diag([30.0, 10.0])


def name(value):
    own = [f"{x:g}" for x in vars(value).values() if isinstance(x, (int, float))]
    return "-".join([type(value).__name__, *own])


def law2(u, v):
    return [20 * sp.tanh(u[0] - u[1]) + 0.5 * v[0], 20 * sp.tanh(u[1] - u[0]) + 4 * u[1] ** 3]


@pytest.mark.parametrize("scheme", ALL, ids=name)
def test_python_and_c_agree(scheme):
    rng = np.random.default_rng(5)
    if hasattr(scheme, "specimen_stiffness"):
        scheme = replace(
            scheme, specimen_stiffness=[[20, -20], [-20, 20]], specimen_damping=np.diag([0.5, 0])
        )
    F = rng.normal(size=(401, 2))
    runs = [
        simulate_structure(
            scheme, M2, C2, K2, 0.01, 400, load=F, restoring=law2, initial=([0.1, -0.2], [1, 0]), backend=b
        )
        for b in ("c", "numpy")
    ]
    assert [r.backend for r in runs] == ["c", "numpy"]
    for what in ("displacement", "velocity", "acceleration", "command"):
        values = [getattr(r, what) for r in runs]
        assert np.abs(values[0] - values[1]).max() < 1e-12 * max(1.0, np.abs(values[1]).max())


@pytest.mark.parametrize("scheme", ALL, ids=name)
def test_a_step_asks_a_fixed_number_of_times_and_has_no_loops(scheme):
    asked = []

    def restoring(u, _, label):
        asked.append(label)
        r = Var(f"specimen {label}")
        return [Assign(r, 3 * u[0])], [r, Const(0.0)]

    motion = Motion.named(["a", "b"])
    equation = EquationOfMotion(M2, C2, K2, 0.01, motion, lambda _: [Const(1.0), Const(0.0)], restoring)
    made = scheme.advance(equation)
    assert len(asked) == len(set(asked)) == scheme.calls
    assert not any(isinstance(s, Loop) for s in made.steps)
    assert set(made.starts) == set(made.states)
    assert work(made.steps).statements < 20 * (2 + scheme.calls) * 2
    rest = made.initial(dict.fromkeys((*motion.displacement, *motion.velocity, *motion.acceleration), 0.0))
    assert not any(rest.values())


@pytest.mark.parametrize("path", [1, 2])
def test_iterates_lie_on_a_smooth_path(path):
    """Of four commands in a step, each is a quarter of the way further."""
    seen = []

    def restoring(u, _, label):
        r = Var(f"at {label}")
        seen.append(r)
        return [Assign(r, u[0])], [10 * r]

    tick, _ = structure_tick(
        HHTAlpha(-0.1, 4, path, specimen_stiffness=10.0), 1.0, None, None, 0.05, restoring=restoring,
        initial=(1.0, 0.3),
    )  # fmt: skip
    watched = (*tick.channels, *(Channel(v.name, v) for v in seen if "start" not in v.name))
    run = Runner(
        Tick(
            tick.name, tick.period, tick.time, tick.count, (), tick.states, {}, tick.steps, watched
        ), "numpy",
    ).run(40)  # fmt: skip
    u = run.channels["u1.displacement"]
    for n in range(1, 39):
        commands = [u[n]] + [run.channels[f"at iteration {i}"][n] for i in (1, 2, 3, 4)]
        steps = np.diff(commands)
        assert commands[-1] == pytest.approx(u[n + 1], abs=1e-12)
        if path == 1:
            assert steps == pytest.approx(steps[0], abs=1e-12)
        else:
            assert np.diff(steps) == pytest.approx((u[n + 1] - 2 * u[n] + u[n - 1]) / 16, abs=1e-12)


def test_schemes_are_found_by_the_names_of_opensees():
    expected = {
        "CentralDifference": CentralDifference, "NewmarkExplicit": NewmarkExplicit, "AlphaOS": AlphaOS,
        "HHTHSFixedNumIter": HHTAlpha, "NewmarkHSFixedNumIter": NewmarkImplicit, "Newmark": NewmarkImplicit,
        "KRAlphaExplicit": KRAlpha, "HHT": HHTAlpha, "CR": ChenRicles, "LSRT2": Rosenbrock,
        "rosenbrock": Rosenbrock,
    }  # fmt: skip
    for spelt, scheme in expected.items():
        assert find_scheme(spelt) is scheme
    assert {s.__name__ for s in SCHEMES} == {find_scheme(s.__name__).__name__ for s in SCHEMES}
    with pytest.raises(InputError, match=r"unknown scheme 'KRAlfa'; did you mean 'KRAlpha'"):
        find_scheme("KRAlfa")


def test_schemes_are_values_that_describe_themselves():
    scheme = KRAlpha(0.25, specimen_stiffness=np.array([[2.0]]))
    assert scheme == KRAlpha(0.25, specimen_stiffness=2)
    assert len({scheme, KRAlpha(0.25, specimen_stiffness=2)}) == 1
    assert scheme.describe() == {
        "scheme": "KRAlpha", "rho_inf": 0.25, "specimen_stiffness": [[2.0]], "specimen_damping": None,
    }  # fmt: skip


def test_loads_as_signals_numbers_and_tables_agree():
    times = np.arange(101) * 0.01
    wave = Sine(3, frequency=1)
    want = simulate_structure(AlphaOS(), M2, C2, K2, 0.01, 100, load=[wave, 2.0], backend="numpy")
    for load in (
        [Table(times, wave(times)), 2.0],
        np.column_stack([wave(times), np.full(101, 2.0)]),
    ):
        run = simulate_structure(AlphaOS(), M2, C2, K2, 0.01, 100, load=load, backend="numpy")
        assert np.abs(run.displacement - want.displacement).max() < 1e-14
    assert want.acceleration[0] == pytest.approx(np.linalg.solve(M2, [0.0, 2.0]))


@pytest.mark.parametrize("scheme", ALL, ids=name)
def test_a_singular_mass_is_named_by_explicit_schemes(scheme):
    M = np.diag([1.0, 0.0])
    if not scheme.explicit:
        simulate_structure(scheme, M, None, K2, 0.01, 2)
        return
    with pytest.raises(InputError, match=r"mass matrix is singular at 'tip.uy'; .* is explicit"):
        simulate_structure(scheme, M, None, K2, 0.01, 2, dofs=["tip.ux", "tip.uy"])
    with pytest.raises(InputError, match="mass matrix is singular"):
        simulate_structure(scheme, np.ones((2, 2)), None, K2, 0.01, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlphaOS(-0.4), r"AlphaOS: alpha must be between -0.333333 and 0 .* found -0.4$"),
        (lambda: AlphaOS(0.9), r"OpenSees' alpha is 1 \+ ours: give -0.1"),
        (lambda: HHTAlpha(0.1), "alpha must be between"),
        (lambda: HHTAlpha(-0.1, 0), "iterations must be a whole number from 1 up; found 0"),
        (lambda: HHTAlpha(-0.1, 2.5), "iterations must be a whole number"),
        (lambda: HHTAlpha(-0.1, 2, path=3), "path must be 1 or 2"),
        (lambda: NewmarkImplicit(iterations=0), "iterations must be"),
        (lambda: NewmarkImplicit(0.4), "gamma must be between 0.5 and 1"),
        (lambda: NewmarkImplicit(0.6, 0.25), "beta must be at least 0.3"),
        (lambda: NewmarkExplicit(0.49), "gamma must be between 0.5 and 1"),
        (lambda: KRAlpha(1.1), "rho_inf must be between 0 and 1 for a stable scheme; found 1.1"),
        (lambda: KRAlpha(float("nan")), r"KRAlpha\(rho_inf\): expected a finite number"),
        (lambda: Rosenbrock(-0.1), "rho_inf must be between 0 and 1"),
    ],
)
def test_parameters_outside_the_stable_range_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("period", [0.0, -0.01, float("nan")])
def test_a_period_must_be_positive(period):
    with pytest.raises(InputError, match="time step must be positive"):
        EquationOfMotion(M2, C2, K2, period, Motion.named("ab"), lambda _: [], lambda *_: ([], []))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"M": np.ones((2, 3))}, r"the mass matrix must have the shape \(2, 2\); found \(2, 3\)"),
        ({"K": 1.0}, r"the stiffness matrix must have the shape \(2, 2\)"),
        ({"C": np.full((2, 2), np.nan)}, "damping matrix has entries that are not finite"),
        ({"steps": -1}, "steps must be from 0 up"),
        ({"load": [1.0]}, "expected 2 entries, one per degree of freedom; found 1"),
        ({"load": np.zeros((5, 2))}, r"expected an array of shape \(11, 2\)"),
        ({"initial": ([1, 2, 3], 0)}, "initial displacements: expected 2 finite numbers"),
        ({"dofs": ["a", "a"]}, "expected 2 different names"),
        ({"restoring": lambda: 0}, "expected a function of displacements"),
        ({"restoring": lambda u: [u[0]]}, "must have 2 components"),
        ({"restoring": lambda u: [sp.Symbol("k") * u[0], 0]}, "symbol 'k' has no value"),
        ({"restoring": lambda u: [sp.log(u[0]), 0], "initial": ([0, 0], 0)}, "at t = 0 is not finite"),
        ({"scheme": AlphaOS(specimen_stiffness=1.0)}, r"specimen_stiffness must have the shape \(2, 2\)"),
        ({"scheme": AlphaOS(), "M": np.diag([1.0, 0]), "K": None}, "effective mass is singular at 'u2'"),
    ],
)
def test_what_cannot_be_simulated_is_refused(given, message):
    use = {"scheme": NewmarkExplicit(), "M": M2, "C": C2, "K": K2, "period": 0.01, "steps": 10, **given}
    if use["K"] is None:
        use["C"] = None
    with pytest.raises(InputError, match=message):
        simulate_structure(**use, backend="numpy")


def test_a_diverged_response_says_why():
    with pytest.raises(
        SolveError, match=r"CentralDifference: the response diverged .* 2.1 .* limit is 2: shorten"
    ):
        simulate_structure(CentralDifference(), 1.0, None, 1.0, 2.1, 1000, initial=(1, 0))
    with pytest.raises(SolveError, match="estimate of the specimen's stiffness too low"):
        simulate_structure(
            ChenRicles(), 1.0, None, None, 2.1, 1000, initial=(1, 0), restoring=lambda u: [u[0]]
        )


def test_the_page_of_all_schemes_names_each_and_gives_the_costs_it_measures():
    """The table in the docs against the figures that its own doctest prints."""
    page = (Path(__file__).parents[3] / "docs" / "integrators.md").read_text(encoding="utf-8")
    for scheme in SCHEMES:
        cells = [c.strip() for c in _line(page, f"| `{scheme.__name__}`").strip("|").split("|")]
        assert cells[1] == scheme.opensees
        assert cells[-3:] == _line(page, f"{scheme.__name__} ").split()[1:]


def _line(page, start):
    (found,) = [line for line in page.splitlines() if line.startswith(start)]
    return found
