"""The colours of the style sheet against WCAG AA: texts 4.5 to 1, lines and edges 3 to 1, in both themes."""

import re

import pytest

from bondloop.dashboard.app import PAGE

TEXTS = ("ink", "soft", "key", "good", "warn", "bad")
LINES = ("edge", "focus", *(f"s{i}" for i in range(8)))
FILLED = ("good", "warn", "bad", "quiet", "s5", "s6")
"""Grounds of the state's word and of the mark of a rehearsal."""


def themes():
    text = (PAGE / "style.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root(\S*) \{(.*?)\}", text, re.DOTALL)
    found = {name: dict(re.findall(r"--([\w-]+): (#\w{6})", body)) for name, body in blocks}
    assert len(found) == 2
    return found


def shine(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    low, high = sorted((shine(one), shine(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_21_to_1():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("theme", ["", '[data-theme="dark"]'])
def test_colours_can_be_told_from_their_grounds(theme):
    c = themes()[theme]
    grounds = ("panel", "ground")
    found = {(a, b): contrast(c[a], c[b]) for a in TEXTS for b in grounds}
    found |= {(f, "on-state"): contrast(c[f], c["on-state"]) for f in FILLED}
    found["key", "on-key"] = contrast(c["key"], c["on-key"])
    assert {pair: x for pair, x in found.items() if x < 4.5} == {}
    lines = {(a, b): contrast(c[a], c[b]) for a in LINES for b in grounds}
    assert {pair: x for pair, x in lines.items() if x < 3.0} == {}
    assert contrast("#b3141c", "#ffffff") >= 4.5, "TRIP"
