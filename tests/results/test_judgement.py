"""The scales of the judgement, and what is said in which order."""

import math

from bondloop.results import SCALES
from bondloop.results.assess.judgement import Finding, Grade, Judgement, graded


def test_every_scale_is_in_order_and_has_a_reason():
    for name, scale in SCALES.items():
        assert 0 < scale.well < scale.poorly < scale.not_at_all, name
        assert len(scale.reason) > 40
        ends = [scale.grade(v) for v in (0, scale.well, -scale.poorly, scale.not_at_all, math.nan)]
        assert ends == [0, 1, 2, 3, 3]


def test_praise_is_kept_for_what_deserves_it_as_a_whole():
    good = graded("tracking error", 0.01, "A followed very well.", "A followed: 1 %.")
    bad = graded("tracking error", 0.7, "B followed not at all.", "B followed: 70 %.")
    assert Judgement((good, bad)).verdict == "B followed not at all. A followed: 1 %."
    late = graded("delay", 0.05, "It was late.")
    assert Judgement((bad, late)).verdict == "B followed not at all."
    assert Judgement((good, late)).verdict == "The result is doubtful: it was late. A followed: 1 %."


def test_a_trip_comes_before_all_else_and_a_stop_alone():
    good = graded("tracking error", 0.01, "A followed very well.", "A followed: 1 %.")
    trip = Finding("trip", 1.0, Grade.NOT_AT_ALL, "It tripped.")
    assert Judgement((trip, good)).verdict == "It tripped. Until then a followed very well."
    assert Judgement((trip, good)).level is Grade.NOT_AT_ALL
    assert Judgement((Finding("stop", 1.0, Grade.NOT_AT_ALL, "Stopped."), good)).verdict == "Stopped."
    assert Judgement().verdict == "The run was completed."
    assert Judgement().level is None
