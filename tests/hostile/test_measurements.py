"""Measurements that lie about their size, or lead in circles: a sentence, not all memory, not for ever."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.readers import read_measurements, reader_process
from bondloop.readers.text_layout import TEXT_BYTES
from bondloop.results import Record

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))  # for recorders.py

from recorders import write_mdf

ROWS = 37


@pytest.fixture
def tdms(tmp_path):
    path = tmp_path / "a.tdms"
    Record(np.arange(float(ROWS)), {"x": np.ones(ROWS)}).save(path)
    return path


@pytest.mark.parametrize("count", [2**40, 2**62, 2**63, 2**64 - 1])
def test_tdms_that_claims_more_than_it_holds(tdms, count):
    content = tdms.read_bytes()
    said = struct.pack("<Q", ROWS)
    assert content.count(said) == 2  # one for the time, one for the channel
    tdms.write_bytes(content.replace(said, struct.pack("<Q", count)))
    try:
        found = read_measurements(tdms)
    except InputError as error:
        assert str(tdms) in str(error)  # noqa: PT017 - both outcomes are good
    else:
        assert all(values.size <= ROWS for values in found.channels.values())


def test_tdms_that_ends_too_early(tdms):
    content = tdms.read_bytes()
    for length in (3, 27, 28, 60, len(content) - 100):
        tdms.write_bytes(content[:length])
        try:
            found = read_measurements(tdms)
        except InputError as error:
            assert str(tdms) in str(error)  # noqa: PT017 - a file of a recorder that was stopped may be read
        else:
            assert found.channels["x"].size < ROWS
            assert "incomplete" in found.notes[0]


def blocks(content: bytes, word: bytes) -> list[int]:
    """Return where blocks of a kind begin in an MDF file."""
    places, at = [], content.find(word)
    while at >= 0:
        places.append(at)
        at = content.find(word, at + 1)
    return places


@pytest.mark.parametrize("word", [b"##DG", pytest.param(b"##CN", marks=pytest.mark.nightly)])
def test_mdf_that_leads_in_circles(tmp_path, monkeypatch, word):
    """The first link of these blocks is to the next of their kind: here, to the block itself."""
    # Patience by the clock: others may take the processor.
    monkeypatch.setattr(reader_process, "BASE_SECONDS", 1.0)
    monkeypatch.setattr(reader_process, "PATIENCE", 1000.0)
    path = tmp_path / "a.mf4"
    write_mdf(path)
    content = bytearray(path.read_bytes())
    for at in blocks(bytes(content), word):
        content[at + 24 : at + 32] = struct.pack("<Q", at)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.mf4"):
        read_measurements(path)


def test_mdf_that_claims_more_than_it_holds(tmp_path):
    path = tmp_path / "a.mf4"
    write_mdf(path, ROWS)
    content = path.read_bytes()
    assert struct.pack("<Q", ROWS) in content
    path.write_bytes(content.replace(struct.pack("<Q", ROWS), struct.pack("<Q", 2**50)))
    with pytest.raises(InputError, match=r"claims .* numbers"):
        read_measurements(path)


def test_a_text_without_end_is_not_read(tmp_path):
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(TEXT_BYTES + 1)  # takes no room on the disk
    with pytest.raises(InputError, match="at most"):
        read_measurements(path)
    with pytest.raises(InputError, match="a device"):
        read_measurements(_named(tmp_path, "/dev/zero"))


def _named(folder: Path, target: str) -> Path:
    link = folder / "zero.txt"
    link.symlink_to(target)
    return link


def test_a_file_of_another_kind_is_told(tmp_path):
    for ending in ("tdms", "mf4", "parquet"):
        (tmp_path / f"a.{ending}").write_bytes(b"time,x\n0,1\n")
        with pytest.raises(InputError, match=r"it begins with b'time,x"):
            read_measurements(tmp_path / f"a.{ending}")
