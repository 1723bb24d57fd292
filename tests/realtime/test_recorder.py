"""The recorder: nothing lost, nothing held up, and a file that outlives whoever wrote it."""

import contextlib
import fcntl
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.realtime import recorder as recording
from bondloop.realtime.protocol import HEADER, VERSION, slot_type
from bondloop.realtime.recorder import Exit, Recorder, free_path
from bondloop.realtime.recorder_supervisor import last_run, merged_files
from bondloop.realtime.ring import Ring
from bondloop.realtime.stop_requests import FOLDER, MAGIC, PREFIX, STATES
from bondloop.rehearsal import Run
from bondloop.results import Record, read_cycles, read_run
from bondloop.results.records.growing import GrowingRun
from bondloop.safety.causes import Cause, cause_words

PERIOD = 1e-3


class Producer:
    """A telemetry segment without a loop: sample k has the value k + 0.001 c in channel c."""

    def __init__(self, channels=3, slots=1024, pid=None):
        self.name = f"{PREFIX}{os.getpid()}-{id(self):x}"
        self.path = FOLDER / self.name
        named = [{"name": f"c{i}", "unit": "m"} for i in range(channels)]
        text = json.dumps({"period": PERIOD, "channels": named, "parameters": []}).encode()
        kind = slot_type(channels)
        slots_at = -(-(HEADER.itemsize + len(text)) // 64) * 64
        self.file = self.path.open("w+b")
        fcntl.flock(self.file, fcntl.LOCK_SH)  # what nobody holds is swept away by loops of other tests
        self.file.truncate(slots_at + slots * kind.itemsize)
        self.memory = mmap.mmap(self.file.fileno(), 0)
        self.memory[HEADER.itemsize : HEADER.itemsize + len(text)] = text
        self.header = np.frombuffer(self.memory, HEADER, 1)
        given = {
            "version": VERSION, "header_bytes": HEADER.itemsize, "metadata_at": HEADER.itemsize,
            "metadata_bytes": len(text), "slots_at": slots_at, "slot_bytes": kind.itemsize, "slots": slots,
            "channels": channels, "period_ns": round(1e9 * PERIOD), "loop_pid": pid or os.getpid(),
        }  # fmt: skip
        for word, value in given.items():
            self.header[word][0] = value
        self.slots = np.frombuffer(self.memory, kind, slots, slots_at)
        self.memory[:8] = MAGIC
        self.written = self.steps = 0
        self.state("inactive")

    def state(self, name):
        self.header["state"][0] = STATES.index(name)

    def put(self, count, state="active"):
        """Write samples; in all states but active no tick is executed."""
        number = self.written + np.arange(count)
        at = number % len(self.slots)
        ticked = state == "active"
        self.slots["cycle"][at] = number
        self.slots["step"][at] = self.steps + np.arange(count) if ticked else -1
        self.slots["wake_ns"][at] = 1000 + number
        self.slots["state"][at] = STATES.index(state)
        self.slots["flags"][at] = 1
        self.slots["channels"][at] = number[:, None] + 0.001 * np.arange(self.slots["channels"].shape[1])
        self.slots["sequence"][at] = number + 1
        self.written += count
        self.steps += count if ticked else 0
        self.header["counts"]["steps"][0] = self.steps
        self.header["step"][0] = self.steps
        self.state(state)
        self.header["written"][0] = self.written

    def reset(self):
        """Let the next run begin, as the loop logs it."""
        at = int(self.header["events_written"][0])
        event = self.header["events"][0][at : at + 1]
        event["cycle"], event["run"], event["kind"] = self.written, at + 2, 5
        event["sequence"] = at + 1
        self.header["events_written"][0] = at + 1
        self.steps = 0
        self.put(3, "inactive")

    def close(self):
        self.path.unlink(missing_ok=True)
        self.file.close()


@pytest.fixture
def producer():
    made = Producer()
    yield made
    made.close()


@contextlib.contextmanager
def process(producer, path, *more, **options):
    words = [sys.executable, "-m", "bondloop.realtime.recorder", producer.name, str(path), *more]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        said = child.stdout.readline().split()
        assert said, f"it ended with {child.wait()}: {child.stderr.read()}"
        yield child, said
    finally:
        child.kill()
        child.communicate()


def awaited(done, child):
    """Wait for something another process does; its death ends the wait."""
    pause = threading.Event()
    while not done():
        assert child.poll() is None, child.stderr.read()
        pause.wait(0.01)


def rows(path):
    with contextlib.suppress(InputError):
        return len(Record.load(path))
    return 0


def test_every_tick_is_in_the_record_with_what_the_executive_said(producer, tmp_path):
    path = tmp_path / "run.h5"
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(
            ring, path, {"steps": 900, "attributes": {"seed": 4}, "description": {"name": "x"}}
        )
        producer.put(5, "inactive")
        producer.put(400)
        assert recorder.catch_up() == 405
        producer.put(500)
        producer.put(30, "retreat")
        producer.put(2, "safe")
        producer.state("finalized")
        assert recorder.run(threading.Event()) == 0
    run = Run.load(path)
    assert run.completed
    np.testing.assert_array_equal(run.time, np.arange(900) * PERIOD)
    np.testing.assert_array_equal(run["c2"], 5 + np.arange(900) + 0.002)
    assert run.record.units["c2"] == "m"
    assert run.record.description == {"name": "x"}
    assert run.record.attributes["seed"] == 4
    assert run.record.attributes["samples_lost"] == 0
    cycles = read_cycles(path)
    np.testing.assert_array_equal(cycles["step"], np.arange(900))
    np.testing.assert_array_equal(cycles["wake_ns"], 1005 + np.arange(900))
    assert run.record.attributes["timing"]["percentiles"]["wake"]["most"] == pytest.approx(1904e-9)
    # The way to the safe state is kept too, on the same time axis, but apart: no tick was executed there.
    retreat = read_run(path, part="/retreat")
    np.testing.assert_allclose(retreat.time, (900 + np.arange(32)) * PERIOD)
    assert read_cycles(path, "/retreat")["state"].tolist() == [3] * 30 + [4] * 2


def test_the_file_is_read_while_it_is_written(producer, tmp_path):
    path = tmp_path / "run.h5"
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, path)
        producer.put(100)
        recorder.catch_up()
        assert len(Record.load(path)) == 100
        producer.put(50)
        recorder.catch_up()
        found = Record.load(path)
        assert (len(found), found.attributes["status"]) == (150, "recording")
        recorder.finish()


