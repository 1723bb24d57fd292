"""What a record writes comes back from every kind of file, bit for bit, with its units."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.readers import read_measurements, reading
from bondloop.readers import reading as libraries
from bondloop.results import Record
from bondloop.signals import Table

LETTERS = st.characters(categories=["Lu", "Ll", "Nd"], include_characters=".-(")
NAMES = st.text(LETTERS, min_size=1, max_size=12).filter(lambda name: name.lower() not in {"t", "time"})
UNITS = st.sampled_from(["", "m", "kN", "µm/s", "m/s^2", "N/(mm/s)", "bits"])


@st.composite
def records(draw):
    rows = draw(st.integers(2, 12))
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    patterns = st.lists(st.integers(0, 2**64 - 1), min_size=rows, max_size=rows)
    channels = {}
    for name in names:
        values = np.array(draw(patterns), np.uint64).view(float)
        channels[name] = np.where(np.isnan(values), np.nan, values)  # text has one NaN only
    return Record(np.arange(rows) * 0.1, channels, {name: draw(UNITS) for name in names})


@pytest.mark.parametrize("ending", ["h5", "csv", "mat", "parquet", "tdms"])
@settings(max_examples=4, deadline=None)
@given(record=records())
def test_any_record_comes_back(tmp_path_factory, ending, record):
    path = tmp_path_factory.mktemp("written") / f"run.{ending}"
    record.save(path)
    back = read_measurements(path)
    assert back.channels["time"].view(np.uint64).tolist() == record.time.view(np.uint64).tolist()
    for name in record:
        assert back.channels[name].view(np.uint64).tolist() == record[name].view(np.uint64).tolist()
        assert back.units[name] == record.units[name]


@pytest.mark.parametrize("ending", ["csv", "mat", "h5", "tdms"])
def test_a_recorded_channel_is_an_excitation(tmp_path, ending):
    """5 kN at 0.1 s; whatever file it has been in, the table holds newtons."""
    record = Record(np.arange(3) * 0.1, {"force": np.array([0.0, 5.0, -1.0])}, {"force": "kN"})
    record.save(tmp_path / f"run.{ending}")
    table = Table.from_file(tmp_path / f"run.{ending}", time="time", column="force")
    assert table.times.tolist() == record.time.tolist()
    assert table.values.tolist() == [0.0, 5000.0, -1000.0]


@pytest.mark.parametrize(
    ("ending", "package"), [("tdms", "npTDMS"), ("mf4", "asammdf"), ("parquet", "pyarrow")]
)
def test_without_the_library_its_name_is_told(tmp_path, monkeypatch, ending, package):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (tmp_path / f"a.{ending}").write_bytes(b"TDSm")
    with pytest.raises(InputError, match=rf"needs the package {package}, .* pip install 'bondloop\["):
        read_measurements(tmp_path / f"a.{ending}")
    assert set(libraries.LIBRARIES) <= set(reading.NEEDS)


def test_names_that_look_like_units_keep_them(tmp_path):
    """'Force (kN)' without a unit is a name of one's own: the header says so by empty brackets."""
    names = ["Force (kN)", "x, mm", "gain [1]", "force[0]"]
    record = Record(np.arange(3.0), dict.fromkeys(names, np.ones(3)), {"x, mm": "V"})
    record.save(tmp_path / "a.csv")
    back = read_measurements(tmp_path / "a.csv")
    assert set(names) <= set(back)
    assert [back.units[name] for name in names] == ["", "V", "", ""]


def test_a_channel_called_time_is_refused(tmp_path):
    record = Record(np.arange(3.0), {"time": np.zeros(3)})
    for ending in ("tdms", "parquet"):
        with pytest.raises(InputError, match="rename it"):
            record.save(tmp_path / f"a.{ending}")
