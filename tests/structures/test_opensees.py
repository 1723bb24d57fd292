"""OpenSees models: the subset that is read gives OpenSees's results, the rest is told line by line."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.structures import modes, read_opensees
from bondloop.structures.foreign.tcl import Script, parsed
from bondloop.structures.foreign.tcl_arithmetic import evaluate

MODELS = Path(__file__).parent / "models"


@pytest.fixture
def read(tmp_path):
    def write(text, **options):
        path = tmp_path / "model.tcl"
        path.write_text(text)
        return read_opensees(path, **options)

    return write


# What OpenSeesPy 3.7.1 says of the two models (benchmarks/opensees_models.py runs it again): four frequencies
# in Hz, displacements of a node under the pattern, and after 0.4 s of free vibration (Newmark, 10 ms).
OPENSEES = {
    "portal": (
        [5.112458098082169, 19.27372415967418, 44.915425789727344, 73.1058592627022],
        {"n6.ux": 0.0014567821687436373, "n6.uy": -2.1831245863616353e-05, "n6.rz": -0.00042323130369576904},
        {"n6.ux": 0.0007474891681788673, "n6.rz": -0.00017348236686526105},
    ),
    "building": (
        [5.49992485110783, 6.623569382125102, 8.486599962165855, 112.8994692225472],
        {"n12.ux": 0.0018215172644858702, "n12.uz": -3.380873818808299e-05, "n100.rz": 7.829010697057813e-06},
        {
            "n100.ux": -0.0010710569960620325,
            "n100.uy": 0.00023846795563825448,
            "n12.ry": -0.0001878346845868611,
        },
    ),
}


@pytest.mark.parametrize("name", OPENSEES)
def test_frequencies_statics_and_damped_vibration_are_those_of_opensees(name):
    frequencies, static, moved = OPENSEES[name]
    model = read_opensees(MODELS / f"{name}.tcl")
    assert model.complete
    m, assembly = model.structure.assemble(), model.structure.assembly()
    assert modes(m, 4).frequencies == pytest.approx(frequencies, rel=1e-10)
    M, C, K = (part.toarray() for part in (m.M, m.C, m.K))
    u = np.linalg.solve(K, model.load(next(iter(model.patterns))))

    def at(shape, dof):
        return (assembly.T @ shape)[assembly.names.index(dof)]

    assert {dof: at(u, dof) for dof in static} == pytest.approx(static, rel=1e-9)
    h, v, a = 0.01, 0 * u, 0 * u  # OpenSees begins without acceleration
    for _ in range(40):
        u, v = u + h * v + h**2 / 4 * a, v + h / 2 * a
        a = np.linalg.solve(M + h / 2 * C + h**2 / 4 * K, -C @ v - K @ u)
        u, v = u + h**2 / 4 * a, v + h / 2 * a
    assert {dof: at(u, dof) for dof in moved} == pytest.approx(moved, rel=1e-8)


def test_units_are_those_that_are_said(read):
    """A cantilever of 10 ft, E = 29000 ksi, I = 100 in⁴: PL³/3EI under 2 kips, by hand in inches."""
    text = (
        "model basic -ndm 2 -ndf 3\nnode 1 0 0\nnode 2 120 0\nfix 1 1 1 1\ngeomTransf Linear 1\n"
        "element elasticBeamColumn 1 1 2 10.0 29000.0 100.0 1 -mass 1.0e-4\n"
        "pattern Plain 1 Linear { load 2 0 2 0 }"
    )
    model = read(text, length="in", force="4.4482216152605 kN")
    m = model.structure.assemble()
    u = np.linalg.solve(m.K.toarray(), model.load("1"))
    assert u[m.index("n2.uy")] == pytest.approx(0.0254 * 2 * 120**3 / (3 * 29000 * 100), rel=1e-12)
    mass = 1e-4 * 120 / 2 * 4448.2216152605 / 0.0254  # kip s²/in in kg, half of it at the tip
    assert m.M[m.index("n2.ux"), m.index("n2.ux")] == pytest.approx(mass, rel=1e-12)


CANTILEVER = """model basic -ndm 2 -ndf 3
node 1 0 0; node 2 0 3.0 -mass 100 100 10
fix 1 1 1 1
geomTransf Linear 1
"""
BEAM = "element elasticBeamColumn 1 1 2 0.01 2e11 1e-5 1\n"


def test_a_mass_that_is_said_again_replaces_the_one_before(read):
    model = read(CANTILEVER + BEAM + "mass 2 300 310 20\nmass 2 300 300 10\n")
    assert model.complete
    assert model.structure.assemble().M.toarray().diagonal().tolist() == [300.0, 300.0, 10.0]


@pytest.mark.parametrize("twice", [False, True])
def test_rayleigh_damps_what_there_is_where_it_stands(read, twice):
    """OpenSeesPy 3.7.1: 50, 50 and 5 where it stands before the beam, and βK with it where after."""
    before = read(CANTILEVER + "rayleigh 0.5 0.01 0 0\n" + BEAM).structure.assemble()
    assert before.C.toarray() == pytest.approx(0.5 * before.M.toarray())
    after = read(
        CANTILEVER + BEAM + "rayleigh 9 9 9 9\n" * twice + "rayleigh 0.5 0.01 0 0\n"
    ).structure.assemble()
    assert after.C.toarray() == pytest.approx(0.5 * after.M.toarray() + 0.01 * after.K.toarray())
    none = read(CANTILEVER + BEAM + "rayleigh 0.5 0.01 0 0\nrayleigh 0 0 0 0\n").structure.assemble()
    assert not none.C.toarray().any()
    late = read(
        CANTILEVER
        + "rayleigh 0.5 0 0 0\nnode 3 1 3 -mass 7 7 7\n"
        + BEAM.replace("1 1 2", "1 1 3")
        + BEAM.replace("1 1 2", "2 3 2")
    )
    assert late.structure.assemble().C.toarray().diagonal() == pytest.approx([50.0, 50.0, 5.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("series", "name", "factor"),
    [
        ("timeSeries Linear 4 -factor 3.0\n", "4", 3.0),
        ("timeSeries Constant 4 -factor -2\n", "4", -2.0),
        ("timeSeries Linear 4\n", "4", 1.0),
        ("", "{Linear -factor 2.5}", 2.5),
        ("", "Linear", 1.0),
    ],
)
def test_the_factor_of_a_time_series_scales_the_loads(read, series, name, factor):
    loads = "{ load 2 1000 0 5; eleLoad -ele 1 -type -beamUniform 100 }"
    model = read(CANTILEVER + BEAM + series + f"pattern Plain 1 {name} " + loads)
    plain = read(CANTILEVER + BEAM + f"pattern Plain 1 Linear {loads}")
    assert model.complete
    assert model.load("1") == pytest.approx(factor * plain.load("1"))


def test_a_time_series_with_more_than_a_factor_is_told(read):
    model = read(CANTILEVER + BEAM + "timeSeries Linear 1 -factor 2 -tStart 1\n")
    assert not model.complete


def test_what_is_left_out_is_told_line_by_line(read):
    model = read(
        "model basic -ndm 2 -ndf 3\nnode 1 0 0\nnode 2 0 3\nfix 1 1 1 1\ngeomTransf PDelta 1\n"
        "uniaxialMaterial Steel01 1 250e6 200e9 0.01\nelement elasticBeamColumn 1 1 2 0.1 1e9 1e-3 1\n"
        "element truss 2 1 2 0.1 1\nset k [exec rm -rf /]\nmass 2 $k $k 0\nsource other.tcl\n"
        "pattern UniformExcitation 2 1 -accel 1\nputs done\nelement shellMITC4 3 1 2 1 2 1\n"
    )
    told = {part.line: part for part in model.left_out}
    assert sorted(told) == [6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert [line for line, part in told.items() if not part.matters] == [9, 13]
    assert "Steel01" in told[6].why
    assert "taken as Linear" in told[7].why
    assert "material 1 is not defined above, or was left out" in told[8].why
    assert "[exec ...] is not computed" in told[9].why
    assert "$k is not known" in told[10].why
    assert not model.complete
    assert "NOT COMPLETE" in str(model)
    assert list(model.structure.elements) == ["beam[1]"]


def test_faults_are_told_all_at_once_with_line_and_column(read):
    with pytest.raises(InputError) as caught:
        read(
            "model basic -ndm 2 -ndf 3\nnode 1 0 zero\nnode 2 0 3\nnode 2 0 4\nfix 7 1 1 1\nfix 2 1 1 2\n"
            "mass 2 1.0\nelement truss 1 2 2 1.0 1\nload 2 1 0 0\nequalDOF 2 2 9\nnode 3 {0 0\n"
        )
    said = str(caught.value)
    for part in (
        "line 2, column 10: node: expected a number for a coordinate; found 'zero'",
        "line 4, column 1: node: node 2 exists already",
        "line 5, column 1: fix: node 7 is not defined above",
        "line 6, column 1: fix: expected 3 times 0 or 1",
        "line 7, column 1: mass: a mass is missing",
        "line 9, column 1: load: it stands in no pattern",
        "line 10, column 1: equalDOF: degree of freedom 9",
        "line 11, column 8: '{' is not closed",
    ):
        assert part in said


@pytest.mark.parametrize("text", ["", "set a 1\n", "0 1\n1 2\n", "model basic -ndm 4 -ndf 9\nnode 1 0\n"])
def test_what_is_no_model_is_refused(read, text):
    with pytest.raises(InputError):
        read(text)


def test_loops_and_values_are_bounded(read):
    head = "model basic -ndm 1 -ndf 1\nnode 1 0\n"
    with pytest.raises(InputError, match="more than 100,000 commands"):
        read(head + "for {set i 0} {1} {incr i} {set a $i}\n")
    model = read(head + "set a xxxxxxxx\nfor {set i 0} {$i < 40} {incr i} { set a $a$a }\n")
    assert [part.line for part in model.left_out] == [2, 4, 4]  # nothing uses the node; then $a is unknown
    assert "a value of more than" in model.left_out[1].why
    model = read(
        head + "set b [expr " + "(" * 200 + "1" + ")" * 200 + "]\nset c [expr 9**9**9**9]\nset d [expr 1/0]"
    )
    assert [part.line for part in model.left_out] == [2, 3, 4, 5]


@settings(max_examples=100, deadline=None)
@given(st.recursive(
    st.integers(0, 99).map(str) | st.floats(0.01, 99).map(lambda x: f"{x:.3f}"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
    | inner.map(lambda t: f"-({t})") | inner.map(lambda t: f"abs({t})"), max_leaves=8,
))  # fmt: skip
def test_arithmetic_is_that_of_tcl(text):
    """Python's, where a quotient of whole numbers is rounded down."""

    class Whole(int):
        def __truediv__(self, other):
            return Whole(int(self) // int(other)) if isinstance(other, int) else int(self) / other

    for name in ("add", "sub", "mul", "radd", "rsub", "rmul"):
        plain = getattr(int, f"__{name}__")
        setattr(
            Whole,
            f"__{name}__",
            lambda a, b, f=plain: Whole(f(a, b)) if isinstance(b, int) else NotImplemented,
        )
    Whole.__neg__ = lambda a: Whole(-int(a))
    Whole.__abs__ = lambda a: Whole(abs(int(a)))
    import re

    python = re.sub(r"(?<![\d.])(\d+)(?![\d.])", r"Whole(\1)", text)
    try:
        expected = eval(python, {"Whole": Whole, "abs": abs})
    except ZeroDivisionError:
        with pytest.raises(InputError):
            evaluate(text)
        return
    assert evaluate(text) == pytest.approx(expected, rel=1e-12)


def test_words_have_their_places():
    text = 'a b ;# remark\n  c "d e" {f\n g} \\\n h\n# one \\\n two\ni $j\n'
    told = [[(w.text, w.line, w.column) for w in words] for words in parsed(text)]
    assert told == [
        [("a", 1, 1), ("b", 1, 3)],
        [("c", 2, 3), ("d e", 2, 5), ("f\n g", 2, 11), ("h", 4, 2)],
        [("i", 7, 1), ("$j", 7, 3)],
    ]


def test_foreach_takes_several_names_and_lists():
    """As tclsh does; a list that ends within a turn leaves the rest of its names empty."""
    got = []
    script = Script(lambda command: got.append(command.text), lambda _, error: got.append(str(error)))
    script.run("foreach {t i j} {1 1 3 2 2 4} { e $t $i $j }")
    script.run("foreach x {1 2 3} {y z} {a b c} { e $x <$y$z> }")
    assert got[:2] == ["e 1 1 3", "e 2 2 4"]
    assert got[2:] == ["e 1 <ab>", "e 2 <c>", "e 3 <>"]
    script.run("foreach {} {1 2} { e }")
    script.run("foreach x {1 2} y { e }")
    assert "without a name" in got[5]
    assert "expected foreach" in got[6]


def test_courses_of_loads_and_corotational_trusses_have_their_own_reasons(read):
    model = read(
        "model BasicBuilder -ndm 2 -ndf 2\nnode 1 0 0\nnode 2 1 0\nnode 3 1 1\nfix 1 1 1\nfix 3 1 1\n"
        "uniaxialMaterial Elastic 1 1e9\n"
        "foreach {t i j} {1 1 2 2 2 3} { element truss $t $i $j 0.01 1 }\n"
        "element corotTruss 3 1 3 0.01 1\n"
        "timeSeries Path 1 -dt 0.02 -filePath quake.txt -factor 9.81\n"
    )
    assert set(model.structure.elements) == {"truss[1]", "truss[2]"}
    truss, course = model.left_out
    assert truss.matters
    assert "large displacements" in truss.why
    assert not course.matters
    assert "course of a load" in course.why


def test_conditions_and_lists():
    said = []
    script = Script(lambda command: said.append(command.text), lambda _, error: said.append(str(error)))
    script.run(
        "foreach x {1 2 3} { if {$x == 1} { a } elseif {$x == 2} { b $x } else { c [expr {$x * 1.5}] } }"
    )
    script.run("if 0 then { d } ; incr y ; set z(1,2) 4; e $z(1,2) ${x}x")
    assert said == ["a", "b 2", "c 4.5", "line 1, column 19: expected incr NAME of a whole number", "e 4 3x"]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='node fixset{}[]$";\\\n 0123.#expr', max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("tcl") / "a.tcl"
    path.write_text("model basic -ndm 1 -ndf 1\n" + text)
    with contextlib.suppress(InputError):  # anything else is a fault of the reader
        assert all(part.why for part in read_opensees(path).left_out)