def test_a_recorder_killed_before_the_first_tick_leaves_a_file_that_says_so(producer, tmp_path):
    path = tmp_path / "run.h5"
    producer.put(5, "inactive")
    with process(producer, path) as (child, ready):
        assert ready == ["ready", str(path)]
        child.send_signal(signal.SIGKILL)
        child.wait()
    run = Run.load(path)
    assert len(run.time) == 0
    assert list(run.record) == ["c0", "c1", "c2"]
    assert run.record.attributes["status"] == "recording"
    assert "no tick was recorded" in run.verdict
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]


def test_a_recorder_killed_later_says_that(producer, tmp_path):
    path = tmp_path / "run.h5"
    producer.put(5)
    with process(producer, path) as (child, _):
        awaited(lambda: "still at work" in Run.load(path).verdict, child)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert len(Run.load(path).time) == 5
    assert "killed before the run ended" in Run.load(path).verdict


def test_numbers_of_causes_and_states_are_words_in_the_file(producer, tmp_path):
    with Ring.attach(producer.name) as ring:
        Recorder(ring, tmp_path / "run.h5").finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for part in ("/", "/retreat/"):
            causes = json.loads(file[f"{part}loop/cause"].attrs["words"])
            states = json.loads(file[f"{part}loop/state"].attrs["words"])
            assert causes == {str(int(c)): cause_words(c) for c in Cause}
            assert [states[str(n)] for n in range(len(STATES))] == list(STATES)


