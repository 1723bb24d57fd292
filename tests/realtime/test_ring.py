"""Reading telemetry: in blocks, behind, lapped, by several readers at once."""

import numpy as np
import pytest
from two_halves import LoopOptions, until

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess, Ring
from bondloop.realtime.protocol import HEADER, VERSION, slot_type
from bondloop.realtime.ring import Histogram, bin_edges
from bondloop.realtime.segment import Segment, fresh_name, remove
from bondloop.realtime.stop_requests import FOLDER, MAGIC

SLOTS, CHANNELS = 16, 3


@pytest.fixture
def segment():
    """A segment made by Python, with a writer that follows the rules of c/segment.h."""
    name = fresh_name()
    metadata = (
        b'{"channels": [{"name": "a", "unit": "m"}, {"name": "b", "unit": ""}, {"name": "c", "unit": "N"}]}'
    )
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["header_bytes"] = MAGIC, VERSION, HEADER.itemsize
    header["metadata_at"], header["metadata_bytes"] = HEADER.itemsize, len(metadata)
    at = HEADER.itemsize + 256
    header["slots_at"], header["slot_bytes"], header["slots"] = at, 128, SLOTS
    header["channels"], header["period_ns"] = CHANNELS, 1_000_000
    blob = header.tobytes() + metadata.ljust(256, b"\0") + bytes(128 * SLOTS)
    (FOLDER / name).write_bytes(blob)
    with Segment(name, hold=True):  # loops of other tests sweep away what nobody holds
        yield name
    remove(name)


class Writer:
    def __init__(self, name):
        self.segment = Segment(name, writable=True)
        self.slots = np.frombuffer(
            self.segment.memory, slot_type(CHANNELS, 128), SLOTS, HEADER.itemsize + 256
        )

    def write(self, count):
        for _ in range(count):
            index = int(self.segment.header["written"][0])
            slot = self.slots[index % SLOTS]
            slot["sequence"] = 0
            slot["cycle"] = index
            slot["channels"] = [index, 2 * index, -index]
            slot["sequence"] = index + 1
            self.segment.header["written"][0] = index + 1

    def close(self):
        self.slots = None
        self.segment.close()


@pytest.fixture
def writer(segment):
    made = Writer(segment)
    yield made
    made.close()


def test_reads_what_was_written_once(segment, writer):
    with Ring.attach(segment) as ring:
        assert (ring.names, ring.units, ring.period) == (["a", "b", "c"], ["m", "", "N"], 1e-3)
        assert len(ring.read()) == 0
        writer.write(10)
        assert ring.read(4)["cycle"].tolist() == [0, 1, 2, 3]
        assert ring.read()["channels"].tolist() == [[i, 2 * i, -i] for i in range(4, 10)]
        writer.write(12)  # over the end of the ring
        assert [b["cycle"].tolist() for b in ring.blocks(5)] == [[*range(10, 15)], [*range(15, 20)], [20, 21]]
        assert ring.lost == 0


def test_a_reader_that_falls_behind_knows_what_it_lost_and_the_others_lose_nothing(segment, writer):
    with Ring.attach(segment) as slow, Ring.attach(segment) as quick:
        seen = []
        for _ in range(10):
            writer.write(7)
            seen += quick.read()["cycle"].tolist()
        assert seen == list(range(70))
        # The slot after the newest is being written at any time: 15 of the 16 can be relied upon.
        assert slow.read()["cycle"].tolist() == list(range(55, 70))
        assert (slow.lost, quick.lost) == (55, 0)
        with Ring.attach(segment, from_now=True) as late:
            writer.write(1)
            assert slow.read()["cycle"].tolist() == late.read()["cycle"].tolist() == [70]
            assert late.lost == 0


def test_what_is_overwritten_during_the_copy_is_left_out(segment, writer):
    with Ring.attach(segment) as ring:
        writer.write(12)

        class Lapped(Ring):
            """The writer gets on between the first look at its counter and the second."""

            looks = 0

            @property
            def written(self):
                Lapped.looks += 1
                if Lapped.looks == 2:
                    writer.write(9)
                return int(self.segment.header["written"][0])

        lapped = Lapped(ring.segment)
        Lapped.looks = 0
        rows = lapped.read()
        # 12 were there; by the end of the copy 21 are, of which those before 21 - 16 + 1 = 6 may be damaged.
        assert rows["cycle"].tolist() == list(range(6, 12))
        assert lapped.lost == 6


def test_an_incomplete_sample_is_not_returned(segment, writer):
    with Ring.attach(segment) as ring:
        writer.write(5)
        writer.slots["sequence"][3] = 0
        assert ring.read()["cycle"].tolist() == [0, 1, 2, 4]
        assert ring.lost == 1


