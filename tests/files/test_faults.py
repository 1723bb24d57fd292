"""All faults of a file at once, each with its line and path."""

import contextlib
import copy
import random
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from bondloop import files, papers
from bondloop.engine.data.restoring import restore
from bondloop.engine.data.toml_files import toml_text
from bondloop.errors import BondloopError, FaultsError, InputError

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from file_cases import BUILDING, EXAMPLES, READY_MADE, places, written

SEVEN = [
    ("cut = ", "cuts = ", "line 6, cuts: unknown entry 'cuts' of a test; did you mean 'cut'"),
    ("7850 kg/m3", "7850 kg/x3", "line 24, structure.parts.frame.matrices.structure.elements.low.rho: "),
    ("stiffness = ", "stifness = ", "line 33, structure.parts.damper.parts.spring"),
    ('latency = "2 ms"', 'latency = "-2 ms"', "line 39, rig.latency: expected a number at least 0"),
    ('controller = "Poly', 'controller = "Pol', "line 43, controller.controller: unknown controller"),
    ('path = "push.csv"', 'path = "pull.csv"', "line 47, excitation.\"frame.push\""),
    ('displacement = "20 mm"', 'displacement = "20 N"', "line 53, limits.displacement: expected a"),
]  # fmt: skip


@pytest.mark.parametrize("left_out", [None, *range(len(SEVEN))])
def test_a_file_with_seven_mistakes_reports_seven(tmp_path, left_out):
    """Each once, with its line and its path; and whichever six of them are left."""
    text = BUILDING
    wanted = []
    for i, (right, wrong, words) in enumerate(SEVEN):
        if i != left_out:
            assert text.count(right) == 1, right
            text = text.replace(right, wrong)
            wanted.append(words)
    with pytest.raises(FaultsError) as caught:
        files.load(written(tmp_path, text))
    faults = caught.value.faults
    for words in wanted:
        assert sum(fault.startswith(words) for fault in faults) == 1, (words, faults)
    assert len(faults) == len(wanted) == (7 if left_out is None else 6), faults


LISTED = """
name = "chain"
rate = 1000
cut = "floor.top >> brace"
[structure]
model = "Model"
bonds = ["floors.top >> brace", "brace >> brac", "a"]
[structure.parts]
brace = "One"
[structure.parts.floor]
model = "field_form"
matrices.matrices = "from_structure"
[structure.parts.floor.matrices.structure]
structure = "ShearBuilding"
masses = ["2 m", 3, "1 s"]
stiffnesses = [1, "2 kg", 3]
rayleigh = ["1 kg", 0]
[rig]
rig = "Emulated"
[excitation.F]
signal = "SumOfSines"
amplitudes = [1, 2]
frequencies = ["3 kg", "2 m"]
phases = ["1 N", "2 rad"]
"""


def test_faults_inside_lists_are_all_told(tmp_path):
    """Those of the building's masses, of the waves and of the bonds hid each other."""
    with pytest.raises(FaultsError) as caught:
        files.load(written(tmp_path, LISTED))
    building = "structure.parts.floor.matrices.structure"
    for words in (
        *(f"line 15, {building}.masses[{i}]: expected a quantity in kg" for i in (0, 2)),
        f"line 16, {building}.stiffnesses[1]: expected a quantity in N/m",
        f"line 17, {building}.rayleigh: alpha: expected a quantity in 1/s",
        *(f"line 23, excitation.F.frequencies[{i}]: expected a quantity in Hz" for i in (0, 1)),
        "line 24, excitation.F.phases[0]: expected a quantity in rad",
    ):
        assert sum(fault.startswith(words) for fault in caught.value.faults) == 1, (
            words,
            caught.value.faults,
        )
    right = LISTED.replace('["2 m", 3, "1 s"]', "[1, 2, 3]").replace('"2 kg"', "2").replace('"1 kg"', "1")
    with pytest.raises(FaultsError) as caught:
        files.load(written(tmp_path, right))
    for i, words in enumerate(("unknown part 'floors'", "unknown part 'brac'", "expected a bond written as")):
        place = f"line 7, structure.bonds[{i}]: {words}"
        assert sum(fault.startswith(place) for fault in caught.value.faults) == 1, caught.value.faults


