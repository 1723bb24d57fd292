"""The run file: exact round trip, safe replacement, every fault named."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.records import Record, hdf5

NAMES = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters="/"), min_size=1
)
UNITS = st.text(st.characters(codec="utf-8", categories=("L", "N", "S"), exclude_characters="[]"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def bits(array):
    return array.view(np.uint64).tolist()


@settings(max_examples=40, deadline=None)
@given(data=st.data(), size=st.integers(0, 20))
def test_round_trip_is_bit_exact(tmp_path_factory, data, size):
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    names = data.draw(st.lists(NAMES.filter(lambda n: n not in {".", ".."}), unique=True, max_size=4))
    floats = st.lists(st.floats(width=64), min_size=size, max_size=size)
    record = Record(
        np.arange(size) * 0.1,
        {name: np.array(data.draw(floats), dtype=float) for name in names},
        {name: data.draw(UNITS) for name in names},
        data.draw(st.dictionaries(st.text(), JSON, max_size=3)),
        {"status": "completed", "seeds": [1, 2]},
    )
    record.save(path)
    back = Record.load(path)
    assert list(back) == names  # and their order
    assert bits(back.time) == bits(record.time)
    assert {name: bits(back[name]) for name in names} == {name: bits(record[name]) for name in names}
    assert (back.units, back.description, back.attributes) == (
        record.units,
        record.description,
        record.attributes,
    )


def test_a_large_record_is_compressed_and_exact(tmp_path):
    n = hdf5.LARGE + 17  # one sample block and a bit
    values = np.sin(np.arange(n) * 1e-3)
    values[[5, -1]] = np.nan, -0.0
    Record(np.arange(n) * 1e-3, {"m3.v.flow": values}, {"m3.v.flow": "m·s⁻¹"}).save(tmp_path / "run.h5")
    back = Record.load(tmp_path / "run.h5")
    assert bits(back["m3.v.flow"]) == bits(values)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["channels/m3.v.flow"].compression == "gzip"
        assert file["channels/m3.v.flow"].attrs["unit"] == "m·s⁻¹"
        assert (file.attrs["format"], file.attrs["schema"]) == ("bondloop run", 1)


def test_some_channels_only(tmp_path):
    Record(np.arange(3.0), {"a": np.zeros(3), "b": np.ones(3)}).save(tmp_path / "run.h5")
    assert list(Record.load(tmp_path / "run.h5", ["b"])) == ["b"]
    with pytest.raises(InputError, match="unknown channel 'c'"):
        Record.load(tmp_path / "run.h5", ["c"])


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_save_keeps_the_old_file(tmp_path, monkeypatch, interruption):
    path = tmp_path / "run.h5"
    Record(np.arange(2.0), {"x": np.ones(2)}).save(path)
    before = path.read_bytes()

    def put(*_):
        raise interruption

    monkeypatch.setattr(hdf5, "_put", put)
    with pytest.raises((KeyboardInterrupt, InputError)):
        Record(np.arange(2.0), {"x": np.zeros(2)}).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]


def test_where_a_file_cannot_be_written(tmp_path):
    record = Record(np.zeros(0), {})
    with pytest.raises(InputError, match="no folder"):
        record.save(tmp_path / "missing" / "run.h5")
    with pytest.raises(InputError, match="is a folder"):
        record.save(tmp_path)


def test_a_file_that_is_no_run(tmp_path):
    with pytest.raises(InputError, match="there is no run file"):
        Record.load(tmp_path / "absent.h5")
    (tmp_path / "text.h5").write_text("time,x\n0,1\n")
    with pytest.raises(InputError, match="not an HDF5 file"):
        Record.load(tmp_path / "text.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="no run of bondloop"):
        Record.load(tmp_path / "other.h5")


def test_a_file_cut_short(tmp_path):
    path = tmp_path / "run.h5"
    Record(np.arange(5000.0), {"x": np.ones(5000)}).save(path)
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(InputError, match="damaged"):
        Record.load(path)


def test_a_newer_schema_is_refused(tmp_path):
    Record(np.zeros(0), {}).save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        file.attrs["schema"] = 99
    with pytest.raises(InputError, match=r"newer bondloop \(schema 99"):
        Record.load(tmp_path / "run.h5")


def test_all_faults_of_a_file_are_reported_at_once(tmp_path):
    Record(np.arange(3.0), {"a": np.zeros(3), "b": np.zeros(3), "c": np.zeros(3)}).save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        del file["description"], file["channels/a"], file["channels/b"].attrs["unit"]
        file["channels/a"] = np.zeros(2)
        del file["attributes"]
        file["attributes"] = "{"
        del file["channels/c"]
        file["channels/c"] = "text"
    with pytest.raises(InputError) as caught:
        Record.load(tmp_path / "run.h5")
    for part in (
        "no dataset 'description'",
        "'a' has 2 samples",
        "'b' has no attribute",
        "no JSON",
        "'c' is",
    ):
        assert part in str(caught.value)
