"""Run files through the server: what is told of them, stretches against the file, names that lead away."""

import asyncio
import re
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hostile"))  # for endless_file.py

from endless_file import endless

from bondloop.dashboard import PagePolicy
from bondloop.dashboard import replay as run_files
from bondloop.dashboard.app import application
from bondloop.dashboard.frames import PLANE, STRIP, unpacked
from bondloop.dashboard.replay import RunTable
from bondloop.dashboard.server import Settings, Subject
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.errors import InputError
from bondloop.readers import reader_process
from bondloop.results import Record

RATE, COUNT, SPIKE = 1000.0, 12_345, 7_001


@pytest.fixture(scope="module")
def record():
    time = np.arange(COUNT) / RATE
    desired = np.sin(20 * time)
    actual = 0.9 * np.sin(20 * (time - 0.004))
    actual[SPIKE] = 7.0
    cause = np.where(np.arange(COUNT) >= 12_000, 3.0, 0.0)
    switch = np.clip(time - 1.0, 0.0, 1.0)
    shown = {
        "desired.x": desired,
        "actual.x": actual,
        "interlock.cause": cause,
        "switch.displacement": switch,
    }
    meanings = {
        "desired.x": Meaning(Role.DESIRED, "displacement", "displacement", 0),
        "actual.x": Meaning(Role.ACTUAL, "displacement", "displacement", 0),
    }
    units = {"desired.x": "m", "actual.x": "m"}
    return Record(
        time, shown, units, attributes={"status": "stopped", "message": "it ended"}, meanings=meanings
    )


class Client:
    """Asks the application without a socket."""

    def __init__(self, app):
        self.transport = httpx.ASGITransport(app)

    def ask(self, method, path, **more):
        async def asked():
            async with httpx.AsyncClient(
                transport=self.transport, base_url="http://127.0.0.1:8750"
            ) as client:
                return await client.request(method, path, **more)

        return asyncio.run(asked())

    def get(self, path, **more):
        return self.ask("GET", path, **more)


@pytest.fixture(scope="module")
def client(record, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "runs" / "inner").mkdir(parents=True)
    record.save(folder / "runs" / "inner" / "run.h5")
    record.save(folder / "secret.h5")
    (folder / "runs" / "broken.h5").write_bytes(b"no run")
    return Client(application(Settings(runs=folder / "runs"), 8750))


def stretch(client, **words):
    asked = {"name": "inner/run.h5", "channels": "1", "from": 0, "to": 100, "pixels": 300, **words}
    return client.get("/api/stretch", params=asked)


def test_runs_are_listed_and_described(client):
    names = {run["name"] for run in client.get("/api/runs").json()["runs"]}
    assert names == {"inner/run.h5", "broken.h5"}
    about = client.get("/api/run", params={"name": "inner/run.h5"}).json()
    assert about["samples"] == COUNT
    assert about["pairs"] == [{"interface": 0, "desired": 0, "actual": 1}]
    told = [(round(e["time"], 3), e["text"]) for e in about["events"]]
    assert (12.0, "trip: the measured force went beyond its limit") in told
    assert (2.0, "displacement is in") in told
    assert told[-1][1] == "the record ends: it ended"


@pytest.mark.parametrize("pixels", [1, 7, 300, 4000])
def test_a_stretch_shows_every_peak_at_its_place(client, record, pixels):
    _, (block,) = unpacked(stretch(client, pixels=pixels).content)
    assert block.kind == STRIP
    assert block.columns.shape[1] <= pixels
    low, high = block.columns
    wanted = record["actual.x"].astype(np.float32)
    assert (np.nanmin(low), np.nanmax(high)) == (wanted.min(), 7.0)
    at = block.first + block.step * int(np.nanargmax(high))
    assert at <= SPIKE / RATE < at + block.step + 1e-9


def test_a_plane_has_samples_as_they_are(client, record):
    _, (block,) = unpacked(stretch(client, kind="plane", channels="0,1", to=0.5, pixels=500).content)
    assert block.kind == PLANE
    np.testing.assert_array_equal(block.columns[0], record["desired.x"][:500].astype(np.float32))


@pytest.mark.parametrize("name", ["../secret.h5", "/etc/passwd", "inner/../../secret.h5", "", "x" * 5000])
def test_names_lead_nowhere_else(client, name):
    assert client.get("/api/run", params={"name": name}).status_code == 400


