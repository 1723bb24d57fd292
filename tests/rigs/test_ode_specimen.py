"""Specimens of one's own: Bouc and Wen's hysteresis against SciPy, closed forms and its energy."""

# ruff: noqa: RUF012 - states are read, never changed

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import cumulative_trapezoid, solve_ivp
from scipy.optimize import brentq

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.devices import Imposed, OdeSpecimen
from bondloop.errors import BondloopError, CausalityError, InputError, ModelError
from bondloop.extend import Parameter
from bondloop.hybrid import Simulation
from bondloop.math import abs as magnitude
from bondloop.math import maximum, sign, where
from bondloop.rigs import Emulated, Specimen, mounted


class BoucWen(OdeSpecimen):
    """Hysteresis of Bouc (1967) and Wen (1976), z without dimension."""

    stiffness: Parameter = Parameter(2e5, above=0)
    yield_displacement: Parameter = Parameter(5e-3, above=0)
    post_yield: float = 0.1
    beta: float = 0.5
    gamma: float = 0.5
    exponent: float = 1.0
    states = {"z": 0.0}

    def rates(self, motion):
        v, z = motion.velocity, self.z
        shape = self.gamma + self.beta * sign(v * z)
        return {"z": v / self.yield_displacement * (1 - magnitude(z) ** self.exponent * shape)}

    def force(self, motion):
        k, a = self.stiffness, self.post_yield
        return a * k * motion.displacement + (1 - a) * k * self.yield_displacement * self.z


def by_hand(s, t, x, v, initial=0.0):
    """z over time by SciPy for a motion x(t), v(t), from the differential equation written out here."""

    def rate(time, z):
        speed = v(time)
        bend = s.beta * abs(speed) * abs(z) ** (s.exponent - 1) * z + s.gamma * speed * abs(z) ** s.exponent
        return (speed - bend) / s.yield_displacement

    z = solve_ivp(rate, (t[0], t[-1]), [initial], t_eval=t, rtol=1e-9, atol=1e-12, max_step=1e-2).y[0]
    return s.post_yield * s.stiffness * x(t) + (1 - s.post_yield) * s.stiffness * s.yield_displacement * z, z


def swung(specimen, amplitude, frequency=1.0, seconds=3.0, rate=4000, **options):
    """Displacement and force of a specimen that is moved as a sine from rest; compiled."""
    velocity = bl.signals.Sine(amplitude, frequency).derivative()
    whole = Simulation({"s": mounted(specimen).compile()}, excitation={"interface.flow": velocity}, rate=rate)
    run = whole.run(seconds, **options)
    t = run.time
    return t, amplitude * np.sin(2 * np.pi * frequency * t), run["s.interface.effort"]


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize(("exponent", "beta", "gamma"), [(1.0, 0.5, 0.5), (2.0, 0.7, 0.3), (1.5, 0.3, -0.1)])
def test_force_is_scipys(exponent, beta, gamma, backend):
    s = BoucWen(exponent=exponent, beta=beta, gamma=gamma)
    t, _, force = swung(s, 0.02, backend=backend, seconds=1.5, rate=2000)
    w = 2 * np.pi
    expected, _ = by_hand(s, t, lambda t: 0.02 * np.sin(w * t), lambda t: 0.02 * w * np.cos(w * t))
    # The rate jumps where the velocity turns: there the error of a fixed step is of the first order.
    np.testing.assert_allclose(force, expected, atol=3e-4 * abs(expected).max())


def loop_area(amplitude, width):
    """Area of z over x in a steady cycle for beta = gamma = 1/2, exponent 1, in closed form.

    Where |z| falls dz/dx = 1/width; where it grows dz/dx = (1 - |z|)/width. From -z to z over 2 X therefore
    2 X = width (z - ln(1 - z)), and the branch encloses -width z²/2 on its straight part and
    width (-ln(1 - z) - z) on the other.
    """
    z = brentq(lambda z: width * (z - math.log1p(-z)) - 2 * amplitude, 0, 1 - 1e-15)
    return 2 * width * (-(z**2) / 2 - math.log1p(-z) - z), z


