"""The test `wagg-three-mass` as one would write it by hand in Python, in several ways.

Each function runs the first seconds of the test and returns the displacements of the transfer system, one a
step. States are in the order of wagg_three_mass.c.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 1e-3
K1, M1, C1 = 1.0, 1.0, 0.1
K2, M2, C2 = 1.0, 1.0, 0.1
M3, C3 = 1.0, 0.1
MT, CT, KT = 1.0, 1.0, 1.0
ALPHA, BETA, E0, E1 = 100.0, 10.0, 400.0, 1.0
AMPLITUDE = 0.5
START = [AMPLITUDE, *[0.0] * 11]
FOLLOWED = 11


def numerical(x: Any, force: float, r_rate: float) -> list[float]:
    """Rates of the two masses and of the desired displacement."""
    x1, p1, x2, p2, _ = x
    v1, v2 = p1 / M1, p2 / M2
    f1, f2 = K1 * x1, K2 * x2
    return [r_rate - v1, f1 - f2 - C1 * v1, v1 - v2, f2 - force - C2 * v2, v2]


def controller(x: Any, z: float, v2: float, zt: float, vt: float, r: float) -> tuple[list[float], float]:
    """Rates of the gains, and the command."""
    e = E0 * (z - zt) + E1 * (v2 - vt)
    g0, g1, gr = x[0] + BETA * e * zt, x[1] + BETA * e * vt, x[2] + BETA * e * r
    return [ALPHA * e * zt, ALPHA * e * vt, ALPHA * e * r], g0 * zt + g1 * vt + gr * r


def rig(x: Any, command: float) -> list[float]:
    """Rates of the specimen and of the transfer system."""
    x3, p3, pt, zt = x
    v3, vt = p3 / M3, pt / MT
    f3 = x3 * x3 * x3 - x3
    return [vt - v3, f3 - C3 * v3, command - CT * vt - KT * zt - f3, vt]


def rates(t: float, x: Any) -> list[float]:
    """All twelve rates, with plain floats."""
    return rates_driven(x, AMPLITUDE * math.cos(t), -AMPLITUDE * math.sin(t))


def rates_driven(x: Any, r: float, r_rate: float) -> list[float]:
    """Return all twelve rates for a given motion of the support."""
    x1, p1, x2, p2, z, k0, k1, kr, x3, p3, pt, zt = x
    v1, v2, v3, vt = p1 / M1, p2 / M2, p3 / M3, pt / MT
    f1, f2, f3 = K1 * x1, K2 * x2, x3 * x3 * x3 - x3
    e = E0 * (z - zt) + E1 * (v2 - vt)
    g0, g1, gr = k0 + BETA * e * zt, k1 + BETA * e * vt, kr + BETA * e * r
    u = g0 * zt + g1 * vt + gr * r
    return [
        r_rate - v1, f1 - f2 - C1 * v1, v1 - v2, f2 - f3 - C2 * v2, v2,
        ALPHA * e * zt, ALPHA * e * vt, ALPHA * e * r,
        vt - v3, f3 - C3 * v3, u - CT * vt - KT * zt - f3, vt,
    ]  # fmt: skip


def floats(seconds: float) -> NDArray[Any]:
    """Runge-Kutta over lists of floats."""
    x, h, record = list(START), STEP, []
    for i in range(round(seconds / h)):
        t = i * h
        record.append(x[FOLLOWED])
        d1 = rates(t, x)
        d2 = rates(t + h / 2, [a + h / 2 * d for a, d in zip(x, d1, strict=True)])
        d3 = rates(t + h / 2, [a + h / 2 * d for a, d in zip(x, d2, strict=True)])
        d4 = rates(t + h, [a + h * d for a, d in zip(x, d3, strict=True)])
        x = [a + h / 6 * (p + 2 * (q + r) + s) for a, p, q, r, s in zip(x, d1, d2, d3, d4, strict=True)]
    return np.array(record)


def numpy(seconds: float) -> NDArray[Any]:
    """Runge-Kutta over arrays, whose elements the right-hand side names."""
    return _steps_over_arrays(
        lambda t, x: np.array(rates_driven(x, AMPLITUDE * np.cos(t), -AMPLITUDE * np.sin(t))), seconds
    )


def numpy_matrices(seconds: float) -> NDArray[Any]:
    """Runge-Kutta over arrays, with matrices for all that is linear."""
    A, B, C = np.zeros((12, 12)), np.zeros((12, 3)), np.zeros(12)
    A[0, 1] = -1 / M1
    A[1, [0, 1, 2]] = K1, -C1 / M1, -K2
    A[2, [1, 3]] = 1 / M1, -1 / M2
    A[3, [2, 3]] = K2, -C2 / M2
    A[4, 3] = 1 / M2
    A[8, [9, 10]] = -1 / M3, 1 / MT
    A[9, 9] = -C3 / M3
    A[10, [10, 11]] = -CT / MT, -KT
    A[11, 10] = 1 / MT
    B[0, 0], B[10, 2] = 1, 1
    B[[3, 9, 10], 1] = -1, 1, -1
    C[[4, 11, 3, 10]] = E0, -E0, E1 / M2, -E1 / MT

    def f(t: float, x: NDArray[Any]) -> NDArray[Any]:
        motion = np.array([x[11], x[10] / MT, AMPLITUDE * np.cos(t)])
        e = C @ x
        u = (x[5:8] + BETA * e * motion) @ motion
        d = A @ x + B @ np.array([-AMPLITUDE * np.sin(t), x[8] ** 3 - x[8], u])
        d[5:8] = ALPHA * e * motion
        return d

    return _steps_over_arrays(f, seconds)


def _steps_over_arrays(f: Callable[[float, NDArray[Any]], NDArray[Any]], seconds: float) -> NDArray[Any]:
    h, steps = STEP, round(seconds / STEP)
    x, record = np.array(START), np.empty(steps)
    for i in range(steps):
        t = i * h
        record[i] = x[FOLLOWED]
        d1 = f(t, x)
        d2 = f(t + h / 2, x + h / 2 * d1)
        d3 = f(t + h / 2, x + h / 2 * d2)
        d4 = f(t + h, x + h * d3)
        x = x + h / 6 * (d1 + 2 * (d2 + d3) + d4)
    return record


def instants(seconds: float) -> NDArray[Any]:
    """Return the instants of the steps."""
    return np.arange(round(seconds / STEP)) * STEP


def support(t: NDArray[Any]) -> NDArray[Any]:
    """Displacement and velocity of the support."""
    return np.vstack([AMPLITUDE * np.cos(t), -AMPLITUDE * np.sin(t)])


def scipy(seconds: float) -> NDArray[Any]:
    """`solve_ivp`, RK45, with steps of at most 1 ms, over plain floats (faster here than over arrays)."""
    from scipy.integrate import solve_ivp

    t = instants(seconds)
    done = solve_ivp(lambda t, x: rates(t, x.tolist()), (0.0, t[-1]), START, max_step=STEP, t_eval=t)
    return np.asarray(done.y[FOLLOWED])


def one_nlsys(seconds: float) -> NDArray[Any]:
    """python-control with one `nlsys` for everything."""
    import control

    def update(_t: float, x: NDArray[Any], u: NDArray[Any], _p: Any) -> list[float]:
        return rates_driven(x.tolist(), *u.tolist())

    system = control.nlsys(update, None, inputs=["r", "r_rate"], states=12, name="test")
    t = instants(seconds)
    done = control.input_output_response(system, t, support(t), START, solve_ivp_kwargs={"max_step": STEP})
    return np.asarray(done.states[FOLLOWED])


def three_nlsys(seconds: float) -> NDArray[Any]:
    """python-control with an `nlsys` for each part, interconnected by their signals' names."""
    import control as ct

    half = ct.nlsys(
        lambda _t, x, u, _p: numerical(x, *u), lambda _t, x, _u, _p: [x[4], x[3] / M2],
        inputs=["force", "r_rate"], outputs=["z", "v2"], states=5, name="numerical",
    )  # fmt: skip
    mcs = ct.nlsys(
        lambda _t, x, u, _p: controller(x, *u)[0], lambda _t, x, u, _p: [controller(x, *u)[1]],
        inputs=["z", "v2", "zt", "vt", "r"], outputs=["command"], states=3, name="controller",
    )  # fmt: skip
    plant = ct.nlsys(
        lambda _t, x, u, _p: rig(x, *u), lambda _t, x, _u, _p: [x[0] ** 3 - x[0], x[3], x[2] / MT],
        inputs=["command"], outputs=["force", "zt", "vt"], states=4, name="rig",
    )  # fmt: skip
    whole = ct.interconnect([half, mcs, plant], inputs=["r", "r_rate"], outputs=["zt"])
    t = instants(seconds)
    done = ct.input_output_response(whole, t, support(t), START, solve_ivp_kwargs={"max_step": STEP})
    return np.ravel(done.outputs)


