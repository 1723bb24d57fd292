"""`bondloop list`."""

import json

from bondloop import papers


def test_list_shows_every_entry_with_its_summary(bondloop):
    answer = bondloop("list")
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert len(lines) == len(papers.entries())
    for line, entry in zip(lines, papers.entries(), strict=True):
        assert line.startswith(entry.name)
        assert line.endswith(entry.summary)


def test_list_as_json(bondloop):
    answer = bondloop("list", "--json")
    listed = json.loads(answer.stdout)
    assert {"name", "kind", "summary"} == set(listed[0])
    assert [item["name"] for item in listed] == [entry.name for entry in papers.entries()]
