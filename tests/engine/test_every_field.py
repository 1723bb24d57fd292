"""Passes that rebuild a system: no field of any part is lost, whatever fields there are."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import MGY, C, Df, I, Model, One, R, Se, SignalIntegrator, Stop
from bondloop.engine import System
from bondloop.engine.ir import Const, Var
from bondloop.engine.ir.expr import Expr
from bondloop.engine.ir.quantity import Quantity
from bondloop.engine.ir.switching import DiodeRule, HeldMode, Switching
from bondloop.engine.ir.system_data import (
    Annotations,
    Divisor,
    Interface,
    Inversion,
    Program,
    Storage,
    SwitchedModes,
    SystemPart,
    Turn,
)
from bondloop.engine.passes.compose import connect, prefixed, with_values
from bondloop.errors import AccuracyWarning, ModeWarning


def full(word):
    """A system with something in every field; what it computes does not matter."""
    names = ("x", "mode", "kept", "u", "p", "w", "t", "slope", "rise", "way", "own")
    x, mode, kept, u, p, w, t, slope, rise, way, own = (Var(f"{word}.{name}") for name in names)
    rule = DiodeRule(f"{word}.diode", {0: "off", 1: "on"}, mode, w, u, x, p, (t,), way)
    switching = Switching(
        rules=(rule,),
        after={x: own},
        present={x: x},
        carried=(kept,),
        definitions={own: x * 2},
        tears=(own,),
        modes=((0,), (1,)),
        refused={(1, 1): "a reason"},
    )
    return System(
        word,
        Interface(
            {x: w, mode: Const(0.0)}, [u], {f"{word}.y": w + u}, {p: 3.0}, {u: 5.0},
            {f"{word}.y": Quantity("force", "N")},
        ),
        Program({w: p * t, t: x - u}, [t], 17, {x: slope}, {u: rise}),
        Storage({x: 0.5}, {mode: w}),
        SwitchedModes([switching], [HeldMode(rule, 1)]),
        Annotations(
            [f"{word}.storage"], ["a remark"], [Divisor(f"{word}.gy", "ratio", t, "an advice")], lambda _: w
        ),
        Inversion({f"{word}.y": 1}, (Turn(0, x, (w,)),), (f"{word}.y",), (rule,)),
    )  # fmt: skip


def empty(value):
    return value is None or (isinstance(value, (Mapping, tuple)) and not value)


def parts(system):
    return [part for f in fields(system) if isinstance(part := getattr(system, f.name), SystemPart)]


def as_text(value):
    """Any value with its variables by name, to be compared."""
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, Mapping):
        return {as_text(k): as_text(x) for k, x in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(as_text(x) for x in value)
    if is_dataclass(value):
        return {f.name: as_text(getattr(value, f.name)) for f in fields(value)}
    return "a function" if callable(value) else value


def test_the_example_leaves_no_field_empty():
    system = full("a")
    assert len(parts(system)) == 5
    for part in (system, *parts(system)):
        for f in fields(part):
            value = getattr(part, f.name)
            assert not empty(value), f.name
            assert f.default is MISSING or value != f.default, f"a loss of {f.name} would not be seen"


def without(prefix, value):
    """Take a prefix off every path in a text of a value; each must have it."""
    if isinstance(value, dict):
        return {without(prefix, k): without(prefix, x) for k, x in value.items()}
    if isinstance(value, tuple):
        return tuple(without(prefix, x) for x in value)
    if not isinstance(value, str):
        return value
    assert not re.search(rf"(?<!{re.escape(prefix)})\ba\.", value), f"{value} is not renamed"
    return value.replace(prefix, "")


def test_renaming_reaches_every_field():
    system = full("a")
    renamed = as_text(prefixed(system, "rig."))
    assert without("rig.", renamed) == as_text(system)


def test_renaming_makes_new_variables_of_all():
    system = full("a")
    renamed = prefixed(system, "rig.")
    assert not {*renamed.state_vars, *renamed.definitions} & {*system.state_vars, *system.definitions}
    assert str(renamed.expression("rig.anything")) == "rig.a.w"


def test_connecting_takes_every_field_of_all_parts():
    a, b = full("a"), full("b")
    output = {"y": a.expression("a.w")}
    whole = connect("whole", [a, b], {}, output)
    for of_whole, of_a, of_b in zip(parts(whole), parts(a), parts(b), strict=True):
        for f in fields(of_whole):
            got, left, right = (as_text(getattr(part, f.name)) for part in (of_whole, of_a, of_b))
            if isinstance(left, dict):
                right = {**left, **right}
            elif isinstance(left, tuple):
                right = left + right
            assert got == right or f.name in ("outputs", "lookup"), f.name  # those two are given anew
    assert (whole.name, dict(whole.output_exprs), whole.inversion) == ("whole", output, None)


CHANGES = [lambda s: with_values(s, {"a.p": 4.0}), lambda s: s.replaced(parameters={})]


@pytest.mark.parametrize("change", CHANGES, ids=["with_values", "replaced"])
def test_values_change_nothing_else(change):
    system = full("a")
    before, after = as_text(system), as_text(change(system))
    assert before["interface"].pop("parameters") != after["interface"].pop("parameters")
    assert after == before


def test_another_program_is_no_longer_that_inverse():
    system = full("a")
    assert system.replaced(outputs={}).inversion is system.inversion
    assert system.replaced(definitions={}).inversion is None


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="divisor"):
        full("a").replaced(divisor=())


@pytest.fixture
def coil():
    """A coil whose field turns: the current is the voltage by a ratio that passes zero."""
    model = Model("coil")
    model.shaft, model.speed, model.angle = One(), Df(), SignalIntegrator()
    model.shaft >> model.speed >> model.angle
    model.shaft >> [I(inertia=1.0, initial=2.0), R(damping=0.01)]
    model.coil, model.F, model.v = MGY(sp.cos), Se("F"), One()
    model.angle >> model.coil
    model.F >> model.coil >> model.v >> R(conductance=1.0)
    return model.compile(outputs=["shaft.flow"])


def test_a_modulus_that_passes_zero_is_warned_of_in_a_part_of_a_system(coil):
    part = prefixed(coil, "rig.")
    whole = connect("whole", [part], {}, {"speed": part.expression("rig.shaft.flow")})
    for system in (part, whole):
        with pytest.warns(AccuracyWarning, match=r"the ratio of rig\.coil is zero at"):
            system.simulate(2.0, {"rig.F": 1.0})


def test_a_mode_that_does_not_hold_is_warned_of_in_a_part_of_a_system():
    model = Model("buffer")
    model.v, model.spring, model.stop = One(), C(stiffness=1000), Stop(gap=0.01)
    Se("F") >> model.v >> [I(mass=1), model.spring, R(damping=10), model.stop]
    part = prefixed(model.compile(modes={"stop": "free"}), "rig.")
    whole = connect("whole", [part], {}, {})
    for system in (part, whole):
        with pytest.warns(ModeWarning, match=r"rig\.stop free does not hold there: its displacement 0\.03"):
            system.steady_state({"rig.F": 30.0})


def test_an_inverse_keeps_what_it_is_under_another_name():
    model = Model("cart")
    model.force, model.v = Se("F"), One()
    model.force >> model.v >> [I(mass=2.0), R(damping=3.0)]
    inverse = prefixed(model.compile(outputs=["v.flow"]).inverse("v.flow", "F"), "rig.")
    assert inverse.inputs == ("rig.v.flow", "d/dt rig.v.flow")
    times = np.linspace(0.0, 1.0, 101)
    run = inverse.simulate(1.0, {"rig.v.flow": (times, np.sin(times))}, times=times)
    assert run["rig.F"] == pytest.approx(2.0 * np.cos(times) + 3.0 * np.sin(times), abs=1e-6)
    assert inverse.zero_dynamics().verdict == "none"
