"""Process models: closed forms, exact responses to held commands with fractional delays, files, actuators."""

import json

import numpy as np
import pytest
from scipy import signal

import control
from bondloop.bondgraph import C, Model, One, Port, R, Se
from bondloop.errors import InputError, SolveError
from bondloop.papers.gawthrop_two_actuators import PointMass
from bondloop.rigs import Emulated
from bondloop.transfer import transfer_system
from bondloop.transfer.held_input import hold_late, linear_recursion, orthonormal, project_out
from bondloop.transfer.process import Process, first_order, second_order

T = 1e-3
RNG = np.random.default_rng(4)
COMMAND = np.repeat(RNG.normal(size=60), 5)


def test_du_bois_models_have_the_papers_response():
    """du Bois 2010, eq. 1, with K the static gain (K w0^2 above for the second order)."""
    f = np.array([0.0, 3.0, 17.0])
    s = 2j * np.pi * f
    K, tau, zeta, w0, late = 0.97, 0.012, 0.55, 130.0, 0.0047
    f0 = w0 / (2 * np.pi)
    assert first_order(K, tau).response(f) == pytest.approx(K / (tau * s + 1))
    assert first_order(K, tau, late).response(f) == pytest.approx(K * np.exp(-late * s) / (tau * s + 1))
    second = K * w0**2 / (s**2 + 2 * zeta * w0 * s + w0**2)
    assert second_order(K, f0, zeta).response(f) == pytest.approx(second)
    assert second_order(K, f0, zeta, late).response(f) == pytest.approx(second * np.exp(-late * s))


