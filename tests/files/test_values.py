"""Values of every family are described, and made again from what JSON keeps of it."""

import itertools
import json

import pytest

from bondloop import files as room
from bondloop.engine.data.described import Parameter
from bondloop.engine.data.kinds import FAMILIES, complete
from bondloop.engine.data.restoring import Reader, restore, types_of, wanted
from bondloop.errors import BondloopError

NEEDED = {
    "amplitude": 0.1, "frequency": 2.0, "start": 1.0, "stop": 5.0, "duration": 3.0, "at": 0.5, "value": 2.0,
    "delay": 0.01, "of": {"signal": "Sine", "amplitude": 1.0, "frequency": 2.0}, "by": 0.5, "factor": 2.0,
    "process": {"process": "first_order", "gain": 1.0, "time_constant": 0.01}, "times": [0.0, 1.0, 3.0],
    "values": [0.0, 1.0, 2.0], "rms": 0.1, "gain": 1.5, "time_constant": 0.01, "damping": 0.7, "dofs": ["x"],
    "natural_frequency": 100.0, "numerator": [1.0], "denominator": [0.1, 1.0], "bits": 12, "range": 5.0,
    "limit": 2.0, "width": 0.1, "offset": 0.1, "error": 0.01, "cutoff": 20.0, "rate": 3.0, "threshold": 20.0,
    "masses": [1.0, 2.0], "stiffnesses": [3.0, 4.0], "m": 1.0, "c": 2.0, "k": 3.0, "E": 1.0, "A": 1.0,
    "parameters": ["damper.damping"], "model": {"transfer": "MassSpringDamper", "m": 1.0, "c": 2.0, "k": 3.0},
    "a": "left", "b": "right", "I": 1.0, "rho": 1.0, "G": 1.0, "J": 1.0, "Iy": 1.0, "Iz": 1.0, "sub_steps": 4,
    "M": [[1.0]], "C": [[0.1]], "K": [[2.0]], "terms": [{"signal": "Constant", "value": 1.0}],
    "amplitudes": [1.0], "frequencies": [2.0], "alpha": -0.1, "rise": 1.0, "plateau": 2.0, "end": 3.0,
    "structure": {"structure": "ShearBuilding", "masses": [1.0], "stiffnesses": [2.0]}, "decay": 0.5,
    "peak": 1.0,
}  # fmt: skip
"""A value for every argument that some kind cannot do without."""
TWO_STOREYS = {"structure": "ShearBuilding", "masses": [2.0, 1.0], "stiffnesses": [6.0, 3.0]}
OWN = {
    "matrices": {
        "of": {"matrices": "from_structure", "structure": TWO_STOREYS},
        "keep": ["floor[2].ux"],
        "interface": ["floor[2].ux"],
        "count": 1,
        "coordinates": {"drift": {"floor[2].ux": 1.0, "floor[1].ux": -1.0}},
    }
}
"""What a family means by some of these."""
READ = {"file"}
"""Kinds that are read from files."""
FAMILIES_OF_VALUES = sorted(
    {"controller", "envelope", "element", "imperfection", "inner_loop", "integrator", "hydraulic", "damper"}
    | {"electro_mechanical", "limits", "matrices", "process", "safety", "scheme", "signal", "transfer"}
)


def own(family):
    assert room.schema()  # brings those of the ready-made tests too
    return [k for k in FAMILIES[family].values() if k.make.__module__.startswith("bondloop.")]


@pytest.mark.parametrize("family", FAMILIES_OF_VALUES)
def test_values_are_made_again_from_their_descriptions(family):
    kinds = [kind for kind in own(family) if kind.name not in READ]
    tried, values = 0, NEEDED | OWN.get(family, {})
    for kind in kinds:
        needed = [n for n, p in kind.parameters.items() if p.default is p.empty and p.kind != p.VAR_KEYWORD]
        reader = Reader()
        if not set(needed) <= set(values):
            continue
        value = reader.make(kind, {n: values[n] for n in needed}, ())
        if reader.faults:  # what suits others does not suit this one
            continue
        tried += 1
        said = value.describe()
        assert complete(said), kind.name
        again = restore(json.loads(json.dumps(said, allow_nan=False)), kind if kind.alone else None)
        assert type(again) is type(value), kind.name
        assert again.describe() == said, kind.name
        if kind.family != "transfer":  # bond graphs are compared by what holds them
            assert again == value, kind.name
    assert tried >= 0.6 * len(kinds), f"{tried} of {len(kinds)}"


TEXTS = ("5 mm", "5 deg", "1 kHz", "2 kg", "30 %", "4 ms")


