"""Every part of a bond graph that is not made of Python functions is described, and made again."""

import ast
import sys

import numpy as np
import pytest

from bondloop import rigs, transfer
from bondloop.bondgraph import (
    GY,
    RS,
    SS,
    TF,
    C,
    CField,
    Clutch,
    De,
    Df,
    Diode,
    I,
    IField,
    Input,
    Model,
    One,
    Port,
    R,
    RField,
    Se,
    Sf,
    SignalIntegrator,
    Stop,
    Switch,
    Zero,
)
from bondloop.engine.data.kinds import FAMILIES, complete, plain, same
from bondloop.engine.data.ranges import Range
from bondloop.engine.data.restoring import restore
from bondloop.engine.system import system_from_matrices
from bondloop.errors import InputError

PARTS = [
    One(),
    One(3),
    Zero(size=2),
    Port(),
    I(mass=2),
    I(mass="5 kg", initial=0.1),
    I(mass=[1.0, 2.0]),
    C(stiffness=8.0),
    C(compliance=0.1, initial="2 mm", size=2),
    R(damping=1.5),
    R(resistance="3 Ohm"),
    R(damping=1.0, ranges={"damping": Range(least=0.5)}),
    C(stiffness=2.0, ranges={"stiffness": Range(above=1.0, most=5.0, nonzero=True, units=("N/m",))}),
    RS(damping=2.0, gives="heat"),
    Se("F"),
    Se(effort=10),
    Sf("r", size=2),
    Sf(flow=0.0),
    SS(),
    SS("effort"),
    TF(2.0),
    TF(modulus=0.5, size=2),
    TF([[1.0, 2.0], [3.0, 4.0]]),
    GY(3.0),
    GY(ratio="2 N/A"),
    IField([[2.0, 0.1], [0.1, 1.0]]),
    CField(np.eye(2), initial=[0.1, 0.2]),
    RField([[1.0]]),
    De(),
    Df(),
    Input("x"),
    SignalIntegrator(),
    SignalIntegrator(initial=2.0),
    Diode(),
    Stop(0.1),
    Stop(gap="1 mm", restitution=0.5, initial=-0.1),
    Clutch("4 N"),
    Switch("on"),
    Switch(threshold=0.2),
    rigs.coulomb(3.0),
    rigs.stribeck(1.0, 2.0, 0.1),
    rigs.cubic_spring(1.0, 2.0, initial=0.1),
    rigs.dead_zone_spring(5.0, 0.1),
    rigs.preloaded_spring(5.0, 0.1, width=0.01),
]
LAWS = {"Function", "ICField", "MC", "MGY", "MR", "MSe", "MSf", "MTF", "Field", "ode_element"}
"""Kinds that are made of functions, or are given them by a class of one's own."""


@pytest.mark.parametrize("part", PARTS, ids=lambda p: f"{p.describe()}")
def test_a_part_is_made_again_from_its_description(part):
    description = part.describe()
    assert complete(description)
    again = restore(description)
    assert type(again) is type(part)
    assert again.describe() == description
    left, right = (p.__dict__ for p in (part, again))
    for name in ("coefficient", "start", "size", "imposes", "value", "input_name", "parameters", "ranges"):
        assert left.get(name) == right.get(name)


def test_no_kind_of_part_is_left_out():
    seen = {type(part).__name__ for part in PARTS} | {part.describe()["part"] for part in PARTS}
    assert {name for name, kind in FAMILIES["part"].items() if _ours(kind)} - seen - LAWS == set()


def _ours(kind):
    """Whether a kind is the package's own, not of a test or an example that ran before in this process."""
    return vars(sys.modules[kind.make.__module__]).get(kind.make.__name__) is kind.make


def test_a_law_is_told_by_what_it_is():
    model = Model()
    model.v, model.spring = One(), C(law=np.sin)
    _ = model.v >> model.spring
    assert "function sin" in model.describe()["parts"]["spring"]["law"]["python"] or "ufunc" in str(
        model.describe()
    )


SHARED = {
    "CField": CField,
    "IField": IField,
    "RField": lambda matrix: RField(matrix=matrix),
    "initial": lambda matrix: CField(np.eye(2), initial=matrix[0]),
    "TF": TF,
    "system": lambda matrix: system_from_matrices(matrix, [[1.0], [0.0]], [[1.0, 0.0]], [[0.0]]),
}


@pytest.mark.parametrize("rows", [list, np.array])
@pytest.mark.parametrize("what", SHARED)
def test_what_the_caller_changes_later_is_not_in_the_description(what, rows):
    numbers = [[2.0, 0.5], [0.5, 3.0]]
    matrix = rows(numbers)
    thing = SHARED[what](matrix)
    before = plain(thing)
    matrix[0][0] = 9.0
    assert "2.0" in repr(before)
    assert plain(thing) == before
    assert complete(before)


def test_a_study_that_fills_one_matrix_again_and_again_has_as_many_descriptions():
    matrix = np.eye(2)
    fields = []
    for k in (2.0, 4.0, 8.0):
        matrix[0, 0] = k
        fields.append(CField(matrix))
    assert [part.describe()["matrix"][0][0] for part in fields] == [2.0, 4.0, 8.0]


def test_ranges_are_read_from_a_file_and_faults_in_them_have_their_place():
    part = {"part": "R", "damping": 1.0, "ranges": {"damping": {"least": 0.5, "units": ["N s/m"]}}}
    assert restore(part).ranges == {"damping": Range(least=0.5, units=("N s/m",))}
    for entry, fault in {
        "{'leats': 0.5}": r"ranges\.damping\.leats: .*did you mean 'least'",
        "3.0": r"ranges\.damping: expected a parameter-range; found 3\.0",
        "{'least': 2.0}": r"expected a number at least 2; found 1",
    }.items():
        with pytest.raises(InputError, match=fault):
            restore(part | {"ranges": {"damping": ast.literal_eval(entry)}})
    with pytest.raises(InputError, match=r"R\(ranges\): expected a Range for 'damping'; found 3"):
        R(damping=1.0, ranges={"damping": 3})


def test_a_text_with_a_unit_and_its_number_are_the_same():
    numbers, texts = (
        transfer.MassSpringDamper(*values, drive="position", velocity=v)
        for *values, v in ((1.0, 20.0, 400.0, 1e-3), ("1000 g", "20 N s/m", "0.4 kN/m", "1 mm/s"))
    )
    assert texts.describe() == numbers.describe()
    assert same(texts, numbers)
    assert not same(texts, transfer.MassSpringDamper(2.0, 20.0, 400.0, drive="position", velocity=1e-3))


@pytest.mark.parametrize("word", ["De", "Df"])
@pytest.mark.parametrize("entry", ["args", "options", "nonsense"])
def test_a_detector_takes_nothing(word, entry):
    assert not FAMILIES["part"][word].parameters
    with pytest.raises(InputError, match=f"unknown entry '{entry}' of {word}"):
        restore({"part": word, entry: [1]})
