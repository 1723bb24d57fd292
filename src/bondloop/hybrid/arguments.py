"""Whether the parts that a test is given are of the right kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bondloop.errors import InputError

__all__ = ["expect", "expect_signals", "refuse_arguments_of_parts"]


def expect(value: Any, kinds: type | tuple[type, ...], what: str, example: str) -> None:
    """Refuse a part of the wrong kind, in words.

    Parameters
    ----------
    value
        The part.
    kinds
        Classes, one of which it must be of.
    what
        The argument's name.
    example
        What to give, for the message.

    Examples
    --------
    >>> expect("direct", dict, "controller", "control.Direct()")
    Traceback (most recent call last):
    bondloop.errors.InputError: controller: expected control.Direct(), or another of its kind; found 'direct'
    """
    if isinstance(value, kinds):
        return
    if isinstance(value, type) and issubclass(value, kinds):
        raise InputError(f"{what}: found the class {value.__name__}; make one of it: {value.__name__}(...)")
    raise InputError(f"{what}: expected {example}, or another of its kind; found {value!r:.60}")


def expect_signals(excitation: Any) -> None:
    """Refuse an excitation that is not signals by name."""
    if not isinstance(excitation, Mapping):
        raise InputError(
            "excitation: expected signals by the name of what they drive, such as {'force': "
            f"bondloop.signals.Sine(...)}}, or {{}} for none; found {excitation!r:.60}"
        )


def refuse_arguments_of_parts(paths: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Refuse paths that name arguments of a part, such as ``rig.substeps``: these change what is built.

    Parameters
    ----------
    paths
        Values by path.
    parts
        The parts of the test, by the word that begins their paths.
    """
    for path in paths:
        head, _, rest = path.partition(".")
        part = parts.get(head)
        if is_dataclass(part) and rest in {f.name for f in fields(part)}:
            kind = type(part).__name__
            raise InputError(
                f"'{path}' is not a parameter, which could be changed as the test runs, but decides how it "
                f"is built: give it where the test is made, {kind}(..., {rest}={paths[path]})"
            )
