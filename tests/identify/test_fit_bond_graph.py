"""Free parameters of bond graphs, fitted by their sensitivity equations."""

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import InputError
from bondloop.identify.least_squares import covariance
from bondloop.identify.models.bond_graph_fit import SensitivityRun, fit_bond_graph
from bondloop.papers.gawthrop_two_actuators import MASS, TABLE_I
from bondloop.transfer import MassSpringDamper, transfer_system

T = 1e-3
FREE = {"damper.damping": (1.0, 1e4), "spring.stiffness": (1e2, 1e6)}


class Hardening(Model):
    """A mass on a spring k q + k3 q^3 and a damper, pushed by a force."""

    def __init__(self, k=900.0, k3=4e5):
        self.v = One()
        self.push = Se("push")
        self.push >> self.v
        self.mass, self.damper = I(mass=2.0), R(damping=8.0)
        self.spring = C(lambda q, k, k3: k * q + k3 * q**3, k=k, k3=k3)
        self.v >> [self.mass, self.damper, self.spring]


@pytest.mark.parametrize(("c", "k"), TABLE_I)
def test_table_i_of_gawthrop_comes_back_from_step_responses(c, k):
    """Gawthrop 2005, section 5.1 and table I: m_t = 2.2 kg known, c_t and k_t from a step response, to 2 %.

    The emulated response is SciPy's (DOP853), with 40 dB of noise and a converter of 12 bits over 50 mm; the
    fit begins at values that are wrong by factors.
    """
    rig = transfer_system(MassSpringDamper(MASS, c, k, drive="position")).system
    t = np.arange(600) * T
    step = np.full(600, 0.005)
    x = rig.simulate(t[-1], {"x_d": 0.005}, times=t, rtol=1e-10)["spring.displacement"]
    rng = np.random.default_rng(int(k))
    x = x + 0.01 * x.std() * rng.normal(size=600)
    x = np.round(x / (0.05 / 4096)) * (0.05 / 4096)
    guess = MassSpringDamper(MASS, 40.0, 3000.0, drive="position")
    fit = fit_bond_graph(guess, {"x_d": step}, {"spring.displacement": x}, T, FREE)
    assert fit.values["damper.damping"] == pytest.approx(c, rel=0.02)
    assert fit.values["spring.stiffness"] == pytest.approx(k, rel=0.02)
    assert not fit.warnings
    for name, true in (("damper.damping", c), ("spring.stiffness", k)):
        assert abs(fit.parameters[name].value - true) < 4 * fit.parameters[name].deviation


def test_a_nonlinear_spring_comes_back():
    """Independent data: SciPy's DOP853 of the same model under a sweep, 40 dB of noise."""
    t = np.arange(4000) * T
    push = 25 * np.sin(2 * np.pi * (0.5 * t + 0.6 * t**2))
    system = Hardening().compile()
    x = system.simulate(t[-1], {"push": (t, push)}, times=t, max_step=T)["spring.displacement"]
    rng = np.random.default_rng(1)
    fit = fit_bond_graph(
        Hardening(300.0, 1e4),
        {"push": push},
        {"spring.displacement": x + 0.01 * x.std() * rng.normal(size=4000)},
        T,
        {"spring.k": (1e2, 1e4), "spring.k3": (1e3, 1e7), "damper.damping": (0.1, 100.0)},
        hold="first",
    )
    assert fit.values == pytest.approx({"spring.k": 900.0, "spring.k3": 4e5, "damper.damping": 8.0}, rel=0.01)
    assert fit.tests["spring.displacement"].white


