"""Options that are times or rates take texts with units, and none is left that does not."""

import inspect
from typing import get_args, get_type_hints

import pytest
import typer

from bondloop.cli.main import app
from bondloop.cli.quantities import MICROSECONDS, PART, RATE, TIME

TEST = "gawthrop-two-actuators"

COUNTS = {"study --samples"}
"""Numbers without a unit, of which 1e6 is easier to read than 1000000."""

READ = {TIME: ("20 ms", 0.02), MICROSECONDS: ("20 ms", 2e4), RATE: ("2 kHz", 2000.0), PART: ("40 %", 0.4)}


def options(below, path=()):
    """Every option of every verb, with its type and what is told of it."""
    for group in below.registered_groups:
        yield from options(group.typer_instance, (*path, group.name))
    for command in below.registered_commands:
        verb = " ".join([*path, command.name or command.callback.__name__])
        hints = get_type_hints(command.callback, include_extras=True)
        for word in inspect.signature(command.callback).parameters:
            kind, *told = get_args(hints[word]) or (hints[word],)
            for info in told:
                if isinstance(info, typer.models.OptionInfo):
                    said = [d for d in (info.default, *(info.param_decls or ())) if isinstance(d, str)]
                    yield f"{verb} {said[0]}", (kind, info)


OPTIONS = dict(options(app))
PARSED = {name: info.parser for name, (_, info) in OPTIONS.items() if info.parser is not None}


def test_no_option_reads_numbers_only():
    numbers = {name for name, (kind, _) in OPTIONS.items() if float in (kind, *get_args(kind))}
    assert len(OPTIONS) > 100
    assert numbers - set(PARSED) == COUNTS


def test_times_and_rates_are_among_them():
    for name in (
        "run --seconds",
        "check --seconds",
        "realtime --retreat",
        "channels exercise --hold",
        "tune --budget",
    ):
        assert PARSED[name] is TIME, name
    assert PARSED["realtime --rate"] is PARSED["show --rate"] is RATE
    assert PARSED["realtime --spin"] is MICROSECONDS


@pytest.mark.parametrize("read", READ, ids=["time", "microseconds", "rate", "part"])
def test_each_reads_texts_and_numbers(read):
    text, number = READ[read]
    assert read(text) == pytest.approx(number, rel=1e-12)
    assert [read("1e3"), read("-2"), read(0.5)] == [1000.0, -2.0, 0.5]
    for wrong in ("3 kg", "soon", ""):
        with pytest.raises(typer.BadParameter, match=r"expected a (quantity in|number)"):
            read(wrong)


def test_a_run_of_so_many_milliseconds(bondloop, tmp_path):
    result = bondloop("run", TEST, "--seconds", "50 ms", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("0.05 s rehearsed")
    wrong = bondloop("run", TEST, "--seconds", "50 mm", "-o", tmp_path)
    assert wrong.exit_code == 2
    assert "--seconds" in wrong.stderr
    assert "expected a quantity in s" in wrong.stderr


def test_a_rehearsal_of_real_time(bondloop):
    words = ("--seconds", "100 ms", "--rate", "2 kHz", "--retreat", "20 ms", "--spin", "0 us", "--dry")
    result = bondloop("realtime", TEST, *words)
    assert result.exit_code == 0, result.stderr
