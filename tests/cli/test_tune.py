"""`bondloop tune`: from a test to the test with a compensator."""

import json

import pytest

from bondloop.transfer import first_order

TEST = """
import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.transfer import first_order


class Mass(Model):
    def __init__(self, m, c, k):
        self.left, self.right = Port(), Port()
        self.force, self.v = Zero(), One()
        self.left >> self.force >> self.v >> self.right
        self.spring, self.mass, self.damper = C(stiffness=k), I(mass=m), R(damping=c)
        self.force >> self.spring
        self.v >> [self.mass, self.damper]


def test(latency: float = 0.009):
    pair = Model("pair")
    pair.wall = Sf("v_wall")
    pair.a, pair.b = Mass(20, 120, 50e3), Mass(2, 12, 10e3)
    pair.wall >> pair.a.left
    pair.a.right >> pair.b.left
    numerical, physical = pair.cut("a.right >> b.left")
    rig = bl.rigs.Emulated(physical, first_order(1.0, 0.005).actuator(), latency=latency)
    return bl.HybridTest(
        numerical, rig=rig, controller=bl.control.Direct(), rate=1000,
        excitation={"v_wall": bl.signals.Sine("50 mm/s", 4.0)},
    )
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(TEST)
    return path


def test_a_table_a_sentence_a_figure_and_a_test_file(bondloop, source, tmp_path):
    result = bondloop(
        "tune", source, "--family", "LeadCompensation", "--family", "Direct", "--set", "latency=0.004",
        "--seconds", 2, "-o", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "* LeadCompensation" in result.stdout
    assert "Take LeadCompensation with delay=" in result.stdout
    assert (tmp_path / "out" / "tuning.png").stat().st_size > 10_000
    tuned = bondloop("check", tmp_path / "out" / "tuned.toml", "--json")
    assert tuned.exit_code == 0
    assert "LeadCompensation" in (tmp_path / "out" / "tuned.toml").read_text()


def test_json_and_a_process_from_a_file(bondloop, source, tmp_path):
    first_order(1.0, 0.005, delay=0.009).save(tmp_path / "model.json")
    result = bondloop(
        "tune", source, "--process", tmp_path / "model.json", "--family", "AdaptivePrediction",
        "--budget", 8, "--seconds", 2, "--no-figures", "--json", "-o", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["process"]["delay"] == 0.009
    assert answer["recommended"]["family"] == "AdaptivePrediction"
    assert answer["recommended"]["passed"] is True
    assert answer["files"] == [str(tmp_path / "out" / "tuned.toml")]
    assert {t["family"] for t in answer["trials"]} == {"AdaptivePrediction"}


def test_where_none_passes_it_exits_with_1(bondloop, source, tmp_path):
    result = bondloop(
        "tune", source, "--family", "Direct", "--seconds", 1, "--no-figures", "-o", tmp_path / "out"
    )
    assert result.exit_code == 1
    assert "none of 1 settings gives a stable loop" in result.stdout
    assert not (tmp_path / "out" / "tuned.toml").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--family", "Leed"], "unknown family of compensators 'Leed'"),
        (["--process", "nowhere.json"], "nowhere.json"),
        (["--budget", "0"], "budget"),
    ],
)
def test_silly_options_are_refused_in_a_sentence(bondloop, source, options, words):
    result = bondloop("tune", source, *options)
    assert result.exit_code == 1
    assert words in result.stderr
