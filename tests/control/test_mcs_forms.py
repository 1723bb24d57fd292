"""MCS in its other forms: any order, initial gains, C_e of the half or one's own, in discrete time."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

from bondloop import files
from bondloop.bondgraph import C
from bondloop.control import MCS, DiscreteMCS
from bondloop.engine.analysis import positive_realness
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.substructure import numerical_half, reference_model
from bondloop.transfer import MassSpringDamper

SUPPORT = Sine(0.5, 1 / (2 * math.pi), phase=math.pi / 2)


def chain(mcs, coupling="sampled", rate=1000.0):
    numerical, physical = three._chain(three.VALUES, C(law=lambda d: d + d**3)).cut(three.CUT)
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 1.0, 1.0)),
        controller=mcs,
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=rate,
        coupling=coupling,
    )


def actuators(mcs, rate=4000):
    numerical, physical = two.model().cut(*two.CUTS)
    return HybridTest(
        numerical,
        rig=Emulated(physical, [MassSpringDamper(2.2, c, k) for c, k in two.TABLE_I]),
        controller=mcs,
        excitation=two.excitations("5/5", 0.01),
        rate=rate,
    )


def plain(mcs, steps, h=1e-3):
    """Newton's law of the chain, MCS of any order and its filters by hand; RK4."""
    weights, n, T = np.array(mcs.error_weights()), mcs.order, mcs.differentiation_time

    def derivatives(v, lagging):
        """Return v, its filtered derivatives, and the rates of the filters: each is the derivative itself."""
        values = [v]
        for w in lagging:
            values.append((values[-1] - w) / T)
        return values, values[1:]

    def f(_t, y):
        w, x1, x2, v1, v2, x, v, x3, v3 = y[:9]
        lag_x, lag_z, integral = y[9 : 7 + n], y[7 + n : 5 + 2 * n], y[5 + 2 * n :]
        force = (x - x3) + (x - x3) ** 3
        seen, seen_rates = derivatives(v, lag_x)
        wanted, wanted_rates = derivatives(v2, lag_z)
        state, model = np.array([x, *seen]), np.array([x2, *wanted])
        y_e = weights @ (model - state)
        regressor = np.append(state, x2)
        u = (integral + mcs.beta * y_e * regressor) @ regressor
        masses = [
            -0.5 * math.sin(_t), v1, v2, (w - x1) - (x1 - x2) - 0.1 * v1, (x1 - x2) - force - 0.1 * v2,
            v, u - force - v - x, v3, force - 0.1 * v3,
        ]  # fmt: skip
        return np.array([*masses, *seen_rates, *wanted_rates, *(mcs.alpha * y_e * regressor)])

    y = np.zeros(5 + 2 * n + n + 1)
    y[5 + 2 * n :] = mcs.initial_gains or 0.0
    rows = [y]
    for i in range(steps):
        t = i * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))
        rows.append(y)
    return np.array(rows)


@pytest.mark.parametrize(
    "mcs",
    [
        MCS(10, 10, 1.0, order=3, differentiation_time=0.1),
        MCS(1, 1, 1.0, order=4, differentiation_time="100 ms"),
        MCS(10, 1, order=3, error_filter=[40, 10, 0.1], initial_gains=[0.1, -0.2, -0.1, 1.0]),
        MCS(300, 30, 0.1, initial_gains=[1.0, 1.0, 0.5]),
    ],
    ids=["order 3", "order 4", "order 3 with gains", "order 2 with gains"],
)
def test_any_order_and_any_first_gains_are_those_of_a_plain_integration(mcs):
    run = chain(mcs, "continuous").run(3)
    assert run.completed
    rows = plain(mcs, len(run.time) - 1)
    assert np.abs(rows[:, 5]).max() > 1e-3
    assert np.abs(run["actual.displacement"] - rows[:, 5]).max() < 1e-9
    if mcs.initial_gains:  # y_e = 0 at the start, so there the gains are just these
        names = [*(f"controller.K[{j}]" for j in range(mcs.order)), "controller.K_r"]
        assert [run[n][0] for n in names] == pytest.approx(list(mcs.initial_gains))


