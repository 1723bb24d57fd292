"""Systems as FMUs for model exchange: rates and slopes against the system's own, motion against SciPy's."""

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from slaves import opened

from bondloop import papers
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import InputError


def pendulum():
    """A driven oscillator whose spring hardens and whose damper is quadratic: nothing in it is linear."""
    model = Model("hard spring")
    model.force, model.v = Se("f"), One()
    model.spring = C(law=lambda x, k=50.0, k3=4e3: k * x + k3 * x**3)
    model.damper = R(law=lambda v, c=0.4: c * v * (1 + v * v))
    model.mass = I(mass=2.0)
    _ = model.force >> model.v >> [model.mass, model.spring, model.damper]
    model.spring.initial_displacement = 0.1
    return model.compile(outputs=["spring.displacement", "v.flow"])


def looped():
    """Two dampers in a row make an algebraic loop."""
    return papers.find("dubois-damper").model().compile()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("make", [pendulum, looped])
def test_rates_and_slopes_are_those_of_the_system(tmp_path, make, version):
    system = make()
    path = system.write_fmu(tmp_path / "system.fmu", version=version)
    assert validate_fmu(str(path)) == []
    rng = np.random.default_rng(1)
    x = 0.1 * rng.standard_normal(len(system.states))
    u = rng.standard_normal(len(system.inputs))
    with opened(path) as one:
        one.set(dict(zip(system.inputs, u, strict=True)))
        import ctypes

        states = (ctypes.c_double * max(1, len(x)))(*x)
        set_states = one.fmu.fmi2SetContinuousStates if one.two else one.fmu.fmi3SetContinuousStates
        get_rates = one.fmu.fmi2GetDerivatives if one.two else one.fmu.fmi3GetContinuousStateDerivatives
        rates = (ctypes.c_double * max(1, len(x)))()
        set_states(one.fmu.component, states, len(x))
        get_rates(one.fmu.component, rates, len(x))
        expected = system.rates(x, u, [], list(system.values().values()))
        np.testing.assert_allclose(rates[: len(x)], expected, rtol=1e-12, atol=1e-14)
        point = system.linearise(x, u)
        known = [
            *system.inputs,
            *(f"state.{n}" if f"state.{n}" in one.references else n for n in system.states),
        ]
        unknown = [f"der({n})" for n in system.states] + list(system.outputs)
        jacobian = np.block(
            [
                [point.B.toarray(), point.A.toarray()],
                [point.D.toarray(), point.C.toarray()],
            ]
        )
        for column, name in enumerate(known):
            slopes = one.fmu.getDirectionalDerivative(
                [one.references[n] for n in unknown], [one.references[name]], [1.0]
            )
            np.testing.assert_allclose(slopes, jacobian[:, column], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("version", [2, 3])
def test_motion_is_that_of_the_systems_own_simulation(tmp_path, version):
    system = pendulum()
    path = system.write_fmu(tmp_path / "system.fmu", version=version)
    seen = fmpy.simulate_fmu(
        str(path), stop_time=2.0, output_interval=0.01, relative_tolerance=1e-9, start_values={"f": 1.5}
    )
    own = system.simulate(2.0, {"f": 1.5}, times=np.minimum(seen["time"], 2.0), rtol=1e-11)
    np.testing.assert_allclose(seen["v.flow"], own["v.flow"], atol=1e-6)
    assert np.ptp(seen["v.flow"]) > 0.1


def test_what_model_exchange_cannot_say_is_refused(tmp_path):
    system = pendulum()
    x, u = system.state_vars[0], system.input_vars[0]
    for change, said in (
        ({"memories": {x: x}}, "remembers its displacements"),
        ({"input_rates": {u: x}}, r"needs the rates of its inputs \(f\)"),
    ):
        with pytest.raises(InputError, match=said):
            system.replaced(**change).write_fmu(tmp_path / "x.fmu")


def test_what_switches_is_refused(tmp_path):
    from bondloop.bondgraph import Stop

    model = Model("pounding")
    model.force, model.v = Se("f"), One()
    _ = model.force >> model.v >> [I(mass=2.0), C(stiffness=50.0), Stop(gap=0.01)]
    with pytest.raises(InputError, match="switches, and its events are not written"):
        model.compile().write_fmu(tmp_path / "x.fmu")
