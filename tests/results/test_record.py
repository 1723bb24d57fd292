"""The record in memory: what it refuses, and how it is cut."""

import json
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.results import Record


def test_all_faults_of_a_record_are_reported_at_once():
    with pytest.raises(InputError) as caught:
        Record(np.array([0.0, 1.0, 1.0]), {"a/b": np.zeros(3), "c": np.zeros(2)}, {"d": "m", "c": "[m]"})
    message = str(caught.value)
    for part in ("5 faults", "time does not increase at sample 2", "'a/b'", "2 samples", "'d'", "'[m]'"):
        assert part in message


@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.zeros(2, complex), ["a", "b"]])
def test_what_is_no_row_of_real_numbers_is_refused(values):
    with pytest.raises(InputError, match="channel 'x'"):
        Record(np.arange(2.0), {"x": values})


def test_a_record_cannot_be_changed_and_its_source_stays_writable():
    source = np.zeros(3)
    record = Record(np.arange(3.0), {"x": source})
    with pytest.raises(ValueError, match="read-only"):
        record["x"][0] = 1.0
    source[0] = 1.0  # the loop's own buffer is not frozen by recording it


def test_columns_of_a_table_are_not_copied():
    table = np.random.default_rng(0).normal(size=(50, 3))
    record = Record(np.arange(50.0), dict(zip("abc", table.T, strict=True)))
    parts = [record, record.between(3.0, 9.0), replace(record, attributes={"status": "completed"})]
    assert all(np.shares_memory(part[name], table) for part in parts for name in "abc")


def test_between_takes_both_ends():
    record = Record(np.arange(5.0), {"x": np.arange(5.0)}, {"x": "m"}, attributes={"status": "completed"})
    part = record.between(1.0, 3.0)
    assert part["x"].tolist() == [1.0, 2.0, 3.0]
    assert (part.units, part.attributes) == ({"x": "m"}, {"status": "completed"})
    assert len(record.between(7, 9)) == 0
    assert record.between("1 s", "3000 ms").time.tolist() == part.time.tolist()
    with pytest.raises(InputError, match=r"between\(end\): expected a quantity in s.*found '3 m'"):
        record.between(1.0, "3 m")
    with pytest.raises(InputError, match=r"between\(start\): expected a finite number"):
        record.between(float("nan"), 3.0)


def test_sample_period_is_the_mean_and_refuses_a_lost_sample():
    time = np.arange(100_000) * 1e-4  # rounding of k * period up to 10 s must pass
    assert Record(time, {}).sample_period == pytest.approx(1e-4, rel=1e-12)
    with pytest.raises(InputError, match="uneven"):
        _ = Record(np.delete(time, 500), {}).sample_period
    with pytest.raises(InputError, match="1 samples has no sample period"):
        _ = Record(time[:1], {}).sample_period


def test_numpy_in_the_description_becomes_plain():
    given = {"gains": np.array([1.0, 2.0]), "n": np.int64(3), "pair": (1, 2)}
    assert Record(np.zeros(0), {}, description=given).description == {
        "gains": [1.0, 2.0],
        "n": 3,
        "pair": [1, 2],
    }
    with pytest.raises(InputError, match="description"):
        Record(np.zeros(0), {}, description={"law": lambda x: x})


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ARRAYS = st.lists(st.floats(), max_size=3).map(np.array)
SCALARS = st.floats().map(np.float64) | st.integers(0, 9).map(np.int64)
KEYS = st.text(max_size=3) | st.integers(0, 3) | st.booleans() | st.none()
TOLD = st.recursive(
    ATOMS | ARRAYS | SCALARS | st.builds(PurePosixPath, st.just("a/b")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=20,
)


def through_json(value):
    """What JSON brings back: lists of arrays, the text of a path."""
    return json.loads(json.dumps(value, default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v)))


@given(st.dictionaries(st.text(max_size=3), TOLD, max_size=4))
def test_what_is_told_of_a_record_is_what_json_brings_back(told):
    """As text, since NaN does not equal itself, and kind by kind."""
    copy = Record(np.arange(2.0), {}, description=told).description
    assert json.dumps(copy) == json.dumps(through_json(told))
    assert str(_kinds(copy)) == str(_kinds(through_json(told)))


def _kinds(value):
    if isinstance(value, dict):
        return {key: _kinds(entry) for key, entry in value.items()}
    return [_kinds(item) for item in value] if isinstance(value, list) else type(value)


def test_what_is_told_is_a_copy():
    row, inner = [1.0, 2.0], {"a": [[3.0]]}
    record = Record(np.arange(2.0), {}, description={"row": row, "inner": inner})
    row[0], inner["a"][0][0] = 9.0, 9.0
    assert record.description == {"row": [1.0, 2.0], "inner": {"a": [[3.0]]}}


@pytest.mark.parametrize("around", [lambda told: told, lambda told: [told], lambda _: {1, 2}])
def test_what_json_cannot_say_is_refused(around):
    told = {}
    told["a"] = around(told)
    with pytest.raises(InputError, match="the description of a record"):
        Record(np.arange(2.0), {}, description=told)