def products(run, mcs, i=None):
    """Return y_e x^T and y_e r by the name of their gains, from what a run recorded at its samples."""
    at = "" if i is None else f"[{i}]"
    y_e = run[f"controller.error{at}"]
    which = range(2) if mcs.coupled else [i]
    motions = [
        run[f"actual.{w}{'' if j is None else f'[{j}]'}"] for j in which for w in ("displacement", "velocity")
    ]
    if mcs.reference is not None:
        references = [0.5 * np.cos(run.time)]
    else:
        references = [run["desired.displacement" + ("" if j is None else f"[{j}]")] for j in which]
    names = [f"controller.K{at}[{j}]" for j in range(len(motions))]
    several = len(references) > 1
    names += [f"controller.K_r{at}" + (f"[{j}]" if several else "") for j in range(len(references))]
    return {n: (y_e, s) for n, s in zip(names, [*motions, *references], strict=True)}


def difference_equation(mcs, y_e, signal, T, first):
    """K_k = K_(k-1) + b p_k - (b - a T) p_(k-1), with the dead zone and the leakage on the integral part."""
    p = y_e * signal
    adapting = np.where(np.abs(y_e) > mcs.dead_zone, p, 0.0)
    if not mcs.dead_zone and not mcs.leakage:
        K = np.empty_like(p)
        K[0] = first + mcs.beta * p[0]
        for k in range(1, len(p)):
            K[k] = K[k - 1] + mcs.beta * p[k] - (mcs.beta - mcs.alpha * T) * p[k - 1]
        return K
    integral = np.full(len(p), first)
    for k in range(1, len(p)):
        integral[k] = integral[k - 1] * (1 - mcs.leakage * T) + mcs.alpha * T * adapting[k - 1]
    return integral + mcs.beta * p


@pytest.mark.parametrize(
    "mcs",
    [
        DiscreteMCS(1000, 100),
        DiscreteMCS(1000, 100, 0.1, reference=SUPPORT, initial_gains=[0.2, 0.1, 0.4]),
        DiscreteMCS(1000, 100, error_filter="reference", dead_zone=0.01),
        DiscreteMCS(1000, 100, error_filter=[2.0, 1.0], leakage=0.5),
    ],
    ids=["plain", "reference and gains", "dead zone", "leakage"],
)
def test_the_discrete_law_is_its_difference_equation(mcs):
    run = chain(mcs).run(3)
    assert run.completed
    for name, (y_e, signal) in products(run, mcs).items():
        j = list(products(run, mcs)).index(name)
        K = difference_equation(mcs, y_e, signal, 1e-3, mcs.initial_gains[j] if mcs.initial_gains else 0.0)
        assert np.abs(K).max() > 1e-3
        assert np.abs(run[name] - K).max() < 1e-9 * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("coupled", [False, True])
def test_several_discrete_ones_are_decentralised_or_coupled(coupled):
    rows = [[0.1 * (i + 1)] * (6 if coupled else 3) for i in range(2)]
    mcs = DiscreteMCS(1e4, 1e3, 0.05, coupled=coupled, initial_gains=rows)
    run = actuators(mcs).run(0.5)
    assert run.completed
    for i in range(2):
        total = 0.0
        gains = products(run, mcs, i)
        assert len(gains) == (6 if coupled else 3)
        for name, (y_e, signal) in gains.items():
            K = difference_equation(mcs, y_e, signal, 1 / 4000, 0.1 * (i + 1))
            assert np.abs(run[name] - K).max() < 1e-9
            total = total + run[name] * signal
        assert np.abs(run[f"command[{i}]"] - total).max() < 1e-9