@pytest.mark.parametrize("amplitude", [1e-3, 5e-3, 0.03])
def test_energy_of_a_cycle_is_the_closed_form(amplitude):
    s = BoucWen()
    t, x, force = swung(s, amplitude, seconds=6.0)
    last = t >= 5.0 - 1e-9
    energy = np.trapezoid(force[last], x[last])
    area, _ = loop_area(amplitude, s.yield_displacement)
    expected = (1 - s.post_yield) * s.stiffness * s.yield_displacement * area
    assert energy == pytest.approx(expected, rel=5e-3)
    supplied = cumulative_trapezoid(force, x)
    stored = s.stiffness * (0.03 + s.yield_displacement) ** 2
    assert supplied.min() > -stored  # it gives back no more than springs can hold


@given(
    exponent=st.floats(1, 5),
    beta=st.floats(0.1, 1),
    share=st.floats(-0.9, 1),
    amplitude=st.floats(1e-3, 0.05),
)
def test_z_never_passes_its_bound(exponent, beta, share, amplitude):
    """|z| stays below (beta + gamma)^(-1/n): Ikhouane and Rodellar 2007, for -beta < gamma <= beta."""
    s = BoucWen(exponent=exponent, beta=beta, gamma=share * beta)
    bound = (s.beta + s.gamma) ** (-1 / s.exponent)
    z = 0.0
    h = 0.02 * s.yield_displacement / (amplitude * 2 * np.pi)
    for k in range(200):  # plain numbers: the class is Python
        v = amplitude * 2 * np.pi * math.cos(2 * np.pi * k * h)
        z += h * s.at_states(z=z).rates(Imposed(velocity=v))["z"]
        assert abs(z) <= bound * 1.05


def test_in_a_structure_it_is_scipys():
    """A mass on a Bouc-Wen bearing, compiled, against the equations of motion by SciPy."""
    s, m, c = BoucWen(exponent=2.0), 500.0, 300.0
    tower = Model("tower")
    tower.push, tower.v, tower.bearing = Se("F"), One(), s.element()
    tower.push >> tower.v >> [I(mass=m), R(damping=c), tower.bearing]
    system = tower.compile(outputs=["v.flow", "bearing.effort"])
    assert set(system.states) >= {"bearing.z", "bearing.displacement"}
    push = bl.signals.Sine(1500.0, 2.0)
    run = Simulation({"tower": system}, excitation={"F": push}, rate=4000).run(2.0)

    def rates(t, y):
        x, v, z = y
        bend = s.beta * abs(v) * abs(z) * z + s.gamma * v * z**2
        k, a, d = s.stiffness, s.post_yield, s.yield_displacement
        f = 1500.0 * math.sin(4 * math.pi * t) - c * v - a * k * x - (1 - a) * k * d * z
        return [v, f / m, (v - bend) / d]

    y = solve_ivp(
        rates, (0, 2), [0, 0, 0], t_eval=run.time[run.time <= 2], rtol=1e-9, atol=1e-12, max_step=5e-3
    ).y
    speed = run["tower.v.flow"][: y.shape[1]]
    np.testing.assert_allclose(speed, y[1], atol=2e-4 * abs(y[1]).max())


def bearing_test(**changes):
    tower = Model("tower")
    tower.push, tower.v, tower.bearing = Se("F"), One(), BoucWen(**changes).element()
    tower.push >> tower.v >> [I(mass=2000.0), C(stiffness=5e5), R(damping=1200.0), tower.bearing]
    numerical, physical = tower.cut("v >> bearing")
    return bl.HybridTest(
        numerical, rig=Emulated(physical, bl.transfer.ServoHydraulic()),
        controller=bl.control.LeadCompensation("8 ms"), excitation={"F": bl.signals.Sine(4000.0, 2.0)},
        rate=1000, reference=(tower, ["v.flow"]),
    )  # fmt: skip