def test_one_fault_is_one_sentence(tmp_path):
    with pytest.raises(InputError) as caught:
        files.load(written(tmp_path, BUILDING.replace('delay = "17 ms"', "dely = 0.1")))
    assert not isinstance(caught.value, FaultsError)
    assert str(caught.value) == (
        f"{tmp_path / 'frame.toml'}: line 44, controller.dely: unknown entry 'dely' of PolynomialPrediction; "
        "did you mean 'delay'? known: delay, order, points, span; delay is needed"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rate = ", "the text: line 1: Invalid value, in: rate ="),
        ("rate = 1\n", "a test needs a structure and its cut, or a numerical half"),
        ('test = "HybridTst"', "line 1, test: unknown test 'HybridTst'; did you mean 'HybridTest'"),
        ("test = 3", "line 1, test: expected a text; found 3"),
        ('cut = "a >> b"', "line 1, cut: there is no structure to cut"),
        ('[structure]\nmodel = "gawthrop-three-mass"\nsprong = 1', "line 3, structure.sprong: unknown entry"),
        (
            'cut = "m2.right >> m4.left"\n[structure]\nmodel = "gawthrop-three-mass"',
            "line 1, cut: unknown part 'm4'",
        ),
        (
            'cut = "m2.right >> m3.left"\n[structure]\nmodel = "gawthrop-three-mass"\n[excitation]\nq = 1',
            "line 5, excitation.q: unknown input 'q' of the numerical half",
        ),
        ('integrator = {integrator = "RK5"}', "line 1, integrator.integrator: unknown integrator 'RK5'"),
        ('integrator = "RK5"', "line 1, integrator.integrator: unknown integrator 'RK5'"),
        ("integrator = {hold = 1}", "line 1, integrator: which integrator is it?"),
        ("record = [1, 2]", "line 1, record[0]"),
        ("seconds = -1", "line 1, seconds: expected a number above 0"),
        ('interlock = {safety = "Interlock", stale = 0.5}', "line 1, interlock.stale: expected a whole"),
        ("coupling = true", "line 1, coupling: expected a text"),
        (
            'structure = {model = "Model", parts = {}, attributes = {compile = 1}}',
            "line 1, structure.attributes: the name 'compile' is taken",
        ),
        ('structure = {python = "a lambda"}', "line 1, structure: this was a lambda"),
    ],
)  # fmt: skip
def test_faults_are_told_by_line_and_path(text, words):
    with pytest.raises(InputError) as caught:
        files.load_text(text)
    assert words in str(caught.value)


def test_an_input_that_does_not_exist_is_placed():
    text = files.to_toml(papers.find("gawthrop-three-mass").load().test()).replace("\nr = {", "\nq = {")
    with pytest.raises(InputError, match=r"line \d+, excitation.q: unknown input 'q' of the numerical half"):
        files.load_text(text)


