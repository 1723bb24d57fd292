"""`bondloop benchmark` from the command line."""

import json

import numpy as np


def test_tables_and_figure_are_written(bondloop, tmp_path):
    result = bondloop(
        "benchmark", "--controllers", "sample,inverse", "--cases", "1", "--plants", "1", "--seeds", "1",
        "--out", tmp_path / "o",
    )  # fmt: skip
    assert result.exit_code == 0
    assert (tmp_path / "o" / "benchmark.md").read_text() in result.stdout
    assert {f.name for f in (tmp_path / "o").iterdir()} == {"benchmark.md", "benchmark.csv", "benchmark.png"}


def test_a_record_of_ones_own_as_json(bondloop, tmp_path):
    from scipy.io import savemat

    t = np.arange(0, 3, 0.01)
    savemat(tmp_path / "mine.mat", {"t": t, "ag": np.sin(9 * t) * t, "unit": "m/s^2"})
    result = bondloop(
        "benchmark", "--controllers", "amb", "--cases", "4", "--plants", "0", "--seeds", "1",
        "--scale", "0.2", "--record", tmp_path / "mine.mat", "--out", tmp_path / "o",
        "--no-figures", "--json",
    )  # fmt: skip
    answer = json.loads(result.stdout)
    assert answer["runs"] == 1
    assert answer["missed"]["amb"]["4"]["plants"] is None
    assert 0.1 < answer["floors"]["4"] < 50


def test_wrong_options_fail_in_a_sentence(bondloop, tmp_path):
    for options, words in (
        (["--controllers", "atz"], "unknown controller 'atz'"),
        (["--cases", "one"], "--cases takes numbers from 1 to 4"),
        (["--cases", "9"], "case must be 1, 2, 3 or 4; found 9"),
        (["--record", "nowhere.mat"], "there is no file nowhere.mat"),
        (["--plants", "-3"], "plants must be from 0 to 1000"),
    ):
        result = bondloop("benchmark", "--out", tmp_path, *options)
        assert result.exit_code == 1
        assert words in result.stderr