@pytest.mark.parametrize(
    ("wanted", "stops", "status", "message"),
    [
        (900, 1, "stopped", "the operator stopped it after 70 of 900 ticks"),
        (900, 0, "stopped", "it was ended after 70 of 900 ticks"),
        (70, 0, "completed", ""),
        (0, 1, "completed", ""),  # no length was asked for: until stopped
    ],
)
def test_who_ended_it_is_in_the_file(producer, tmp_path, wanted, stops, status, message):
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, tmp_path / "run.h5", {"steps": wanted})
        producer.put(70)
        producer.header["counts"]["stops"][0] = stops
        producer.state("finalized")
        assert recorder.run(threading.Event()) == 0
    attributes = Record.load(tmp_path / "run.h5").attributes
    assert (attributes["status"], attributes["message"]) == (status, message)
    assert attributes["cause_words"] == ("the operator stopped it" if stops else "no trip")


def test_what_was_overwritten_is_counted(producer, tmp_path):
    """Of 3000 samples in a ring of 1024, the last 1023 can be trusted: the 1024th may be under the pen."""
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, tmp_path / "run.h5")
        producer.put(10)
        recorder.catch_up()
        for _ in range(5):
            producer.put(598)
        recorder.catch_up()
        found = recorder.finish()
    assert found["samples_lost"] == 3000 - 10 - 1023
    assert len(Record.load(tmp_path / "run.h5")) == 10 + 1023


def test_a_second_recorder_goes_on_where_the_ring_still_reaches(producer, tmp_path):
    path = tmp_path / "run.h5"
    producer.put(3, "inactive")
    for _ in range(4):
        producer.put(500)
    with process(producer, path) as (first, ready):
        assert ready == ["ready", str(path)]
        awaited(lambda: rows(path) == 1023, first)
        first.send_signal(signal.SIGKILL)
        first.wait()
        producer.put(200)
        with process(producer, path) as (second, again):
            assert again == ["ready", str(tmp_path / "run-2.h5")], "what is there is never overwritten"
            producer.state("finalized")
            assert second.wait() == 0
    one, two = Record.load(path), Record.load(tmp_path / "run-2.h5")
    assert one.attributes["status"] == "recording"
    assert two.attributes["samples_before"] == 3 + 2200 - 1023
    assert two.attributes["samples_lost"] == 0
    # Both count time from the first tick, so that they join.
    assert one.time[-1] == pytest.approx(1.999)
    assert two.time[-1] == pytest.approx(2.199)
    assert two.time[0] <= one.time[-1] + PERIOD


def test_recorders_that_die_after_a_reset_leave_the_run_that_it_was(producer, tmp_path):
    """As killed: nobody finishes the files. The first one wrote both runs, the others some of the second."""
    path, second, third, last = (tmp_path / f"run{n}.h5" for n in ("", "-2", "-3", "-4"))
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, path)
        producer.put(700)
        producer.put(10, "safe")
        recorder.catch_up()
        producer.reset()
        producer.put(400)
        recorder.catch_up()
        recorder.file.abandon()
    assert [Record.load(p).attributes["run"] for p in (path, second)] == [1, 2]
    assert last_run([path, second]) == [second]
    producer.put(800)
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, third)
        recorder.catch_up()
        recorder.file.abandon()
    assert Record.load(third).attributes["run"] == 2
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, last)
        producer.state("finalized")
        assert recorder.run(threading.Event()) == 0
    files = last_run([path, last, third, second])  # those of a reset are told last
    assert files == [second, third, last]
    merged, cycles = merged_files(files)
    np.testing.assert_array_equal(merged.time, np.arange(1200) * PERIOD)
    np.testing.assert_array_equal(cycles["step"], np.arange(1200))
    assert merged.attributes["status"] == "completed"


