"""Missed deadlines in the log: all of them, and no more lines than can be read."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bondloop.dashboard.attached import Deadlines

LOOKS = st.lists(st.tuples(st.floats(0.01, 3.0), st.integers(0, 5), st.integers(0, 5)), max_size=30)


@given(LOOKS, st.integers(0, 99))
def test_every_one_is_told_once_and_lines_are_apart(looks, before):
    now, missed, late, told, at = 0.0, before, before, [0, 0], []
    watch = Deadlines(missed, late, lambda: now)
    for wait, more, later in [*looks, (Deadlines.longest, 0, 0)]:
        now, missed, late = now + wait, missed + more, late + later
        words = watch.look(missed, late, moving=True)
        if words:
            at.append(now)
        for i, what in enumerate(("deadlines? missed", "cycles? late")):
            told[i] += sum(int(n) for n in re.findall(rf"(\d+) {what}", words))
    assert told == [missed - before, late - before]
    assert all(b - a >= Deadlines.least - 1e-9 for a, b in pairwise(at))


def test_what_is_late_while_nothing_moves_is_not_told():
    watch = Deadlines(0, 0, lambda: 0.0)
    assert watch.look(500, 300, moving=False) == ""
    assert watch.look(501, 300, moving=True) == "1 deadline missed"


def test_a_loop_that_is_always_late_does_not_fill_the_log():
    now = 0.0
    watch = Deadlines(0, 0, lambda: now)
    lines = 0
    for second in range(1, 601):
        now = float(second)
        lines += bool(watch.look(second, 0, moving=True))
    assert lines <= 600 / Deadlines.longest + 5  # 1, 2, 4 and 8 s apart at first
