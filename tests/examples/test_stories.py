"""Every story runs, stays short, leaves its figure, and finds what an independent computation gives."""

import csv
import importlib.util
import os
import sys
from math import erf, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

STORIES = Path(__file__).parents[2] / "examples" / "stories"


def load(name):
    spec = importlib.util.spec_from_file_location(name, STORIES / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def tell(name, folder, **options):
    """Run a story; it leaves a figure of its own name."""
    module = load(name)
    found = module.main(folder, **options)
    assert (folder / f"{name}.png").stat().st_size > 5000
    return module, found


@pytest.mark.parametrize("path", sorted(STORIES.glob("*.py")), ids=lambda path: path.stem)
def test_a_story_is_at_most_120_lines_and_tested(path):
    assert len(path.read_text().splitlines()) <= 120
    assert f"test_{path.stem}" in globals()
    assert f"examples/stories/{path.name}" in (STORIES.parents[1] / "docs" / "examples.md").read_text()


def test_isolated_building(tmp_path):
    """Slab, storeys and slider stepped by semi-implicit Euler, in steps so small that it does not matter."""
    story, found = tell("isolated_building", tmp_path)
    record = np.loadtxt(story.silva_benchmark.DATA / "elcentro.csv", delimiter=",", skiprows=1)
    step = 2.5e-4
    ground = np.interp(np.arange(0, 25, step), record[:, 0], record[:, 1])
    links = [(0, 1), (1, 2), (2, 3)]
    stiffness = np.zeros((4, 4))
    for i, j in links:
        stiffness[np.ix_([i, j], [i, j])] += story.STIFFNESS * np.array([[1, -1], [-1, 1]])
    damping = 1e-3 * stiffness + 0.1 * story.MASS * np.eye(4)
    weight = 4 * story.MASS * 9.81
    stick, x, v, slip, far = 1e-3, np.zeros(4), np.zeros(4), 0.0, 0.0
    for a in ground:
        elastic = x[0] - slip
        if abs(elastic) > stick:  # it slides, at a friction that is constant
            elastic = stick * np.sign(elastic)
            slip = x[0] - elastic
        force = weight * x[0] / story.RADIUS + story.FRICTION * weight * elastic / stick
        pull = stiffness @ x + damping @ v
        pull[0] += force
        v = v - step * (pull / story.MASS + a)
        x = x + step * v
        far = max(far, abs(x[0]))
    assert found["travel"] == pytest.approx(far, rel=0.01)
    assert found["left"] < 0.3
    assert found["passed"]


def test_satellite_launcher(tmp_path):
    """Dynamic stiffness of the five masses, one complex solve."""
    story, found = tell("satellite_launcher", tmp_path)
    omega = 2 * np.pi * story.FREQUENCY
    joints = [story.STAGES[1], story.STAGES[2], story.BODY, story.TANK]
    matrix = np.diag([-(omega**2) * m for m, *_ in (story.STAGES[0], *joints)]).astype(complex)
    matrix[0, 0] += story.TETHER[0] + 1j * omega * story.TETHER[1]
    for i, (_, k, c) in enumerate(joints):
        matrix[i : i + 2, i : i + 2] += (k + 1j * omega * c) * np.array([[1, -1], [-1, 1]])
    x = np.linalg.solve(matrix, [story.THRUST, 0, 0, 0, 0])
    foot, body = np.abs(x[2:4]) * omega**2 / story.GRAVITY
    assert found["foot"] == pytest.approx(foot, rel=0.02)
    assert found["body"] == pytest.approx(body, rel=0.02)
    assert found["passed"]


def test_landing_gear(tmp_path):
    """Both masses, tyre and strut by SciPy; the energies before and after are the same."""
    story, found = tell("landing_gear", tmp_path)
    strut = story.Oleo()

    def force(stroke, speed):
        gas = min(strut.stop * stroke, strut.preload * (1 - stroke / strut.gas_length) ** -strut.exponent)
        return gas + strut.orifice * speed * abs(speed)

    def rates(_, s):
        body, wheel, v, w, _ = s
        f = force(body - wheel, v - w)
        return [
            v,
            w,
            -f / story.AIRFRAME,
            (f - story.TYRE * wheel - story.TYRE_DAMPING * w) / story.WHEEL,
            f * (v - w),
        ]

    start = [0, 0, story.SINK, story.SINK, 0]
    s = solve_ivp(rates, (0, story.SECONDS), start, rtol=1e-9, atol=1e-10, max_step=1e-3).y
    load = max(force(x, v) for x, v in zip(s[0] - s[1], s[2] - s[3], strict=True)) / (story.AIRFRAME * 9.81)
    assert found["load"] == pytest.approx(load, rel=0.01)
    assert found["stroke"] == pytest.approx((s[0] - s[1]).max(), rel=0.01)
    assert found["passed"]


def test_absorber_frame(tmp_path):
    """Den Hartog (1956), section 3.3: the two peaks of the best absorber are √(1 + 2/μ) high."""
    story, found = tell("absorber_frame", tmp_path)
    assert found["amplification"] == pytest.approx(sqrt(1 + 2 / story.RATIO), rel=0.03)
    # Frequency: four columns between a clamped foot and beams of finite stiffness, a portal in closed form
    # (Blevins): k = 12 E I/h³ (6 r + 1)/(6 r + 4) a column and a half portal, r = (I_beam/b)/(I_column/h).
    r = (23e-5 / story.BAY) / (5.7e-5 / story.HEIGHT)
    k = 4 * 12 * 210e9 * 5.7e-5 / story.HEIGHT**3 * (6 * r + 1) / (6 * r + 4)
    steel = 7850 * (4 * 84e-4 * story.BAY + 13 / 35 * 4 * 78e-4 * story.HEIGHT)
    assert found["frequency"] == pytest.approx(sqrt(k / (story.MACHINE + steel)) / 2 / np.pi, rel=0.03)
    assert found["passed"]


def test_measured_damper(tmp_path):
    """The energy of a cycle from the file itself, by the trapezoidal rule."""
    story, found = tell("measured_damper", tmp_path)
    with (story.building.DATA / f"{story.RECORD}.csv").open() as file:
        rows = np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    last = rows[-51:]  # 1 s at 50 Hz
    energy = np.sum(np.diff(last[:, 1]) * 1e-3 * (last[1:, 3] + last[:-1, 3]) / 2)
    assert found["measured"] == pytest.approx(energy, rel=1e-6)
    assert found["law"] == pytest.approx(energy, rel=0.05)
    assert found["drift_1A"] < 0.8 * found["drift_0A"]


def test_own_controller(tmp_path):
    """The mean of error times velocity vanishes where the answer to x + a v is in phase: a = tan(lag)/ω."""
    story, found = tell("own_controller", tmp_path)
    omega, (m, c, k), (spring, dashpot) = 2 * np.pi * story.FREQUENCY, story.ACTUATOR, story.BRACE
    # Actuator with the brace on it, sampled with a hold: its state is carried over a sample exactly.
    A = np.array([[0, 1], [-(k + spring) / m, -(c + dashpot) / m]])
    step = expm(np.block([[A, np.array([[0], [k / m]])], [np.zeros((1, 3))]]) / story.RATE)
    answer = np.linalg.solve(np.exp(1j * omega / story.RATE) * np.eye(2) - step[:2, :2], step[:2, 2])[0]
    assert found["lead"] == pytest.approx(-answer.imag / answer.real / omega, rel=0.01)
    assert found["left"] < found["before"] / 4
    assert found["passed"]


def test_nonlinear_actuator(tmp_path):
    """Engine and hanger are linear, whatever moves the hanger: one complex number."""
    story, found = tell("nonlinear_actuator", tmp_path)
    omega = 2 * np.pi * story.FREQUENCY
    stiffness, damping = np.add(story.MOUNTS, story.HANGER)
    expected = story.FORCE / abs(stiffness - story.ENGINE * omega**2 + 1j * omega * damping)
    assert found["amplitude"] == pytest.approx(expected, rel=0.02)
    assert abs(found["linear"] - expected) > 0.2 * expected
    assert found["passed"]


def test_million_rehearsals(tmp_path):
    """It grows where k τ > c: ln(k τ/c) is normal. τ is the actuator's lag and a sample of holding."""
    story, found = tell("million_rehearsals", tmp_path, count=2048)
    median = log(story.BRACE * (story.LAG + 1 / story.RATE) / story.DAMPING)
    expected = 0.5 * (1 + erf(median / sqrt(2 * sum(s**2 for s in story.SPREAD.values()))))
    assert found["probability"] == pytest.approx(expected, abs=0.03)
    assert found["count"] == 2048


@pytest.mark.parametrize("half", ["Python", "OpenSees"])
def test_two_sites(tmp_path, monkeypatch, half):
    """The whole frame, both columns yielding, by small steps of semi-implicit Euler."""
    if half == "OpenSees":
        python = opensees()
        monkeypatch.setenv("BONDLOOP_OPENSEES", python)
    else:
        monkeypatch.delenv("BONDLOOP_OPENSEES", raising=False)
    story, found = tell("two_sites", tmp_path)
    step, x, v, slip, far = 1e-4, 0.0, 0.0, 0.0, 0.0
    yields = story.COLUMN["yield_force"] / story.COLUMN["stiffness"]
    for n in range(round(story.STEPS * story.STEP / step)):
        slip = min(max(slip, x - yields), x + yields)
        column = story.COLUMN["stiffness"] * (x - (1 - story.COLUMN["hardening"]) * slip)
        ground = story.PEAK * np.sin(2 * np.pi * n * step)
        v -= step * (ground + (2 * column + story.DAMPING * v) / story.MASS)
        x += step * v
        far = max(far, abs(x))
    assert found["largest"] == pytest.approx(far, rel=0.01)
    assert found["steps"] == story.STEPS
    assert far > 1.2 * yields


def opensees():
    """Return a Python that has OpenSeesPy, as tests/interop/test_opensees.py finds it."""
    python = os.environ.get("BONDLOOP_OPENSEES", str(STORIES.parents[1] / ".opensees" / "bin" / "python"))
    if not Path(python).exists():
        pytest.skip(f"no OpenSeesPy: there is no {python}; `make opensees` installs it")
    return python


def test_wind_turbine(tmp_path):
    """The first mode and the water by Runge-Kutta; its frequency by the exact beam with a tip mass."""
    story, found = tell("wind_turbine", tmp_path)
    matrices = story.tower()
    steel = story.STEEL
    beam = steel["rho"] * steel["A"] * story.HEIGHT

    def characteristic(b):  # of a clamped beam with a mass at its end
        c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        return 1 + c * ch + b * story.HEAD / beam * (c * sh - s * ch)

    root = brentq(characteristic, 0.3, 1.87)
    frequency = root**2 * sqrt(steel["E"] * steel["I"] / (beam * story.HEIGHT**3)) / 2 / np.pi
    assert story.modes(matrices, 1).frequencies[0] == pytest.approx(frequency, rel=1e-3)
    water = story.column(frequency)
    M, C, K = (one.toarray() for one in (matrices.M, matrices.C, matrices.K))
    head = list(matrices.dofs).index("head.ux")
    mode = np.linalg.eig(np.linalg.solve(M, K))
    shape = np.real(mode.eigenvectors[:, np.argmin(mode.eigenvalues.real)])
    shape = shape / shape[head]
    m, c, k = (shape @ one @ shape for one in (M, C, K))  # the first mode by itself
    fluid = water.density * water.area

    def sway(damped):
        step = 0.01
        x = np.zeros(4)  # head, water, and their velocities
        mass = np.array([[m, 0], [0, 1.0]])
        if damped:
            mass = np.array(
                [[m + fluid * water.length, fluid * water.width], [fluid * water.width, fluid * water.length]]
            )
        times = np.arange(0, story.SECONDS, step)
        gusts = story.GUSTS(np.arange(0, story.SECONDS + step, step / 2))

        def rates(y, force):
            pull = [force - k * y[0] - c * y[2], 0.0]
            if damped:
                pull[1] = -fluid * (2 * 9.80665 * y[1] + 0.5 * water.head_loss * abs(y[3]) * y[3])
            return np.concatenate([y[2:], np.linalg.solve(mass, pull)])

        history = np.empty(times.size)
        for i in range(times.size):  # Runge and Kutta's rule
            history[i] = x[0]
            k1 = rates(x, gusts[2 * i])
            k2 = rates(x + step / 2 * k1, gusts[2 * i + 1])
            k3 = rates(x + step / 2 * k2, gusts[2 * i + 1])
            k4 = rates(x + step * k3, gusts[2 * i + 2])
            x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return np.std(history)

    assert found["left"] == pytest.approx(sway(damped=True) / sway(damped=False), rel=0.03)
    assert found["passed"]
