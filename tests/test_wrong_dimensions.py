"""A quantity of a wrong dimension is refused before a run begins, whatever parameter it is given to."""

import inspect
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bondloop.bondgraph import C, I, Model, One, Sf, Zero
from bondloop.control import AdaptiveTimeSeries, Direct, LeadCompensation, OuterLoop, PolynomialPrediction
from bondloop.engine.data.described import Parameter
from bondloop.engine.data.kinds import FAMILIES
from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated, Sensor
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, first_order
from bondloop.units import is_of_kind

NO_QUANTITIES = {"common", "model", "parameters", "reference", "coupled", "title", "unit"}
"""Parameters that are other things: models, words, choices."""
ANYTHING = {"alpha", "beta"}
"""Of MCS: what they measure hangs together with the gains, and those with the command."""
GOOD = {
    "model": MassSpringDamper(1.0, 10.0, 100.0, drive="position"),
    "process": first_order(1.0, 0.02),
    "of": Sine("1 m/s", 2.0),
    "terms": [Sine(1.0, 2.0)],
    "samples": [0.0, 1.0, 0.0],
    "times": [0.0, 1.0],
    "values": [0.0, 1.0],
    "amplitudes": [1.0],
    "frequencies": [1.0],
    "stop": 3.0,
    "high": 5.0,
    "bits": 12,
    "fixed": PolynomialPrediction("3 ms"),
    "adaptive": AdaptiveTimeSeries(),
    "compensator": LeadCompensation("3 ms"),
    "compensators": [LeadCompensation("3 ms"), LeadCompensation("4 ms")],
    "levels": [1e-3, 2e-3],
    "loop": OuterLoop(1.0, 5.0),
}
ALSO = {
    "AdaptiveVirtualJunction": {"parameters": ["damper.damping"]},
    "SensitivityVirtualJunction": {"parameters": ["damper.damping"]},
    "TwoStageAdaptive": {"prediction": PolynomialPrediction("3 ms")},
    "SumOfSines": {"phases": [0.0]},
}
"""What some need beside what they cannot do without."""
BASE = ("kg", "m", "s", "A", "K")
RANGES = r"a number (at least|above|at most|below|other)|a finite number"


def halves():
    m = Model("swing")
    m.wall, m.z, m.v, m.f = Sf("wall"), Zero(), One(), Zero()
    m.wall >> m.z >> [C(stiffness="1 kN/m"), m.v]
    m.v >> [I(mass="2 kg"), m.f]
    m.f >> C(stiffness="1 kN/m")
    return m.cut("v >> f")


NUMERICAL, PHYSICAL = halves()


def kinds():
    found = []
    for family in ("imperfection", "signal", "controller"):
        for name, kind in FAMILIES[family].items():
            module = kind.make.__module__
            own = module.startswith("bondloop.") and not module.startswith("bondloop.papers")
            if own and kind.parameters and not {"path", "function"} & set(kind.parameters):
                found.append((family, name))
    return found


KINDS = kinds()


def made(family, name, **given_instead):
    kind = FAMILIES[family][name]
    needed = {n: GOOD.get(n, 1.0) for n, p in kind.parameters.items() if p.default is p.empty}
    return kind.make(**{**needed, **ALSO.get(name, {}), **given_instead})


def used(family, part):
    """Bring a part as far as a run would begin: the motion is in m, the wall moves in m/s."""
    if family == "imperfection":
        place = {"force" if isinstance(part, Sensor) and part.unit == "N" else "displacement": part}
        parts = {"sensors": place} if isinstance(part, Sensor) else {"drive": [part]}
        return Emulated(PHYSICAL, GOOD["model"], **parts).system()
    parts = {"controller": Direct(), "excitation": {}, "rate": 1000, family: part}
    if family == "signal":
        parts["excitation"] = {"wall": parts.pop("signal")}
    return HybridTest(NUMERICAL, rig=Emulated(PHYSICAL, GOOD["model"]), **parts)


def right_units(family, name, parameter):
    """Return what the parameter may measure."""
    kind = FAMILIES[family][name]
    declared = inspect.getattr_static(kind.make, parameter, None)
    units = getattr(kind.allowed.get(parameter), "units", ())
    if isinstance(declared, Parameter):
        units = declared.range.units
    if units:
        return units
    free = {"imperfection": ("m", "s", "1"), "signal": ("m/s", "s", "Hz", "rad", "1"), "controller": ("s",)}
    motions = ("m/s", "rad/s", "m", "rad", "1/s", "1", "Hz") if family == "controller" else ()
    return (*free[family], *motions, *(("m/s",) if name == "RateLimit" else ()))


def several_of(value):
    return isinstance(value, list) and isinstance(value[0], float)


def listed(family, name):
    kind = FAMILIES[family][name]
    return [n for n in kind.parameters if n not in NO_QUANTITIES | ANYTHING]


@pytest.mark.parametrize(("family", "name"), KINDS)
def test_with_good_parameters_it_is_taken(family, name):
    assert made(family, name)


@given(st.data(), st.tuples(*[st.integers(-2, 2)] * 5).filter(any))
def test_a_wrong_dimension_is_refused(data, powers):
    family, name = data.draw(st.sampled_from([k for k in KINDS if listed(*k)]))
    parameter = data.draw(st.sampled_from(listed(family, name)))
    unit = " ".join(f"{base}^{power}" for base, power in zip(BASE, powers, strict=True) if power)
    assume(not any(is_of_kind(f"1 {unit}", right) for right in right_units(family, name, parameter)))
    several = GOOD.get(parameter, ALSO.get(name, {}).get(parameter))
    text = f"1 {unit}"
    with pytest.raises(BondloopError) as refused:
        used(
            family, made(family, name, **{parameter: [text] * len(several) if several_of(several) else text})
        )
    assert not re.search(RANGES, str(refused.value)), refused.value
