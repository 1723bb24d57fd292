"""Files that are hardly files: a sentence for each, and never an error of Python's own."""

import os
import random

import pytest

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.identify import read_data
from bondloop.results import Record
from bondloop.structures import read_matrices
from bondloop.transfer import Process

GOOD = """
name = "damper"
rate = "1 kHz"
cut = "m2.right >> m3.left"
controller = "Direct"
structure = "gawthrop-three-mass"
excitation = {r = {signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}}

[rig]
actuators = {transfer = "MassSpringDamper", m = "1 kg", c = 20, k = "400 N/m", drive = "position"}
"""


def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path):
    """A pipe into which nobody writes, a device without an end, a file of 17 MB."""
    pipe, zero, large = (tmp_path / f"{name}.toml" for name in ("pipe", "zero", "large"))
    os.mkfifo(pipe)
    zero.symlink_to("/dev/zero")
    large.touch()
    os.truncate(large, 17_000_000)
    for path, words in ((pipe, "a pipe; expected"), (zero, "a device"), (large, "17 MB; at most 16.8 MB")):
        with pytest.raises(InputError, match=rf"{path.name}: {words}"):
            files.read(path)


@pytest.mark.parametrize("name", ["t.csv", "t.npy", "t.mat", "t.mtx", "t.h5", "t.json"])
def test_no_reader_waits_for_a_pipe(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    os.mkfifo(tmp_path / "t.M.mtx")
    os.mkfifo(tmp_path / "t.K.mtx")
    readers = {
        "t.csv": [read_data, bl.signals.Table.from_file],
        "t.npy": [read_matrices],
        "t.mat": [read_matrices, read_data],
        "t.mtx": [read_matrices],
        "t.h5": [Record.load, read_data],
        "t.json": [Process.load],
    }
    for read in readers[name]:
        with pytest.raises(InputError):
            read(path)


@pytest.mark.parametrize("rate", ["1e300", "1e15"])
def test_a_rate_beyond_all_measure_is_refused(rate):
    test = files.load_text(GOOD.replace('"1 kHz"', rate)).test
    with pytest.raises(InputError, match="at most 1,000,000,000 are executed"):
        test.check()


def test_the_good_file_is_good():
    test = files.load_text(GOOD).test
    assert type(test.controller).__name__ == "Direct"
    assert test.rig.latency == 0.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 2000 + "]" * 2000, "deep within each other"),
        ("x = " + "[" * 150 + "]" * 150, "more than 100 deep"),
        ("x = " + "{a = " * 150 + "1" + "}" * 150, "deep within each other"),
        ("[a" + ".a" * 3000 + "]", "deep within each other"),
        ("x = " + "9" * 5000, "digits"),
        (GOOD.replace('"damper"', "2020-01-01"), 'line 2, name: .*found a date, 2020-01-01: write "2020'),
        (GOOD.replace('"damper"', "10:20:30"), "found a date"),
        (GOOD.replace('"1 kHz"', "2020-01-01"), "line 3, rate: .*found a date"),
        (GOOD.replace("amplitude = 0.05", "amplitude = 2020-01-01"), "line 7, excitation.r.amplitude"),
    ],
)
def test_odd_values(text, words):
    with pytest.raises(InputError, match=words):
        files.load_text(text)


def test_a_date_on_the_command_line_is_a_text():
    assert files.load_text(GOOD, changes={"name": "2020-01-01"}).test.name == "2020-01-01"


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ('{bonds = "m2.right >> m3.left", phys = "m3"}', r"cut\.phys: unknown entry 'phys'"),
        ('{bonds = ["m2.right >> m3.left"], physical = 5}', r"cut\.physical: expected the path of a part"),
        ('{bond = "m2.right >> m3.left"}', r"cut\.bond: unknown entry 'bond'"),
        ("3", "cut: expected bonds"),
    ],
)
def test_cuts(cut, words):
    with pytest.raises(InputError, match=f"line 4, {words}"):
        files.load_text(GOOD.replace('"m2.right >> m3.left"', cut))


@pytest.mark.parametrize("physical", [5, ["m3"], 2.5])
def test_what_is_physical_is_a_path(physical):
    model = Model("machine")
    model.push, model.v, model.b = Se("push"), One(), One()
    model.push >> model.v >> [I(mass=2.0), C(stiffness=500.0), R(damping=12.0)]
    model.b >> [I(mass=1.0), R(damping=3.0)]
    model.v >> model.b
    with pytest.raises(ModelError, match="physical: expected the path of a part"):
        model.cut("v >> b", physical=physical)


@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_pieces_exchanged_is_refused_in_words(seed):
    """Values from anywhere in TOML in place of others: the errors are bondloop's."""
    rng = random.Random(seed)
    odd = ["true", "[]", "{}", "1e400", "nan", "-0.0", '""', '"x"', "2020-01-01", "[[1]]", '"1 kg"']
    lines = [line for line in GOOD.splitlines() if line]
    for _ in range(rng.randint(1, 3)):
        i = rng.choice([k for k, line in enumerate(lines) if " = " in line])
        lines[i] = f"{lines[i].partition(' = ')[0]} = {rng.choice(odd)}"
    try:
        files.load_text("\n".join(lines))
    except BondloopError as error:
        assert "Traceback" not in str(error)  # noqa: PT017 - some are good


def test_a_part_without_a_name_is_refused():
    with pytest.raises(ModelError, match="name"):
        setattr(Model("machine"), "", One())