def test_a_loop_that_dies_ends_the_recording(tmp_path):
    loop = subprocess.Popen([sys.executable, "-c", "pass"])
    loop.wait()  # its number now belongs to nobody
    producer = Producer(pid=loop.pid)
    try:
        producer.put(70)
        with Ring.attach(producer.name) as ring:
            assert Recorder(ring, tmp_path / "run.h5").run(threading.Event()) == 0
    finally:
        producer.close()
    found = Record.load(tmp_path / "run.h5")
    assert (len(found), found.attributes["status"]) == (70, "stopped")
    assert found.attributes["message"] == "the loop's process died after 70 ticks"


def test_a_full_disk_ends_the_recording_and_keeps_the_file(producer, tmp_path, monkeypatch, capsys):
    path = tmp_path / "run.h5"
    with Ring.attach(producer.name) as ring:
        recorder = Recorder(ring, path)
        producer.put(100)
        recorder.catch_up()
        monkeypatch.setattr(recording.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        producer.put(100)
        assert recorder.run(threading.Event()) == Exit.DISK
    assert "the disk is full" in capsys.readouterr().err
    found = Record.load(path)
    assert len(found) == 100
    assert found.attributes["status"] == "stopped"
    assert found.attributes["message"].startswith("recording ended after 100 samples: the disk is full")
    with h5py.File(path, "r"):
        pass  # closed in order: no mark of an interrupted writer


def test_the_process_writes_by_the_policy_it_is_given(producer, tmp_path):
    policy = json.dumps({"reserve": 1 << 62, "idle": 0.01})
    with process(producer, tmp_path / "run.h5", "--policy", policy) as (child, _):
        producer.put(100)
        assert child.wait(60) == Exit.DISK


def test_a_write_that_fails_half_way_leaves_what_was_committed(producer, tmp_path):
    """The system refuses to let the file grow, as a quota would: every write fails from some byte on."""
    path = tmp_path / "run.h5"
    limit = 400_000
    with process(
        producer, path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    ) as (child, ready):
        assert ready[0] == "ready"
        producer.put(500)
        awaited(lambda: rows(path) >= 500, child)
        pause = threading.Event()
        while child.poll() is None:
            producer.put(500)
            pause.wait(0.05)
        assert child.returncode == Exit.DISK
        assert "file too large; the loop runs on" in child.stderr.read()
    found = Record.load(path)
    assert 500 <= len(found) < 10_000
    # Those that came too fast for a ring this small are missing, those that are there are right.
    np.testing.assert_allclose(found["c1"], found.time / PERIOD + 0.001, rtol=1e-12, atol=1e-9)


def test_rows_that_were_not_committed_do_not_count(tmp_path):
    path = tmp_path / "run.h5"
    file = GrowingRun(path, {"x": "m"}, {"step": "<i8"}, rate=1000.0)
    step = np.arange(10)
    file.append(step * PERIOD, np.ones((10, 1)), {"step": step})
    file.commit()
    file.append((10 + step) * PERIOD, np.ones((10, 1)), {"step": 10 + step})
    assert len(Record.load(path)) == 10
    file.close({"status": "completed"})
    assert len(Record.load(path)) == 20
    with pytest.raises(InputError, match="it exists already"):
        GrowingRun(path, {}, {}, rate=1000.0)


def test_a_rehearsals_file_has_no_cycles(tmp_path):
    path = tmp_path / "run.h5"
    Record(np.arange(3.0), {"x": np.zeros(3)}).save(path)
    assert read_cycles(path) == {}
    with pytest.raises(InputError, match="no part '/retreat'; only runs in real time have"):
        read_run(path, part="/retreat")


def test_names_of_further_files(tmp_path):
    path = tmp_path / "run.h5"
    assert free_path(path) == path
    path.touch()
    Path(tmp_path / "run-2.h5").touch()
    assert free_path(path).name == "run-3.h5"


def test_no_such_loop(tmp_path, capsys):
    assert recording.main(["bondloop-no-such-segment", str(tmp_path / "run.h5")]) == 1
    assert "there is no telemetry segment" in capsys.readouterr().err
