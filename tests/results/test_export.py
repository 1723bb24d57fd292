"""Records as CSV, MAT and xarray."""

import csv
import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat

from bondloop.errors import InputError
from bondloop.readers import read_measurements
from bondloop.results import Record
from bondloop.results.records import export
from bondloop.results.records import export as csv_text
from bondloop.results.records.export import matlab_names

RECORD = Record(
    np.arange(3) * 0.1,  # 0.30000000000000004 and the like must keep every digit
    {"m3.v.flow": np.array([1 / 3, np.nan, -np.inf]), "gain [1]": np.array([1e-300, 5e-324, -0.0])},
    {"m3.v.flow": "µm/s"},
    {"test": "three mass"},
    {"status": "completed"},
)


def read_table_of(path):
    """A written table, read as measurements are."""
    found = read_measurements(path)
    return Record(found.channels.pop("time"), found.channels, {n: found.units[n] for n in found.channels})


def test_csv_keeps_every_digit_and_unit(tmp_path):
    RECORD.to_csv(tmp_path / "run.csv")
    header = next(csv.reader((tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()))
    assert header == ["time [s]", "m3.v.flow [µm/s]", "gain [1] []"]
    back = read_table_of(tmp_path / "run.csv")
    assert back.units == RECORD.units
    for name in RECORD:
        np.testing.assert_array_equal(back[name].view(np.uint64), RECORD[name].view(np.uint64))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), rows=st.integers(1, 40), width=st.integers(0, 4))
def test_any_number_comes_back_from_csv_bit_for_bit(tmp_path_factory, data, rows, width):
    """Drawn from all bit patterns, so that subnormals and neighbours of powers of two are among them."""
    patterns = st.lists(st.integers(0, 2**64 - 1), min_size=rows, max_size=rows)
    special = st.lists(
        st.sampled_from([0.0, -0.0, 5e-324, 2.2250738585072009e-308, np.inf, -np.inf, np.nan, 1e16, 1e22]),
        min_size=rows,
        max_size=rows,
    ).map(lambda values: np.array(values).view(np.uint64).tolist())
    drawn = [np.array(data.draw(patterns | special), np.uint64).view(float) for _ in range(width)]
    columns = [np.where(np.isnan(values), np.nan, values) for values in drawn]  # text has one NaN only
    record = Record(np.arange(rows) * 0.1, {f"c{i}": values for i, values in enumerate(columns)})
    path = tmp_path_factory.mktemp("bits") / "run.csv"
    record.to_csv(path)
    back = read_table_of(path)
    for name in record:
        assert back[name].view(np.uint64).tolist() == record[name].view(np.uint64).tolist()
    assert back.time.view(np.uint64).tolist() == record.time.view(np.uint64).tolist()


def test_csv_is_written_in_blocks(tmp_path):
    record = Record(np.arange(10) / 7, {"x": np.arange(10) / 3, "y": np.arange(10.0) ** 9})
    record.to_csv(tmp_path / "one.csv")
    csv_text.write_csv(record, tmp_path / "many.csv", numbers_at_once=9)  # three rows, three, three, one
    assert (tmp_path / "many.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    rows = [
        f"{t!r},{x!r},{y!r}"
        for t, x, y in zip(*(c.tolist() for c in (record.time, record["x"], record["y"])), strict=True)
    ]
    assert (tmp_path / "one.csv").read_text().splitlines()[1:] == rows


def test_csv_of_no_samples(tmp_path):
    Record(np.zeros(0), {"x": np.zeros(0)}, {"x": "m"}).to_csv(tmp_path / "run.csv")
    assert len(read_table_of(tmp_path / "run.csv")) == 0


def test_mat_has_legal_names_and_their_mapping(tmp_path):
    RECORD.to_mat(tmp_path / "run.mat")
    content = loadmat(tmp_path / "run.mat")
    table = [[str(cell[0]) if cell.size else "" for cell in row] for row in content["channel_names"]]
    assert table == [["m3_v_flow", "m3.v.flow", "µm/s"], ["gain__1_", "gain [1]", ""]]
    np.testing.assert_array_equal(content["m3_v_flow"][:, 0], RECORD["m3.v.flow"])
    assert content["time"].shape == (3, 1)
    assert "three mass" in content["description"][0]


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_mat_names_are_legal_and_unique(names):
    legal = list(matlab_names(names).values())
    assert len({name.lower() for name in legal}) == len(names)
    assert all(
        name.isascii() and name.isidentifier() and name[0] != "_" and len(name) <= 63 for name in legal
    )


def test_without_xarray_the_error_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(export, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'bondloop\[xarray\]'"):
        RECORD.to_xarray()


@pytest.mark.skipif(importlib.util.find_spec("xarray") is None, reason="xarray is an extra")
def test_xarray_keeps_names_and_units():
    dataset = RECORD.to_xarray()
    assert dataset["m3.v.flow"].attrs["units"] == "µm/s"
    np.testing.assert_array_equal(dataset["time"].values, RECORD.time)
