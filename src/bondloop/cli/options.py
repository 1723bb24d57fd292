"""What the verbs share of their words: how tests, numbers and options are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from bondloop.errors import InputError

T = TypeVar("T", int, float)
C = TypeVar("C", bound="Callable[..., Any] | click.Command")
SUFFIXES = (".py", ".toml", ".h5", ".hdf5")
"""Of files that a source may be."""


# ------------------------------------------------------------- how values are read


def plain(text: str) -> float:
    """Return a plain number.

    Python's own reading takes ``1_0`` for ten, which a table does not, nor a quantity with a unit.

    >>> plain("1e3")
    1000.0
    >>> plain("1_0")
    Traceback (most recent call last):
    ValueError: '1_0' is no number
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def whole(text: str) -> int:
    """Return a whole number; see `plain`.

    >>> whole("12")
    12
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def _reader(name: str, unit: str) -> Callable[[str | float], float]:
    """Return what reads an option: a number alone counts in the unit, a text says its own."""

    def read(text: str | float) -> float:
        from bondloop.units import quantity

        try:
            return plain(str(text))
        except ValueError:
            pass
        try:
            return quantity(str(text), unit) / quantity(f"1 {unit}")
        except InputError as error:
            raise click.BadParameter(str(error)) from None

    read.__name__ = name  # as --help calls it
    return read


def _plain_reader(
    name: str, read_text: Callable[[str], T], wanted: str, least: float = -math.inf
) -> Callable[[str | T], T]:
    """Return what reads an option that has no unit."""

    def read(text: str | T) -> T:
        try:
            answer = read_text(str(text))
        except ValueError:
            answer = None
        if answer is None or answer < least:
            raise click.BadParameter(f"expected {wanted}; found {text!r}")
        return answer

    read.__name__ = name
    return read


TIME = _reader("time", "s")
MICROSECONDS = _reader("time", "us")
RATE = _reader("rate", "Hz")
PART = _reader("part", "1")
NUMBER = _plain_reader("float", plain, "a number")
WHOLE = _plain_reader("integer", whole, "a whole number")
COUNT = _plain_reader("integer", whole, "a whole number of at least 1", 1)
PATH = click.Path(path_type=Path)


# ------------------------------------------------------------- which test


def completed(incomplete: str) -> list[str]:
    """Return what a shell may complete a source to: ready-made names, then files and folders.

    >>> completed("wagg-")
    ['wagg-three-mass', 'wagg-two-mass-rig']
    """
    from bondloop import papers

    names = [entry.name for entry in papers.entries() if entry.name.startswith(incomplete)]
    folder, _, begun = incomplete.rpartition("/")
    root = Path(f"{folder}/" if "/" in incomplete else ".")
    found = sorted(root.iterdir()) if root.is_dir() else []
    fitting = [f for f in found if f.name.startswith(begun) and not f.name.startswith(".")]
    before = incomplete.removesuffix(begun)
    names += [f"{before}{f.name}/" for f in fitting if f.is_dir()] if incomplete else []
    return names + [f"{before}{f.name}" for f in fitting if f.suffix in SUFFIXES]


def source_argument(metavar: str, words: str, *, required: bool = True) -> Callable[[C], C]:
    """Return the argument that names a model, a test or a run."""
    return click.argument(
        "source",
        shell_complete=lambda _context, _parameter, begun: completed(begun),
        metavar=metavar,
        help=words,
        required=required,
    )


TEST = "NAME|FILE.py|FILE.toml"
model_argument = source_argument(
    TEST, "A name that `bondloop list` shows, a Python file that defines `model`, or a test file."
)
test_argument = source_argument(
    TEST, "A test that `bondloop list` shows, a Python file that defines `test`, or a test file."
)
run_argument = source_argument(
    f"{TEST}|RUN.h5",
    "A test that `bondloop list` shows, a Python file that defines `test`, a test file, or a saved run.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change an option of the test or any parameter by its path; repeatable.",
)
seconds_option = click.option("--seconds", type=TIME, help="Length of the test; the test's own if left out.")


# ------------------------------------------------------------- what is answered

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, for machines.")
figures_option = click.option("--figures/--no-figures", default=True, help="Draw the figures.")


# ------------------------------------------------------------- what runs on a clock

priority_option = click.option(
    "--priority", type=WHOLE, default=0, help="Real-time priority (SCHED_FIFO), 1 to 99; 0: none."
)
cpu_option = click.option("--cpu", type=WHOLE, help="Processor that it keeps to.")


def _key(_context: object, _parameter: object, path: Path | None) -> str:
    from bondloop.realtime import read_key

    return "" if path is None else read_key(path)


key_option = click.option(
    "--key-file",
    "key",
    type=PATH,
    callback=_key,
    help="File with the key of the packets over UDP, which the other end has too.",
)
force_option = click.option("--force", is_flag=True, help="Run although the check has not passed.")
emulated_option = click.option(
    "--emulated/--machine",
    default=None,
    help="The rig is a model, and says so itself; or a machine, for which the test needs limits. "
    "Left out: a machine, unless it is played here.",
)
driver_option = click.option(
    "--driver",
    "drivers",
    type=PATH,
    multiple=True,
    help="C file of a link of your own, link_NAME.c for NAME://...; repeatable.",
)
library_option = click.option(
    "--library", "libraries", multiple=True, help="Library that a driver needs: name or file; repeatable."
)
include_option = click.option(
    "--include",
    "includes",
    type=PATH,
    multiple=True,
    help="Folder of headers that a driver needs; repeatable.",
)


def accept_option(command: C) -> C:
    """Add the option that accepts findings of the check."""
    return click.option(
        "--accept", multiple=True, metavar='RULE="WHY"',
        help="Accept what a rule of the check finds, with the reason, which is recorded; may be repeated.",
    )(command)  # fmt: skip


def limits_option(command: C) -> C:
    """Add the option that names a laboratory's limits of the check."""
    return click.option(
        "--limits", type=PATH, metavar="CHECK.toml",
        help="A laboratory's limits of the check; check.toml in the folder of the test if not given.",
    )(command)  # fmt: skip


def checking(source: str, accept: Sequence[str], limits: Path | None) -> dict[str, Any]:
    """Return what a check is asked besides the length: findings that are accepted, and a laboratory's limits.

    Parameters
    ----------
    source
        Of the test.
    accept
        Rules with the reasons for which they are accepted, ``BL302=measured on the rig``.
    limits
        The file with the limits; ``check.toml`` beside the test, if there is one, unless given.
    """
    from bondloop.check import POLICY_FILE, CheckPolicy, read_policy

    reasons = {}
    for text in accept:
        rule, equals, why = text.partition("=")
        if not equals:
            raise InputError(
                f'--accept: expected a rule with a reason, BL302="measured on the rig"; found {text!r}'
            )
        reasons[rule.strip()] = why.strip()
    beside = Path(source).parent / POLICY_FILE
    if limits is None and Path(source).suffix in SUFFIXES and beside.is_file():
        limits = beside
    return {"accept": reasons, "policy": CheckPolicy() if limits is None else read_policy(limits)}