def test_a_hybrid_test_with_it_is_checked_set_by_path_and_twins():
    test = bearing_test()
    check = test.check(4)
    assert check.passed
    assert not check.linear
    assert check.ensemble.members
    other = test.with_values({"rig.specimen.bearing.stiffness": "300 kN/m"})
    c, python = (other.run(0.3, backend=b) for b in ("c", "numpy"))
    np.testing.assert_allclose(c["force"], python["force"], atol=1e-9 * abs(c["force"]).max())
    assert abs(c["force"]).max() > 1.2 * abs(test.run(0.3)["force"]).max()
    with pytest.raises(InputError, match=r"bearing.stiffness: expected a number above 0"):
        test.with_values({"rig.specimen.bearing.stiffness": -1})


def test_it_stands_in_pseudo_dynamic_tests_too():
    specimen = Specimen.from_model(mounted(BoucWen()))
    assert specimen.system.states == ("bouc_wen.displacement", "bouc_wen.z")


def test_states_and_parameters_have_units():
    class Creeping(OdeSpecimen):
        """A spring that creeps."""

        stiffness: Parameter = Parameter(400.0, above=0, unit="N/m")
        states = {"creep": 0.0, "past": [0.0, 0.0]}
        units = {"creep": "m", "past": "mm"}

        def rates(self, motion):
            return {"creep": motion.displacement - self.creep, "past": [0.0, 0.0]}

        def force(self, motion):
            return self.stiffness * (motion.displacement - 0.1 * self.creep)

    with pytest.raises(InputError, match="Creeping"):
        Creeping(stiffness="4 mm")
    system = mounted(Creeping(stiffness="0.4 kN/m")).compile()
    known = {v.name: v.quantity.unit if v.quantity else "" for v in system.state_vars}
    assert known["creeping.creep"] == "m"
    assert known["creeping.displacement"] == "m"
    with pytest.raises(ModelError, match="unknown state 'crep'"):
        mounted(type("Wrong", (Creeping,), {"units": {"crep": "m"}, "__module__": __name__})())


class Frame(OdeSpecimen):
    """Two interfaces, an array of states, conditions as numbers: nothing is left out."""

    k: float = 1e4
    interfaces = 2
    states = {"wear": [0.0, 0.5]}

    def rates(self, motion):
        slip = np.array([motion.velocity[0] - motion.velocity[1], motion.velocity[1]])
        return {"wear": [(s > 0) * s - 0.1 * w for s, w in zip(slip, self.wear, strict=True)]}

    def force(self, motion):
        x, y = motion.displacement
        gap = where(x > y, x - y, 0.0)
        return [self.k * gap + 5 * self.wear[0], -self.k * gap + self.k * maximum(y, 0) * (1 + self.wear[1])]


def test_several_interfaces():
    half = mounted(Frame())
    system = half.compile()
    assert system.inputs == ("interface[0].flow", "interface[1].flow")
    assert set(system.states) >= {"frame.wear[0]", "frame.wear[1]"}
    initial = dict.fromkeys(system.states, 0.0) | {"frame.wear[1]": 0.5}
    motion = dict(zip(system.states, np.linspace(0.01, 0.04, len(system.states)), strict=True))
    at = {**initial, **motion}
    positions = [s for s in system.states if "wear" not in s]
    x = [at[s] for s in positions]
    wear = [at["frame.wear[0]"], at["frame.wear[1]"]]
    law = Frame().at_states(wear=wear)
    moved = Imposed(np.array(x), np.array([0.3, -0.2]))
    rates, outputs = system_at(system, at, [0.3, -0.2])
    np.testing.assert_allclose(outputs, law.force(moved), rtol=1e-12)
    expected = dict(zip(positions, [0.3, -0.2], strict=True))
    expected |= {f"frame.wear[{i}]": r for i, r in enumerate(law.rates(moved)["wear"])}
    np.testing.assert_allclose(rates, [expected[s] for s in system.states], rtol=1e-12)


def system_at(system, states, inputs):
    """Rates and outputs of a system, by expressions alone."""
    from bondloop.engine.ir.expr import evaluate

    values = {v: states[v.name] for v in system.state_vars} | dict(
        zip(system.input_vars, inputs, strict=True)
    )
    values |= system.values()
    goals = [*system.rate_exprs, *system.output_exprs.values()]
    for step in system.schedule(goals):
        values[step.target] = evaluate(step.expr, values)
    results = [evaluate(g, values) for g in goals]
    n = len(system.state_vars)
    return results[:n], results[n:]


