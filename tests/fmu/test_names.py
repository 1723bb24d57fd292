"""Names and units of any kind: legal in XML and FMI, distinct, and the values still reach the right place."""

import json
import math
import string

from fmpy import read_model_description
from fmpy.validation import validate_fmu
from hypothesis import given, settings
from hypothesis import strategies as st
from slaves import opened

from bondloop.engine.data.ranges import Range
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.quantity import Quantity
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.fmu import described, write_tick_fmu
from bondloop.fmu.model_description import bounds_of, legible, tick_variables

TEXTS = st.text(max_size=12) | st.sampled_from(
    ["a<b>&'\"", "time", "x\ny", "\x00", "output.x", "x", "]]>", "ü°", "%s%n", "a??/b", "\\", "*/", "\ud800"]
)
UNITS = st.sampled_from(["", "N", "m/s^2", "%", "kg", "N s/m", "rad", "1/s", "mm"]) | st.text(max_size=6)


def tick(names, unit):
    """One variable of each group with each name: u goes to the state, the parameter scales it."""
    measured = Quantity("anything", unit)
    inputs = tuple(Var(n, quantity=measured) for n in names)
    states = {Var(n): float(i) for i, n in enumerate(names)}
    parameters = {Var(n, range=Range(above=0)): 2.0 for n in names}
    updates = Update(tuple((x, p * u) for x, p, u in zip(states, parameters, inputs, strict=True)))
    channels = tuple(Channel(n, x, unit) for n, x in zip(names, states, strict=True))
    return Tick("names", 0.5, Var("t"), Var("k"), inputs, states, parameters, (updates,), channels)


@given(
    names=st.lists(TEXTS, min_size=1, max_size=4, unique=True), unit=UNITS, version=st.sampled_from([2, 3])
)
def test_any_name_and_unit_is_legal(tmp_path_factory, names, unit, version):
    path = tmp_path_factory.mktemp("names") / "names.fmu"
    made = tick(names, unit)
    write_tick_fmu(made, path, version=version, binary=False)
    assert validate_fmu(str(path)) == []
    description = read_model_description(str(path))
    variables = tick_variables(made)
    assert [v.name for v in description.modelVariables] == [v.name for v in variables]
    assert len({v.name for v in variables}) == len(variables) == 1 + 4 * len(names)
    groups = {"parameter": "parameter", "state": "local", "time": "independent"}
    for ours, theirs in zip(variables, description.modelVariables, strict=True):
        assert theirs.causality == groups.get(ours.group, ours.group)
        assert (theirs.unit or "") == (legible(ours.unit) if ours.unit else "")
        assert ours.start is None or float(theirs.start) == ours.start
    json.loads(json.dumps(described(made)))


@settings(max_examples=3)
@given(names=st.lists(TEXTS, min_size=2, max_size=3, unique=True))
def test_values_reach_their_variables(tmp_path_factory, names):
    """The C of any names compiles, and what is set comes out: the state is the parameter times the input."""
    path = tmp_path_factory.mktemp("names") / "names.fmu"
    made = tick(names, "N")
    write_tick_fmu(made, path)
    by_group = {}
    for v in tick_variables(made):
        by_group.setdefault(v.group, []).append(v.name)
    with opened(path) as one:
        one.set({n: 3.0 + i for i, n in enumerate(by_group["input"])})
        one.set(dict.fromkeys(by_group["parameter"], 10.0))
        assert one.get(by_group["output"]) == [float(i) for i in range(len(names))]
        one.step(0.0, 0.5)
        assert one.get(by_group["output"]) == [30.0 + 10 * i for i in range(len(names))]


@given(text=st.text())
def test_legible_text_has_nothing_that_is_forbidden(text):
    shown = legible(text)
    assert shown
    shown.encode()  # no lone surrogates
    assert not set(shown) & set("".join(map(chr, range(32))))
    if text and set(text) <= set(string.printable[:95]):
        assert shown == text


@given(
    least=st.none() | st.floats(-10, 10),
    above=st.none() | st.floats(-10, 10),
    most=st.none() | st.floats(-10, 10),
    below=st.none() | st.floats(-10, 10),
    value=st.floats(-11, 11),
)
def test_bounds_hold_what_the_range_holds(least, above, most, below, value):
    allowed = Range(least, most, above, below)
    low, high = bounds_of(allowed)
    assert (low <= value <= high) == (value in allowed)
    for bound in (above, below):
        if bound is not None:
            assert not low <= bound <= high
    assert bounds_of(None) == (-math.inf, math.inf)
