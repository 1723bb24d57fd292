"""The command as a whole: help, version, and how it fails."""

import click
import pytest
from click.testing import CliRunner

import bondloop as bl
from bondloop.cli.main import Verbs
from bondloop.errors import CausalityError, LinesError

VERBS = ["list", "equations", "draw"]


def test_help_names_every_verb(bondloop):
    answer = bondloop("--help")
    assert answer.exit_code == 0
    assert all(verb in answer.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(bondloop, verb):
    answer = bondloop(verb, "--help")
    assert answer.exit_code == 0
    assert "--json" in answer.stdout


def test_version(bondloop):
    answer = bondloop("--version")
    assert answer.exit_code == 0
    assert answer.stdout == f"bondloop {bl.__version__}\n"


def test_an_unknown_verb_is_refused(bondloop):
    answer = bondloop("equation")
    assert answer.exit_code == 2
    assert "equation" in answer.stderr


def raising(error: Exception) -> click.Group:
    app = Verbs("bondloop")

    @app.command()
    def fail() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CausalityError("m1.v has two flow sources;\n remove one"), "m1.v has two flow sources; remove one"),
        (PermissionError(13, "Permission denied", "a.svg"), "a.svg: Permission denied"),
        (OSError(27, "File too large"), "a file cannot be written: File too large"),
        (LinesError("paste this:\n\n  a = 1"), "paste this:\n\n  a = 1"),
    ],
)
def test_an_error_for_the_user_is_one_sentence_and_exit_1(error, sentence):
    answer = CliRunner().invoke(raising(error), ["fail"])
    assert answer.exit_code == 1
    assert answer.stdout == ""
    assert answer.stderr == f"bondloop: {sentence}\n"


def test_a_fault_of_bondloop_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(raising(ZeroDivisionError("a bug")), ["fail"], catch_exceptions=False)