@pytest.mark.parametrize(
    "words",
    [
        {"channels": "99"},
        {"channels": "-1"},
        {"channels": "a"},
        {"channels": ",".join(["0"] * 40)},
        {"pixels": 0},
        {"pixels": 10**9},
        {"from": "nan"},
        {"to": "inf"},
        {"from": 5, "to": 1},
        {"name": "broken.h5"},
    ],
)
def test_questions_that_make_no_sense_are_refused_in_words(client, words):
    answer = stretch(client, **words)
    assert answer.status_code == 400
    assert len(answer.json()["error"]) > 10


def test_nothing_before_or_behind_the_run(client):
    _, (block,) = unpacked(stretch(client, **{"from": 100, "to": 200}).content)
    assert block.columns.shape[1] == 0


def test_the_last_sample_is_shown(client, record):
    _, (block,) = unpacked(stretch(client, **{"from": 12.3, "to": record.time[-1]}).content)
    assert block.columns[1, -1] == np.float32(record["actual.x"][-1])


@pytest.fixture
def pieces(monkeypatch):
    """Small pieces, so that a small file is a long one."""
    from bondloop.dashboard import replay as run_table

    for name, value in {"PIECE": 1024, "CACHE_BYTES": 20_000, "FINE": 2000}.items():
        monkeypatch.setattr(run_table, name, value)
    return run_table


def test_a_long_run_is_shown_as_if_it_fitted_into_memory(pieces, record, tmp_path):
    """Against the record itself: what is thinned out beforehand, and what is read again piece by piece."""
    record.save(tmp_path / "run.h5")
    table = pieces.RunTable(tmp_path / "run.h5")
    for first, last in ((0, 12_345), (0, 1000), (3000, 4200), (6000, 12_000), (0, 12_345)):
        begin, end = record.time[first], record.time[last - 1] + 1e-9
        block = table.stretch(STRIP, [1, 0], begin, end, 50)
        step = round(block.step * RATE)
        at = round(block.first * RATE)
        assert abs(at - first) < pieces.COARSE
        for row, name in ((0, "actual.x"), (2, "desired.x")):
            for k in range(block.columns.shape[1]):
                some = record[name][at + k * step : at + (k + 1) * step].astype(np.float32)
                if at + (k + 1) * step <= last:
                    assert block.columns[row : row + 2, k].tolist() == [some.min(), some.max()]
        assert block.columns.shape[1] <= 51
        assert block.columns[1].max() == (7.0 if first <= SPIKE < last else pytest.approx(0.9, abs=0.01))
        assert sum(x.nbytes for x in table._pieces.values()) <= pieces.CACHE_BYTES
    np.testing.assert_array_equal(
        table.read([1], 1000, 5000)[:, 0], record["actual.x"][1000:5000].astype("f4")
    )
    told = [(round(e["time"], 3), e["text"]) for e in pieces_events(table)]
    assert (12.0, "trip: the measured force went beyond its limit") in told
    assert (2.0, "displacement is in") in told


def pieces_events(table):
    from bondloop.dashboard.replay import events_of

    return events_of(table.path, table.time, table.changes, table.head.attributes)


def test_the_run_that_was_named_is_not_mistaken_for_one_of_the_folder(record, tmp_path):
    (tmp_path / "runs").mkdir()
    record.save(tmp_path / "runs" / "run.h5")
    Record(record.time[:9], {"x": record.time[:9]}).save(tmp_path / "run.h5")
    client = Client(application(Settings(runs=tmp_path / "runs", run=tmp_path / "run.h5"), 8750))
    named = client.get("/api/runs").json()["named"]
    assert client.get("/api/run", params={"name": named}).json()["samples"] == 9
    assert client.get("/api/run", params={"name": "run.h5"}).json()["samples"] == COUNT


def test_the_run_that_was_named_stands_once_in_the_list(record, tmp_path):
    (tmp_path / "old").mkdir()
    for name in ("run.h5", "old/run.h5"):
        record.save(tmp_path / name)
    for name in ("run.h5", "old/run.h5"):
        client = Client(application(Settings(runs=tmp_path, run=tmp_path / name), 8750))
        answer = client.get("/api/runs").json()
        assert answer["named"] == answer["runs"][0]["name"] == name
        assert sorted(run["name"] for run in answer["runs"]) == ["old/run.h5", "run.h5"]


