"""TOML text and the lines of its entries."""

import sys
import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.data.toml_files import line_of, toml_text

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from file_cases import places

keys = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
leaves = (
    st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.booleans()
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
)  # fmt: skip
documents = st.dictionaries(
    keys,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=25,
    ),
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(documents)
def test_any_document_is_written_and_read_back_and_every_entry_has_a_line(document):
    text = toml_text(document)
    assert tomllib.loads(text) == document
    lines = {place: line_of(text, place) for place in places(document)}
    assert all(lines.values())
    rows = text.split("\n")
    for place, line in lines.items():
        last = [step for step in place if isinstance(step, str)][-1]
        if isinstance(place[-1], str) and last.isascii() and last.isalnum():
            assert last in rows[line - 1]


def test_lines_of_a_file_by_hand():
    text = '''# first
a.b = 1
"c d" = """
two
lines"""
e = [ # one
  {f = 1, g.h = 2},
  'x # y',
]
[[t]]
u = 1
[t.v]
w = 1
[[t]]
[t.v] # the second one's
w = 2
'''
    lines = {place: line_of(text, place) for place in places(tomllib.loads(text))}
    wanted = {
        ("a", "b"): 2, ("c d",): 3, ("e",): 6, ("e", 0, "g", "h"): 7, ("e", 1): 8, ("t",): 10,
        ("t", 0, "v", "w"): 13, ("t", 1): 14, ("t", 1, "v"): 15, ("t", 1, "v", "w"): 16,
    }  # fmt: skip
    assert {place: lines[place] for place in wanted} == wanted
