"""The run file: exact round trip, safe replacement, every fault named."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.errors import InputError
from bondloop.results import Record, read_run
from bondloop.results.records import hdf5
from bondloop.results.records.columns import COMPRESSED_FROM
from bondloop.results.records.growing import GrowingRun

NAMES = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters="/"), min_size=1
)
UNITS = st.text(st.characters(codec="utf-8", categories=("L", "N", "S"), exclude_characters="[]"), max_size=8)
MEANINGS = st.builds(Meaning, st.sampled_from(Role), kind=UNITS, interface=st.none() | st.integers(0, 9))
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
        {name: data.draw(MEANINGS) for name in names},
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
    assert back.meanings == record.meanings
    some = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    assert {name: bits(values) for name, values in Record.load(path, some).channels.items()} == {
        name: bits(record[name]) for name in some
    }


def test_a_large_record_is_compressed_and_exact(tmp_path):
    n = COMPRESSED_FROM + 17  # one sample block and a bit
    values = np.sin(np.arange(n) * 1e-3)
    values[[5, -1]] = np.nan, -0.0
    channels = {"m3.v.flow": values, "x": -values}
    Record(np.arange(n) * 1e-3, channels, {"m3.v.flow": "m·s⁻¹"}).save(tmp_path / "run.h5")
    back = Record.load(tmp_path / "run.h5")
    assert bits(back["m3.v.flow"]) == bits(values)
    assert bits(back["x"]) == bits(-values)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["channels"].shape == (n, 2)
        assert file["channels"].compression == "gzip"
        assert file["channel_names"].asstr()[:].tolist() == ["m3.v.flow", "x"]
        assert file["channel_units"].asstr()[:].tolist() == ["m·s⁻¹", ""]
        assert (file.attrs["format"], file.attrs["schema"]) == ("bondloop run", 2)


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

    monkeypatch.setattr(hdf5, "write_columns", put)
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
    path = tmp_path / "run.h5"
    Record(np.arange(3.0), {"a": np.zeros(3), "b": np.zeros(3), "c": np.zeros(3)}).save(path)
    with h5py.File(path, "a") as file:
        for name in ("description", "attributes", "channels", "channel_units", "channel_names"):
            del file[name]
        file["attributes"] = "{"
        file["channels"] = np.zeros((2, 3))
        file["channel_names"] = np.array([b"a", b"a", b"c"])
    with pytest.raises(InputError) as caught:
        Record.load(path)
    for part in (
        "no dataset 'description'",
        "no JSON",
        "no dataset 'channel_units'",
        "'channels' has 2 samples; time has 3",
        "'a' stands twice",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        ("channels", np.zeros(3), r"float64 of shape \(3,\); a table of numbers"),
        ("channels", np.zeros((3, 2), "S3"), "a table of numbers"),
        ("channels", np.zeros((4, 2)), "has 4 samples; time has 3"),
        ("channels", np.zeros((3, 5)), "5 columns, but there are 2 names, 2 units and 2 meanings"),
        ("channel_names", np.array([b"a"]), "2 columns, but there are 1 names"),
        ("channel_names", np.arange(2), "no dataset 'channel_names', a row of texts"),
        ("channel_names", np.array([b"a/b", b"c"]), "without '/'"),
        ("channel_meanings", np.array([b"{", b""]), "channel 'a' has no readable 'meaning'"),
        ("channel_meanings", np.array([b"[" * 60_000, b""]), "no readable 'meaning'"),
    ],
)
def test_a_table_that_does_not_fit(tmp_path, word, value, said):
    path = tmp_path / "run.h5"
    Record(np.arange(3.0), {"a": np.zeros(3), "b": np.zeros(3)}).save(path)
    with h5py.File(path, "a") as file:
        del file[word]
        file[word] = value
    with pytest.raises(InputError, match=said):
        Record.load(path)


@pytest.mark.parametrize("width", [1, 63, 64, 65, 150])
def test_a_table_that_grew_is_read_by_columns(tmp_path, width):
    """Chunks of 64 columns, blocks of whole chunks: every way of choosing columns gives the same numbers."""
    rng = np.random.default_rng(width)
    table = rng.normal(size=(700, width))
    names = [f"c{i}" for i in range(width)]
    file = GrowingRun(tmp_path / "run.h5", dict.fromkeys(names, "m"), {}, rate=100.0)
    for first in range(0, 700, 100):
        file.append(np.arange(first, first + 100.0), table[first : first + 100], {})
    file.close({"status": "completed"})
    for wanted in (names, rng.permutation(names).tolist(), names[-1:], names[::2]):
        record = Record.load(tmp_path / "run.h5", wanted)
        assert list(record) == wanted
        for name in wanted:
            np.testing.assert_array_equal(record[name], table[:, names.index(name)])


def test_one_channel_of_many_is_not_all_of_them(tmp_path, monkeypatch):
    """Of 100 compressed channels one is wanted: one hundredth of the chunks is decoded."""
    n = COMPRESSED_FROM
    x = np.random.default_rng(0).normal(size=n)
    Record(np.arange(float(n)), {f"c{i}": x + i for i in range(100)}).save(tmp_path / "run.h5")
    slices = []
    plain = h5py.Dataset.__getitem__

    def counted(dataset, key, *more):
        values = plain(dataset, key, *more)
        slices.append((dataset.name, getattr(values, "shape", ())))
        return values

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    np.testing.assert_array_equal(Record.load(tmp_path / "run.h5", ["c41"])["c41"], x + 41)
    assert [shape for name, shape in slices if name == "/channels"] == [(n, 1)]


@pytest.mark.parametrize("count", [50, 70_000])
def test_some_rows_of_a_run(tmp_path, count):
    path = tmp_path / "run.h5"
    whole = Record(np.arange(count) * 0.5, {"a": np.arange(count) * 2.0, "b": np.arange(count) * 3.0})
    whole.save(path)
    for first, last in ((0, 0), (0, 7), (3, 40), (count - 5, count), (count - 5, count + 99)):
        some = read_run(path, ["b"], rows=(first, last))
        np.testing.assert_array_equal(some.time, whole.time[first:last])
        np.testing.assert_array_equal(some["b"], whole["b"][first:last])
    assert list(read_run(path, rows=(0, 0)).units) == ["a", "b"]
    assert len(read_run(path, rows=(count + 1, count + 9))) == 0
    for rows in ((-5, -2), (-1, 4), (7, 3)):
        with pytest.raises(InputError, match=r"rows\): expected two numbers of samples, counted from 0"):
            read_run(path, rows=rows)