@pytest.mark.parametrize("family", FAMILIES_OF_VALUES)
def test_a_file_refuses_texts_that_python_refuses(family):
    values = NEEDED | OWN.get(family, {})
    for kind in own(family):
        needed = [n for n, p in kind.parameters.items() if p.default is p.empty and p.kind != p.VAR_KEYWORD]
        types = {n: types_of(kind)[n] for n in kind.parameters}
        numbers = [n for n, t in types.items() if t is Parameter or float in wanted(t).scalars]
        if kind.name in READ or not set(needed) <= set(values):
            continue
        for name, text in itertools.product(numbers, TEXTS):
            entries = {n: values[n] for n in needed} | {name: text}
            reader = Reader()
            reader.make(kind, entries, ())
            if not reader.faults:
                kind.make(**{n: restore(v) if isinstance(v, dict) else v for n, v in entries.items()})


@pytest.mark.parametrize(
    ("family", "kind", "entries", "good"),
    [
        ("controller", "MCS", {"settling_time": "5 deg"}, "5 ms"),
        ("controller", "MCS", {"leakage": "2 s"}, "2 Hz"),
        ("controller", "MCS", {"differentiation_time": "1 kHz"}, "2 ms"),
        ("scheme", "HHTAlpha", {"alpha": "-5 mm"}, "-5 %"),
        ("scheme", "KRAlpha", {"rho_inf": "5 mm"}, "50 %"),
        ("scheme", "NewmarkImplicit", {"gamma": "0.5 s"}, "50 %"),
        ("scheme", "SubStep", {"I": "1 s"}, "1 Hz"),
        ("model", "wagg-two-mass-rig", {"friction": "5 mm"}, "5 N"),
        ("model", "silva-frame", {"stiffness": "1 N"}, "1.2 kN/mm"),
    ],
)
def test_a_number_of_a_file_measures_what_it_should(family, kind, entries, good):
    assert room.schema()  # brings the models of the ready-made tests
    ((name, text),) = entries.items()
    with pytest.raises(BondloopError, match=f"{name}: expected a (quantity|number without).*found '{text}'"):
        restore({family: kind, **entries})
    assert restore({family: kind, name: good}) is not None


@pytest.mark.parametrize(
    ("made", "name", "good", "bad", "found"),
    [
        ({"process": "Process", "numerator": [1]}, "denominator", ["20 ms", 1], ["20 mm", 1], "20 mm"),
        (
            {"process": "Process", "denominator": [1, "200 1/s", "4e4 1/s^2"]},
            "numerator", ["4e4 1/s^2"], ["4e4 Hz"], "4e4 Hz",
        ),
        ({"process": "Process", "denominator": [1, 1]}, "numerator", ["2 s", 1], ["2 s", "1 m"], "1 m"),
        ({"controller": "MCS"}, "error_filter", ["400 1/s", 1], ["400 kg", 1], "400 kg"),
        ({"part": "C", "stiffness": 1.0, "size": 2}, "initial", ["5 mm", 0.001], ["5 kg", 0.001], "5 kg"),
        ({"coupler": "Pins"}, "points", [[0, "10 cm"], [1, 1]], [[0, "10 s"], [1, 1]], "10 s"),
        (
            {"coupler": "Pins", "points": [[0, 0], [1, 1]]},
            "directions", [["100 %", 0], [0, 1]], [["1 mm", 0], [0, 1]], "1 mm",
        ),
        (
            {"element": "Beam3D", "a": "a", "b": "b", "E": 1, "A": 1, "Iy": 1, "Iz": 1},
            "reference", [0, 0, "1"], [0, 0, "1 kg"], "1 kg",
        ),
        (
            {"model": "ExternalHalf", "stroke": 1, "speed": 1},
            "stiffness", [["2 kN/m"]], [["2 kN"]], "2 kN",
        ),
        ({"structure": "ShearBuilding", "masses": [1]}, "stiffnesses", ["2 kN/m"], ["2 kN"], "2 kN"),
        ({"controller": "RecursiveFir", "taps": 2}, "initial", ["150 %", -0.5], ["1.5 kg", -0.5], "1.5 kg"),
        (
            {"constraint": "Constraint"},
            "terms", [["a.ux", "100 %"], ["b.rz", "20 cm"]], [["a.ux", "1 kg"]], "1 kg",
        ),
    ],
)  # fmt: skip
def test_numbers_in_a_list_of_a_file_measure_what_they_should(made, name, good, bad, found):
    assert room.schema()
    more = {"directions": [[1, 0], [0, 1]]} if name == "points" else {}
    assert restore({**made, **more, name: good}) is not None
    with pytest.raises(BondloopError, match=rf"{name}.*: expected .*found .*'{found}'"):
        restore({**made, **more, name: bad})