def test_several_outputs_and_an_offset():
    t = np.arange(1500) * T
    push = np.where((t % 0.5) < 0.25, 10.0, -10.0)
    found = (
        Hardening()
        .compile()
        .simulate(t[-1], {"push": lambda s: 10.0 if s % 0.5 < 0.25 else -10.0}, times=t, max_step=T / 2)
    )
    outputs = {"spring.displacement": found["spring.displacement"] + 0.3, "v.flow": found["v.flow"] - 2.0}
    fit = fit_bond_graph(Hardening(), {"push": push}, outputs, T, {"mass.mass": (0.5, 8.0)}, offset=True)
    assert fit.values["mass.mass"] == pytest.approx(2.0, rel=1e-3)
    assert set(fit.fit) == {"spring.displacement", "v.flow"}
    assert min(fit.fit.values()) > 99.5


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_sensitivities_are_derivatives_of_the_run(hold):
    """Central differences of the compiled run."""
    u = np.repeat(np.random.default_rng(2).normal(size=40), 10) * 20
    paths, theta = ["spring.k", "spring.k3"], np.array([900.0, 4e5])
    run = SensitivityRun(
        Hardening().compile(), {"push": u}, ["v.flow"], paths, T, hold, None, 2, (theta / 2, theta * 2)
    )
    J = run(theta)[1]
    for i in range(2):
        h = 1e-5 * theta[i] * np.eye(2)[i]
        slope = (run(theta + h)[0] - run(theta - h)[0])[0] / (2 * h[i])
        assert J[i, 0] == pytest.approx(slope, rel=1e-5, abs=1e-6 * np.abs(slope).max())


def test_what_cannot_be_told_apart_is_said():
    """Of a mass-spring-damper driven by its spring's far end only the ratios c/m and k/m show."""
    t = np.arange(800) * T
    step = np.where(t > 0.0495, 0.005, 0.0)
    true = MassSpringDamper(2.2, 150.8, 13618.0, drive="position")
    x = transfer_system(true).system.simulate(
        t[-1], {"x_d": lambda s: 0.005 if s >= 0.05 else 0.0}, times=t, max_step=T / 2
    )["spring.displacement"]
    x = x + 1e-5 * np.random.default_rng(1).normal(size=800)
    fit = fit_bond_graph(
        true, {"x_d": step}, {"spring.displacement": x}, T, {"mass.mass": (0.5, 9.0), **FREE}
    )
    assert any("can hardly be told apart" in w for w in fit.warnings)
    assert fit.values["spring.stiffness"] / fit.values["mass.mass"] == pytest.approx(13618 / 2.2, rel=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"free": {}}, "no parameter is free"),
        ({"free": {"spring.stifness": (1, 2)}}, "did you mean 'spring.stiffness'"),
        ({"free": {"spring.stiffness": (2, 1)}}, "finite and apart"),
        ({"inputs": {"force": np.ones(100)}}, "unknown input 'force'"),
        ({"outputs": {"spring.displacment": np.arange(100.0)}}, "unknown"),
        ({"outputs": {"spring.displacement": np.arange(50.0)}}, "same number of samples"),
        ({"inputs": {}}, "at least one input"),
        ({"model": "actuator"}, "expected a Model or a System"),
        ({"hold": "second"}, "hold must be"),
    ],
)
def test_bad_input_is_refused_in_words(change, message):
    given = {
        "model": MassSpringDamper(1.0, 1.0, 1.0, drive="position"),
        "inputs": {"x_d": np.ones(100)},
        "outputs": {"spring.displacement": np.arange(100.0)},
        "sample_period": T,
        "free": FREE,
        **change,
    }
    with pytest.raises(InputError, match=message):
        fit_bond_graph(**given)


@pytest.mark.parametrize("seed", range(5))
def test_a_direction_that_the_data_do_not_tell_has_a_large_variance_whatever_the_colour(seed):
    """Rounding made the variance negative, so nothing was said: J's third row is the sum of the others."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 400))
    e = np.convolve(rng.normal(size=410), 0.8 ** np.arange(11), "valid")
    spread = covariance(np.array([a, b, (a + b) * (1 + 1e-15)]), e, white=False)
    deviation = np.sqrt(np.diag(spread))
    assert np.all(deviation > 1e3 * e.std() / 20)
    assert abs(spread[0, 2]) / (deviation[0] * deviation[2]) > 0.999