@pytest.mark.parametrize(
    "G",
    [
        first_order(0.9, 0.01),
        second_order(1.1, 20.0, 0.4),
        second_order(1.1, 20.0, 1.0),  # a double pole: no modal form
        Process((0.02, 1.0), (1e-8, 3e-6, 0.01, 1.0)),
        Process((1.0,), (1.0, 0.0)),  # an integrator
        Process((2.0, 5.0), (1.0, 3.0)),  # as many zeros as poles
    ],
)
def test_held_response_is_scipys(G):
    """Independent: scipy's cont2discrete (zero-order hold) and dlsim."""
    space = signal.tf2ss(list(G.numerator), list(G.denominator))
    _, expected, _ = signal.dlsim(signal.cont2discrete(space, T, method="zoh"), COMMAND)
    assert G.simulate(COMMAND, T) == pytest.approx(expected[:, 0], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("hold", ["zero", "first"])
@pytest.mark.parametrize("delay", [0.0, 0.0007, 0.002, 0.01234])
def test_a_fraction_of_a_period_is_exact(hold, delay):
    """Against the closed form of 1/(tau s + 1) for a piecewise constant or linear input, in fine steps."""
    tau, fine = 0.008, 50
    t = np.arange(COMMAND.size * fine) * (T / fine)
    at = np.floor((t - delay) / T + 1e-9).astype(int)
    known = np.where(at < 0, 0.0, COMMAND[np.clip(at, 0, None)])
    if hold == "first":
        nxt = np.where(at + 1 < 0, 0.0, COMMAND[np.clip(at + 1, 0, COMMAND.size - 1)])
        known = known + (nxt - known) * ((t - delay) / T - at)
    # The delays divide the fine step, so that each fine step is exact for its own hold.
    assert delay / (T / fine) == pytest.approx(round(delay / (T / fine)))
    e = np.exp(-T / fine / tau)
    after = known if hold == "zero" else np.append(known[1:], known[-1])
    y = np.zeros(t.size)
    slope = (after - known) / (T / fine)
    for n in range(t.size - 1):
        # x' = (u0 + m s - x)/tau  has  x(h) = x0 e + u0 (1 - e) + m (h - tau (1 - e))
        y[n + 1] = y[n] * e + known[n] * (1 - e) + slope[n] * (T / fine - tau * (1 - e))
    found = first_order(1.0, tau, delay).simulate(COMMAND, T, hold=hold)
    assert found == pytest.approx(y[::fine], abs=1e-9)


def test_a_model_can_rest_at_a_command():
    G = second_order(0.5, 10.0, 0.7, delay=0.0033)
    assert G.simulate(np.full(50, 4.0), T, before=4.0) == pytest.approx(np.full(50, 2.0))


def test_a_last_coefficient_that_is_nothing_beside_the_others_makes_an_integrator():
    G = Process((2.0,), (4.0, 2.0**-1060))
    assert (G.numerator, G.denominator) == ((0.5,), (1.0, 2.0**-1062))


def test_poles_zeros_and_whether_it_can_be_inverted():
    G = Process((-0.01, 1.0), (0.0001, 0.02, 1.0))
    assert G.zeros() == pytest.approx([100.0])
    assert G.poles() == pytest.approx([-100.0, -100.0], rel=1e-6)
    assert (G.stable, G.invertible, G.relative_degree) == (True, False, 1)
    with pytest.raises(SolveError, match="cannot be inverted: its zero at 100"):
        G.check_invertible()
    second_order(1.0, 10.0, 0.5).check_invertible()


@pytest.mark.parametrize(
    "G", [first_order(0.9, 0.01), second_order(1.0, 20.0, 0.5), Process((0.003, 1.0), (1e-5, 0.01, 1.0))]
)
def test_an_actuator_moves_as_the_model_whatever_the_load(G):
    """V/command = s G(s), V/load = 0."""
    system = G.actuator()
    omega = np.array([3.0, 60.0, 400.0])
    found = system.frequency_response(omega)
    assert found[:, 0, 0] == pytest.approx(1j * omega * G.response(omega / (2 * np.pi)), rel=1e-9)
    assert np.abs(found[:, 0, 1]).max() == 0
    transfer = transfer_system(system, "t.")
    assert (transfer.command.name, transfer.load.name) == ("t.command", "t.load")


def test_an_emulated_rig_takes_it():
    """Closed form: a spring and damper on the actuator feel k x + c v of the model's own motion."""
    G = second_order(0.95, 20.0, 0.5)
    physical = Model("specimen")
    physical.interface, physical.v = Port(), One()
    physical.interface >> physical.v
    physical.v >> [C(stiffness=50.0), R(damping=3.0)]
    structure = Model("structure")
    structure.push, structure.mass, structure.specimen = Se("push"), PointMass(1.0), physical
    structure.push >> structure.mass.left
    structure.mass.right >> structure.specimen.interface
    _, half = structure.cut("mass.right >> specimen.interface")
    rig = Emulated(half, G.actuator()).system()
    system = rig.system.replaced(outputs={"x": rig.displacements[0], "f": rig.forces[0]})
    omega = np.array([5.0, 90.0])
    found = system.frequency_response(omega)
    x = G.response(omega / (2 * np.pi))
    assert found[:, 0, 0] == pytest.approx(x)
    assert found[:, 1, 0] == pytest.approx((50.0 + 3.0j * omega) * x)
    assert rig.displacements[0].name == "rig.transfer.displacement"  # its own state, no second integrator


def test_a_pade_delay_turns_the_phase():
    G = second_order(1.0, 20.0, 0.5, delay=0.005)
    omega = 2 * np.pi * np.array([1.0, 20.0, 40.0])
    found = G.actuator(pade=4).frequency_response(omega)[:, 0, 0]
    assert found == pytest.approx(1j * omega * G.response(omega / (2 * np.pi)), rel=1e-6)
    plant = G.to_control(pade=4)
    assert control.frequency_response(plant, omega).complex.ravel() == pytest.approx(
        G.response(omega / (2 * np.pi)), rel=1e-6
    )
    with pytest.raises(InputError, match="python-control has no delays"):
        G.to_control()


def test_a_model_file_comes_back_exactly(tmp_path):
    G = second_order(0.97, 21.3, 0.61, delay=0.0047)
    path = tmp_path / "model.json"
    G.save(path, about={"rig": "empty"})
    assert Process.load(path) == G
    assert json.loads(path.read_text())["about"] == {"rig": "empty"}
    path.write_text("{}")
    with pytest.raises(InputError, match="is no model file"):
        Process.load(path)
    path.write_text("not json")
    with pytest.raises(InputError, match="is no model file"):
        Process.load(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Process((1.0, 0.0, 0.0), (1.0, 1.0)), "must be proper: the numerator has degree 2"),
        (lambda: Process((1.0,), (1.0, 1.0), -0.1), r"Process\(delay\): expected a number at least 0"),
        (lambda: Process((0.0,), (1.0,)), "not all zero"),
        (lambda: Process((1e300,), (1e-300, 1e-311)), "coefficients that can be compared; found 1e-300"),
        (lambda: Process((1.0, 1.0), (1.0, 2.0)).actuator(), "more poles than zeros"),
        (lambda: first_order(1.0, 0.1).simulate([1.0, np.nan], T), "finite samples"),
        (lambda: first_order(1.0, 0.1).simulate([1.0], 0.0), "period: expected a number above 0"),
        (lambda: first_order(1.0, 0.1).simulate([1.0], T, hold="second"), "hold must be"),
        (lambda: Process((1.0,), (1.0, 0.0)).simulate([1.0], T, before=1.0), "pole at zero"),
        (lambda: second_order(1.0, 0.0, 0.5), "frequency must be positive"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_recursion_of_slow_poles_keeps_its_digits():
    """Eight poles at 0.1 rad/s at 10 kHz: a filter of order 8 in z has no digit left of 1 - p = 1e-5.

    The step response of 1/(1 + 10 s)^8 is the regularised incomplete gamma function P(8, t/10).
    """
    from scipy.special import gammainc

    a = np.ones(1)
    for _ in range(8):
        a = np.convolve(a, [10.0, 1.0])
    y = Process((1.0,), tuple(a)).simulate(np.ones(1_000_000), 1e-4)
    t = np.arange(1_000_000) * 1e-4
    assert y[::50_000] == pytest.approx(gammainc(8, t[::50_000] / 10), abs=1e-6)


def test_linear_recursion_is_the_recursion():
    A, B = RNG.normal(size=(4, 4)) * 0.4, RNG.normal(size=(4, 2))
    forcing, x = RNG.normal(size=(2, 30)), RNG.normal(size=4)
    found = linear_recursion(A, B, forcing, x, np.eye(4))
    for n in range(30):
        assert found[:, n] == pytest.approx(x, rel=1e-10, abs=1e-12)
        x = A @ x + B @ forcing[:, n]


def test_the_transition_is_the_matrix_exponential():
    """The matrix exponential by Taylor series against scipy's expm."""
    from scipy.linalg import expm

    A = np.array([[0.0, 1.0], [-900.0, -12.0]])
    held = hold_late(A, np.array([0.0, 900.0]), 0.01, 0.0)
    assert held.transition == pytest.approx(expm(A * 0.01), abs=1e-13)


def test_rows_are_projected_out():
    rows = RNG.normal(size=(3, 200))
    basis = orthonormal(np.vstack([rows, rows[0] + rows[1]]))
    assert basis.shape == (3, 200)
    assert basis @ basis.T == pytest.approx(np.eye(3), abs=1e-13)
    assert np.abs(project_out(basis, rows)).max() < 1e-12


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        ((["50 rad/s"], [1, "50 rad/s"]), ([50], [1, 50])),
        ((["2500 rad^2/s^2"], [1, "10 rad/s", "2500 rad^2/s^2"]), ([2500], [1, 10, 2500])),
        ((["50 1/s"], ["1", "50 1/s"]), ([50], [1, 50])),
        (([1], ["20 ms", 1]), ([1], [0.02, 1])),
        (("2", np.array(["20 ms", "1"])), ([2], [0.02, 1])),
        ((["2 mm/V"], ["20 ms", 1]), ([0.002], [0.02, 1])),
        ((["2 mm s/V", "5 cm/V"], [1, "3 rad/s", "2 1/s^2"]), ([0.002, 0.05], [1, 3, 2])),
    ],
)
def test_coefficients_may_be_texts(texts, numbers):
    assert Process(*texts) == Process(*numbers)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1, "50 Hz"], "expected rad/s or 1/s.*found '50 Hz'"),  # a pole at 50 Hz is at 314 rad/s
        ([1, "50 kg"], "'50 kg'"),
        ("a", "'a'"),
        ((x for x in (1.0, 2.0)), "needs finite coefficients"),
        ([10**400, 1], "needs finite coefficients"),
        ([[1.0, 2.0]], "needs finite coefficients"),
    ],
)
def test_coefficients_that_are_none_are_refused(row, words):
    with pytest.raises(InputError, match=words):
        Process([1.0], row)
