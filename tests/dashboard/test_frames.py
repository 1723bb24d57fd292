"""Frames and thinning, against NumPy without any of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bondloop.dashboard.frames import (
    NOTHING,
    PLANE,
    STRIP,
    Block,
    Curves,
    History,
    lowest_highest,
    packed,
    unpacked,
)

VALUES = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(
    arrays(np.float32, st.tuples(st.integers(0, 60), st.integers(1, 4)), elements=VALUES), st.integers(1, 9)
)
def test_every_stretch_shows_its_extremes(values, width):
    found = lowest_highest(values, width)
    count = len(values) // width
    assert found.shape == (2 * values.shape[1], count)
    for c in range(values.shape[1]):
        for i in range(count):
            part = values[i * width : (i + 1) * width, c]
            part = part[~np.isnan(part)]
            wanted = (part.min(), part.max()) if part.size else (np.nan, np.nan)
            np.testing.assert_array_equal(found[2 * c : 2 * c + 2, i], wanted)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 65535),
            st.sampled_from([STRIP, PLANE]),
            arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(0, 7)), elements=VALUES),
            st.booleans(),
        ),
        max_size=5,
    ),
    st.integers(0, 2**32 - 1),
)
def test_a_frame_comes_back_as_it_was(parts, number):
    blocks = [Block(plot, kind, 1.5, 0.25, values, restart) for plot, kind, values, restart in parts]
    again, back = unpacked(packed(number, blocks))
    assert again == number
    assert len(back) == len(blocks)
    for a, b in zip(blocks, back, strict=True):
        assert (a.plot, a.kind, a.first, a.step, a.restart) == (b.plot, b.kind, b.first, b.step, b.restart)
        np.testing.assert_array_equal(a.columns, b.columns)


def test_blocks_begin_at_multiples_of_eight_bytes():
    """A browser reads float64 in place only there."""
    odd = Block(0, STRIP, 0.0, 1.0, np.zeros((1, 3), np.float32))
    assert len(packed(1, [odd])) % 8 == 0


def test_what_is_no_frame_is_refused():
    with pytest.raises(ValueError, match="no frame"):
        unpacked(b"HTTP" + bytes(12))


def whole(blocks):
    """What a browser holds after some blocks: times and columns."""
    times, columns = np.empty(0), None
    for block in blocks:
        if block is None:
            continue
        t = block.first + block.step * np.arange(block.columns.shape[1])
        if block.restart or columns is None:
            times, columns = t, block.columns
        else:
            times, columns = np.concatenate([times, t]), np.concatenate([columns, block.columns], axis=1)
    return times, columns


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(1, 60), st.integers(0, 500))
def test_news_add_up_to_what_would_be_sent_at_once(sizes, pixels, start):
    """However the samples come, however often it is looked: the same buckets, none twice, none left out."""
    rng = np.random.default_rng(0)
    total = sum(sizes)
    values = rng.normal(size=(total, 3)).astype(np.float32)
    history = History(3, 10_000, 1e-3)
    steady, late = (Curves(0, STRIP, (2, 0), 0.2, pixels) for _ in range(2))
    blocks, at, sent = [], 0, NOTHING
    for size in sizes:
        history.add(np.arange(start + at, start + at + size), values[at : at + size])
        at += size
        block, sent = steady.new_block(history, sent)
        blocks.append(block)
    times, columns = whole(blocks)
    once, _ = late.new_block(history)
    if once is None:
        assert columns is None
        return
    count = once.columns.shape[1]
    np.testing.assert_array_equal(columns[:, -count:], once.columns)
    np.testing.assert_allclose(times[-count:], once.first + once.step * np.arange(count), atol=1e-9)
    assert len(np.unique(times.round(9))) == len(times)


def test_lost_samples_are_a_gap_not_a_shift():
    history = History(1, 100, 1.0)
    history.add(np.arange(10), np.ones((10, 1)))
    history.add(np.arange(15, 20), np.full((5, 1), 2.0))
    seen = history.read(0, 20, [0])[:, 0]
    np.testing.assert_array_equal(seen, [1.0] * 10 + [np.nan] * 5 + [2.0] * 5)


def test_history_keeps_the_newest():
    history = History(1, 50, 1.0)
    for begin in range(0, 500, 7):
        numbers = np.arange(begin, begin + 7)
        history.add(numbers, numbers[:, None].astype(float))
    assert (history.first, history.end) == (history.end - 50, 504)
    np.testing.assert_array_equal(history.read(history.first, history.end, [0])[:, 0], np.arange(454, 504))


@pytest.mark.parametrize(("begin", "end"), [(450, 500), (450, 451), (460, 500), (470, 499), (475, 475)])
def test_a_stretch_is_read_across_the_end_of_the_memory(begin, end):
    history = History(3, 50, 1.0)
    numbers = np.arange(480)
    for part in np.array_split(numbers, 30):
        history.add(part, part[:, None] * np.array([1.0, -2.0, 3.0]))
    history.add(np.arange(480, 500), np.arange(480, 500)[:, None] * np.array([1.0, -2.0, 3.0]))
    wanted = np.arange(begin, end)[:, None] * np.array([3.0, 1.0])
    np.testing.assert_array_equal(history.read(begin, end, (2, 0)), wanted)
    np.testing.assert_array_equal(history.every(begin, end, 7, (2, 0)), wanted[::7].T)


def test_a_new_run_begins_anew():
    history = History(1, 100, 0.5)
    curves = Curves(0, STRIP, (0,), 10.0, 20)
    history.add(np.arange(40), np.zeros((40, 1)))
    _, sent = curves.new_block(history)
    history.origin = 30
    history.add(np.arange(40, 44), np.ones((4, 1)))
    block, _ = curves.new_block(history, sent)
    assert block.restart
    assert block.first == (24 - 30) * 0.5