def test_the_discrete_law_tends_to_the_continuous_one_with_its_period():
    """The rectangle rule, and the hold: halving the period halves the difference."""
    settings = {"alpha": 300.0, "beta": 30.0, "settling_time": 0.5}
    exact = chain(MCS(**settings), "continuous", 4000.0).run(4)["actual.displacement"]
    apart = []
    for rate in (500, 1000, 2000):
        x = chain(DiscreteMCS(**settings), rate=float(rate)).run(4)["actual.displacement"]
        apart.append(np.abs(x - exact[:: 4000 // rate]).max())
    assert apart[0] > 1e-5
    assert [a / b for a, b in pairwise(apart)] == pytest.approx([2, 2], rel=0.15)


def test_the_reference_filter_is_strictly_positive_real_with_the_numerical_half():
    """Lyapunov's equation with A_m = H14 by hand: 2 p12 k = 1 and 2 p22 c = 1 + 2 p12, so [0.5, 10]."""
    numerical, _ = three._chain(three.VALUES, C(stiffness=1.0)).cut(three.CUT)
    half = numerical_half(numerical)
    mcs = MCS(error_filter="reference")
    assert mcs.error_matrix(half) == pytest.approx(np.array([[0.5, 10.0]]))
    m = reference_model(half)
    assert positive_realness(m.A, m.B, mcs.error_matrix(half)).strict
    assert not positive_realness(m.A, m.B, MCS().error_matrix(half)).strict
    test = chain(mcs)
    for i, w in enumerate([0.5, 10.0]):
        assert test.parameters[f"controller.error_weight[{i}]"] == pytest.approx(w)


def test_the_reference_filter_of_several_interfaces_weighs_all_errors():
    mcs = MCS(1e4, 1e3, error_filter="reference")
    half = numerical_half(two.model().cut(*two.CUTS)[0])
    m = reference_model(half)
    C_e = mcs.error_matrix(half)
    assert C_e == pytest.approx(m.B.T @ solve_continuous_lyapunov(m.A.T, -np.eye(4)))
    assert positive_realness(m.A, m.B, C_e).strict
    run = actuators(mcs).run(0.1)
    words = [f"{w}[{i}]" for w in ("displacement", "velocity") for i in range(2)]
    errors = np.array([run[f"desired.{w}"] - run[f"actual.{w}"] for w in words])
    for i in range(2):
        assert np.abs(run[f"controller.error[{i}]"] - C_e[i] @ errors).max() < 1e-12


FORMS = [
    MCS(10, 1, 0.1, order=3, initial_gains=[0.1, 0.2, 0.3, 0.4]),
    MCS(1000, 100, error_filter="reference", dead_zone=0.01, leakage=0.1),
    MCS(1000, 100, error_filter=[0.05, 1]),
    DiscreteMCS(1000, 100, error_filter="reference", dead_zone=0.01, leakage=0.1, reference=SUPPORT),
    DiscreteMCS(10, 1, 0.1, order=3, initial_gains=(0.1, 0.2, 0.3, 0.4)),
]


@pytest.mark.parametrize("mcs", FORMS, ids=lambda m: f"{type(m).__name__} {m.order} {m.error_filter}")
def test_c_and_python_agree(mcs):
    c, python = (chain(mcs).run(1, backend=backend) for backend in ("c", "numpy"))
    for name in c.record:
        scale = max(1.0, float(np.abs(python[name]).max()))
        assert np.abs(c[name] - python[name]).max() <= 1e-12 * scale


@pytest.mark.parametrize("mcs", [*FORMS, DiscreteMCS(initial_gains=[[1, 2, 3]])])
def test_it_is_written_to_a_file_and_read_back(mcs):
    from bondloop.papers import wagg_three_mass

    test = wagg_three_mass.test(coupling="sampled").replaced(controller=mcs)
    again = files.load_text(files.to_toml(test)).test
    assert again.controller == mcs
    assert type(again.controller) is type(mcs)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"order": 0}, "order must be a whole number from 1 to 8; found 0"),
        ({"order": 2.5}, "order must be a whole number"),
        ({"order": True}, "order must be a whole number"),
        ({"error_filter": [1.0]}, "expected 2 weights in error_filter"),
        ({"error_filter": [1.0, 0.0]}, "the last above 0"),
        ({"error_filter": [-1.0, 1.0]}, "at least 0; found -1"),
        ({"error_filter": "reference", "order": 3}, "second order; found order 3"),
        ({"initial_gains": "ones"}, "list of numbers"),
        ({"initial_gains": [1, [2]]}, "not both"),
        ({"initial_gains": [math.inf]}, "finite"),
        ({"differentiation_time": 0}, "above 0"),
    ],
)
@pytest.mark.parametrize("kind", [MCS, DiscreteMCS])
def test_impossible_settings_are_refused(kind, settings, words):
    with pytest.raises(InputError, match=words):
        kind(**settings)


def test_what_does_not_fit_the_test_is_refused_where_it_is_built():
    with pytest.raises(InputError, match="expected 3 initial_gains"):
        _ = chain(MCS(initial_gains=[1, 2])).design
    with pytest.raises(InputError, match="each of 2 commands; found 1"):
        _ = actuators(MCS(initial_gains=[[1, 2, 3]])).design
    with pytest.raises(InputError, match="ask error_matrix"):
        MCS(error_filter="reference").error_weights()
    with pytest.raises(InputError, match="coupling='sampled'"):
        _ = chain(DiscreteMCS(), "continuous").tick
