"""What the verbs that draw tests share: what is uncertain, what is measured, which tests are looked at."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.cli.settings import find_test
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from types import ModuleType, SimpleNamespace

    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.studies import Sampled

    Module = ModuleType | SimpleNamespace


class Cases:
    """Tests that differ in some settings.

    Parameters
    ----------
    source
        Where the test comes from.
    settings
        What all of them have in common, as ``PATH=VALUE``.
    """

    def __init__(self, source: str, settings: list[str]) -> None:
        self._source, self._settings = source, settings
        self._built: dict[tuple[str, ...], tuple[HybridTest, Module, frozenset[str]]] = {}
        self._one_at_a_time = threading.Lock()

    def __call__(self, values: Mapping[str, str | float]) -> tuple[HybridTest, Module]:
        """Return the test with other settings, by name, and the module that defines it."""
        from bondloop.cli.safety_settings import is_of_safety

        paths = {name for name in values if "." in name and not is_of_safety(name)}
        # Which paths are parameters is known once a test is built: entries of a test file are not.
        test, module, parameters = self._base({n: v for n, v in values.items() if n not in paths})
        if not paths <= parameters:
            test, module, parameters = self._base({n: v for n, v in values.items() if n not in parameters})
        data = {name: values[name] for name in paths & parameters}
        return (test.with_values(data) if data else test), module

    def test(self, values: Mapping[str, str | float]) -> HybridTest:
        """Return the test with other settings alone."""
        return self(values)[0]

    def _base(self, options: Mapping[str, str | float]) -> tuple[HybridTest, Module, frozenset[str]]:
        """Return a test, its module and the paths of its parameters; each is built once."""
        own = tuple(f"{name}={as_setting(value)}" for name, value in options.items())
        with self._one_at_a_time:
            if own not in self._built:
                test, module = find_test(self._source, [*self._settings, *own])
                self._built[own] = test, module, frozenset(v.name for v in test.tick.parameters)
            return self._built[own]


def as_setting(value: str | float) -> str:
    """Return a value as `--set` takes it: a whole number as one, for it may count something.

    >>> as_setting(3.0), as_setting(0.004), as_setting("4 ms")
    ('3', '0.004', '4 ms')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


OVERLAID = 8
"""Histories at most that are drawn over each other."""


def uncertain(texts: list[str], option: str = "--vary") -> dict[str, str]:
    """Return distributions by name, from ``NAME=DISTRIBUTION`` and from TOML files with a table ``[vary]``.

    Parameters
    ----------
    texts
        As they were given.
    option
        By which.
    """
    from bondloop.studies import read_uncertainty

    found: dict[str, str] = {}
    for text in texts:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals and text.endswith(".toml"):
            more = read_uncertainty(text)
        elif not equals or not name or not rest:
            raise InputError(
                f"{option} takes NAME=DISTRIBUTION, such as rig.mass=normal(2, 5%), or a TOML file with a "
                f"table [vary]; found {text!r}"
            )
        else:
            more = {name: rest}
        for one, what in more.items():
            if one in found:
                raise InputError(f"each thing is varied once; found {one} twice")
            found[one] = what
    return found


def range_of(text: str) -> tuple[str, tuple[float, float]]:
    """Return name and ends of ``NAME=LOW..HIGH``.

    Examples
    --------
    >>> range_of("controller.lead=0..40 ms")
    ('controller.lead', (0.0, 0.04))
    """
    from bondloop.studies import axis_from

    match = re.fullmatch(r"\s*([^=]+?)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    if match is None:
        raise InputError(f"--setting takes NAME=LOW..HIGH, such as controller.lead=0..40 ms; found {text!r}")
    numbers = axis_from(f"{match[1]}={match[2]}..{match[3]}/2").numbers
    if numbers is None or len(numbers) != 2:
        raise InputError(f"--setting takes NAME=LOW..HIGH; found {text!r}")
    return match[1], (numbers[0], numbers[1])


def as_command(source: str, settings: list[str], values: dict[str, float], seconds: float) -> str:
    """Return the command that runs a test with these values.

    Examples
    --------
    >>> as_command("my test.toml", [], {"rig.transfer.mass.mass": 1.25}, 2.0)
    "bondloop run 'my test.toml' --set rig.transfer.mass.mass=1.25 --seconds 2.0"
    """
    from shlex import join

    chosen = [*settings, *(f"{name}={as_setting(value)}" for name, value in values.items())]
    options = [word for text in chosen for word in ("--set", text)]
    return join(["bondloop", "run", source, *options, "--seconds", repr(seconds)])


def keep_tests(
    found: Sampled, cases: Cases, measure: str, which: str, folder: Path, *, figures: bool
) -> list[Path]:
    """Write the histories of chosen tests, and the tests themselves as files that can be run.

    Parameters
    ----------
    found, measure, which
        As of `Sampled.histories`.
    cases
        Of the test that was sampled.
    folder
        Where to.
    figures
        Whether to draw their motions over each other.
    """
    from bondloop.rehearsal import DIVERGED
    from bondloop.studies import histories, overlay

    test = cases({})[0]
    chosen = found.choose(measure, which)
    wrote: list[Path] = []
    drawn: dict[str, Run] = {}
    for name, number in chosen.items():
        stem = name.replace(" %", "-percent").replace(" ", "-")
        run = histories(found, test, {name: number}, cases.test)[name]  # one at a time: a history is large
        wrote.append(Path(run.save(folder / f"{stem}.h5")))
        if len(chosen) <= OVERLAID:
            drawn[name] = run
        try:
            one = cases.test(found.row(number))
            one.seconds = found.length
            one.to_toml(folder / f"{stem}.toml")
        except BondloopError:  # a part that is a Python object without a description, a state
            continue
        wrote.append(folder / f"{stem}.toml")
    channel = next((actual for run in drawn.values() for _, actual in run.pairs), None)
    if figures and channel is not None:
        bound = test.tick.bounds.get(channel, DIVERGED)
        overlay(drawn, channel, limit=bound if bound < DIVERGED else None, path=folder / "kept.png")
        wrote.append(folder / "kept.png")
    return wrote