def test_the_blocks_of_the_page_are_right():
    """The first is a whole test; the others are parts of one."""
    page = (Path(__file__).parents[2] / "docs" / "test-files.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    test = files.load_text(blocks[0]).test
    assert test.check().level == "run"
    building = files.load_text(next(block for block in blocks if "ShearBuilding" in block)).test
    run = building.run(1.0)
    assert run.completed
    assert run.record.units["numerical.frame.floor[2].ux.displacement"] == "m"
    parts = [tomllib.loads(block) for block in blocks[1:]]
    graph, frame = (next(p for p in parts if word in str(p)) for word in ("stretch", "field_form"))
    assert restore(graph["structure"]).compile().inputs == ("ground",)
    portal = restore(frame["structure"]["parts"]["frame"])
    assert portal.dofs == ("mid.ux", "mid.uy", "mid.rz", "top.ux", "top.uy", "top.rz")


VALUES = [
    3, -1.5, "x", "", [], {}, True, [1, 2], {"a": 1}, "RK4", {"signal": "Sine"}, {"part": "I", "mass": 1},
    "2 ms", {"model": "Model", "parts": {}}, "os:system", [[1]], [{}], float("inf"), float("nan"), 10**30,
    {"transfer": "MassSpringDamper", "m": 1, "c": 1, "k": 1},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_a_file_that_was_spoilt_is_refused_in_words_or_is_another_test(seed):
    """Entries are deleted, renamed or replaced; nothing but our own errors may come of it."""
    draw = random.Random(seed)
    examples = [e for e in READY_MADE if e.name != "dubois-damper"]  # whose actuator takes its time
    for _ in range(12):
        document = tomllib.loads(
            (EXAMPLES / f"{draw.choice(examples).name}.toml").read_text(encoding="utf-8")
        )
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            *tables, last = draw.choice(list(places(document)))
            table = document
            for step in tables:
                table = table[step]
            action = draw.random()
            if action < 0.25:
                del table[last]
            elif action < 0.4 and isinstance(last, str):
                table[last + draw.choice(["x", " y", "."])] = table.pop(last)
            else:
                table[last] = copy.deepcopy(draw.choice(VALUES))
        with contextlib.suppress(BondloopError):
            files.load_text(toml_text(document))


@pytest.mark.parametrize(
    ("actuators", "words"),
    [
        (
            '"MassSpringDampr"',
            "line 17, rig.actuators.transfer: unknown transfer 'MassSpringDampr'; did you mean",
        ),
        ('{trnsfer = "MassSpringDamper", m = 1}', "line 17, rig.actuators: which transfer is it?"),
        ("3", "line 17, rig.actuators: expected a transfer or a list; found 3"),
        ('[{part = "One"}]', "line 17, rig.actuators[0]: expected a transfer; found a part"),
    ],
)
def test_an_actuator_that_is_none_is_told_where_it_stands(actuators, words):
    text = (EXAMPLES / "gawthrop-three-mass.toml").read_text(encoding="utf-8")
    spoilt = re.sub(r"actuators = .*", f"actuators = {actuators}", text)
    with pytest.raises(InputError) as caught:
        files.load_text(spoilt)
    assert words in str(caught.value)


def test_a_ground_motion_is_read_from_its_file(tmp_path):
    head = "PEER\nEl Centro\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS=  3, DT=  .0100 SEC,\n"
    (tmp_path / "elc.at2").write_text(head + " .1E-00 -.2E-00 .0E-00\n")
    text = (EXAMPLES / "gawthrop-three-mass.toml").read_text(encoding="utf-8")

    def loaded(signal):
        return files.load_text(re.sub(r"r = \{.*", f"r = {{{signal}}}", text), tmp_path).test.excitation["r"]

    moved = loaded(
        'signal = "ground-motion", path = "elc.at2", motion = "velocity", baseline = "constant", scale = 2'
    )
    assert moved.values.tolist() == pytest.approx(2 * 9.80665 * (np.array([0.1, -0.2, 0.0]) + 0.1 / 3))
    assert moved.describe()["baseline"] == "constant"
    halved = loaded('signal = "ground-motion", path = "elc.at2", motion = "velocity", peak = "0.1 gn"')
    assert halved.scale == pytest.approx(0.5)
    for wrong, words in (
        ('signal = "ground-motion", path = "elc.at2"', r"take \.velocity\(\)"),
        ('signal = "ground-motion", path = "elc.at2", motion = "speed"', "unknown motion 'speed'"),
    ):
        with pytest.raises(InputError, match=words):
            loaded(wrong)