@pytest.mark.parametrize(("begin", "end"), [(12, 17), (3, 13), (0, 4), (9, 10.5), (0, 19.999)])
@pytest.mark.parametrize("pixels", [100, 1000, 2000])
def test_samples_are_drawn_at_their_times_beside_a_hole(pieces, tmp_path, begin, end, pixels):
    """The channel says its own time; in the hole, nothing is drawn."""
    time = np.arange(20_000) / RATE
    kept = np.delete(time, np.r_[1777, 5000:10_000])
    Record(kept, {"clock": kept}).save(tmp_path / "run.h5")
    for table in (pieces.RunTable(tmp_path / "run.h5"), RunTable(tmp_path / "run.h5")):
        block = table.stretch(STRIP, [0], begin, end, pixels)
        drawn = block.first + block.step * np.arange(block.columns.shape[1])
        low, high = block.columns
        there = np.isfinite(low)
        assert (low[there] > drawn[there] - 0.001).all()
        assert (high[there] < drawn[there] + block.step).all()
        assert not there[(drawn > 5.0) & (drawn + block.step < 10.0)].any()
        elsewhere = (drawn + block.step < 5.0) | (drawn > 10.0)
        assert (~there[elsewhere]).sum() <= 1  # that of the single one
        assert (low[there][0], high[there][-1]) == pytest.approx(
            (kept[kept >= begin][0], kept[kept <= end][-1]), abs=pieces.COARSE / RATE
        )
        assert block.columns.shape[1] <= pixels + 1


def test_of_a_plane_that_is_too_long_the_newest_is_shown(pieces, record, tmp_path):
    record.save(tmp_path / "run.h5")
    block = pieces.RunTable(tmp_path / "run.h5").stretch(PLANE, [1, 0], 0.0, record.time[-1], 4000)
    assert block.columns.shape == (2, pieces.FINE)
    np.testing.assert_array_equal(block.columns[0], record["actual.x"][-pieces.FINE :].astype("f4"))


def test_numbers_beyond_what_a_page_can_show_are_infinite(tmp_path):
    Record(np.arange(5.0), {"x": np.array([1.0, 1e300, -1e300, np.nan, 2.0])}).save(tmp_path / "run.h5")
    table = RunTable(tmp_path / "run.h5")
    np.testing.assert_array_equal(table.read([0], 0, 5)[:, 0], [1.0, np.inf, -np.inf, np.nan, 2.0])


@pytest.mark.usefixtures("pieces")
def test_a_file_that_is_gone_or_becomes_shorter_is_told_in_words(record, tmp_path):
    path = tmp_path / "run.h5"
    record.save(path)
    assert run_files.describe(path)[0]["samples"] == COUNT
    record.between(0, 3).save(path)
    with pytest.raises(InputError, match="has changed"):
        run_files.stretch(path, STRIP, [1], 4.0, 5.0, 9)
    client = Client(application(Settings(runs=tmp_path), 8750))
    about = {"name": "run.h5"}
    assert client.get("/api/run", params=about).json()["samples"] == 3001
    path.unlink()
    assert client.get("/api/run", params=about).status_code == 400


def test_a_file_that_the_library_never_finishes_is_refused_and_the_others_are_read(
    record, tmp_path, monkeypatch
):
    """It is tried once; whoever asks again before it has changed hears it at once."""
    # Patience by the clock: others may take the processor.
    monkeypatch.setattr(reader_process, "BASE_SECONDS", 1.0)
    monkeypatch.setattr(reader_process, "PATIENCE", 1000.0)
    record.save(tmp_path / "run.h5")
    endless(tmp_path / "run.h5", tmp_path / "damaged.h5")
    client = Client(application(Settings(runs=tmp_path), 8750))
    for path in ("/api/run", "/api/stretch?channels=0&from=0&to=1&pixels=9", "/api/run"):
        answer = client.get(
            path, params={"name": "damaged.h5"} | dict(httpx.QueryParams(path.partition("?")[2]))
        )
        assert answer.status_code == 400
        assert re.search(r"damaged\.h5 was not read in \d s of processor time", answer.json()["error"])
        assert client.get("/api/run", params={"name": "run.h5"}).json()["samples"] == COUNT
    record.save(tmp_path / "damaged.h5")
    assert client.get("/api/run", params={"name": "damaged.h5"}).json()["samples"] == COUNT


def test_without_a_test_there_is_nothing_to_check(client):
    own = {"Origin": "http://127.0.0.1:8750"}
    assert "no test was given" in client.ask("POST", "/api/check", headers=own).json()["error"]


def test_a_check_takes_no_more_of_the_processor_than_it_may(tmp_path):
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    subject, policy = Subject(str(tmp_path / "endless.py")), PagePolicy(check_processor=1)
    settings = Settings(runs=tmp_path, subject=subject, policy=policy)
    answer = Client(application(settings, 8750)).ask(
        "POST", "/api/check", headers={"Origin": "http://127.0.0.1:8750"}
    )
    assert answer.json()["error"].startswith("the check was ended after 1 s of the processor")
