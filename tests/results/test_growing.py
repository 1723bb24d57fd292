"""A file that grows takes no more memory the longer it grows, and holds the same whatever the pieces."""

import subprocess
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.realtime.recorder import CYCLE
from bondloop.results import Record, read_cycles
from bondloop.results.records.growing import GrowingRun

CHILD = """
import sys
from pathlib import Path
import numpy as np
from bondloop.realtime.recorder import CYCLE
from bondloop.results.records.growing import GrowingRun

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

file = GrowingRun(sys.argv[1], {f"c{i}": "m" for i in range(30)}, CYCLE, rate=1000.0)
values, cycle = np.ones((250, 30)), {name: np.zeros(250, kind) for name, kind in CYCLE.items()}
for k in range(500):
    file.append((250 * k + np.arange(250)) * 1e-3, values, cycle)
    file.commit()
    if k == 99:
        before = anonymous()
print(anonymous() - before)
file.close({})
"""


def test_memory_stays_flat(tmp_path):
    """400 writes, as in 100 s of a run. With HDF5's own cache they took 7 MB, in the old layout 33 MB."""
    command = [sys.executable, "-c", CHILD, str(tmp_path / "run.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) < 500  # kB


@pytest.mark.parametrize("moment", [1, 5, 20])
def test_a_file_that_is_not_begun_is_not_there(tmp_path, monkeypatch, moment):
    """Whatever fails while it is made: there is no file that cannot be opened."""
    plain, count = h5py.Group.create_dataset, []

    def create(*args, **options):
        count.append(1)
        if len(count) == moment:
            raise KeyboardInterrupt
        return plain(*args, **options)

    monkeypatch.setattr(h5py.Group, "create_dataset", create)
    with pytest.raises(KeyboardInterrupt):
        GrowingRun(tmp_path / "run.h5", {"x": "m"}, CYCLE, rate=1000.0)
    assert list(tmp_path.iterdir()) == []


def test_another_file_of_that_name_is_kept(tmp_path, monkeypatch):
    """Also one that comes while the new one is being made."""
    path = tmp_path / "run.h5"
    plain = GrowingRun._begin

    def begin(*args):
        plain(*args)
        path.write_text("somebody's")

    monkeypatch.setattr(GrowingRun, "_begin", begin)
    for _ in range(2):
        with pytest.raises(InputError, match="it exists already, and is not overwritten"):
            GrowingRun(path, {"x": "m"}, CYCLE, rate=1000.0)
        assert path.read_text() == "somebody's"
        assert list(tmp_path.iterdir()) == [path]


@settings(max_examples=25, deadline=None)
@given(
    pieces=st.lists(st.integers(0, 300), min_size=1, max_size=8),
    width=st.sampled_from([0, 1, 3, 64, 65, 130]),
    seed=st.integers(0, 99),
)
def test_pieces_do_not_matter(tmp_path_factory, pieces, width, seed):
    path = tmp_path_factory.mktemp("grow") / "run.h5"
    table = np.random.default_rng(seed).normal(size=(sum(pieces), width))
    file = GrowingRun(path, {f"c{i}": "" for i in range(width)}, {"step": "<i8"}, rate=300.0)
    step = np.arange(len(table))
    first = 0
    for size in pieces:
        some = slice(first, first + size)
        file.append(step[some] * 0.5, table[some], {"step": step[some]})
        file.commit()
        first += size
        assert len(Record.load(path)) == first  # while it is being written
    np.testing.assert_array_equal(file.cycles()["step"], step)
    file.close({"status": "completed"})
    record = Record.load(path)
    np.testing.assert_array_equal(record.time, step * 0.5)
    np.testing.assert_array_equal(read_cycles(path)["step"], step)
    for name, values in zip(record, table.T, strict=True):
        np.testing.assert_array_equal(record[name], values)
