"""`bondloop equations`."""

import json

import pytest

from bondloop import papers

NAME = "gawthrop-three-mass"


@pytest.fixture
def system():
    return papers.find(NAME).model().compile()


@pytest.mark.parametrize(("options", "form"), [([], "state"), (["--causal"], "causal")])
def test_text(bondloop, system, options, form):
    answer = bondloop("equations", NAME, *options)
    assert answer.exit_code == 0
    assert answer.stdout == f"{system.equations(form=form)}\n"


def test_latex(bondloop, system):
    answer = bondloop("equations", NAME, "--latex")
    assert answer.exit_code == 0
    assert answer.stdout == f"{system.equations().latex()}\n"


def test_what_had_to_be_solved_is_noted_on_stderr(bondloop, system):
    answer = bondloop("equations", NAME)
    assert answer.stderr == "".join(f"note: {note}\n" for note in system.notes)


def test_json(bondloop, system):
    answer = json.loads(bondloop("equations", NAME, "--json").stdout)
    assert answer["model"] == NAME
    assert answer["form"] == "state"
    assert answer["states"] == list(system.states)
    assert answer["inputs"] == list(system.inputs)
    assert answer["outputs"] == list(system.outputs)
    assert len(answer["states"]) == 6
    assert len(answer["equations"]) >= 6
    assert all(set(row) == {"left", "right"} for row in answer["equations"])
    assert "latex" not in answer


def test_json_holds_latex_when_asked(bondloop, system):
    answer = json.loads(bondloop("equations", NAME, "--json", "--latex").stdout)
    assert answer["latex"] == system.equations().latex()