def test_refusals():
    def made(**body):
        return mounted(type("Bad", (OdeSpecimen,), {"states": {"z": 0.0}, **body})())

    force = lambda self, motion: motion.displacement  # noqa: E731, ARG005
    with pytest.raises(ModelError, match="write its method force"):
        made(rates=lambda self, m: {"z": 0.0})  # noqa: ARG005
    with pytest.raises(ModelError, match="rate of the state 'z' is missing"):
        made(force=force)
    with pytest.raises(ModelError, match="unknown state 'y'"):
        made(force=force, rates=lambda self, m: {"z": 0.0, "y": 1.0})  # noqa: ARG005
    with pytest.raises(ModelError, match="where"):
        made(force=lambda self, m: 1.0 if m.velocity > 0 else -1.0, rates=lambda self, m: {"z": 0.0})  # noqa: ARG005
    with pytest.raises(ModelError, match="expected one number; found 2"):
        made(force=lambda self, m: [0.0, 0.0], rates=lambda self, m: {"z": 0.0})  # noqa: ARG005

    with pytest.raises(InputError, match="stiffness"):
        BoucWen(stiffness=0)


def test_what_is_used_twice_is_computed_once():
    """Written out, the formula would have 2**40 operations."""

    class Deep(OdeSpecimen):
        """A formula that is used in itself again and again."""

        def force(self, motion):
            x = motion.displacement
            for _ in range(40):
                x = x * x * 0.5 + 0.1
            return x

    system = mounted(Deep()).compile()
    assert len(system.definitions) < 100
    f = system.function([system.output_exprs["interface.effort"]])
    assert f([0.3], [0.0], [], [])[0] == Deep().force(Imposed(0.3))


def test_it_cannot_be_given_a_force():
    """A velocity cannot be found from a force where there is hysteresis."""
    series = Model("series")
    series.push, series.v, series.bearing = Se("F"), One(), BoucWen().element()
    series.push >> series.v >> series.bearing
    with pytest.raises(CausalityError):
        series.compile()


def test_it_is_a_value_that_describes_itself():
    assert BoucWen(stiffness="200 kN/m") == BoucWen()

    class DescribedBoucWen(BoucWen):
        """Of a name that no page uses: a kind is found by its name."""

    one = DescribedBoucWen(beta=0.7)
    assert OdeSpecimen.from_description(one.describe()) == one
    with pytest.raises(BondloopError):
        BoucWen().at_states(y=1.0)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("method", ["rates", "force"])
def test_numbers_that_are_not_finite_are_refused(number, method):
    class Pad(OdeSpecimen):
        states = {"creep": 0.0}

        def rates(self, motion):
            return {"creep": motion.velocity * (number if method == "rates" else 1)}

        def force(self, motion):  # noqa: ARG002
            return self.creep + (number if method == "force" else 0)

    with pytest.raises(ModelError, match="hold the number"):
        mounted(Pad())


def test_a_bound_at_infinity_is_none():
    class Pad(OdeSpecimen):
        def force(self, motion):
            x, v = motion.displacement, motion.velocity
            return bl.math.clip(x, 0.0, math.inf) + bl.math.clip(v, -math.inf, math.inf)

    class Plain(OdeSpecimen):
        def force(self, motion):
            return bl.math.maximum(motion.displacement, 0.0) + motion.velocity

    one, other = (mounted(law()).compile().equations().rows for law in (Pad, Plain))
    assert str(one).replace("pad", "plain") == str(other)


@pytest.mark.parametrize("count", [0, -1, "2", 1.0, True])
def test_interfaces_are_counted(count):
    class Pad(OdeSpecimen):
        interfaces = count

        def force(self, motion):
            return motion.displacement

    with pytest.raises(ModelError, match=r"Pad\.interfaces: expected a whole number from 1 on"):
        mounted(Pad())


@pytest.mark.parametrize("thing", [5, None, OdeSpecimen, len])
def test_only_models_and_specimens_are_mounted(thing):
    with pytest.raises(ModelError, match="expected a model with a port"):
        mounted(thing)