def test_reading_beside_a_running_loop(programs, table):
    """Two readers follow 3,000 lock-step ticks; what they return is whole, in order and accounted for."""
    options = LoopOptions(link="loopback://", lock_step=True, steps=3000, retreat=0.01, slots=256)
    with LoopProcess(programs.loop, options, table) as loop, Ring.attach(loop.name) as other:
        blocks = {loop.ring: [], other: []}
        while loop.running or any(ring.cursor < ring.written for ring in blocks):
            for ring, seen in blocks.items():
                seen.append(ring.read(100))
        for ring, seen in blocks.items():
            rows = np.concatenate(seen)
            assert (np.diff(rows["cycle"]) > 0).all()
            assert len(rows) + ring.lost == ring.written > 3000
            assert (rows["sequence"] == rows["cycle"] + 1).all()


def test_a_lapped_ring_of_the_loop(programs, table):
    options = LoopOptions(link="loopback://", lock_step=True, steps=500, retreat=1e-3, slots=64)
    with LoopProcess(programs.loop, options, table) as loop:
        loop.wait(20)
        rows = loop.ring.read()
        assert len(rows) == 63
        assert loop.ring.lost == loop.ring.written - 63
        assert rows["cycle"][-1] == loop.ring.written - 1


def test_segments_that_are_none():
    with pytest.raises(InputError, match="no telemetry segment 'bondloop-nobody'"):
        Ring.attach("bondloop-nobody")
    name = fresh_name()
    try:
        (FOLDER / name).write_bytes(b"")
        with pytest.raises(InputError, match="is empty"):
            Ring.attach(name)
        (FOLDER / name).write_bytes(bytes(HEADER.itemsize))
        with pytest.raises(InputError, match="is no telemetry segment"):
            Ring.attach(name)
        header = np.zeros(1, HEADER)
        header["magic"], header["version"] = MAGIC, VERSION + 1
        (FOLDER / name).write_bytes(header.tobytes())
        with pytest.raises(InputError, match="reads layout"):
            Ring.attach(name)
    finally:
        remove(name)


def test_histogram_bins_cover_everything_once(programs, table):
    """The loop's bins, recomputed from the samples: exact counts, percentiles to the width of a bin."""
    options = LoopOptions(link="loopback://", steps=200, retreat=0.01)
    with LoopProcess(programs.loop, options, table) as loop:
        until(lambda: not loop.running)
        rows, status = loop.ring.read(), loop.status()
    for field, histogram in (
        ("wake_ns", status.wake),
        ("busy_ns", status.busy),
        ("exchange_ns", status.exchange),
    ):
        values = rows[field].astype(float)
        expected = np.histogram(np.maximum(values, 0), np.append(bin_edges(), np.inf))[0]
        assert histogram.bins.tolist() == expected.tolist()
        assert histogram.mean == pytest.approx(values.mean(), rel=1e-12)
        assert (histogram.least, histogram.most) == (values.min(), values.max())
        exact = np.percentile(values, 50, method="inverted_cdf")
        assert exact <= histogram.percentile(50) <= exact * 1.07 + 1
    assert histogram.percentile(100) == histogram.most


def test_an_empty_histogram():
    assert np.isnan(Histogram(0, float("nan"), 0, 0, np.zeros(640, np.uint64)).percentile(50))


def test_a_reader_keeps_its_loads_in_order(programs, table, monkeypatch):
    """Count, fence, samples, fence, count again: without the fences ARM may read samples before the count."""
    events = []
    monkeypatch.setattr("bondloop.realtime.ring.fence", lambda: events.append("fence"))
    monkeypatch.setattr(Ring, "written", property(lambda ring: (events.append("count"), _written(ring))[1]))
    with LoopProcess(programs.loop, LoopOptions(lock_step=True, steps=5, retreat=1e-3), table) as loop:
        assert loop.wait(60) == 0
        events.clear()
        assert len(loop.ring.read()) > 5
    assert events == ["count", "fence", "fence", "count"]


def _written(ring):
    return int(ring.segment.header["written"][0])


@pytest.mark.parametrize("words", [b'{"passed": tr', b"\xff\xfe", b"[3]", b'{"not_tried": 2}'])
def test_a_result_of_the_self_test_that_makes_no_sense_is_none(segment, words):
    with Segment(segment, writable=True) as attached:
        ring = Ring(attached)
        attached.header["self_test_words"][0] = b'{"cases": 7, "not_tried": "a; b"}'
        assert ring.self_test == {"cases": 7, "not_tried": ["a", "b"]}
        attached.header["self_test_words"][0] = words
        assert ring.self_test == {}
        ring._slots = None
