"""The cases of a study: its test is built once, and again only for what is not a parameter of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.cli.tests import find_test

if TYPE_CHECKING:
    from types import ModuleType, SimpleNamespace

    from bondloop.hybrid import HybridTest

    Module = ModuleType | SimpleNamespace

__all__ = ["Cases", "as_setting"]


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
