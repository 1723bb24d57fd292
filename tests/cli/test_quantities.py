"""Options that are times or rates take texts with units, and none is left that does not."""

import click
import pytest

from bondloop.cli.dashboard import slider_of
from bondloop.cli.main import app
from bondloop.cli.options import COUNT, MICROSECONDS, NUMBER, PART, RATE, TIME, WHOLE
from bondloop.cli.settings import _converted, _count
from bondloop.errors import InputError

TEST = "gawthrop-two-actuators"

COUNTS = {"study --samples"}
"""Numbers without a unit, of which 1e6 is easier to read than 1000000."""
OURS = {TIME, MICROSECONDS, RATE, PART, NUMBER, WHOLE, COUNT}

READ = {TIME: ("20 ms", 0.02), MICROSECONDS: ("20 ms", 2e4), RATE: ("2 kHz", 2000.0), PART: ("40 %", 0.4)}


def options(below, path=()):
    """Every option of every verb, with its name."""
    context = click.Context(below)
    if isinstance(below, click.Group):
        for name in below.list_commands(context):
            yield from options(below.get_command(context, name), (*path, name))
        return
    for option in below.params:
        if isinstance(option, click.Option):
            yield f"{' '.join(path)} {option.opts[0]}", option


OPTIONS = dict(options(app))
PARSED = {name: getattr(option.type, "func", None) for name, option in OPTIONS.items()}
PLAIN = {click.INT, click.FLOAT}


def test_every_number_is_read_alike():
    """Python takes 1_0 for ten; a table does not, nor a quantity with a unit."""
    assert len(OPTIONS) > 100
    assert {name for name, option in OPTIONS.items() if option.type in PLAIN} == set()
    assert {name for name, read in PARSED.items() if read is NUMBER} == COUNTS
    for read in OURS:
        assert read("12") == 12
        for wrong in ("1_0", "1_0.5", "soon"):
            with pytest.raises(click.BadParameter, match=wrong):
                read(wrong)
    for wrong in ("0", "-1", "1.5"):
        with pytest.raises(click.BadParameter, match="a whole number of at least 1; found"):
            COUNT(wrong)


@pytest.mark.parametrize(
    "read",
    [
        lambda: _converted("order", "1_0", 2),
        lambda: _converted("rate", "1_0", 500.0),
        lambda: _count("strikes", "1_0"),
        lambda: slider_of("excitation.scale=1:1_0"),
    ],
)
def test_settings_are_read_as_options_are(read):
    with pytest.raises(InputError, match="1_0"):
        read()


@pytest.mark.parametrize("words", [("--seconds", "1_0"), ("--every", "1_0"), ("--set", "rate=1_000")])
def test_ten_is_not_written_with_an_underscore(bondloop, tmp_path, words):
    result = bondloop("run", TEST, *words, "--no-figures", "-o", tmp_path)
    assert result.exit_code in (1, 2)
    assert words[1].removeprefix("rate=") in result.stderr


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
        with pytest.raises(click.BadParameter, match=r"expected a (quantity in|number)"):
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