def pathsim(seconds: float) -> NDArray[Any]:
    """PathSim with a block for each part, its own RK4."""
    from pathsim import Connection, Simulation
    from pathsim.blocks import DynamicalSystem, Scope, Source
    from pathsim.solvers import RK4

    half = DynamicalSystem(
        lambda x, u, _t: np.array(numerical(x, *u)),
        lambda x, _u, _t: np.array([x[4], x[3] / M2]),
        np.array(START[:5]),
    )
    mcs = DynamicalSystem(
        lambda x, u, _t: np.array(controller(x, *u)[0]), lambda x, u, _t: controller(x, *u)[1], np.zeros(3)
    )
    plant = DynamicalSystem(
        lambda x, u, _t: np.array(rig(x, *u)),
        lambda x, _u, _t: np.array([x[0] ** 3 - x[0], x[3], x[2] / MT]),
        np.zeros(4),
    )
    r, r_rate = Source(lambda t: AMPLITUDE * math.cos(t)), Source(lambda t: -AMPLITUDE * math.sin(t))
    scope = Scope()
    wires = [
        Connection(plant[0], half[0]), Connection(r_rate, half[1]),
        Connection(half[0], mcs[0]), Connection(half[1], mcs[1]),
        Connection(plant[1], mcs[2], scope), Connection(plant[2], mcs[3]), Connection(r, mcs[4]),
        Connection(mcs, plant),
    ]  # fmt: skip
    simulation = Simulation([half, mcs, plant, r, r_rate, scope], wires, dt=STEP, Solver=RK4, log=False)
    simulation.run(seconds, adaptive=False)
    return np.asarray(scope.read()[1][0][: round(seconds / STEP)])
