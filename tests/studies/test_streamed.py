"""Studies that are ended early: what was computed is kept, and gone on with, each test once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import batch as batches
from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.batch import Batch, processor_lanes
from bondloop.engine.ir.expr import Var
from bondloop.errors import BondloopError, InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass
from bondloop.studies import Interrupted, Measure, StudyPolicy, sample
from bondloop.studies.campaign import Rows, Stream

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MASS = "rig.transfer.mass.mass"
VARIED = {"excitation.scale": "uniform(5, 40)", "numerical.mn1.I.mass": "normal(1, 5%)"}
MEASURES = ("error", "trip", "trip_time", "peak:force[0]")


@pytest.fixture(scope="module")
def two_actuators():
    return gawthrop_two_actuators.test()


def study(test, count=96, **options):
    return sample(test, VARIED, count, MEASURES, seconds=0.5, backend="lanes", jobs=1, **options)


def same(one, two):
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.stopped, two.stopped)
    assert set(one.measured) == set(two.measured)
    for name, values in one.measured.items():
        np.testing.assert_array_equal(values, two.measured[name])
    assert one.causes == two.causes


class Ends:
    """A progress that ends a study after some calls."""

    def __init__(self, calls, error):
        self.left, self.error = calls, error

    def __call__(self, *_):
        self.left -= 1
        if self.left < 0:
            raise self.error


def test_a_kept_study_is_the_study(two_actuators, tmp_path):
    path = tmp_path / "new" / "samples.parquet"
    plain, kept = study(two_actuators), study(two_actuators, keep=path)
    same(plain, kept)
    assert 0 < kept.stopped.sum() < 96
    assert [f.name for f in path.parent.iterdir()] == ["samples.parquet"]
    table = pq.read_table(path)
    assert table.column_names == ["test", *VARIED, *MEASURES, "stopped", "stopped_by"]
    assert table["test"].to_pylist() == list(range(96))
    for name in (*VARIED, *MEASURES):
        np.testing.assert_array_equal(table[name].to_numpy(), plain[name])
    by = table["stopped_by"].to_pylist()
    assert {cause: by.count(cause) for cause in plain.causes} == plain.causes
    assert by.count("") == 96 - plain.stopped.sum()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BondloopError("it broke"), RuntimeError("a fault")])
def test_what_was_computed_is_kept_and_gone_on_with(two_actuators, tmp_path, error):
    path, parts = tmp_path / "samples.parquet", tmp_path / "samples.parquet.parts"
    # The first block has four packs of lanes, the second one eight times as many at most.
    with pytest.raises(type(error)) as raised:
        study(two_actuators, 320, keep=path, progress=Ends(6, error))
    numbers = pq.read_table(parts)["test"].to_pylist()
    assert tolerances.FIRST_PACKS * processor_lanes()[0] <= len(numbers) < 320
    assert not path.exists()
    sentence = f"{len(numbers)} of 320 tests are kept in {parts}; --resume goes on from there"
    if isinstance(error, BondloopError):
        assert str(raised.value) == f"it broke; {sentence}"
    else:
        assert raised.value.__notes__ == [sentence]
    if isinstance(error, KeyboardInterrupt):
        assert isinstance(raised.value, Interrupted)
        assert len(raised.value.sampled) == len(numbers)
    ran = []
    whole = study(two_actuators, 320, keep=path, resume=True, progress=lambda done, _: ran.append(done))
    assert ran[0] > len(numbers)
    assert ran[-1] == 320
    assert f"{len(numbers)} of the tests were there already" in whole.notes
    same(whole, study(two_actuators, 320))
    assert sorted(pq.read_table(path)["test"].to_pylist()) == list(range(320))
    assert not parts.exists()
    again = study(two_actuators, 320, keep=path, resume=True, progress=Ends(0, AssertionError("ran again")))
    same(again, whole)


def test_a_full_disk_is_told_and_keeps_what_was_written(two_actuators, tmp_path, monkeypatch):
    """Files are allowed so many bytes, as of a full disk; those written before stay."""
    resource = pytest.importorskip("resource", reason="limits of a process are told by Unix")
    path, parts = tmp_path / "samples.parquet", tmp_path / "samples.parquet.parts"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    flush = Stream.flush
    written = []

    def limited(stream):
        flush(stream)
        written.append(len(list(parts.glob("*"))))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))

    monkeypatch.setattr(Stream, "flush", limited)
    try:
        done = tolerances.FIRST_PACKS * processor_lanes()[0]
        with pytest.raises(
            BondloopError,
            match=rf"cannot be written: .*; {done} of 320 tests are kept in",
        ) as raised:
            study(two_actuators, 320, keep=path, policy=StudyPolicy(flush_seconds=0.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(parts) in str(raised.value)
    monkeypatch.undo()
    assert [f.name for f in parts.iterdir()] == ["000000.parquet"]
    same(study(two_actuators, 320, keep=path, resume=True), study(two_actuators, 320))


def test_nothing_is_removed_before_there_is_something_new(two_actuators, tmp_path):
    path = tmp_path / "samples.parquet"
    study(two_actuators, 16, keep=path)
    before = path.read_bytes()
    with pytest.raises(BondloopError, match="no test had been kept"):
        study(two_actuators, 32, keep=path, progress=Ends(0, BondloopError("at once")))
    assert path.read_bytes() == before
    study(two_actuators, 32, keep=path)
    assert len(pq.read_table(path)) == 32


def test_a_damaged_part_runs_again(two_actuators, tmp_path):
    path, parts = tmp_path / "samples.parquet", tmp_path / "samples.parquet.parts"
    with pytest.raises(KeyboardInterrupt):
        study(two_actuators, 320, keep=path, progress=Ends(6, KeyboardInterrupt()))
    (parts / "000000.parquet").write_bytes(b"PAR1 and then the power went")
    whole = study(two_actuators, 320, keep=path, resume=True)
    assert any("cannot be read: its tests run again" in note for note in whole.notes)
    same(whole, study(two_actuators, 320))


def test_another_study_is_not_gone_on_with(tmp_path):
    path, test = tmp_path / "samples.parquet", wagg_three_mass.test()
    sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, keep=path)
    cases = [
        ({"samples": 32}, "samples: 16; now 32"), ({"seed": 4}, "seed: 0; now 4"),
        ({"seconds": 0.2}, "steps: 101; now 201"), ({"measures": ("trip",)}, "measures: "),
        ({"distributions": {MASS: "normal(1, 6%)"}}, "varied: "),
        ({"distributions": {MASS: "normal(1.0000001, 5%)"}}, "drawn: "),
        ({"test": test.with_values({MASS: 1.5})}, "test: "),
    ]  # fmt: skip
    for change, words in cases:
        asked = {
            "test": test,
            "distributions": {MASS: "normal(1, 5%)"},
            "samples": 16,
            "seconds": 0.1,
            **change,
        }
        with pytest.raises(InputError, match="is of another study") as raised:
            sample(**asked, keep=path, resume=True)
        assert words in str(raised.value)
    pq.write_table(pa.table({"test": [1]}), path)
    with pytest.raises(InputError, match="not written by a study"):
        sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, keep=path, resume=True)
    path.write_text("no Parquet")
    with pytest.raises(InputError, match="cannot be read"):
        sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, keep=path, resume=True)
    with pytest.raises(InputError, match="no file to go on with"):
        sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, resume=True)
    Path(path).unlink()
    assert len(sample(test, {MASS: "normal(1, 5%)"}, 16, seconds=0.1, keep=path, resume=True)) == 16


def test_another_measure_of_the_same_name_is_another_study(tmp_path):
    path, test, force = tmp_path / "samples.parquet", wagg_three_mass.test(), Var("force")
    kept = {"m": Measure("rms", force)}
    sample(test, {MASS: "normal(1, 5%)"}, 8, kept, seconds=0.1, keep=path)
    for other in (Measure("mean", force * force), Measure("peak", force), Measure("rms", force, over=force)):
        with pytest.raises(InputError, match="is of another study"):
            sample(test, {MASS: "normal(1, 5%)"}, 8, {"m": other}, seconds=0.1, keep=path, resume=True)
    assert len(sample(test, {MASS: "normal(1, 5%)"}, 8, kept, seconds=0.1, keep=path, resume=True)) == 8


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(12)), st.integers(0, 12), st.integers(1, 5))
def test_rows_come_in_any_order(order, there, size):
    rows = Rows(12)
    for at in range(0, there, size):
        numbers = np.array(order[at : min(there, at + size)])
        rows.put(numbers, {"square": numbers**2.0, "odd": numbers % 2 == 1})
    assert rows.numbers.tolist() == sorted(order[:there])
    assert rows.left.tolist() == sorted(order[there:])
    if there:
        np.testing.assert_array_equal(rows.there["square"], rows.numbers**2)
        assert rows.there["odd"].dtype == bool


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 200), st.sampled_from([1e-9, 0.001, 0.1]))
def test_blocks_are_all_tests_in_their_order(count, seconds):
    tick = wagg_three_mass.test().tick
    values = np.linspace(0.5, 2, count)[:, None]
    batch = Batch(tick, [MASS], "lanes")
    blocks = list(batch.blocks(values, 20, jobs=1, seconds=seconds))
    whole = batch.run(values, 20, jobs=1)
    np.testing.assert_array_equal(np.concatenate([b.states for b in blocks]), whole.states)
    assert len(blocks) == 1 or len(blocks[0].states) == tolerances.FIRST_PACKS * batch.width


class Card:
    """Stands for a card: runs tests one by one, and counts."""

    card, kernel_seconds = "a card", 0.0

    def __init__(self, tick, varied, plan):
        self.run_some = batches._one_by_one(tick, [v.name for v in varied], plan)
        self.blocks = []

    def run(self, lot, progress):
        self.blocks.append(len(lot))
        self.run_some(lot)
        if progress is not None:
            progress(len(lot), len(lot))


def test_on_a_card_blocks_are_as_large_as_its_share_of_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(batches, "CudaBatch", Card)
    monkeypatch.setattr(batches, "gpu_obstacle", str)
    test, varied = wagg_three_mass.test(), {MASS: "normal(1, 5%)"}
    found = sample(test, varied, 100, ("error",), seconds=0.1, keep=tmp_path / "samples.parquet")
    assert found.backend == "cuda"
    assert found.notes == ("ran on a card",)
    np.testing.assert_array_equal(
        found["error"], sample(test, varied, 100, ("error",), seconds=0.1, backend="lanes")["error"]
    )
    batch = Batch(test.tick, [MASS])
    monkeypatch.setattr(tolerances, "CARD_BYTES", 8 * 40 * batch._parts.plan.size)
    told = []
    batch.run(found.values, 20, progress=lambda done, wanted: told.append((done, wanted)))
    assert batch._parts.cuda.blocks == [40, 40, 20]
    assert told == [(40, 100), (80, 100), (100, 100)]
